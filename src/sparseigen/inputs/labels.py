"""Scores, labels and positions for pictures, from whatever the caller keeps them in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import DtypeError, NonFiniteError, OptionError, ShapeError

MOST_CATEGORIES = 12
"""Whole numbers with more different values than this are a scale, not names."""


def as_scores(scores: Any) -> NDArray[np.float64]:
    """A finite table, one row a sample; one column may be given as a plain sequence.

    Examples
    --------
    >>> as_scores([1.0, 2.0]).shape
    (2, 1)
    """
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"scores cannot be read as numbers ({error}); give an array of shape (n_samples, n_components)."
        raise DtypeError(message) from error
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or 0 in values.shape:
        message = f"scores has shape {values.shape}; it must be (n_samples, n_components), neither of them 0."
        raise ShapeError(message)
    if not np.isfinite(values).all():
        msg = "scores has NaN or infinite values; all must be finite."
        raise NonFiniteError(msg)
    return values


def as_labels(labels: Any, count: int) -> dict[str, Any]:
    """Names with codes, or numbers on a scale.

    Examples
    --------
    >>> as_labels(["tumor", "normal", "tumor"], 3)
    {'names': ['normal', 'tumor'], 'codes': [1, 0, 1]}
    >>> as_labels([0.5, 1.5], 2)
    {'numbers': [0.5, 1.5]}
    """
    values = list(labels)
    if len(values) != count:
        message = f"labels has {len(values)} entries for {count} samples; give one a sample."
        raise ShapeError(message)
    if _is_scale(values):
        return {"numbers": [float(v) if math.isfinite(v) else None for v in values]}
    words = ["missing" if v is None or v != v else str(v) for v in values]
    names = sorted(set(words))
    codes = {name: code for code, name in enumerate(names)}
    return {"names": names, "codes": [codes[word] for word in words]}


def _is_scale(values: list[Any]) -> bool:
    if not all(isinstance(v, (int, float, np.integer, np.floating)) and not isinstance(v, bool) for v in values):
        return False
    whole = all(not math.isfinite(v) or float(v).is_integer() for v in values)
    return not whole or len(set(values)) > MOST_CATEGORIES


def as_positions(positions: Any) -> dict[Any, tuple[float, float]]:
    """Node to (latitude, longitude) in degrees, checked.

    Examples
    --------
    >>> as_positions({"Oslo": (59.9, 10.8)})
    {'Oslo': (59.9, 10.8)}
    """
    if not isinstance(positions, Mapping):
        message = f"positions is a {type(positions).__name__}; give a mapping from node to (latitude, longitude)."
        raise OptionError(message)
    checked = {}
    for node, position in positions.items():
        try:
            latitude, longitude = (float(part) for part in position)
        except (TypeError, ValueError) as error:
            message = f"positions[{node!r}] is {position!r}; it must be two numbers, latitude and longitude in degrees."
            raise OptionError(message) from error
        if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
            message = (
                f"positions[{node!r}] is {position!r}; latitude must be within -90..90 and longitude within -180..360 "
                "degrees. Were they swapped?"
            )
            raise OptionError(message)
        checked[node] = (latitude, longitude)
    return checked
