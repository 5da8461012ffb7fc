"""Table 6 and Figure 2: the four web graphs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.paper import curves
from benchmarks.paper.datasets import stand_ins, web_graphs
from benchmarks.paper.drawing import web_figure
from benchmarks.paper.pieces import Figure, Outcome, Piece, Settings
from benchmarks.paper.solvers.graphs import GRAPH_SOLVERS, Prepared, prepare

ALGORITHMS = {"tpower": "tpower", "greedy-ravi": "greedy_ravi", "greedy-feige": "greedy_feige"}
"""Our solver -> the authors' name of the algorithm."""
CURVES = (*ALGORITHMS, "greedy-ravi-k", "default")
SLOW = {"hollywood-2009": 1, "ljournal-2008": 1}
"""Stand-ins where a run is long enough to be timed once."""
TIMED = ("tpower", "greedy-feige", "greedy-ravi-k")


def sizes_of(name: str, settings: Settings, block: int) -> dict[str, int]:
    matrix = web_graphs.read(name).matrix
    return {"nodes": int(matrix.shape[0]), "arcs": int(matrix.nnz), "loops": int(np.count_nonzero(matrix.diagonal()))}


def score_sizes(settings: Settings, raws: list[dict[str, int]]) -> Outcome:
    outcome, raw = Outcome(), raws[0]
    outcome.add("nodes", raw["nodes"])
    outcome.add("arcs", raw["arcs"], detail=f"{raw['loops']:,} of them are self-loops.")
    outcome.add("average degree", raw["arcs"] / raw["nodes"])
    return outcome


def curve(name: str, solver: str, settings: Settings, block: int) -> curves.Points:
    return curves.points(prepare(web_graphs.load(name)), solver, web_graphs.SIZES)


def score_curve(name: str, solver: str, settings: Settings, raws: list[curves.Points]) -> Outcome:
    authors = web_graphs.authors_curves(name)
    if solver in ALGORITHMS:
        density, seconds = zip(*authors[ALGORITHMS[solver]], strict=True)
        return curves.score(raws[0], list(density), list(seconds))
    rivals = zip(authors["tpower"], authors["greedy_feige"], authors["greedy_ravi"], strict=True)
    return curves.score(raws[0], [max(point[0] for point in points) for points in rivals])


MORE = ("greedy-ravi-k", "tpower-relaxed", "tpower-from-feige", "tpower-from-ravi")


def together(name: str, settings: Settings, block: int) -> dict[str, curves.Points]:
    """All algorithms in one run, for sentences that compare them; the further ones only on the small graph."""
    prepared = prepare(web_graphs.load(name))
    matrix = prepared.matrix()
    found = {solver: curves.points(prepared, solver, web_graphs.SIZES, matrix=matrix) for solver in ALGORITHMS}
    for solver in MORE if name == "cnr-2000" else ():
        found[solver] = curves.points(prepared, solver, web_graphs.SIZES, matrix=matrix, repeats=1)
    return found


def score_together(settings: Settings, raws: list[dict[str, curves.Points]]) -> Outcome:
    outcome = Outcome()
    curves.compare(outcome, raws[0])
    curves.add_table(outcome, "densities-and-seconds", raws[0])
    return outcome


def authors_arrays(settings: Settings, block: int) -> None:
    """Nothing is run: the arrays are read when they are scored."""


def score_arrays(name: str, settings: Settings, raws: list[Any]) -> Outcome:
    """What the authors' own arrays say of their sentences."""
    authors, outcome = web_graphs.authors_curves(name), Outcome()
    found = {
        ours: [
            {"k": k, "density": density, "seconds": seconds}
            for k, (density, seconds) in zip(web_graphs.SIZES, authors[theirs], strict=True)
        ]
        for ours, theirs in ALGORITHMS.items()
    }
    curves.compare(outcome, found)
    curves.add_table(outcome, "authors-arrays", found)
    return outcome


def stand_in(name: str, settings: Settings, block: int) -> dict[str, list[float]]:
    """Seconds of the three algorithms on a synthetic graph of the same size."""
    prepared = Prepared(None, stand_ins.draw(name, settings.seed))
    repeats = SLOW.get(name, 3)
    found = {solver: GRAPH_SOLVERS[solver].find(prepared, web_graphs.SIZES, repeats) for solver in TIMED}
    sizes = {"nodes": prepared.graph.size, "arcs": len(prepared.graph.rows.neighbours)}
    return {"sizes": sizes, **{solver: [one.seconds for one in answers.values()] for solver, answers in found.items()}}


def score_stand_in(name: str, settings: Settings, raws: list[dict[str, Any]]) -> Outcome:
    outcome, raw = Outcome(), raws[0]
    for solver in TIMED:
        seconds = raw[solver]
        outcome.add(
            f"{solver} seconds", f"at most {max(seconds):.3g} s (synthetic stand-in of the same size, speed only)"
        )
    header = ["k", *(f"{GRAPH_SOLVERS[solver].label}: seconds" for solver in TIMED)]
    columns = [raw[solver] for solver in TIMED]
    for theirs, points in _known_curves(name).items():
        header.append(f"{theirs}: the authors on the real graph, 2011")
        columns.append([seconds for _, seconds in points])
    rows = [[k, *(float(f"{column[i]:.4g}") for column in columns)] for i, k in enumerate(web_graphs.SIZES)]
    outcome.table("stand-in-seconds", header, rows)
    return outcome


def _known_curves(name: str) -> dict[str, list[tuple[float, float]]]:
    """The authors' curves, or none: a stand-in needs no data."""
    try:
        return web_graphs.authors_curves(name)
    except FileNotFoundError:
        return {}


def _pieces() -> list[Piece]:
    made = []
    for name in web_graphs.GRAPHS:
        files = web_graphs.files(name)
        known = (*files, web_graphs.AUTHORS_CURVES)
        made.append(Piece("T6", name, "file", partial(sizes_of, name), score_sizes, files=files))
        for solver in CURVES:
            run, score = partial(curve, name, solver), partial(score_curve, name, solver)
            made.append(Piece("F2", name, solver, run, score, files=known, timed=solver != "greedy-ravi-k"))
        run, score = authors_arrays, partial(score_arrays, name)
        made.append(Piece("F2", name, "authors-arrays", run, score, files=(web_graphs.AUTHORS_CURVES,)))
        made.append(Piece("F2", name, "together", partial(together, name), score_together, files=files, timed=True))
    for name in stand_ins.STAND_INS:
        run, score = partial(stand_in, name), partial(score_stand_in, name)
        made.append(Piece("F2", f"stand-in-{name}", "three", run, score, timed=True))
    return made


PIECES = _pieces()
FIGURES = [
    Figure(
        "F2",
        "F2",
        "Figure 2, cnr-2000: density and seconds against k. Crosses: the authors' arrays; lines: ours, with our "
        "default (its seconds: the whole certified curve over 12) and the proven upper bound.",
        tuple(f"F2/cnr-2000/{solver}" for solver in (*ALGORITHMS, "default")),
        web_figure,
    ),
]
