"""Checks of arguments: cardinalities, tolerances, choices, starts, candidates, paths."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparseigen.checks.coercion import plain_array
from sparseigen.errors import CardinalityError, DtypeError, NonFiniteError, OptionError, ShapeError, StartError, one_of
from sparseigen.results import SparseEigResult

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


IntVector = NDArray[np.int64]


def check_cardinality(cardinality: Any, size: int, *, subject: str = "cardinality", of: str = "variables") -> int:
    """The cardinality as an int between 1 and size.

    Examples
    --------
    >>> check_cardinality(3, 10)
    3
    """
    if isinstance(cardinality, (bool, np.bool_)) or not isinstance(cardinality, (int, np.integer)):
        hint = ""
        if isinstance(cardinality, (float, np.floating)) and float(cardinality).is_integer():
            hint = f" Use {int(cardinality)} (an int) instead."
        message = f"{subject}={cardinality!r} must be a whole number (int), got {type(cardinality).__name__}.{hint}"
        raise CardinalityError(message, parameter=subject)
    if not 1 <= cardinality <= size:
        message = f"{subject}={int(cardinality)} must be between 1 and the number of {of} ({size})."
        raise CardinalityError(message, parameter=subject)
    return int(cardinality)


@dataclass(frozen=True)
class Sparsity:
    """What a user wants: one cardinality per component, or (None) that they be chosen."""

    cardinalities: list[int] | None


def check_sparsity(cardinality: Any, size: int, count: int) -> Sparsity:
    """An int, a fraction, a list or "auto", as one cardinality per component.

    Examples
    --------
    >>> check_sparsity(0.5, 10, 2).cardinalities, check_sparsity([3, 1], 10, 2).cardinalities
    ([5, 5], [3, 1])
    """
    if isinstance(cardinality, str):
        if cardinality != "auto":
            message = f"cardinality={cardinality!r} is not known; the only text allowed is 'auto'."
            raise OptionError(message, parameter="cardinality")
        return Sparsity(None)
    if isinstance(cardinality, (float, np.floating)):
        if not 0.0 < cardinality <= 1.0:
            message = (
                f"cardinality={float(cardinality)!r} is a float, so it means a fraction of the variables: it must be "
                "above 0 and at most 1. For a number of variables give an int."
            )
            raise CardinalityError(message, parameter="cardinality")
        return Sparsity([max(1, round(float(cardinality) * size))] * count)
    if isinstance(cardinality, (list, tuple, np.ndarray)):
        if len(cardinality) != count:
            message = f"cardinality has {len(cardinality)} entries; with n_components={count} it needs {count}."
            raise CardinalityError(message, parameter="cardinality")
        return Sparsity([check_cardinality(k, size, subject=f"cardinality[{i}]") for i, k in enumerate(cardinality)])
    return Sparsity([check_cardinality(cardinality, size)] * count)


def check_choice(value: Any, allowed: Iterable[object], name: str) -> Any:
    """The value, if it is one of the allowed ones."""
    allowed = list(allowed)
    if not any(value is option or (isinstance(value, str) and value == option) for option in allowed):
        message = f"{name}={value!r} is not known. Allowed: {one_of(allowed)}."
        raise OptionError(message, parameter=name)
    return value


def check_tolerance(value: Any, name: str) -> float:
    """A finite number >= 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        message = f"{name}={value!r} must be a number >= 0, got {type(value).__name__}."
        raise OptionError(message, parameter=name)
    if not (math.isfinite(value) and value >= 0):
        message = f"{name}={value!r} must be a finite number >= 0."
        raise OptionError(message, parameter=name)
    return float(value)


def check_positive(value: Any, name: str) -> float:
    """A finite number above 0."""
    number = check_tolerance(value, name)
    if number == 0.0:
        message = f"{name}={value!r} must be above 0."
        raise OptionError(message, parameter=name)
    return number


def check_count(value: Any, name: str, *, minimum: int = 1) -> int:
    """A whole number of at least minimum."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        message = f"{name}={value!r} must be a whole number >= {minimum}."
        raise OptionError(message, parameter=name)
    return int(value)


def check_position(value: Any, count: int, name: str) -> int:
    """A position, counted from 0; negative ones count from the end."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not -count <= value < count:
        message = f"{name}={value!r} must be a whole number from 0 to {count - 1}."
        raise OptionError(message, parameter=name)
    return int(value)


def check_method_options(options: Any, allowed: Sequence[str], method: str) -> dict[str, Any]:
    """The parameters of one method as a dict; every name must be one the method has."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        message = f"method_options={options!r} must be a dict of the method's parameters by name, or None."
        raise OptionError(message, parameter="method_options")
    unknown = [name for name in options if name not in allowed]
    if unknown:
        message = (
            f"method_options names {unknown[0]!r}, which method={method!r} does not have. "
            f"Allowed: {one_of(allowed) if allowed else 'none (the method has no parameters of its own)'}."
        )
        raise OptionError(message, parameter="method_options")
    return dict(options)


def check_numbers(value: Any, name: str, count: int) -> NDArray[np.float64]:
    """One finite number >= 0 for each of ``count`` components, from one number for all or a list."""
    values = np.atleast_1d(np.asarray(value))
    if values.dtype.kind not in "fiu" or values.ndim != 1 or values.size not in (1, count):
        allowed = "one number >= 0" if count == 1 else f"one number >= 0, or a list of {count} (one per component)"
        message = f"{name}={value!r} must be {allowed}."
        raise OptionError(message, parameter=name)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        message = f"{name}={value!r} must be finite and >= 0."
        raise OptionError(message, parameter=name)
    return np.broadcast_to(values.astype(np.float64), (count,)).copy()


def check_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        message = f"{name}={value!r} must be True or False."
        raise OptionError(message, parameter=name)
    return bool(value)


def check_rng(rng: Any) -> np.random.Generator:
    """A generator from a generator, a seed, or None.

    None means seed 0: without being asked for randomness, the same question gives the same answer.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng(0)
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng))
    message = f"rng={rng!r} must be None, a non-negative int seed, or a numpy.random.Generator."
    raise OptionError(message, parameter="rng")


def check_start_vector(start: ArrayLike | SparseEigResult, size: int, name: str = "start") -> NDArray[np.float64]:
    """The caller's starting vector, or that of an answer, as float64 of unit length."""
    vector = plain_array(start.vector if isinstance(start, SparseEigResult) else start, name)
    if vector.dtype.kind not in "fiub":
        message = f"{name} has dtype {vector.dtype}; it must be real numbers (float or int)."
        raise DtypeError(message, parameter=name)
    if vector.shape != (size,):
        message = f"{name} has shape {vector.shape}; it must be a vector of length {size}, one entry per variable."
        raise StartError(message, parameter=name)
    vector = vector.astype(np.float64)
    if not np.isfinite(vector).all():
        message = f"{name} has {int((~np.isfinite(vector)).sum())} NaN or infinite entries; all must be finite."
        raise NonFiniteError(message, parameter=name)
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        leave = "Use start='auto'." if name == "start" else f"Leave {name} out."
        message = f"{name} is the zero vector; at least one entry must be non-zero. {leave}"
        raise StartError(message, parameter=name)
    vector /= largest
    unit: NDArray[np.float64] = vector / np.linalg.norm(vector)
    return unit


def check_result(value: Any, name: str) -> SparseEigResult:
    """An answer of `sparse_eigenvector` or one of its kind, whole enough to be looked at."""
    if not isinstance(value, SparseEigResult):
        message = f"{name}={value!r} must be a SparseEigResult, got {type(value).__name__}."
        raise OptionError(message, parameter=name)
    if not isinstance(value.vector, np.ndarray) or value.vector.dtype.kind != "f":
        message = f"{name}.vector must be an array of real numbers (float); this result was put together by hand."
        raise OptionError(message, parameter=name)
    check_count(value.cardinality, f"{name}.cardinality")
    proof = value.certificate
    numbers = [value.value] if proof is None else [value.value, *_ends(proof)]
    if not all(isinstance(number, (int, float, np.floating)) for number in numbers) or not isinstance(
        value.settings, Mapping
    ):
        message = f"{name} needs numbers for its value and the ends of its certificate, and a mapping as its settings."
        raise OptionError(message, parameter=name)
    return value


def _ends(proof: Any) -> list[Any]:
    """Both ends of a certificate; what is none has no ends."""
    return [getattr(proof, "lower_bound", None), getattr(proof, "upper_bound", None)]


def check_many(values: Any, name: str, example: str) -> Iterable[Any]:
    """Something to go through, one entry after the other."""
    if not isinstance(values, Iterable):
        message = f"{name}={values!r} must be several numbers, for example {example}; got {type(values).__name__}."
        raise OptionError(message, parameter=name)
    return values


def check_candidates(candidates: Any, size: int, names: Sequence[str] | None) -> IntVector | None:
    """Sorted unique candidate indices from indices, a boolean mask or variable names; None stays None."""
    if candidates is None:
        return None
    values = plain_array(candidates, "candidates")
    if values.ndim != 1:
        message = f"candidates has {values.ndim} dimensions; give a flat list of indices or names, or a boolean mask."
        raise ShapeError(message, parameter="candidates")
    if values.dtype.kind == "b":
        if values.size != size:
            message = f"candidates is a mask of length {values.size}; a mask needs one entry per variable ({size})."
            raise ShapeError(message, parameter="candidates")
        values = np.flatnonzero(values)
    elif values.dtype.kind in "UO" and values.size:
        values = _indices_of_names(values.tolist(), names)
    elif values.dtype.kind not in "iu" and values.size:
        message = f"candidates has dtype {values.dtype}; give indices (int), names (str) or a boolean mask."
        raise DtypeError(message, parameter="candidates")
    if values.size == 0:
        msg = "candidates is empty; give at least one variable, or None for all."
        raise OptionError(msg, parameter="candidates")
    outside = values[(values < 0) | (values >= size)]
    if outside.size:
        message = f"candidates holds index {int(outside[0])}; indices run from 0 to {size - 1}."
        raise OptionError(message, parameter="candidates")
    return np.unique(values).astype(np.int64)


def _indices_of_names(wanted: list[Any], names: Sequence[str] | None) -> IntVector:
    if names is None:
        msg = "candidates are given by name, but the input has no names; use indices instead."
        raise OptionError(msg, parameter="candidates")
    position = {name: i for i, name in enumerate(names)}
    unknown = [name for name in wanted if name not in position]
    if unknown:
        message = f"candidates names {unknown[0]!r}, which is not a variable; the first are {list(names[:5])}."
        raise OptionError(message, parameter="candidates")
    return np.array([position[name] for name in wanted], dtype=np.int64)
