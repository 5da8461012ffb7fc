"""What somebody needs to make the same page again: settings, versions, the data's fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparseigen.config import config
from sparseigen.inputs.fingerprint import fingerprint

VERSIONS = ("sparseigen", "python", "platform", "numpy", "scipy", "kernels", "threads", "plotly")
"""The facts of `show_config` that a page carries."""

Rows = list[tuple[str, str]]


def setting_rows(settings: Mapping[str, Any], extra: Mapping[str, Any] | None) -> Rows:
    """Settings by name, the caller's own first."""
    merged = {**(extra or {}), **settings}
    return [(str(name).replace("_", " "), _shown(value)) for name, value in merged.items()]


def version_rows() -> Rows:
    """Versions of what took part."""
    facts = config()
    return [(name, facts[name]) for name in VERSIONS]


def data_rows(data: Any) -> Rows:
    """Shape, type and hash of the data; empty without data."""
    return [] if data is None else list(fingerprint(data).items())


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value) or "none"
    return str(value)
