"""Answers as plotly figures: the pictures of the report pages, one at a time."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from sparseigen.config import require

BLUE, ORANGE, GREY, BAND = "#0a62b8", "#b8500a", "#57606c", "rgba(10, 98, 184, 0.16)"
MOST_BARS = 40


def plotly_text(name: str) -> str:
    """A name as plotly shows it: plotly reads a little HTML in its labels.

    Examples
    --------
    >>> plotly_text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(name, quote=False)


def loadings_figure(names: Sequence[str], loadings: Sequence[float], *, title: str) -> Any:
    """Horizontal bars, largest magnitude on top; at most MOST_BARS of them."""
    figure = _figure("SparseEigResult.plot()")
    kept = min(len(names), MOST_BARS)
    shown, values = [plotly_text(name) for name in names[:kept]][::-1], list(loadings[:kept])[::-1]
    figure.add_bar(
        x=values,
        y=list(range(kept)),
        orientation="h",
        marker_color=[ORANGE if value < 0 else BLUE for value in values],
        hovertext=[f"{name}<br>loading {value:.5g}" for name, value in zip(shown, values, strict=True)],
        hoverinfo="text",
    )
    more = f" (the {kept} largest of {len(names)})" if len(names) > kept else ""
    figure.update_layout(
        title=title + more,
        xaxis_title="loading",
        yaxis={"tickvals": list(range(kept)), "ticktext": shown, "automargin": True},
        height=130 + 20 * max(3, kept),
    )
    return figure


def bounded_curve(
    k: Sequence[int],
    values: Sequence[float],
    limits: Sequence[float] | None,
    *,
    purpose: str,
    titles: tuple[str, str],
    reference: float | None = None,
    chosen: int | None = None,
) -> Any:
    """Values against k, the band up to the proven limits, a reference line, and one k marked."""
    figure = _figure(purpose)
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


def _figure(purpose: str) -> Any:
    graphs: Any = require("plotly.graph_objects", purpose=purpose)
    return graphs.Figure(layout={"template": "plotly_white"})


def supports_figure(
    names: Sequence[str], heads: Sequence[str], loadings: Sequence[Sequence[float]], *, title: str
) -> Any:
    """Loadings of several components side by side: a row per variable, a column per component; empty where zero."""
    figure = _figure("ComponentSet.plot()")
    kept = min(len(names), MOST_BARS)
    shown = [plotly_text(name) for name in names[:kept]]
    values = [[value if value != 0.0 else None for value in row] for row in loadings[:kept]]
    figure.add_heatmap(
        z=values,
        x=list(range(len(heads))),
        y=list(range(kept)),
        colorscale=[[0.0, ORANGE], [0.5, "#f4f6f8"], [1.0, BLUE]],
        zmid=0.0,
        xgap=3,
        ygap=1,
        colorbar={"title": "loading"},
        hovertext=[[f"{name}<br>{head}" for head in heads] for name in shown],
        hovertemplate="%{hovertext}<br>loading %{z:.5g}<extra></extra>",
    )
    more = f" (the first {kept} of {len(names)} variables)" if len(names) > kept else ""
    figure.update_layout(
        title=title + more,
        xaxis={"tickvals": list(range(len(heads))), "ticktext": list(heads), "side": "top"},
        yaxis={"tickvals": list(range(kept)), "ticktext": shown, "automargin": True, "autorange": "reversed"},
        height=170 + 20 * max(3, kept),
    )
    return figure
