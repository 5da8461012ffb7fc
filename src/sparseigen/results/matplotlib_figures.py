"""The pictures of `figures`, drawn by matplotlib into axes of the caller's or new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

BLUE, ORANGE, GREY = "#0a62b8", "#b8500a", "#57606c"
COLOURS = LinearSegmentedColormap.from_list("loadings", [ORANGE, "#f2f3f5", BLUE])
MOST_LABELS = 25
"""Vertices up to which a drawing shows their names."""


def bars(ax: Any, *, names: list[str], values: list[float], flags: list[bool], title: str, axis: str) -> Any:
    """Horizontal bars, the first on top."""
    ax = _open(ax, (6.4, 1.2 + 0.22 * max(3, len(names))))
    ax.barh(range(len(names)), values, color=[BLUE if flag else ORANGE for flag in flags])
    ax.set_yticks(range(len(names)), list(map(plain_text, names)))
    ax.invert_yaxis()
    ax.set_xlabel(axis)
    ax.set_title(plain_text(title))
    return ax


def curve(
    ax: Any,
    *,
    k: Sequence[int],
    values: Sequence[float],
    limits: Sequence[float] | None,
    titles: tuple[str, str],
    reference: float | None,
    chosen: int | None,
) -> Any:
    """Values against k, with the band up to the proven limits."""
    ax = _open(ax, (6.4, 4.0))
    if limits is not None:
        ax.fill_between(k, values, limits, color=BLUE, alpha=0.16, linewidth=0.0)
        ax.plot(k, limits, ":", color=ORANGE, label="proven limit")
    ax.plot(k, values, "o-" if len(k) <= 40 else "-", color=BLUE, markersize=3.0, label="found")
    if reference is not None:
        ax.axhline(reference, color=GREY, linestyle="--", linewidth=1.0, label="without limit on k")
    if chosen is not None:
        ax.plot([chosen], [values[list(k).index(chosen)]], "D", color=ORANGE, label=f"k = {chosen}")
    ax.set_xlabel(titles[0])
    ax.set_ylabel(titles[1])
    ax.legend(frameon=False)
    return ax


def heat_map(ax: Any, *, names: list[str], columns: list[str], table: NDArray[np.float64], title: str) -> Any:
    """Colours of a table, rows from the top."""
    ax = _open(ax, (1.5 + 0.7 * len(columns), 1.2 + 0.22 * max(3, len(names))))
    most = float(np.abs(table).max(initial=0.0)) or 1.0
    shown = ax.imshow(np.where(table == 0.0, np.nan, table), cmap=COLOURS, vmin=-most, vmax=most, aspect="auto")
    ax.set_xticks(range(len(columns)), list(map(plain_text, columns)))
    ax.set_yticks(range(len(names)), list(map(plain_text, names)))
    ax.set_title(plain_text(title))
    ax.figure.colorbar(shown, ax=ax, label="loading")
    return ax


def points(
    ax: Any,
    *,
    places: NDArray[np.float64],
    groups: Mapping[str, Sequence[int]],
    titles: tuple[str, str],
    arrows: Mapping[str, Sequence[float]],
) -> Any:
    """A scatter plot, with named arrows."""
    ax = _open(ax, (6.0, 5.0))
    colours = plt.get_cmap("tab20").colors
    for number, (name, members) in enumerate(groups.items()):
        x, y = places[list(members)].T
        marker = "os^Dv"[number // len(colours) % 5]
        ax.scatter(x, y, s=14.0, color=colours[number % len(colours)], marker=marker, label=plain_text(name))
    for name, (x, y) in arrows.items():
        ax.annotate("", (x, y), (0.0, 0.0), arrowprops={"arrowstyle": "->", "color": GREY})
        ax.text(1.06 * x, 1.06 * y, plain_text(name), ha="center", va="center", fontsize=8)
    ax.set_xlabel(titles[0])
    ax.set_ylabel(titles[1])
    if len(groups) > 1:
        ax.legend(frameon=False, fontsize=8)
    return ax


def network(
    ax: Any, *, places: NDArray[np.float64], names: list[str], lines: Sequence[tuple[int, int, float]], title: str
) -> Any:
    """Lines and dots."""
    ax = _open(ax, (6.0, 6.0))
    segments = [places[[a, b]] for a, b, _ in lines]
    ax.add_collection(LineCollection(segments, linewidths=[w for _, _, w in lines], colors=BLUE, alpha=0.4, zorder=1))
    ax.scatter(places[:, 0], places[:, 1], s=45.0, color=BLUE, edgecolors="white", zorder=2)
    if len(names) <= MOST_LABELS:
        for (x, y), name in zip(places, names, strict=True):
            ax.annotate(plain_text(name), (x, y), (0, 6), textcoords="offset points", ha="center", fontsize=8)
    ax.set_title(plain_text(title))
    ax.set_axis_off()
    return ax


def plain_text(name: str) -> str:
    r"""A name as matplotlib shows it: between two dollar signs it would read formulas.

    Examples
    --------
    >>> print(plain_text("US$ per $"))
    US\$ per \$
    """
    return name.replace("$", r"\$")


def _open(ax: Any, size: tuple[float, float]) -> Any:
    """The caller's axes, or new ones of this size in inches."""
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
