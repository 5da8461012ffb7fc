"""The covariance of data that are read from disk block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparseigen.inputs.arrays import CheckedArray, row_blocks
from sparseigen.operators.pass_operator import PassOperator


class ChunkedData(PassOperator):
    """A = D'D / (n - ddof) for samples x variables that stay where they are and are read in passes."""

    def __init__(self, data: CheckedArray, *, center: bool, scale: bool, ddof: int) -> None:
        self.file = data.values
        self.dtype = self.file.dtype
        self.names = data.names
        self._begin(center=center, scale=scale, ddof=ddof)

    def _pass(self, function: Callable[..., Any], arguments: tuple[Any, ...], merge: Callable[[Any, Any], Any]) -> Any:
        total = None
        for rows in row_blocks(*self.file.shape):
            part = function(np.ascontiguousarray(self.file[rows]), *arguments)
            total = part if total is None else merge(total, part)
        return total
