"""Figure 1: explained variance against cardinality on two gene data sets, k = 1..500."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

import numpy as np

import sparseigen as se
from benchmarks.paper import objective
from benchmarks.paper.datasets import genes
from benchmarks.paper.pieces import Figure, Outcome, Piece, Settings
from sparseigen.errors import ConvergenceWarning

BLOCKS = 10
OPTIMAL = 1e-4
"""Relative gap at which PathSPCA's authors call a solution optimal, and a bound met."""
EQUAL = {"tpower": 1e-6, "pathspca": 1e-9, "bound": OPTIMAL}
"""Relative difference up to which a point of a curve agrees."""
ALIKE = 0.01
"""Relative difference up to which two curves count as almost identical at a point."""
STARTS = {"colon": "max-variance", "lymphoma": "top-k-variance"}
"""The start that gives the authors' array: the paper's first choice on colon, its alternative on lymphoma."""
STOPS = {"tpower": 1e-5, "tpower-1e-4": 1e-4}
"""Change of the objective at which each run stops; at most 500 steps, as in the authors' scripts."""


def cardinalities(block: int) -> range:
    return range(1 + block * 50, 51 + block * 50)


def truncated_power(name: str, solver: str, start: str, settings: Settings, block: int) -> list[list[Any]]:
    """For each k: support and weights of Algorithm 1, started anew."""
    matrix = genes.covariance(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the authors stop after 500 steps too
        return [_sparse(_algorithm_1(matrix, k, start, STOPS[solver])) for k in cardinalities(block)]


def _algorithm_1(matrix: np.ndarray, cardinality: int, start: str, atol: float) -> np.ndarray:
    options = {"start": start, "polish": None, "rtol": 0.0, "atol": atol, "max_iterations": 500}
    return se.sparse_eigenvector(matrix, cardinality, certify=False, **options).vector


def greedy(name: str, settings: Settings, block: int) -> list[list[Any]]:
    path = se.cardinality_path(genes.covariance(name), range(1, 501), method="pathspca", certify=False)
    return [_sparse(result.vector) for result in path]


def default(name: str, settings: Settings, block: int) -> list[list[Any]]:
    """For each k: our default answer, and the upper bound of its certificate."""
    matrix, rows = genes.covariance(name), []
    for k in cardinalities(block):
        result = se.sparse_eigenvector(matrix, k)
        rows.append([*_sparse(result.vector), result.certificate.upper_bound])
    return rows


def _sparse(vector: np.ndarray) -> list[Any]:
    support = np.flatnonzero(vector)
    return [support.tolist(), vector[support].tolist()]


def shares(name: str, raws: list[list[list[Any]]]) -> np.ndarray:
    """x'Ax over the trace at k = 1..500, from the vectors."""
    matrix = genes.covariance(name)
    values = []
    for k, (support, weights, *_) in enumerate((row for raw in raws for row in raw), start=1):
        vector = np.zeros(genes.SIZE)
        vector[support] = weights
        values.append(objective.plain_share(matrix, objective.checked(vector, [k])))
    return np.array(values)


def _missed(ours: np.ndarray, theirs: np.ndarray, relative: float) -> str:
    off = np.flatnonzero(np.abs(ours - theirs) > relative * theirs)
    if not off.size:
        return f"Largest relative difference {np.abs(ours / theirs - 1.0).max():.0e}."
    shown = ", ".join(str(k + 1) for k in off[:5]) + (", ..." if off.size > 5 else "")
    lowest, highest = (ours / theirs - 1.0)[off].min(), (ours / theirs - 1.0)[off].max()
    return f"Different at {off.size} k ({shown}), ours by {lowest:+.2%} to {highest:+.2%}."


def score_curve(name: str, solver: str, settings: Settings, raws: list[Any]) -> Outcome:
    outcome, curve, ours = Outcome(), genes.curve(name), shares(name, raws)
    kind = solver.split("-")[0]
    theirs = curve[f"{kind}_variance_share"]
    equal, better = objective.agreement(ours, theirs, relative=EQUAL[kind])
    outcome.add("curve", equal, of=len(theirs), better=better, detail=_missed(ours, theirs, EQUAL[kind]))
    alike = int((np.abs(ours / curve["pathspca_variance_share"] - 1.0) <= ALIKE).sum())
    outcome.add("alike", alike, detail="k at which the two differ by at most 1 %.")
    outcome.add("genes", len(genes.covariance(name)))
    rows = [[k + 1, float(ours[k]), float(theirs[k])] for k in range(len(ours))]
    outcome.table("points", ["k", f"{solver}, ours", "authors' array"], rows)
    return outcome


def score_default(name: str, settings: Settings, raws: list[Any]) -> Outcome:
    outcome, curve, ours = Outcome(), genes.curve(name), shares(name, raws)
    trace = float(np.trace(genes.covariance(name)))
    upper = np.array([row[2] for raw in raws for row in raw]) / trace
    best = np.maximum(curve["tpower_variance_share"], curve["pathspca_variance_share"])
    published = curve["pathspca_upper_bound_share"]
    gain = ours / best - 1.0
    outcome.add("below", int((gain < -1e-9).sum()), detail=f"Above both by more than 1e-9 at {(gain > 1e-9).sum()} k.")
    proven = int((upper <= ours * (1.0 + OPTIMAL)).sum())
    outcome.add("optimal", proven, detail="k at which our bound proves our answer optimal to 1e-4.")
    equal = np.abs(upper - published) <= EQUAL["bound"] * published
    broken = np.flatnonzero(published < best * (1.0 - 1e-9)) + 1
    tighter = int((~equal & (upper < published)).sum())
    looser = ~equal & (upper > published)
    detail = f"Tighter at {tighter} k, looser at {int(looser.sum())}"
    detail += f" by at most {(upper / published - 1.0)[looser].max():.2%}." if looser.any() else "."
    if broken.size:
        detail += f" The published bound lies below the published value at k = {broken[0]} to {broken[-1]}."
    outcome.add("bound", int(equal.sum()), of=len(upper), better=tighter, detail=detail)
    outcome.add("invalid", int((upper < best * (1.0 - 1e-12)).sum()), detail="k at which our bound is below a value.")
    columns = zip(ours, upper, best, published, strict=True)
    rows = [[k + 1, *map(float, row)] for k, row in enumerate(columns)]
    outcome.table("points", ["k", "default, ours", "our bound", "authors' best", "PathSPCA's bound"], rows)
    return outcome


def timed(name: str, settings: Settings, block: int) -> dict[str, float]:
    """Processor seconds of all threads for all 500 cardinalities, by each method."""
    matrix = genes.covariance(name)
    runs = {
        "tpower": lambda: [_algorithm_1(matrix, k, STARTS[name], 1e-4) for k in range(1, 501)],
        "pathspca": lambda: se.cardinality_path(matrix, range(1, 501), method="pathspca", certify=False),
        "default": lambda: se.cardinality_path(matrix, range(1, 501)),
    }
    taken = dict.fromkeys(runs, float("inf"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(2):
            for key, call in runs.items():
                began = time.process_time()
                call()
                taken[key] = min(taken[key], time.process_time() - began)
    return taken


def score_timed(settings: Settings, raws: list[dict[str, float]]) -> Outcome:
    outcome = Outcome()
    for key, seconds in raws[0].items():
        outcome.add(key, seconds, detail="All 500 cardinalities, the better of two runs.")
    slow, fast = max(raws[0]["tpower"], raws[0]["pathspca"]), min(raws[0]["tpower"], raws[0]["pathspca"])
    outcome.add("ratio", slow / fast, detail="Slower over faster of TPower and PathSPCA.")
    return outcome


def draw(outcomes: dict[str, Outcome]) -> Any:
    """One row per data set: the curves, and the same relative to our default answer."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(10, 8), layout="constrained")
    for name, (left, right) in zip(genes.NAMES, canvas.subplots(len(genes.NAMES), 2), strict=True):
        _draw_set(name, outcomes, left, 1.0)
        _draw_set(name, outcomes, right, _column(outcomes[f"F1/{name}/default"], 1))
        left.set_ylabel("share of variance")
        left.legend(fontsize=7)
        left.set_title(f"{name}: as in Figure 1", fontsize=10)
        right.set_ylabel("relative to our default")
        right.set_ylim(0.85, 1.16)
        right.set_title(f"{name}: the same, relative to our default answer", fontsize=10)
    return canvas


def _column(outcome: Outcome, number: int) -> np.ndarray:
    return np.array([row[number] for row in outcome.tables["points"]["rows"]])


def _draw_set(name: str, outcomes: dict[str, Outcome], axes: Any, scale: Any) -> None:
    default, tpower, pathspca = (outcomes[f"F1/{name}/{solver}"] for solver in ("default", "tpower", "pathspca"))
    k = _column(default, 0)
    axes.fill_between(k, _column(default, 1) / scale, _column(default, 2) / scale, alpha=0.25, color="tab:green",
                      label="ours: answer to proven bound", lw=0)  # fmt: skip
    axes.plot(k, _column(default, 4) / scale, color="black", lw=0.8, ls="--", label="authors: PathSPCA's bound")
    axes.plot(k, _column(tpower, 2) / scale, color="tab:red", lw=2.4, alpha=0.5, label="authors: TPower")
    axes.plot(k, _column(pathspca, 2) / scale, color="tab:blue", lw=1.6, ls=":", label="authors: PathSPCA")
    axes.plot(k, _column(tpower, 1) / scale, color="tab:red", lw=0.7, label="ours: TPower")
    axes.plot(k, _column(default, 1) / scale, color="tab:green", lw=0.9, label="ours: default")
    axes.set_xlabel("cardinality k")


def _pieces(name: str) -> list[Piece]:
    start, files = STARTS[name], genes.files(name)
    other = next(s for s in STARTS.values() if s != start)
    made = [
        Piece("F1", name, solver, partial(truncated_power, name, solver, start), partial(score_curve, name, solver),
              blocks=BLOCKS, files=files) for solver in STOPS
    ]  # fmt: skip
    made.append(
        Piece("F1", name, "tpower-other-start", partial(truncated_power, name, "tpower", other),
              partial(score_curve, name, "tpower-other-start"), blocks=BLOCKS, files=files)
    )  # fmt: skip
    made.append(
        Piece("F1", name, "pathspca", partial(greedy, name), partial(score_curve, name, "pathspca"), files=files)
    )
    made.append(
        Piece("F1", name, "default", partial(default, name), partial(score_default, name), blocks=BLOCKS, files=files)
    )
    made.append(Piece("F1", name, "seconds", partial(timed, name), score_timed, files=files, timed=True))
    return made


PIECES = [piece for name in genes.NAMES for piece in _pieces(name)]
FIGURES = [
    Figure(
        "F1",
        "F1",
        "Figure 1: the authors' arrays, ours, and what our certificates prove.",
        tuple(f"F1/{name}/{solver}" for name in genes.NAMES for solver in ("tpower", "pathspca", "default")),
        draw,
    )
]
