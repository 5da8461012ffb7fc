"""The page about dense subgraphs: how dense for every k, who is in, how they are connected, and what is proven."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseigen.checks.arguments import check_many
from sparseigen.checks.frames import as_positions
from sparseigen.checks.graphs import WEIGHT, Graph
from sparseigen.config import require
from sparseigen.errors import OptionError, ShapeError
from sparseigen.graphs.model import IntegerGraph, rebuild_graph
from sparseigen.graphs.task import load_graph
from sparseigen.report.page import Report, data_rows, render, round_digits, setting_rows, version_rows
from sparseigen.report.words import count_noun, list_names, stages_line, subgraph_sentence
from sparseigen.results import DenseSubgraphResult, DensityCurve

MOST_DRAWN = 300
"""Vertices drawn of one set; more are a blot."""
MOST_PLACED = 1200
"""Vertices drawn over all sets together: one layout places them all, so that nothing jumps when k changes."""
MOST_EDGES = 600
"""Edges drawn of one set, the heaviest."""


def choose_drawn_vertices(groups: Sequence[Sequence[int]]) -> list[int]:
    """The vertices that get a place: the best connected of each set, those in most sets first when there are too many.

    Examples
    --------
    >>> choose_drawn_vertices([[3, 1], [1, 2]])
    [1, 2, 3]
    """
    counts = Counter(v for group in groups for v in group[:MOST_DRAWN])
    return sorted(vertex for vertex, _ in counts.most_common(MOST_PLACED))


def heaviest_edges(graph: IntegerGraph, vertices: Sequence[int]) -> list[tuple[int, int, float]]:
    """The heaviest edges among these vertices, each once, heaviest first."""
    chosen = np.sort(np.asarray(vertices, dtype=np.int64))
    if not len(chosen):
        return []
    rows = graph.induced(chosen).rows
    ends = np.repeat(np.arange(rows.size), np.diff(rows.starts))
    once = np.flatnonzero(ends < rows.neighbours)
    weights = rows.all_weights()[once]
    best = once[np.argsort(-weights, kind="stable")[:MOST_EDGES]]
    all_weights = rows.all_weights()
    return [(int(chosen[ends[e]]), int(chosen[rows.neighbours[e]]), float(all_weights[e]) * graph.unit) for e in best]


def force_layout(graph: IntegerGraph, vertices: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Places by attraction along edges and repulsion between vertices (Fruchterman-Reingold), always the same."""
    networkx = require("networkx", purpose="the drawing of a subgraph without positions")
    chosen = np.sort(np.asarray(vertices, dtype=np.int64))
    rows = graph.induced(chosen).rows
    drawing = networkx.Graph()
    drawing.add_nodes_from(range(rows.size))
    ends = np.repeat(np.arange(rows.size), np.diff(rows.starts))
    weights = rows.all_weights() / max(1.0, float(graph.heaviest))
    drawing.add_weighted_edges_from(zip(ends.tolist(), rows.neighbours.tolist(), weights.tolist(), strict=True))
    # "force" is plain NumPy and seeded; the default changes with the size of the graph. Before 3.5 there is no other.
    has_methods = "method" in inspect.signature(networkx.spring_layout).parameters
    chosen_method = {"method": "force"} if has_methods else {}
    places = networkx.spring_layout(drawing, seed=0, iterations=100, **chosen_method)
    return {int(chosen[i]): (float(x), float(y)) for i, (x, y) in places.items()}


MOST_MEMBERS = 5000
"""Members of one set kept in the page; of larger sets it has the best connected ones and says so."""
TABLE_ROWS = 600
MOST_BACKGROUND = 5000
"""Positions of other vertices drawn as faint dots, so that the map has a shape."""


def graph_report(
    curve_or_result: DensityCurve | DenseSubgraphResult | Sequence[DenseSubgraphResult],
    *,
    graph: Any = None,
    positions: Mapping[Any, tuple[float, float]] | None = None,
    title: str | None = None,
    chosen: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Report:
    """A self-contained HTML page about dense subgraphs.

    Parameters
    ----------
    curve_or_result : DensityCurve, DenseSubgraphResult, or sequence of results
        What was found.
    graph : graph or path, optional
        The graph it was found in, so that edges and degrees can be shown.
    positions : mapping, optional
        Node to (latitude, longitude) in degrees: the subgraph is drawn on a map. Without it, forces between the
        vertices place them (needs networkx).
    title : str, optional
        The page's title.
    chosen : int, optional
        The k that the page opens with; by default the densest.
    settings : mapping, optional
        More to be listed among the settings, such as the file read and the command.

    Returns
    -------
    Report

    Examples
    --------
    >>> import networkx as nx
    >>> import sparseigen as se
    >>> from sparseigen.report import graph_report
    >>> club = nx.karate_club_graph()
    >>> page = graph_report(se.density_curve(club, range(3, 9)), graph=club, title="Karate club")
    >>> "Karate club" in page.html
    True
    """
    results = _check_results(curve_or_result)
    opening = _choose_opening(results, chosen)
    source = None if graph is None else _load_source(graph, results[0])
    model = None if source is None else rebuild_graph(source, results[0].settings)
    places = None if positions is None else as_positions(positions)
    title = "Densest subgraph" if title is None else str(title)
    groups = [_group_vertices(result, model) for result in results]
    drawn = (
        choose_drawn_vertices([group.vertices for group in groups]) if graph is not None or places is not None else []
    )
    pool = _pool_labels(results)
    payload = {
        "title": title,
        "opening": opening,
        "n": int(results[0].indicator.size),
        "nodes": [str(pool[v]) for v in pool],
        "degrees": None if model is None else [round_digits(float(model.degrees[v]) * model.unit) for v in pool],
        "xy": _place_vertices(drawn, pool, model, places),
        "isMap": places is not None,
        "background": [] if places is None else _thin_background(places, set(pool.values())),
        "points": [
            _pack_point(result, group, {v: i for i, v in enumerate(pool)}, model, set(drawn))
            for result, group in zip(results, groups, strict=True)
        ],
        "results": [result.to_dict() | {"history": []} for result in results],
    }
    facts = {
        "asked": _word_question(results),
        "found": [_describe_group(results[opening], groups[opening])],
        "table": _build_table(results[opening], groups[opening]),
        "has": {"curve": len(results) > 1, "drawing": bool(drawn), "map": places is not None},
        "settings": setting_rows(
            dict(results[opening].settings) | {"stages": stages_line(results[opening].stages)}, settings
        ),
        "versions": version_rows(),
        "data_facts": [] if source is None else data_rows(source.matrix),
    }
    return render("graph", title, facts, payload)


@dataclass(frozen=True)
class _Group:
    """The vertices of one set, best connected first, and each one's weight to the others."""

    vertices: list[int]
    labels: list[Any]
    inside: list[float] | None


def _check_results(found: Any) -> list[DenseSubgraphResult]:
    several = [found] if isinstance(found, DenseSubgraphResult) else check_many(found, "curve_or_result", "a curve")
    results = list(several)
    for result in results:
        if not isinstance(result, DenseSubgraphResult):
            message = (
                "curve_or_result must be a DensityCurve, a DenseSubgraphResult or several of them, "
                f"got {type(result).__name__} in it."
            )
            raise OptionError(message)
    if not results:
        msg = "there is no result to report on; give at least one."
        raise OptionError(msg)
    sizes = {int(result.indicator.size) for result in results}
    if len(sizes) > 1:
        message = f"the results are about graphs with {sorted(sizes)} vertices; all must be about the same graph."
        raise ShapeError(message)
    return results


def _choose_opening(results: list[DenseSubgraphResult], chosen: int | None) -> int:
    if chosen is None:
        return int(np.argmax([result.density for result in results]))
    for i, result in enumerate(results):
        if result.k == chosen:
            return i
    message = f"chosen={chosen!r} is not among the k of the results ({list_names([str(r.k) for r in results])})."
    raise OptionError(message)


def _load_source(graph: Any, result: DenseSubgraphResult) -> Graph:
    source = load_graph(graph, result.settings.get("weight", WEIGHT))
    if source.n_vertices != result.indicator.size:
        message = f"graph has {source.n_vertices} vertices; the results are about one with {result.indicator.size}."
        raise ShapeError(message)
    return source


def _group_vertices(result: DenseSubgraphResult, model: IntegerGraph | None) -> _Group:
    vertices = np.flatnonzero(result.indicator).astype(np.int64)
    if model is None:
        return _Group(vertices[:MOST_MEMBERS].tolist(), list(result.nodes[:MOST_MEMBERS]), None)
    inside = model.induced(vertices).degrees * model.unit
    order = np.argsort(-inside, kind="stable")[:MOST_MEMBERS]
    return _Group(
        vertices[order].tolist(),
        [result.nodes[i] for i in order],
        [round_digits(float(weight)) for weight in inside[order]],
    )


def _pool_labels(results: list[DenseSubgraphResult]) -> dict[int, Any]:
    """Every vertex of every set with its label."""
    pool: dict[int, Any] = {}
    for result in results:
        pool |= dict(zip(np.flatnonzero(result.indicator).tolist(), result.nodes, strict=True))
    return pool


def _place_vertices(
    drawn: list[int], pool: dict[int, Any], model: IntegerGraph | None, places: dict[Any, tuple[float, float]] | None
) -> list[list[float] | None] | None:
    """Where each vertex of the pool is drawn (x, y), None for those that are not."""
    if not drawn:
        return None
    if places is None:
        found = force_layout(model, drawn) if model is not None else {}
    else:
        found = {v: (places[pool[v]][1], places[pool[v]][0]) for v in drawn if pool[v] in places}
        if not found:
            example = next(iter(pool.values()))
            message = (
                f"positions has none of the chosen nodes; its keys must be the nodes' labels, such as {example!r}."
            )
            raise OptionError(message)
    return [[round(found[v][0], 4), round(found[v][1], 4)] if v in found else None for v in pool]


def _thin_background(places: dict[Any, tuple[float, float]], chosen: set[Any]) -> list[list[float]]:
    background = [place for node, place in places.items() if node not in chosen]
    step = max(1, -(-len(background) // MOST_BACKGROUND))
    return [[round(longitude, 3), round(latitude, 3)] for latitude, longitude in background[::step]]


def _pack_point(
    result: DenseSubgraphResult, group: _Group, numbers: dict[int, int], model: IntegerGraph | None, drawn: set[int]
) -> dict[str, Any]:
    shown = [v for v in group.vertices[:MOST_DRAWN] if v in drawn]
    edges = [] if model is None else heaviest_edges(model, shown)
    proof = result.certificate
    return {
        "k": result.k,
        "density": round_digits(result.density),
        "edgeDensity": round_digits(result.edge_density),
        "upper": None if proof is None else round_digits(proof.upper_bound),
        "gap": None if proof is None else round_digits(proof.relative_gap),
        "optimal": proof is not None and proof.optimal,
        "members": [numbers[v] for v in group.vertices],
        "inside": group.inside,
        "edges": [[numbers[a], numbers[b], round_digits(weight)] for a, b, weight in edges],
        "says": subgraph_sentence(result),
    }


def _word_question(results: list[DenseSubgraphResult]) -> str:
    n = results[0].indicator.size
    if len(results) == 1:
        return f"Which {results[0].k:,} of the {n:,} vertices are most tightly connected among themselves?"
    ks = [result.k for result in results]
    if len(set(ks)) == 1:
        return f"Which {len(ks)} separate groups of {ks[0]:,} of the {n:,} vertices are most tightly connected?"
    return (
        f"Which k of the {n:,} vertices are most tightly connected among themselves, for {len(set(ks))} values of k "
        f"from {min(ks):,} to {max(ks):,}?"
    )


def _describe_group(result: DenseSubgraphResult, group: _Group) -> dict[str, str]:
    return {
        "name": f"k = {result.k:,}",
        "headline": f"{count_noun(result.k, 'member')}, density {result.density:.5g} (average weight of a member to "
        f"the others), average weight of a pair {result.edge_density:.4g}{_describe_parts(result)}",
        "members": list_names([str(label) for label in group.labels]),
        "proof": subgraph_sentence(result),
        "note": _note_unused(result.settings),
        "overlap": "",
    }


def _describe_parts(result: DenseSubgraphResult) -> str:
    """Whether the group is in one piece, where that is known."""
    if result.connected_parts is None:
        return ""
    if result.connected_parts == 1:
        return "; connected"
    return f"; falls into {result.connected_parts:,} connected parts"


def _note_unused(settings: Mapping[str, Any]) -> str:
    unused = settings.get("unused_attributes")
    return (
        "" if not unused else f"Every edge counts 1: the numbers that edges carry as {list_names(unused)} are not used."
    )


def _build_table(result: DenseSubgraphResult, group: _Group) -> dict[str, Any]:
    """The members as text, for readers without script."""
    inside = group.inside
    rows = [
        (str(label), [] if inside is None else [f"{inside[i]:.6g}"])
        for i, label in enumerate(group.labels[:TABLE_ROWS])
    ]
    return {"heads": [] if inside is None else ["weight to the others"], "rows": rows}
