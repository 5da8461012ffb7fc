"""One self-contained HTML file: text that reads without script, and the data of its pictures, packed, inside."""

from __future__ import annotations

import base64
import html
import json
import math
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sparseigen.checks.arguments import as_file_path
from sparseigen.checks.frames import fingerprint
from sparseigen.config import config, require
from sparseigen.errors import OptionError
from sparseigen.io.writing import write_whole

VERSIONS = ("sparseigen", "python", "platform", "numpy", "scipy", "kernels", "threads", "plotly")
"""The facts of `show_config` that a page carries."""

Rows = list[tuple[str, str]]


def setting_rows(settings: Mapping[str, Any], extra: Mapping[str, Any] | None) -> Rows:
    """Settings by name, the caller's own first."""
    merged = {**(extra or {}), **settings}
    return [(str(name).replace("_", " "), _as_text(value)) for name, value in merged.items()]


def version_rows() -> Rows:
    """Versions of what took part."""
    facts = config()
    return [(name, facts[name]) for name in VERSIONS]


def data_rows(data: Any) -> Rows:
    """Shape, type and hash of the data; empty without data."""
    return [] if data is None else list(fingerprint(data).items())


def _as_text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value) or "none"
    return str(value)


TEMPLATES = Path(__file__).parent / "page_parts"
TURNING = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that only change the order in which others are shown."""
DIGITS = 6
"""Significant digits of the numbers behind the pictures; the results of the answer itself are kept in full."""


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """A finished page.

    Attributes
    ----------
    title : str
        The page's title.
    html : str
        The whole page: style, script, plotting library and data are inside, nothing is loaded from anywhere.

    Examples
    --------
    >>> import sparseigen as se
    >>> from sparseigen.report import component_report
    >>> page = component_report([se.sparse_eigenvector(se.datasets.load_pitprops().matrix, 5)], title="Pit props")
    >>> page.title, page.html.startswith("<!doctype html>")
    ('Pit props', True)
    """

    title: str
    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: all of it or nothing, by a temporary file beside it and a rename.

        Returns
        -------
        Path
            Where it is.
        """
        target = as_file_path(path)
        if not target.parent.is_dir():
            message = f"the folder {target.parent} does not exist; create it first or name another file."
            raise OptionError(message)
        if target.is_dir():
            message = f"{target} is a folder; give the name of a file, for example {target / 'report.html'}."
            raise OptionError(message)
        write_whole(target, self.html)
        return target

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {len(self.html.encode()) / 1e6:.1f} MB; .save('page.html') writes it)"

    def _repr_html_(self) -> str:
        # A frame keeps the page's style and script apart from the notebook's.
        return (
            f'<iframe title="{html.escape(self.title)}" srcdoc="{html.escape(self.html)}" '
            'sandbox="allow-scripts allow-downloads" style="width:100%;height:80vh;border:1px solid #8888"></iframe>'
        )


def render(kind: str, title: str, facts: Mapping[str, Any], payload: Mapping[str, Any]) -> Report:
    """A page of one kind ("components" or "graph") from its words (``facts``) and its numbers (``payload``)."""
    jinja2 = require("jinja2", purpose="a report page")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_escape_turning,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(f"{kind}.html").render(
        title=title,
        style=_read_part("page.css"),
        script="\n".join(_read_part(name) for name in ("common.js", f"{kind}.js")),
        library=_pack_library(),
        payload=pack(payload),
        **facts,
    )
    return Report(title, page)


def _escape_turning(value: Any) -> Any:
    """Text in which nothing turns the direction of reading: a name must not rearrange the sentence around it."""
    return TURNING.sub(lambda found: f"\\u{ord(found.group()):04x}", value) if type(value) is str else value


def pack(payload: Mapping[str, Any]) -> str:
    """Plain values as base64 of compressed JSON: a third of the size, and no text in it can end a script element."""
    text = json.dumps(make_plain(payload), separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def make_plain(value: Any) -> Any:
    """Values that JSON has: numpy's become Python's, infinities and NaN null, anything else its text.

    Examples
    --------
    >>> import numpy as np
    >>> make_plain({"k": np.int64(5), "bound": float("inf"), "nodes": ("a", (1, 2))})
    {'k': 5, 'bound': None, 'nodes': ['a', [1, 2]]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): make_plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [make_plain(part) for part in value]
    return make_plain(value.tolist()) if hasattr(value, "tolist") else str(value)


def unpack(packed: str) -> Any:
    """What `pack` was given, as JSON gives it back.

    Examples
    --------
    >>> unpack(pack({"k": 5}))
    {'k': 5}
    """
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def round_digits(value: float) -> float:
    """A number with as many digits as a picture needs.

    Examples
    --------
    >>> round_digits(0.123456789), round_digits(1234567.0)
    (0.123457, 1234570.0)
    """
    return float(f"{value:.{DIGITS}g}")


def _read_part(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _pack_library() -> str:
    offline = require("plotly.offline", purpose="a report page")
    return base64.b64encode(zlib.compress(offline.get_plotlyjs().encode(), 9)).decode("ascii")
