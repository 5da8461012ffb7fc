"""Figures 2 and 3, from the tables of outcomes. matplotlib is imported where it is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.paper.datasets import airline, stand_ins
from benchmarks.paper.pieces import Outcome

COLOURS = {"tpower": "#0072b2", "greedy-ravi": "#d55e00", "greedy-feige": "#009e73", "default": "#111111"}
LABELS = {"tpower": "TPower-DkS", "greedy-ravi": "Greedy-Ravi", "greedy-feige": "Greedy-Feige", "default": "default"}
SETS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")


def _columns(outcome: Outcome, table: str = "points") -> dict[str, np.ndarray]:
    content = outcome.tables[table]
    return dict(zip(content["header"], np.array(content["rows"], dtype=float).T, strict=True))


def _curves(outcomes: dict[str, Outcome], seconds_of_authors: bool) -> Any:
    """Density on the left, seconds on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for piece, outcome in outcomes.items():
        solver = piece.split("/")[-1]
        points, colour = _columns(outcome), COLOURS[solver]
        left.plot(points["k"], points["density"], color=colour, label=LABELS[solver], linewidth=1.5)
        if solver == "default":
            bound = points["proven upper bound"]
            left.plot(points["k"], bound, color=colour, linestyle=":", linewidth=1.2, label="upper bound")
            right.plot(points["k"], points["seconds"], color=colour, linewidth=1.5)
            continue
        left.plot(points["k"], points["authors' density"], "x", color=colour, markersize=5)
        right.plot(points["k"], points["seconds"], color=colour, linewidth=1.5)
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
    return figure


def web_figure(outcomes: dict[str, Outcome]) -> Any:
    return _curves(outcomes, seconds_of_authors=True)


def airline_figure(outcomes: dict[str, Outcome]) -> Any:
    figure = _curves(outcomes, seconds_of_authors=False)
    # At small k the bound lies far above all curves and would flatten them.
    figure.axes[0].set_ylim(0, 1)
    return figure


def web_seconds_figure(outcomes: dict[str, Outcome]) -> Any:
    """One panel for each graph that is not here."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.8), layout="constrained")
    for axis, name in zip(figure.subplots(1, 3, sharey=True), stand_ins.STAND_INS, strict=True):
        theirs = outcomes.get(f"F2/{name}/authors-arrays")
        ours = outcomes.get(f"F2/stand-in-{name}/three")
        for marker, line, outcome, table in (
            ("x", "none", theirs, "authors-arrays"),
            ("none", "-", ours, "stand-in-seconds"),
        ):
            columns = _columns(outcome, table) if outcome is not None else {}
            for header, values in columns.items():
                for solver in ("tpower", "greedy-ravi", "greedy-feige"):
                    if header.startswith(LABELS[solver]) and header.endswith("seconds"):
                        style = {"linestyle": line, "marker": marker, "markersize": 5, "color": COLOURS[solver]}
                        axis.plot(columns["k"], values, **style)
        axis.set_yscale("log")
        axis.set_title(f"{name}: seconds", fontsize=10)
        axis.set_xlabel("k")
        axis.spines[["top", "right"]].set_visible(False)
    first = figure.axes[0]
    first.set_ylabel("CPU seconds for one k")
    for solver in ("tpower", "greedy-ravi", "greedy-feige"):
        first.plot([], [], color=COLOURS[solver], label=LABELS[solver])
    first.plot([], [], "x", color="0.4", label="authors, real graph, 2011")
    first.plot([], [], color="0.4", label="ours, synthetic stand-in")
    first.legend(fontsize=7, frameon=False)
    return figure


def airline_maps(outcomes: dict[str, Outcome]) -> Any:
    """Above, the first set of each solver; below, all six."""
    from matplotlib.figure import Figure

    names, latitude, longitude = airline.cities()
    figure = Figure(figsize=(13, 5.4), layout="constrained")
    axes = figure.subplots(2, len(outcomes), sharex=True, sharey=True, squeeze=False)
    for i, (piece, outcome) in enumerate(outcomes.items()):
        solver = piece.split("/")[-1]
        sets = [row[1] for row in outcome.tables["six-sets-numbers"]["rows"]]
        total, centre = outcome.measures["six total"]["value"], outcome.measures["centre"]["value"]
        first, six = axes[0, i], axes[1, i]
        for axis in (first, six):
            axis.scatter(longitude, latitude, s=4, color="0.83", linewidths=0, rasterized=True)
        first.scatter(longitude[sets[0]], latitude[sets[0]], s=14, color=COLOURS[solver], linewidths=0)
        middle = next(v for v in sets[0] if names[v].split(",")[0] == centre)
        first.scatter(longitude[middle], latitude[middle], s=60, color="#d62728", edgecolors="white", zorder=3)
        first.set_title(f"{LABELS[solver]}: centre {centre}", fontsize=10)
        for number, (chosen, colour) in enumerate(zip(sets, SETS, strict=True), start=1):
            six.scatter(longitude[chosen], latitude[chosen], s=12, color=colour, linewidths=0, label=str(number))
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
    return figure


def main() -> None:
    """`python -m benchmarks.paper.drawing`: the map of the README, from a run of its four rows."""
    from benchmarks.paper import store
    from benchmarks.paper.parts import all_figures, all_pieces
    from benchmarks.paper.pieces import Settings
    from benchmarks.paper.runner import run

    figure = next(one for one in all_figures() if one.name == "F3-maps")
    pieces = all_pieces()
    outcomes = run({name: pieces[name] for name in figure.pieces}, Settings()).outcomes
    picture = store.ROOT / "docs" / "images" / "airline_map.png"
    figure.draw({name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Outcome)}).savefig(
        picture, dpi=90
    )
    print(f"drawn: {picture.relative_to(store.ROOT)}")


if __name__ == "__main__":
    main()
