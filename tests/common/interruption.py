"""Ctrl-C at a call that a test chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def interrupting(function: Any = None, calls: int = 0) -> Callable[..., Any]:
    """The function, or method, until it was called so many times; then Ctrl-C comes in every call."""
    left = iter(range(calls))

    def limited(*arguments: Any, **named: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return function(*arguments, **named)

    return limited
