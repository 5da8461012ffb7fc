"""From a caller's object to an operator: one table."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from sparseigen.checks.arguments import check_flag
from sparseigen.checks.arrays import CheckedArray, check_data, check_symmetric
from sparseigen.errors import OptionError, PrecisionWarning, UnsupportedOperatorError
from sparseigen.operators.contract import Indices, Matrix, Operator, Vector
from sparseigen.operators.data import DenseData
from sparseigen.operators.matrix import DenseSymmetric, SparseSymmetric
from sparseigen.operators.moments import precision_advice
from sparseigen.operators.sparse_data import SparseData

SYMMETRIC_OPERATORS: dict[str, Callable[[CheckedArray], Operator]] = {
    "dense": DenseSymmetric,
    "sparse": SparseSymmetric,
}
"""Layout of a symmetric matrix -> operator. A new operator is one file and one row here or below."""


def _on_device(data: CheckedArray, **options: Any) -> Operator:
    from sparseigen.operators.torch_data import TorchData

    return TorchData(data, **options)


COVARIANCE_OPERATORS: dict[str, Callable[..., Operator]] = {
    "dense": DenseData,
    "sparse": SparseData,
    "device": _on_device,
}
"""Layout of data -> operator that stands for their covariance."""

CONTRACT = ("apply_support", "columns", "diagonal", "size")
"""What an object of the caller's must have to be used as an operator."""


def covariance(
    X: Any,
    *,
    center: bool = True,
    scale: bool = False,
    ddof: int = 1,
    device: Any = None,
    memory_limit: Any = None,
    checkpoint: Any = None,
    dataset: str | None = None,
    shape: Any = None,
    on_block: Callable[[int, int, int], None] | None = None,
    client: Any = None,
    keep: bool = True,
) -> Operator:
    """Stand for the covariance matrix of data without forming it.

    Parameters
    ----------
    X : array, scipy sparse matrix, DataFrame, torch or cupy tensor, np.memmap, path, source of row blocks, dask array
        The data, samples x variables. Never written to. Sparse data are not densified, frames keep their column
        names. float32 data are multiplied in float32; values are accumulated in float64. Memory maps, paths (.npy,
        .h5, .hdf5, .h5ad, .zarr, .arrow, .feather, .ipc, .parquet) and functions or lists that give blocks of rows
        are read in passes and never held in memory. Dask arrays and dataframes, and lists of delayed objects or of
        callables that load one partition of rows each (dense or scipy CSR), stay on a Dask cluster.
    center : bool
        Subtract each column's mean. Without it the second moment X'X / (n - ddof) is meant.
    scale : bool
        Divide each column by its standard deviation: the correlation matrix.
    ddof : int
        The divisor is n_samples - ddof.
    device : str or torch.device, optional
        Where to keep dense data: "cuda" moves them to the GPU. Tensors stay where they are unless told otherwise.
    memory_limit : int or str, optional
        Bytes ("1GB") that data read in passes may take, besides the interpreter's own.
    checkpoint : path, optional
        For data read in passes: every finished pass is saved there, and the same calls on the same data go on from
        there after a kill. A damaged checkpoint, or one of other data, is refused.
    dataset : str, optional
        Which table of an HDF5, AnnData or zarr file; X, or the only one, if not given.
    shape : (int, int), optional
        Shape of data that a function or a list gives in blocks.
    on_block : callable, optional
        Called as ``on_block(pass_number, rows_done, n_rows)`` after every block that is read.
    client : dask.distributed.Client, optional
        The cluster that holds data in partitions. Without it the current client is used, or dask's default scheduler.
    keep : bool
        Keep data in partitions in the workers' memory. False loads them anew in every pass.

    Returns
    -------
    Operator
        To be passed to `sparse_eigenvector` and every other function that takes a matrix.

    Warns
    -----
    PrecisionWarning
        If columns are so far from zero that hardly a digit of what varies is left in their floating-point type, or
        that sums over the samples lose it. The answer stays valid for the numbers as given.

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
    standard = {"center": bool(center), "scale": bool(scale), "ddof": ddof}
    passing = {"memory_limit": memory_limit, "dataset": dataset, "shape": shape, "on_block": on_block}
    operator = _covariance_operator(X, standard, passing, device, checkpoint, client, keep)
    advice = precision_advice(operator)
    if advice is not None:
        warnings.warn(advice, PrecisionWarning, stacklevel=2)
    return operator


def _covariance_operator(
    X: Any, standard: dict[str, Any], passing: dict[str, Any], device: Any, checkpoint: Any, client: Any, keep: Any
) -> Operator:
    """The operator for the place where the data are. ``passing``: what is only for data read in passes."""
    # Imported when data come this way: most callers have a matrix or an array, and a command starts in milliseconds.
    from sparseigen.rows.files import as_row_source, check_checkpoint
    from sparseigen.rows.partitions import is_row_partitions

    if is_row_partitions(X):
        log = check_checkpoint(checkpoint)
        elsewhere = {"device": device} | passing
        return _on_cluster(X, elsewhere, client, keep=check_flag(keep, "keep"), checkpoint=log, **standard)
    if client is not None:
        message = (
            "client= is for data in partitions (a dask array or dataframe, or a list of delayed objects or loaders); "
            f"X is {type(X).__name__}. Leave client out."
        )
        raise OptionError(message)
    source = None if device is not None else as_row_source(X, dataset=passing["dataset"], shape=passing["shape"])
    if source is not None:
        return _in_passes(source, passing["memory_limit"], checkpoint, passing["on_block"], **standard)
    wishes = passing | {"checkpoint": checkpoint}
    given = [option for option in ("memory_limit", "checkpoint", *passing) if wishes[option] is not None]
    if given:
        message = f"{given[0]} is for data read in passes (a path, a memory map, blocks of rows), not for X in memory."
        raise OptionError(message)
    checked = check_data(X, device=device)
    return COVARIANCE_OPERATORS[checked.layout](checked, **standard)


def _in_passes(source: Any, memory_limit: Any, checkpoint: Any, on_block: Any, **options: Any) -> Operator:
    """The covariance of data that stay where they are and are read block by block."""
    from sparseigen.operators.pass_data import ChunkedData
    from sparseigen.rows.files import check_checkpoint
    from sparseigen.rows.read_ahead import check_memory_limit

    limit, log = check_memory_limit(memory_limit), check_checkpoint(checkpoint)
    return ChunkedData(source, memory_limit=limit, checkpoint=log, on_block=on_block, **options)


def _on_cluster(X: Any, elsewhere: dict[str, Any], client: Any, **options: Any) -> Operator:
    """The covariance of data in partitions; options that are for data elsewhere are refused."""
    given = [option for option, wish in elsewhere.items() if wish is not None]
    if given:
        message = f"{given[0]}={elsewhere[given[0]]!r} is not for data in partitions, which stay with the workers."
        raise OptionError(message)
    from sparseigen.operators.pass_data import ClusterData
    from sparseigen.rows.cluster import Cluster
    from sparseigen.rows.partitions import row_partitions

    return ClusterData(row_partitions(X), Cluster(client), **options)


def covariance_of_data(value: Any, *, scale: bool) -> Any:
    """An operator that knows its data's means and scales, if that is what was given; None for anything else.

    Raises
    ------
    OptionError
        If it was made without scaling and ``scale`` asks for it, or without centring.
    """
    if not isinstance(value, Operator) or not hasattr(value, "means"):
        return None
    if (scale and not value.scale) or not value.center:  # type: ignore[attr-defined]
        message = (
            "the operator was made with other options than the estimator's: use covariance(source"
            f"{', scale=True' if scale else ''}), centred, or set scale={bool(value.scale)} here."  # type: ignore[attr-defined]
        )
        raise OptionError(message)
    return value


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
        self.negative_part = 0.0 if self.positive_semidefinite is True else np.inf  # the object's word

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
