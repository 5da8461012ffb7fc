"""``dks`` and ``curve``: the densest k vertices of a graph, for one k or for many."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sparseigen.cli.exact import one_cardinality
from sparseigen.cli.failures import bad_usage, one_line
from sparseigen.cli.loading import cardinalities, local_file
from sparseigen.cli.options import GraphFile, Output, expanded
from sparseigen.cli.output import as_csv, check_output, emit, save, save_report
from sparseigen.cli.pca import end, limit_note
from sparseigen.cli.vertices import Places, read_places
from sparseigen.cli.working import Working
from sparseigen.errors import SolveInterrupted, one_of


class Method(StrEnum):
    """Methods for dense subgraphs."""

    TPOWER = "tpower"
    RELAXED = "tpower-relaxed"
    RAVI = "greedy-ravi"
    FEIGE = "greedy-feige"
    PEEL = "peel"


class Directed(StrEnum):
    """What a directed graph becomes."""

    AVERAGE = "average"
    EITHER = "either"
    OUTGOING = "outgoing"


class Loops(StrEnum):
    """What becomes of self-loops."""

    DROP = "drop"
    KEEP = "keep"


MethodOption = Annotated[Method, typer.Option(help="Algorithm.")]
DirectedOption = Annotated[Directed, typer.Option(help="Directed graphs become (W + W')/2, or max(W, W').")]
LoopsOption = Annotated[Loops, typer.Option(help="Self-loops.")]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of weights of an edge list with a header.")]
Vertices = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Table of the vertices: number, name, and latitude and longitude for a map."),
]
FormatOption = Annotated[str | None, typer.Option("--format", metavar="NAME", help="For stdin: csv, mtx, npz, ...")]
Certify = Annotated[bool, typer.Option("--certify/--no-certify", help="Prove how dense k vertices can be.")]


@dataclass
class LoadedGraph:
    """A graph and what is known of its vertices."""

    source: str
    graph: Any
    places: Places | None

    def facts(self) -> dict[str, Any]:
        """What was read, for result.json and the report."""
        notes = {key: str(value) for key, value in self.graph.notes.items()}
        return {"file": self.source, "vertices": self.graph.n_vertices, "arcs": int(self.graph.matrix.nnz), **notes}

    def title(self) -> str:
        """One line about the graph."""
        return f"{self.source}: {self.graph.n_vertices} vertices, {self.graph.matrix.nnz} arcs"

    def name(self, node: Any) -> str:
        """How to show a vertex."""
        return str(node) if self.places is None else self.places.names.get(str(node), str(node))


def _load(graph: str, weight: str | None, kind: str | None, vertices: Path | None, working: Working) -> LoadedGraph:
    from sparseigen.graphs import read_graph
    from sparseigen.io.formats import find_endings

    if kind is not None and graph != "-":
        message = "--format is for standard input; the name of a file says its format."
        raise bad_usage(message)
    if kind is not None and f".{kind}" not in find_endings("graph"):
        message = f"--format {kind!r} is not known. Allowed: {one_of(ending[1:] for ending in find_endings('graph'))}."
        raise bad_usage(message)
    places = None if vertices is None else read_places(vertices)
    with local_file(graph, kind, "csv") as (path, _):
        found = read_graph(path, weight=weight, on_progress=working.on_progress)
    if places is not None:
        places.check(found)
    return LoadedGraph("standard input" if graph == "-" else one_line(Path(graph).name), found, places)


def dks(
    graph: GraphFile,
    k: Annotated[str, typer.Option("-k", metavar="K", help="Number of vertices.")],
    output: Output,
    count: Annotated[int, typer.Option(min=1, help="So many disjoint sets, one after the other.")] = 1,
    method: MethodOption = Method.TPOWER,
    directed: DirectedOption = Directed.AVERAGE,
    self_loops: LoopsOption = Loops.DROP,
    weight: Weight = None,
    vertices: Vertices = None,
    include: Annotated[str | None, typer.Option(metavar="NODE,NODE", help="Vertices that must be among them.")] = None,
    format: FormatOption = None,
    certify: Certify = True,
) -> None:
    """The k most tightly connected vertices of a graph.

    'density' is the average weighted degree within the set, 'edge density' the average weight of a pair (1 is a
    clique). Ctrl-C keeps the sets found so far and ends with exit code 4.

    Example: sparseigen dks airline.csv -k 30 --vertices cities.csv --report map.html
    """
    check_output(output, graph, vertices)
    wanted = one_cardinality(k)
    if include is not None and count > 1:
        message = "--include is for a single set; leave out --count."
        raise bad_usage(message)
    early = None
    with Working(quiet=output.quiet) as working:
        loaded = _load(graph, weight, format, vertices, working)
        working.step("searching")
        options = {
            "method": method.value,
            "directed": directed.value,
            "self_loops": self_loops.value,
            "certify": certify,
        }
        try:
            results = _sets(loaded, wanted, count, include, options)
        except SolveInterrupted as stop:
            results = [*stop.completed, *([] if stop.result is None else [stop.result])]
            if not results:
                raise
            early = "stopped early: what was found so far is shown"
        page = None
        if output.report is not None:
            working.step("writing")
            page = _page(
                loaded, results if count > 1 else results[0], f"{loaded.source}: the densest {wanted} vertices"
            )
    _show_sets(loaded, results, output)
    if page is not None:
        save_report(output, page)
    end(output, early or limit_note(results))


def _sets(loaded: LoadedGraph, k: int, count: int, include: str | None, options: dict[str, Any]) -> list[Any]:
    from sparseigen.graphs import densest_k_subgraph, disjoint_dense_subgraphs

    if count > 1:
        return disjoint_dense_subgraphs(loaded.graph, k, count, **options)
    required = None
    if include is not None:
        spelled = [name.strip() for name in include.split(",")]
        labels = loaded.graph.labels
        numbered = labels is None or all(not isinstance(label, str) for label in labels[:1])
        required = [int(name) if numbered and name.isdecimal() else name for name in spelled]
    return [densest_k_subgraph(loaded.graph, k, must_include=required, **options)]


def _page(loaded: LoadedGraph, answer: Any, title: str) -> Any:
    from sparseigen.report import graph_report

    positions = None if loaded.places is None else loaded.places.positions_of(loaded.graph)
    graph, answer = _renamed(loaded, answer)
    if positions is not None:
        positions = {loaded.name(node): place for node, place in positions.items()}
    return graph_report(answer, graph=graph, positions=positions, title=title, settings=loaded.facts())


def _renamed(loaded: LoadedGraph, answer: Any) -> tuple[Any, Any]:
    """The graph and the answer with the names of the vertices in the place of their numbers."""
    if loaded.places is None:
        return loaded.graph, answer
    from dataclasses import replace

    graph = loaded.graph
    labels = [loaded.name(graph.label(i)) for i in range(graph.n_vertices)]
    if len(set(labels)) < len(labels):
        return graph, answer

    def one(result: Any) -> Any:
        return replace(result, nodes=tuple(loaded.name(node) for node in result.nodes))

    named = replace(graph, labels=labels)
    if hasattr(answer, "nodes"):
        return named, one(answer)
    if hasattr(answer, "results"):
        return named, replace(answer, results=tuple(one(result) for result in answer.results))
    return named, [one(result) for result in answer]


def _show_sets(loaded: LoadedGraph, results: Sequence[Any], output: Output) -> None:
    answer: Any = [result.to_dict() for result in results]
    rows = _member_rows(loaded, results)
    table = "" if output.json or output.csv else f"{loaded.title()}\n\n{_sets_text(loaded, results)}"
    answer = answer[0] if len(results) == 1 else answer
    emit(output, table=table, answer=answer, rows=rows)
    save(output, "dks", loaded.facts(), answer, {"members.csv": as_csv(*rows)})


def _sets_text(loaded: LoadedGraph, results: Sequence[Any]) -> str:
    from sparseigen.report.words import curve_table

    lines = [curve_table(results)]
    width = min(100, max(40, shutil.get_terminal_size().columns))
    for number, result in enumerate(results, 1):
        head = "members:" if len(results) == 1 else f"set {number}:"
        names = "; ".join(loaded.name(node) for node in result.nodes)
        lines += ["", textwrap.fill(f"{head} {names}", width, subsequent_indent="  ")]
    return "\n".join(lines)


def _member_rows(loaded: LoadedGraph, results: Sequence[Any]) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of members.csv: one row a vertex, with its weight into the set."""
    import numpy as np

    symmetric = loaded.graph.matrix + loaded.graph.matrix.T
    rows = []
    for number, result in enumerate(results, 1):
        chosen = np.flatnonzero(result.indicator)
        inside = np.asarray(symmetric[chosen][:, chosen].sum(axis=1)).ravel() / 2.0
        rows += [
            [number, result.k, str(node), loaded.name(node), float(weight)]
            for node, weight in zip(result.nodes, inside, strict=True)
        ]
    return ["set", "k", "node", "name", "mean_weight_inside"], rows


def curve(
    graph: GraphFile,
    k: Annotated[str, typer.Option("-k", "--k", metavar="FIRST:LAST[:STEP]", help="Numbers of vertices: 10:300:10.")],
    output: Output,
    method: MethodOption = Method.TPOWER,
    directed: DirectedOption = Directed.AVERAGE,
    self_loops: LoopsOption = Loops.DROP,
    weight: Weight = None,
    vertices: Vertices = None,
    format: FormatOption = None,
    certify: Certify = True,
) -> None:
    """Density of the densest k vertices for many k.

    Example: sparseigen curve airline.csv --k 10:300:10 --report curve.html
    """
    check_output(output, graph, vertices)
    wanted = cardinalities(k, "k")
    early = None
    with Working(quiet=output.quiet) as working:
        loaded = _load(graph, weight, format, vertices, working)
        working.step("searching")
        from sparseigen.graphs import density_curve

        try:
            found: Any = density_curve(
                loaded.graph,
                wanted,
                method=method.value,
                directed=directed.value,
                self_loops=self_loops.value,
                certify=certify,
            )
        except SolveInterrupted as stop:
            if stop.result is None:
                raise
            found, early = stop.result, "stopped early: the curve so far is shown"
        page = None
        if output.report is not None:
            working.step("writing")
            page = _page(loaded, found, f"{loaded.source}: density against k")
    _show_curve(loaded, found, output)
    if page is not None:
        save_report(output, page)
    end(output, early or limit_note(found))


def _show_curve(loaded: LoadedGraph, found: Any, output: Output) -> None:
    from sparseigen.report.words import curve_table

    header = ["k", "density", "upper_bound", "relative_gap", "proven_optimal", "edge_density", "weight"]
    rows = []
    for result in found:
        proof = result.certificate
        bracket = [None] * 3 if proof is None else [proof.upper_bound, proof.relative_gap, proof.optimal]
        rows.append([result.k, result.density, *bracket, result.edge_density, result.weight])
    members = _member_rows(loaded, found.results) if output.out is not None else ([], [])
    emit(output, table=f"{loaded.title()}\n\n{curve_table(found.results)}", answer=found.to_dict(), rows=(header, rows))
    files = {"curve.csv": as_csv(header, rows), "members.csv": as_csv(*members)}
    save(output, "curve", loaded.facts(), found.to_dict(), files)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("dks")(expanded(dks))
    app.command("curve")(expanded(curve))
