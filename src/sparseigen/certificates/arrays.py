"""What lets one text of a proof run on NumPy arrays and on torch tensors."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
"""A NumPy array or a torch tensor."""


def namespace(array: Array) -> Any:
    """The module whose functions work on this array: numpy or torch."""
    return np if isinstance(array, np.ndarray) else importlib.import_module("torch")


def to_host(array: Array) -> NDArray[np.float64]:
    """The same numbers as a NumPy array."""
    moved: NDArray[np.float64] = array if isinstance(array, np.ndarray) else array.cpu().numpy()
    return moved


def working_memory(array: Array) -> AbstractContextManager[None]:
    """Where the array lives on a device, running out of its memory raises an error that says what to do."""
    if isinstance(array, np.ndarray):
        return nullcontext()
    from sparseigen.operators.torch_data import device_memory

    return device_memory("dual points", 1 << 30, array.device)


def row_dots(left: Array, right: Array) -> Array:
    """The inner products of rows with rows."""
    return namespace(left).einsum("ij,ij->i", left, right)


def placed_like(values: NDArray[np.float64], array: Array) -> Array:
    """The values in the type of the array, where it lives."""
    return values if isinstance(array, np.ndarray) else array.new_tensor(values)
