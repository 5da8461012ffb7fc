"""Figures 2 and 3, from the tables of outcomes, and figures as compact SVG. matplotlib is imported where it is used."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np

from benchmarks.paper.datasets import airline
from benchmarks.paper.pieces import Outcome

COLOURS = {"tpower": "#0072b2", "greedy-ravi": "#d55e00", "greedy-feige": "#009e73", "default": "#111111"}
LABELS = {"tpower": "TPower-DkS", "greedy-ravi": "Greedy-Ravi", "greedy-feige": "Greedy-Feige", "default": "default"}
SETS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")


def as_svg(canvas: Any) -> str:
    """A matplotlib figure as SVG, the same for the same data: one line per panel, coordinates to 0.01 points."""
    import matplotlib

    text = io.StringIO()
    same = {
        "svg.hashsalt": "sparseigen",
        "svg.fonttype": "none",
        "font.sans-serif": ["DejaVu Sans"],  # all fallbacks would be named in every label
        "path.simplify_threshold": 0.3,
    }
    with matplotlib.rc_context(same):
        canvas.savefig(text, format="svg", dpi=80, metadata={"Date": None, "Creator": None})
    drawing = text.getvalue()
    drawing = re.sub(r"\s*\n\s*", " ", drawing[drawing.index("<svg") :].strip())
    drawing = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", drawing)
    return drawing.replace('<g id="axes_', '\n<g id="axes_') + "\n"


def _columns(outcome: Outcome, table: str = "points") -> dict[str, np.ndarray]:
    content = outcome.tables[table]
    return dict(zip(content["header"], np.array(content["rows"], dtype=float).T, strict=True))


def _draw_curves(outcomes: dict[str, Outcome], left: Any, right: Any, *, seconds_of_authors: bool) -> None:
    """Density on the left, seconds on the right."""
    for piece, outcome in outcomes.items():
        solver = piece.split("/")[-1]
        points, colour = _columns(outcome), COLOURS[solver]
        left.plot(points["k"], points["density"], color=colour, label=LABELS[solver], linewidth=1.5)
        right.plot(points["k"], points["seconds"], color=colour, linewidth=1.5)
        if solver == "default":
            bound = points["proven upper bound"]
            left.plot(points["k"], bound, color=colour, linestyle=":", linewidth=1.2, label="upper bound")
            continue
        left.plot(points["k"], points["authors' density"], "x", color=colour, markersize=5)
        if seconds_of_authors:
            right.plot(points["k"], points["authors' seconds, 2011"], "x", color=colour, markersize=5)
    left.set_ylabel("density $\\pi^T W \\pi / k$")
    right.set_ylabel("CPU seconds for one k")
    right.set_yscale("log")
    left.set_ylim(bottom=0)
    left.plot([], [], "x", color="0.4", markersize=5, label="authors")
    left.legend(fontsize=8, frameon=False)
    for axis in (left, right):
        axis.set_xlabel("k")
        axis.spines[["top", "right"]].set_visible(False)


def web_figure(outcomes: dict[str, Outcome]) -> Any:
    """Figure 2, cnr-2000."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    _draw_curves(outcomes, *figure.subplots(1, 2), seconds_of_authors=True)
    return figure


def airline_figure(outcomes: dict[str, Outcome]) -> Any:
    """Figure 3: the curves, and below them the maps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 9.4), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(4, 5.4))
    left, right = above.subplots(1, 2)
    _draw_curves(outcomes, left, right, seconds_of_authors=False)
    # At small k the bound lies far above all curves and would flatten them.
    left.set_ylim(0, 1)
    _draw_maps(outcomes, below)
    return figure


def _draw_maps(outcomes: dict[str, Outcome], figure: Any) -> None:
    """Above, the first set of each solver; below, all six."""
    names, latitude, longitude = airline.cities()
    axes = figure.subplots(2, len(outcomes), sharex=True, sharey=True, squeeze=False)
    for i, (piece, outcome) in enumerate(outcomes.items()):
        solver = piece.split("/")[-1]
        sets = [row[1] for row in outcome.tables["six-sets-numbers"]["rows"]]
        total, centre = outcome.measures["six total"]["value"], outcome.measures["centre"]["value"]
        first, six = axes[0, i], axes[1, i]
        for axis in (first, six):
            axis.scatter(longitude, latitude, s=4, color="0.83", linewidths=0, rasterized=True)
        first.scatter(longitude[sets[0]], latitude[sets[0]], s=14, color=COLOURS[solver], linewidths=0, rasterized=True)
        middle = next(v for v in sets[0] if names[v].split(",")[0] == centre)
        first.scatter(
            longitude[middle], latitude[middle], s=60, color="#d62728", edgecolors="white", zorder=3, rasterized=True
        )
        first.set_title(f"{LABELS[solver]}: centre {centre}", fontsize=10)
        for number, (chosen, colour) in enumerate(zip(sets, SETS, strict=True), start=1):
            place = (longitude[chosen], latitude[chosen])
            six.scatter(*place, s=12, color=colour, linewidths=0, label=str(number), rasterized=True)
        six.set_title(f"six sets, total density {total:.3f}", fontsize=10)
        six.set_xlabel("longitude (degrees)", fontsize=8)
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, [f"set {label}" for label in labels], loc="outside lower center", ncol=6, frameon=False)
    for axis in axes.flat:
        axis.set_xlim(-131, -60)
        axis.set_ylim(23, 60)
        axis.set_aspect(1.25)
        axis.tick_params(labelsize=7)
        axis.spines[["top", "right"]].set_visible(False)
    for row in axes:
        row[0].set_ylabel("latitude (degrees)", fontsize=8)
