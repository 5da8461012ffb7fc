"""Curves of density against k: what a piece stores, and what is measured on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.paper import objective
from benchmarks.paper.pieces import Outcome
from benchmarks.paper.solvers.graphs import GRAPH_SOLVERS, REPEATS, Prepared

RELATIVE = 1e-9
"""Densities that differ by less are the same: the authors' arrays have at most 16 digits."""

CLOSED = 1e-6
"""A certificate whose relative gap is no larger leaves no room worth naming."""

Points = list[dict[str, Any]]


def points(
    prepared: Prepared, solver: str, sizes: Iterable[int], *, matrix: Any = None, repeats: int = REPEATS
) -> Points:
    """Solve every k and score the sets; the sets themselves are large and are not stored."""
    method = GRAPH_SOLVERS[solver]
    weights = prepared.matrix() if matrix is None else matrix
    found = []
    for k, answer in method.find(prepared, sizes, repeats).items():
        rising = all(later >= earlier for earlier, later in zip(answer.history, answer.history[1:], strict=False))
        found.append(
            {
                "k": k,
                "density": objective.density(weights, answer.vertices, k, extra=method.extra_vertices),
                "seconds": answer.seconds,
                "start": answer.history[0] / k if answer.history else None,
                "rising": rising,
                "shifts": answer.shifts,
                "upper_bound": answer.upper_bound,
            }
        )
    return found


def column(found: Points, name: str) -> list[Any]:
    return [point[name] for point in found]


def score(found: Points, authors: list[float] | None, seconds: list[float] | None = None) -> Outcome:
    """The measures of one curve beside the authors' arrays, and the table of its points."""
    outcome, count = Outcome(), len(found)
    densities, times = np.array(column(found, "density")), np.array(column(found, "seconds"))
    header, columns = ["k", "density", "seconds"], [column(found, "k"), densities, times]
    if authors is not None:
        equal, higher = objective.agreement(densities, authors, relative=RELATIVE)
        apart = float(np.max(np.abs(densities - authors) / np.abs(authors)))
        detail = f"Largest relative difference {apart:.1e}." if equal < count or apart else ""
        outcome.add("density", equal, of=count, better=higher, detail=detail)
        header, columns = [*header, "authors' density"], [*columns, np.array(authors)]
        for k, value in zip(column(found, "k"), densities, strict=True):
            outcome.add(f"density {k}", float(value))
    if seconds is not None:
        faster = int((times <= seconds).sum())
        detail = f"No slower at {faster} of {count} k; {times.sum():.3g} s against {sum(seconds):.4g} s for all."
        outcome.add("seconds", 0, of=count, better=faster, detail=detail)
        header, columns = [*header, "authors' seconds, 2011"], [*columns, np.array(seconds)]
    if found[0]["upper_bound"] is not None:
        bounds = np.array(column(found, "upper_bound"))
        header, columns = [*header, "proven upper bound"], [*columns, bounds]
        outcome.add("certificate", _certificate(densities, bounds, authors, times))
    _add_runs(outcome, found)
    rows = [[_rounded(value) for value in row] for row in zip(*columns, strict=True)]
    outcome.table("points", header, rows)
    return outcome


def _rounded(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(f"{value:.7g}")


def _certificate(densities: np.ndarray, bounds: np.ndarray, authors: list[float] | None, times: np.ndarray) -> str:
    count, gaps = len(densities), (bounds - densities) / bounds
    text = f"proven within {100 * gaps.max():.2g} % of the optimum (median {100 * np.median(gaps):.2g} %), "
    closed = int((gaps <= CLOSED).sum())
    text += f"closed at {closed} of {count} k; the whole curve {times.sum():.3g} s"
    if authors is None:
        return text
    equal, higher = objective.agreement(densities, authors, relative=RELATIVE)
    return f"denser at {higher} and equal at {equal} of {count} k; {text}"


def _add_runs(outcome: Outcome, found: Points) -> None:
    """What iterative methods say of their runs."""
    if found[0]["start"] is None:
        return
    count = len(found)
    shifts = sum(column(found, "shifts"))
    shifted = sum(value > 0 for value in column(found, "shifts"))
    detail = f"The shift was raised {shifts} times in {shifted} of the {count} runs."
    outcome.add("monotone", sum(column(found, "rising")), of=count, detail=detail)
    improved = [point["density"] >= point["start"] * (1 - RELATIVE) for point in found]
    gains = [point["density"] / point["start"] for point in found if point["start"]]
    detail = f"Density over that of the start: {min(gains):.3g} to {max(gains):.3g}."
    outcome.add("no worse than the start", sum(improved), of=count, detail=detail)


def add_table(outcome: Outcome, title: str, curves: dict[str, Points]) -> None:
    """Densities and seconds of several solvers side by side."""
    header = ["k", *(f"{GRAPH_SOLVERS[name].label}: {what}" for name in curves for what in ("density", "seconds"))]
    columns = [column(found, what) for found in curves.values() for what in ("density", "seconds")]
    sizes = column(next(iter(curves.values())), "k")
    rows = [[k, *(float(f"{values[i]:.6g}") for values in columns)] for i, k in enumerate(sizes)]
    outcome.table(title, header, rows)


def compare(outcome: Outcome, curves: dict[str, Points]) -> None:
    """Sentences that name several algorithms."""
    densities = {name: np.array(column(found, "density")) for name, found in curves.items()}
    _compare_densities(outcome, densities)
    _compare_seconds(outcome, {name: np.array(column(found, "seconds")) for name, found in curves.items()})
    count, tpower = len(densities["tpower"]), densities["tpower"]
    if "tpower-relaxed" in densities:
        ratios = densities["tpower-relaxed"] / tpower
        lower = int((ratios < 1 - RELATIVE).sum())
        detail = f"Lower at {lower} of {count} k; ratios {ratios.min():.3f} to {ratios.max():.3f}."
        outcome.add("relaxed over tpower", float(ratios.mean()), detail=detail)
    starts = [densities[name] for name in ("tpower-from-feige", "tpower-from-ravi") if name in densities]
    if starts:
        ratios = tpower / np.max(starts, axis=0)
        lower = int((ratios < 1 - RELATIVE).sum())
        detail = f"Lower than from the better of two greedy starts at {lower} of {count} k; lowest {ratios.min():.3f}."
        outcome.add("degree start over greedy starts", float(ratios.mean()), detail=detail)


def _compare_densities(outcome: Outcome, densities: dict[str, np.ndarray]) -> None:
    tpower, ravi, feige = (densities[name] for name in ("tpower", "greedy-ravi", "greedy-feige"))
    count, theirs = len(tpower), int((tpower > np.maximum(ravi, feige)).sum())
    outcome.add("tpower denser than theirs", theirs, of=count)
    if "greedy-ravi-k" in densities:
        exactly_k = int((tpower > np.maximum(densities["greedy-ravi-k"], feige)).sum())
        detail = f"Greedy-Ravi with k vertices; with the authors' k + 1 it is {theirs} of {count}."
        outcome.add("tpower denser", exactly_k, of=count, detail=detail)
    ratios = tpower / ravi
    detail = f"Ratios {ratios.min():.3f} to {ratios.max():.3f}."
    outcome.add("tpower over ravi", float(ratios.mean()), detail=detail)
    outcome.add("both above feige", int((np.minimum(tpower, ravi) > feige).sum()), of=count)


def _compare_seconds(outcome: Outcome, times: dict[str, np.ndarray]) -> None:
    for name, seconds in times.items():
        outcome.add(f"{name} seconds", float(seconds.max()), detail="The longest of all k.")
    sums = {name: float(seconds.sum()) for name, seconds in times.items()}
    last = {name: float(seconds[-1]) for name, seconds in times.items()}
    outcome.add("tpower over feige", sums["tpower"] / sums["greedy-feige"], detail="All k: " + _listed(sums))
    detail = "Largest k: " + _listed(last)
    if "greedy-ravi-k" in last:
        detail += f" Compiled, with k vertices, Greedy-Ravi takes {last['greedy-ravi-k']:.3g} s."
    outcome.add("ravi over others", last["greedy-ravi"] / max(last["tpower"], last["greedy-feige"]), detail=detail)
    outcome.add("ravi over tpower", last["greedy-ravi"] / last["tpower"], detail=detail)


def _listed(times: dict[str, float]) -> str:
    names = ("tpower", "greedy-feige", "greedy-ravi")
    return ", ".join(f"{GRAPH_SOLVERS[name].label} {times[name]:.3g} s" for name in names) + "."
