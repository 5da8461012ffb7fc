"""Names of files as callers give them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sparseigen.errors import OptionError

LONGEST_NAME = 255
"""Bytes of a name that file systems take."""


def as_file_path(value: Any, name: str = "path") -> Path:
    """The path that text or a path object names; what no file can be called is refused.

    Examples
    --------
    >>> as_file_path("data/genes.csv").name
    'genes.csv'
    """
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str):
        message = f"{name}={value!r} must be a path (str or os.PathLike), got {type(value).__name__}."
        raise OptionError(message)
    if not text:
        message = f"{name} is empty; give the name of a file."
        raise OptionError(message)
    if "\0" in text:
        message = f"{name}={text!r} holds the character NUL, which no name of a file can have."
        raise OptionError(message)
    path = Path(text)
    longest = max((len(os.fsencode(part)) for part in path.parts), default=0)
    if longest > LONGEST_NAME:
        message = (
            f"{name} has a part of {longest} bytes ({text[:40]!r}...); names of files have at most {LONGEST_NAME}. "
            "Choose a shorter one."
        )
        raise OptionError(message)
    return path
