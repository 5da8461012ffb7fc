"""Answers as pictures: one description of each, drawn by plotly or by matplotlib.

``plot(ax=...)`` draws into axes of matplotlib; without axes plotly draws where it is installed, matplotlib where it is
not. A new picture is a function here that calls `draw`, and one of the same name in either drawing module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.config import is_installed, require
from sparseigen.errors import OptionError, one_of

ENGINES = {"plotly": "plotly_figures", "matplotlib": "matplotlib_figures"}
"""Name of an engine -> the module of this package that draws with it."""
NEEDS = {"plotly": "plotly.graph_objects", "matplotlib": "matplotlib.pyplot"}
MOST_BARS = 40


def draw(picture: str, *, ax: Any, engine: str | None, purpose: str, **facts: Any) -> Any:
    """One picture: a plotly figure, or the axes of matplotlib that it was drawn into."""
    if engine is None:
        engine = "matplotlib" if ax is not None or not is_installed("plotly") else "plotly"
    if engine not in ENGINES:
        message = f"engine={engine!r} is not known. Allowed: {one_of(ENGINES)}."
        raise OptionError(message, parameter="engine")
    if ax is not None and engine != "matplotlib":
        message = f"ax= takes axes of matplotlib, engine={engine!r} has none. Leave out one of them."
        raise OptionError(message, parameter="ax")
    require(NEEDS[engine], purpose=purpose)
    module = import_module(f"sparseigen.results.{ENGINES[engine]}")
    return getattr(module, picture)(**facts) if engine == "plotly" else getattr(module, picture)(ax, **facts)


def draw_bars(
    names: Sequence[str],
    values: Sequence[float],
    *,
    title: str,
    axis: str,
    purpose: str,
    marked: Sequence[bool] | None = None,
    ax: Any = None,
    engine: str | None = None,
) -> Any:
    """Horizontal bars, the first on top; at most MOST_BARS of them. Without marks, colours tell the sign."""
    kept = min(len(names), MOST_BARS)
    more = f" (the {kept} largest of {len(names)})" if len(names) > kept else ""
    flags = [value >= 0 for value in values] if marked is None else list(marked)
    facts = {
        "names": list(names[:kept]),
        "values": [float(value) for value in values[:kept]],
        "flags": flags[:kept],
        "title": title + more,
        "axis": axis,
    }
    return draw("bars", ax=ax, engine=engine, purpose=purpose, **facts)


def draw_curve(
    k: Sequence[int],
    values: Sequence[float],
    limits: Sequence[float] | None,
    *,
    titles: tuple[str, str],
    purpose: str,
    reference: float | None = None,
    chosen: int | None = None,
    ax: Any = None,
    engine: str | None = None,
) -> Any:
    """Values against k, the band up to the proven limits, a reference line, and one k marked."""
    facts = {"k": k, "values": values, "limits": limits, "titles": titles, "reference": reference, "chosen": chosen}
    return draw("curve", ax=ax, engine=engine, purpose=purpose, **facts)


def draw_heat_map(
    names: Sequence[str],
    columns: Sequence[str],
    table: NDArray[np.float64],
    *,
    title: str,
    purpose: str,
    ax: Any = None,
    engine: str | None = None,
) -> Any:
    """A table of loadings by colour: one row per name, zeros left empty."""
    facts = {"names": list(names), "columns": list(columns), "table": table, "title": title}
    return draw("heat_map", ax=ax, engine=engine, purpose=purpose, **facts)


def draw_points(
    places: NDArray[np.float64],
    groups: Mapping[str, Sequence[int]],
    *,
    titles: tuple[str, str],
    purpose: str,
    arrows: Mapping[str, Sequence[float]] | None = None,
    ax: Any = None,
    engine: str | None = None,
) -> Any:
    """Points in the plane by group, and arrows from the origin with their names."""
    facts = {"places": places, "groups": groups, "titles": titles, "arrows": arrows or {}}
    return draw("points", ax=ax, engine=engine, purpose=purpose, **facts)


def draw_network(
    places: NDArray[np.float64],
    names: Sequence[str],
    edges: Sequence[tuple[int, int, float]],
    *,
    title: str,
    purpose: str,
    ax: Any = None,
    engine: str | None = None,
) -> Any:
    """Vertices at their places, lines between them as wide as their weight."""
    heaviest = max((weight for _, _, weight in edges), default=1.0) or 1.0
    lines = [(a, b, 0.5 + 3.5 * weight / heaviest) for a, b, weight in edges]
    facts = {"places": places, "names": list(names), "lines": lines, "title": title}
    return draw("network", ax=ax, engine=engine, purpose=purpose, **facts)
