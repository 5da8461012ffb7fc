"""``dks`` and ``curve``: the densest k vertices of a graph, for one k or for many."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from sparseigen.cli.commands import bad_usage, command
from sparseigen.cli.loading import LoadedGraph, load_graph
from sparseigen.cli.options import (
    GraphReading,
    Output,
    choice_option,
    effort_option,
    flag,
    graph_argument,
    graph_reading_options,
    option,
    option_group,
    output_options,
    read_cardinalities,
    read_cardinality,
    time_limit_option,
)
from sparseigen.cli.output import Working, as_csv, check_output, emit, end, limit_note, note, save, save_report
from sparseigen.errors import SolveInterrupted

METHODS = ("tpower", "exact", "tpower-relaxed", "greedy-ravi", "greedy-feige", "peel")


@dataclass
class Search:
    """What both commands pass to the library, under its names."""

    method: str
    directed: str
    self_loops: str
    certify: bool
    effort: str
    time_limit: float | None
    connected: bool


search_options = option_group(
    "search",
    Search,
    choice_option("--method", METHODS, default="tpower", help="Algorithm."),
    choice_option(
        "--directed",
        ("average", "either", "outgoing"),
        default="average",
        help="Directed graphs become (W + W')/2, or max(W, W').",
    ),
    choice_option("--self-loops", ("drop", "keep"), default="drop", help="Self-loops."),
    flag("--certify/--no-certify", default=True, help="Prove how dense k vertices can be."),
    effort_option,
    time_limit_option,
    flag("--connected/--any", default=False, help="Search groups that are in one piece."),
)


@command()
@graph_argument
@option("-k", "k", metavar="K", required=True, help="Number of vertices.")
@option(
    "--count", metavar="N", type=click.IntRange(min=1), default=1, help="So many disjoint sets, one after the other."
)
@option("--include", metavar="NODE,NODE", answers=["must_include"], help="Vertices that must be among them.")
@search_options
@graph_reading_options
@output_options
def dks(
    graph: str, k: str, count: int, include: str | None, search: Search, reading: GraphReading, output: Output
) -> None:
    """The k most tightly connected vertices of a graph.

    'density' is the average weighted degree within the set, 'edge density' the average weight of a pair (1 is a
    clique). Ctrl-C keeps the sets found so far and ends with exit code 4.

    Example: sparseigen dks airline.csv -k 30 --vertices cities.csv --report map.html
    """
    check_output(output, graph, reading.vertices)
    wanted = read_cardinality(k, "k")
    if include is not None and count > 1:
        message = "--include is for a single set; leave out --count."
        raise bad_usage(message)
    early = None
    with Working(quiet=output.quiet) as working:
        loaded = load_graph(graph, reading, working.on_progress)
        working.step("searching")
        try:
            results = _find_sets(loaded, wanted, count, include, asdict(search))
        except SolveInterrupted as stop:
            results = [*stop.completed, *([] if stop.result is None else [stop.result])]
            if not results:
                raise
            early = "stopped early: what was found so far is shown"
        page = None
        if output.report is not None:
            working.step("writing")
            page = _build_page(
                loaded, results if count > 1 else results[0], f"{loaded.source}: the densest {wanted} vertices"
            )
    _show_sets(loaded, results, output)
    if page is not None:
        save_report(output, page)
    end(output, early or limit_note(results))


def _find_sets(loaded: LoadedGraph, k: int, count: int, include: str | None, options: dict[str, Any]) -> list[Any]:
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


def _build_page(loaded: LoadedGraph, answer: Any, title: str) -> Any:
    from sparseigen.report import graph_report

    positions = None if loaded.places is None else loaded.places.positions_of(loaded.graph)
    graph, answer = _rename_vertices(loaded, answer)
    if positions is not None:
        positions = {loaded.name(node): place for node, place in positions.items()}
    return graph_report(answer, graph=graph, positions=positions, title=title, settings=loaded.facts())


def _rename_vertices(loaded: LoadedGraph, answer: Any) -> tuple[Any, Any]:
    """The graph and the answer with the names of the vertices in the place of their numbers."""
    if loaded.places is None:
        return loaded.graph, answer
    from dataclasses import replace

    graph = loaded.graph
    labels = [loaded.name(graph.label(i)) for i in range(graph.n_vertices)]
    if len(set(labels)) < len(labels):
        return graph, answer

    def relabel(result: Any) -> Any:
        return replace(result, nodes=tuple(loaded.name(node) for node in result.nodes))

    named = replace(graph, labels=labels)
    if hasattr(answer, "nodes"):
        return named, relabel(answer)
    if hasattr(answer, "results"):
        return named, replace(answer, results=tuple(relabel(result) for result in answer.results))
    return named, [relabel(result) for result in answer]


def _show_sets(loaded: LoadedGraph, results: Sequence[Any], output: Output) -> None:
    answer: Any = [result.to_dict() for result in results]
    rows = _list_member_rows(loaded, results)
    table = "" if output.json or output.csv else f"{loaded.title()}\n\n{_format_sets(loaded, results)}"
    answer = answer[0] if len(results) == 1 else answer
    emit(output, table=table, answer=answer, rows=rows)
    for remark in loaded.note_unused():
        note(output, remark)
    save(output, "dks", loaded.facts(), answer, {"members.csv": as_csv(*rows)})


def _format_sets(loaded: LoadedGraph, results: Sequence[Any]) -> str:
    from sparseigen.report.words import curve_table

    lines = [curve_table(results)]
    width = min(100, max(40, shutil.get_terminal_size().columns))
    for number, result in enumerate(results, 1):
        head = "members:" if len(results) == 1 else f"set {number}:"
        names = "; ".join(loaded.name(node) for node in result.nodes)
        lines += ["", textwrap.fill(f"{head} {names}", width, subsequent_indent="  ")]
    return "\n".join(lines)


def _list_member_rows(loaded: LoadedGraph, results: Sequence[Any]) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of members.csv: one row per vertex, with its weight to the others as the density counts it."""
    import numpy as np

    from sparseigen.graphs.model import rebuild_graph

    rows: list[list[Any]] = []
    model = rebuild_graph(loaded.graph, results[0].settings)
    for number, result in enumerate(results, 1):
        inside = model.induced(np.flatnonzero(result.indicator)).degrees * model.unit
        rows += [
            [number, result.k, str(node), loaded.name(node), float(weight)]
            for node, weight in zip(result.nodes, inside, strict=True)
        ]
    return ["set", "k", "node", "name", "weight_inside"], rows


@command()
@graph_argument
@option("-k", "--k", metavar="FIRST:LAST[:STEP]", required=True, answers=["ks"], help="Numbers of vertices: 10:300:10.")
@search_options
@graph_reading_options
@output_options
def curve(graph: str, k: str, search: Search, reading: GraphReading, output: Output) -> None:
    """Density of the densest k vertices for many k.

    Example: sparseigen curve airline.csv --k 10:300:10 --report curve.html
    """
    check_output(output, graph, reading.vertices)
    wanted = read_cardinalities(k, "k")
    early = None
    with Working(quiet=output.quiet) as working:
        loaded = load_graph(graph, reading, working.on_progress)
        working.step("searching")
        from sparseigen.graphs import density_curve

        try:
            found: Any = density_curve(loaded.graph, wanted, **asdict(search))
        except SolveInterrupted as stop:
            if stop.result is None:
                raise
            found, early = stop.result, "stopped early: the curve so far is shown"
        page = None
        if output.report is not None:
            working.step("writing")
            page = _build_page(loaded, found, f"{loaded.source}: density against k")
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
    members = _list_member_rows(loaded, found.results) if output.out is not None else ([], [])
    emit(output, table=f"{loaded.title()}\n\n{curve_table(found.results)}", answer=found.to_dict(), rows=(header, rows))
    for remark in loaded.note_unused():
        note(output, remark)
    files = {"curve.csv": as_csv(header, rows), "members.csv": as_csv(*members)}
    save(output, "curve", loaded.facts(), found.to_dict(), files)
