"""Figures as SVG text that is the same for the same data."""

from __future__ import annotations

import io
from typing import Any


def as_svg(canvas: Any) -> str:
    """A matplotlib figure as SVG, to stand inside a page."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "sparseigen", "svg.fonttype": "none"}):
        canvas.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawing = text.getvalue()
    return drawing[drawing.index("<svg") :]
