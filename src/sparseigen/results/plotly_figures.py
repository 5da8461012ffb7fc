"""The pictures of `figures`, drawn by plotly."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as graphs
from numpy.typing import NDArray

BLUE, ORANGE, GREY, BAND = "#0a62b8", "#b8500a", "#57606c", "rgba(10, 98, 184, 0.16)"


def plotly_text(name: str) -> str:
    """A name as plotly shows it: plotly reads a little HTML in its labels.

    Examples
    --------
    >>> plotly_text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(name, quote=False)


def bars(*, names: list[str], values: list[float], flags: list[bool], title: str, axis: str) -> Any:
    """Horizontal bars, the first on top."""
    figure = _figure()
    shown = [plotly_text(name) for name in names][::-1]
    figure.add_bar(
        x=values[::-1],
        y=list(range(len(shown))),
        orientation="h",
        marker_color=[BLUE if flag else ORANGE for flag in flags][::-1],
        hovertext=[f"{name}<br>{axis} {value:.5g}" for name, value in zip(shown, values[::-1], strict=True)],
        hoverinfo="text",
    )
    figure.update_layout(
        title=title,
        xaxis_title=axis,
        yaxis={"tickvals": list(range(len(shown))), "ticktext": shown, "automargin": True},
        height=130 + 20 * max(3, len(shown)),
    )
    return figure


def curve(
    *,
    k: Sequence[int],
    values: Sequence[float],
    limits: Sequence[float] | None,
    titles: tuple[str, str],
    reference: float | None,
    chosen: int | None,
) -> Any:
    """Values against k, with the band up to the proven limits."""
    figure = _figure()
    if limits is not None:
        figure.add_scatter(x=k, y=limits, name="proven limit", mode="lines", line={"dash": "dot", "color": ORANGE})
    figure.add_scatter(
        x=k,
        y=values,
        name="found",
        mode="lines+markers" if len(k) <= 40 else "lines",
        line={"color": BLUE},
        fill=None if limits is None else "tonexty",
        fillcolor=BAND,
    )
    if reference is not None:
        line = {"dash": "dash", "color": GREY, "width": 1}
        figure.add_scatter(x=[k[0], k[-1]], y=[reference] * 2, name="without limit on k", mode="lines", line=line)
    if chosen is not None:
        marker = {"symbol": "diamond", "size": 12, "color": ORANGE}
        at = list(k).index(chosen)
        figure.add_scatter(x=[chosen], y=[values[at]], name=f"k = {chosen}", mode="markers", marker=marker)
    figure.update_layout(xaxis_title=titles[0], yaxis_title=titles[1], hovermode="x unified")
    return figure


def heat_map(*, names: list[str], columns: list[str], table: NDArray[np.float64], title: str) -> Any:
    """Colours of a table, rows from the top."""
    most = float(np.abs(table).max(initial=0.0)) or 1.0
    figure = _figure()
    figure.add_heatmap(
        z=np.where(table == 0.0, np.nan, table)[::-1],
        zmin=-most,
        zmax=most,
        colorscale=[[0.0, ORANGE], [0.5, "#f2f3f5"], [1.0, BLUE]],
        hoverongaps=False,
    )
    figure.update_layout(
        title=title,
        xaxis={"tickvals": list(range(len(columns))), "ticktext": list(map(plotly_text, columns))},
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": [plotly_text(name) for name in names][::-1],
            "automargin": True,
        },
        height=130 + 20 * max(3, len(names)),
    )
    return figure


def points(
    *,
    places: NDArray[np.float64],
    groups: Mapping[str, Sequence[int]],
    titles: tuple[str, str],
    arrows: Mapping[str, Sequence[float]],
) -> Any:
    """A scatter plot, with named arrows."""
    figure = _figure()
    for name, members in groups.items():
        x, y = places[list(members)].T
        figure.add_scatter(x=x, y=y, mode="markers", name=plotly_text(name))
    for name, (x, y) in arrows.items():
        figure.add_annotation(x=x, y=y, ax=0, ay=0, axref="x", ayref="y", showarrow=True, arrowcolor=GREY, text="")
        figure.add_annotation(x=1.06 * x, y=1.06 * y, showarrow=False, text=plotly_text(name))
    figure.update_layout(xaxis_title=titles[0], yaxis_title=titles[1], showlegend=len(groups) > 1)
    return figure


def network(
    *, places: NDArray[np.float64], names: list[str], lines: Sequence[tuple[int, int, float]], title: str
) -> Any:
    """Lines and dots."""
    figure = _figure()
    for a, b, width in lines:
        x, y = places[[a, b]].T
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"width": width, "color": BLUE},
            opacity=0.4,
            hoverinfo="skip",
            showlegend=False,
        )
    figure.add_scatter(
        x=places[:, 0],
        y=places[:, 1],
        mode="markers+text" if len(names) <= 25 else "markers",
        text=[plotly_text(name) for name in names],
        hoverinfo="text",
        textposition="top center",
        marker={"size": 11, "color": BLUE, "line": {"width": 1, "color": "white"}},
        showlegend=False,
    )
    figure.update_layout(title=title, xaxis={"visible": False}, yaxis={"visible": False})
    return figure


def _figure() -> Any:
    return graphs.Figure(layout={"template": "plotly_white"})
