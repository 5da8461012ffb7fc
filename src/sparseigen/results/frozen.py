"""Answers stay as they were given, after a trip through pickle or a deep copy too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np


def rebuilt(kind: type[Any], *values: Any) -> Any:
    """An answer from its fields, with arrays that cannot be written to: pickle and deepcopy make writable ones."""
    return kind(*(_read_only(value) for value in values))


def reduced(answer: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What ``__reduce__`` of an answer returns."""
    return rebuilt, (type(answer), *(getattr(answer, one.name) for one in fields(answer)))


def _read_only(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()  # what the caller holds keeps its flags
    view.flags.writeable = False
    return view
