"""From a caller's object to an operator: one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparseigen.errors import OptionError, UnsupportedOperatorError
from sparseigen.inputs.arguments import check_flag
from sparseigen.inputs.arrays import CheckedArray, check_data, check_symmetric
from sparseigen.inputs.cluster import Cluster
from sparseigen.inputs.row_partitions import is_row_partitions, row_partitions
from sparseigen.operators.chunked import ChunkedData
from sparseigen.operators.cluster_data import ClusterData
from sparseigen.operators.contract import Indices, Matrix, Operator, Vector
from sparseigen.operators.data import DenseData
from sparseigen.operators.dense import DenseSymmetric
from sparseigen.operators.sparse import SparseSymmetric
from sparseigen.operators.sparse_data import SparseData
from sparseigen.operators.torch_data import TorchData

SYMMETRIC_OPERATORS: dict[str, Callable[[CheckedArray], Operator]] = {
    "dense": DenseSymmetric,
    "sparse": SparseSymmetric,
}
"""Layout of a symmetric matrix -> operator. A new operator is one file and one row here or below."""

COVARIANCE_OPERATORS: dict[str, Callable[..., Operator]] = {
    "dense": DenseData,
    "sparse": SparseData,
    "mapped": ChunkedData,
    "device": TorchData,
}
"""Layout of data -> operator that stands for their covariance."""

CONTRACT = ("size", "diagonal", "apply_support", "columns")
"""What an object of the caller's must have to be used as an operator."""


def covariance(
    X: Any,
    *,
    center: bool = True,
    scale: bool = False,
    ddof: int = 1,
    device: Any = None,
    client: Any = None,
    keep: bool = True,
) -> Operator:
    """Stand for the covariance matrix of data without forming it.

    Parameters
    ----------
    X : array, scipy sparse matrix, DataFrame, np.memmap, torch or cupy tensor of shape (n_samples, n_features)
        The data, never written to; or data in row partitions, which stay on a Dask cluster: a dask array or
        dataframe, or a list of delayed objects or of callables that load one partition each (dense, or scipy CSR).
        Sparse data are not densified, memory maps stay on disk, frames keep their column names. float32 data are
        multiplied in float32; values are accumulated in float64.
    center : bool
        Subtract each column's mean. Without it the second moment X'X / (n - ddof) is meant.
    scale : bool
        Divide each column by its standard deviation: the correlation matrix.
    ddof : int
        The divisor is n_samples - ddof.
    device : str or torch.device, optional
        Where to keep dense data: "cuda" moves them to the GPU. Tensors stay where they are unless told otherwise.
    client : dask.distributed.Client, optional
        The cluster that holds data in partitions. Without it the current client is used, or dask's default scheduler.
    keep : bool
        Keep data in partitions in the workers' memory. False loads them anew in every pass.

    Returns
    -------
    Operator
        To be passed to `sparse_eigenvector` and every other function that takes a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> operator = se.covariance(X)
    >>> bool(np.allclose(operator.to_dense(), np.cov(X.T)))
    True
    """
    for name, value in (("center", center), ("scale", scale)):
        if not isinstance(value, (bool, np.bool_)):
            message = f"{name}={value!r} must be True or False."
            raise OptionError(message)
    if is_row_partitions(X):
        if device is not None:
            message = f"device={device!r} is for data in memory; data in partitions stay with the workers."
            raise OptionError(message)
        return ClusterData(
            row_partitions(X),
            Cluster(client),
            center=bool(center),
            scale=bool(scale),
            ddof=ddof,
            keep=check_flag(keep, "keep"),
        )
    if client is not None:
        message = (
            "client= is for data in partitions (a dask array or dataframe, or a list of delayed objects or loaders); "
            f"X is {type(X).__name__}. Leave client out."
        )
        raise OptionError(message)
    checked = check_data(X, device=device)
    return COVARIANCE_OPERATORS[checked.layout](checked, center=bool(center), scale=bool(scale), ddof=ddof)


def as_operator(matrix: Any) -> Operator:
    """An operator from an operator, an object with the contract, or a symmetric matrix of any kind."""
    if isinstance(matrix, Operator):
        return matrix
    if all(hasattr(matrix, name) for name in CONTRACT) and callable(getattr(matrix, "apply_support", None)):
        return AdaptedOperator(matrix)
    if isinstance(matrix, (str, bytes)) or callable(matrix):
        message = (
            f"expected a symmetric matrix or an operator, got {type(matrix).__name__}. Pass an array, a scipy sparse "
            "matrix, a DataFrame, covariance(X), or an object with " + ", ".join(CONTRACT) + "."
        )
        raise UnsupportedOperatorError(message)
    checked = check_symmetric(matrix)
    return SYMMETRIC_OPERATORS[checked.layout](checked)


class AdaptedOperator(Operator):
    """An object of the caller's that has the contract's four members, with the rest filled in."""

    def __init__(self, base: Any) -> None:
        self.base = base
        self.size = int(base.size)
        self.dtype = np.dtype(getattr(base, "dtype", np.float64))
        self.names = getattr(base, "names", None)
        self.positive_semidefinite = getattr(base, "positive_semidefinite", None)
        self.psd_by_construction = self.positive_semidefinite is True  # the object's word; its entries count as exact

    def _diagonal(self) -> Any:
        return np.array(self.base.diagonal(), dtype=np.float64)

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """The object's own product."""
        return np.asarray(self.base.apply_support(indices, weights))

    def columns(self, indices: Indices) -> Matrix:
        """The object's own columns."""
        return np.asarray(self.base.columns(indices))

    def block_apply(self, block: Matrix) -> Matrix:
        """The object's own block product, or one product a column."""
        if hasattr(self.base, "block_apply"):
            return np.asarray(self.base.block_apply(block))
        everything = np.arange(self.size, dtype=np.int64)
        return np.column_stack([self.apply_support(everything, column) for column in block.T])
