"""What identifies data: shape, type, and a hash of every number."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from sparseigen.errors import DtypeError
from sparseigen.inputs.arrays import _split_frame, is_sparse, row_blocks


def fingerprint(data: Any) -> dict[str, str]:
    """Shape, type and SHA-256 of a dense array, scipy sparse matrix or frame; large arrays are read in blocks of rows.

    The hash depends on the numbers and their type only, not on the memory layout.

    Examples
    --------
    >>> import numpy as np
    >>> fingerprint(np.eye(2))["sha256"] == fingerprint(np.asfortranarray(np.eye(2)))["sha256"]
    True
    """
    values, _ = _split_frame(data)
    digest = hashlib.sha256()
    if is_sparse(values):
        matrix = values.tocsr(copy=True)
        matrix.sum_duplicates()
        shape, dtype = matrix.shape, matrix.dtype
        for part in (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data):
            digest.update(np.ascontiguousarray(part).data)
    else:
        array = np.asanyarray(values)
        if array.dtype.kind not in "fiub" or array.ndim != 2:
            message = f"data has dtype {array.dtype} and {array.ndim} dimensions; give a table or matrix of numbers."
            raise DtypeError(message)
        shape, dtype = array.shape, array.dtype
        for rows in row_blocks(*shape):
            digest.update(np.ascontiguousarray(array[rows]).data)
    digest.update(f"{shape} {dtype.str}".encode())
    return {"shape": f"{shape[0]:,} x {shape[1]:,}", "type": str(dtype), "sha256": digest.hexdigest()}
