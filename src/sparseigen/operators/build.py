"""From a caller's object to an operator: one table."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from sparseigen.checks.annotated import choose_table
from sparseigen.checks.arguments import as_file_path, check_flag, check_many
from sparseigen.checks.arrays import CheckedArray, check_data, check_symmetric
from sparseigen.checks.coercion import check_names, is_annotated
from sparseigen.errors import (
    ConstantColumnWarning,
    DtypeError,
    OptionError,
    PrecisionWarning,
    ShapeError,
    UnsupportedOperatorError,
)
from sparseigen.io.formats import ending_of, find_reader
from sparseigen.operators.contract import Indices, Matrix, Operator, Vector
from sparseigen.operators.data import DenseData
from sparseigen.operators.gaps import FilledRows, check_missing, fill_array
from sparseigen.operators.linear_operator import from_linear_operator
from sparseigen.operators.matrix import DenseSymmetric, SparseSymmetric
from sparseigen.operators.moments import PATTERSON, advise_on_precision, check_scale, note_constant
from sparseigen.operators.sparse_data import SparseData
from sparseigen.operators.storage import Storage, StorageOptions

SYMMETRIC_OPERATORS: dict[str, Callable[[CheckedArray], Operator]] = {
    "dense": DenseSymmetric,
    "sparse": SparseSymmetric,
}
"""Layout of a symmetric matrix -> operator. A new operator is one file and one row here or below."""


def _build_on_device(data: CheckedArray, **options: Any) -> Operator:
    from sparseigen.operators.torch_data import TorchData

    return TorchData(data, **options)


COVARIANCE_OPERATORS: dict[str, Callable[..., Operator]] = {
    "dense": DenseData,
    "sparse": SparseData,
    "device": _build_on_device,
}
"""Layout of data -> operator that stands for their covariance."""

CONTRACT = ("apply_support", "columns", "diagonal", "size")
"""What an object of the caller's must have to be used as an operator."""


def covariance(
    X: Any,
    *,
    center: bool = True,
    scale: bool | str = False,
    ddof: int = 1,
    missing: str = "error",
    names: Sequence[str] | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    mask: Any = None,
    **storage: Unpack[StorageOptions],
) -> Operator:
    """Stand for the covariance matrix of data without forming it.

    Parameters
    ----------
    X : array, scipy sparse matrix, DataFrame, AnnData, tensor, np.memmap, path, source of row blocks, dask array
        The data, samples x variables. Never written to. Sparse data are not densified, frames keep their column
        names. float32 data are multiplied in float32; values are accumulated in float64. Memory maps, paths (.npy,
        .h5, .hdf5, .h5ad, .zarr, .arrow, .feather, .ipc, .parquet, PLINK's .bed, docword.txt of bags of words) and
        functions or lists that give blocks of rows are read in passes and never held in memory; other tables (.csv,
        .tsv, .xlsx, .mtx, .npz) are read whole. Dask arrays and dataframes, and lists of delayed objects or of
        callables that load one partition of rows each (dense or scipy CSR), stay on a Dask cluster.
    center : bool
        Subtract each column's mean. Without it the second moment X'X / (n - ddof) is meant.
    scale : bool or "patterson"
        Divide each column by its standard deviation: the correlation matrix. Constant columns are left out (their
        variance is zero), with a `ConstantColumnWarning`. "patterson", for counts of alleles (0, 1, 2): divide by
        sqrt(2f(1 - f)), f half the mean.
    ddof : int
        The divisor is n_samples - ddof.
    missing : {"error", "mean"}
        Whether missing values (NaN, calls that are missing) are refused, or filled with the mean of their column, so
        that centred data are zero there. Results then say how much of each chosen variable was missing.
    names : sequence of str, optional
        Names of the variables, for data that bring none.
    layer, use_raw, mask : str, bool, str or array of bool
        For AnnData objects: the layer to take instead of X, or ``adata.raw``; and the variables, by a column of
        ``var`` ("highly_variable") or one value per variable.
    **storage
        Where the data are and how they are read; see below.

    Returns
    -------
    Operator
        To be passed to `sparse_eigenvector` and every other function that takes a matrix.

    Other Parameters
    ----------------
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
    if isinstance(X, Operator) or _is_linear_operator(X):
        message = (
            f"X is a {type(X).__name__}, which stands for a matrix; covariance() takes data (samples x variables). "
            "Pass it to sparse_eigenvector() and the like as it is."
        )
        raise UnsupportedOperatorError(message)
    statistics = {"center": check_flag(center, "center"), "scale": check_scale(scale), "ddof": ddof}
    if scale == PATTERSON and not center:
        message = "scale='patterson' divides by what the mean predicts, and center=False has no mean; leave it out."
        raise OptionError(message, parameter="scale")
    check_missing(missing)
    kept = Storage.from_options(storage)
    chosen = {"layer": layer, "use_raw": check_flag(use_raw, "use_raw"), "mask": mask}
    if is_annotated(X):
        table = choose_table(X, **chosen)
        X, names = table.values, table.names if names is None else names
        kept = kept if table.dataset is None else replace(kept, dataset=table.dataset)
    else:
        unused = next((name for name, value in chosen.items() if value is not None and value is not False), None)
        if unused is not None:
            message = f"{unused}= is for AnnData objects; X is {type(X).__name__}. Leave it out."
            raise OptionError(message, parameter=unused)
    operator = _find_place(read_text_table(X), kept, statistics, missing)
    if names is not None:
        operator.names = check_variable_names(names, operator.size)
    constant = note_constant(operator)
    if constant is not None:
        warnings.warn(constant, ConstantColumnWarning, stacklevel=2)
    advice = advise_on_precision(operator)
    if advice is not None:
        warnings.warn(advice, PrecisionWarning, stacklevel=2)
    return operator


def read_text_table(X: Any) -> Any:
    """The table in a file that gives no blocks of rows (text, for example); anything else as it is."""
    if not isinstance(X, (str, os.PathLike)):
        return X
    path = as_file_path(X, "X")
    if find_reader(ending_of(path), "rows") is not None or find_reader(ending_of(path), "table") is None:
        return X
    from sparseigen.io.tables import read_table

    try:
        return read_table(path)
    except DtypeError as error:
        message = str(error).replace(
            "leave out ('drop_text')", "leave it out: read the file with pandas, drop it there"
        )
        raise DtypeError(message) from error


def check_variable_names(names: Any, size: int) -> tuple[str, ...]:
    """One name for each variable, no two alike."""
    listed = tuple(str(name) for name in check_many(names, "names", "['a', 'b']"))
    if len(listed) != size:
        message = f"names has {len(listed)} entries for {size} variables; give one per variable."
        raise ShapeError(message, parameter="names")
    check_names("names", listed)
    return listed


def _find_place(X: Any, storage: Storage, statistics: dict[str, Any], missing: str) -> Operator:
    """The operator for the place where the data are; options that are for another place are refused."""
    # Imported when data come this way: most callers have a matrix or an array, and a command starts in milliseconds.
    from sparseigen.rows.files import as_row_source
    from sparseigen.rows.partitions import is_row_partitions

    if is_row_partitions(X):
        refuse_filling(missing, "data in partitions")
        return _build_on_cluster(X, storage, statistics)
    if storage.client is not None:
        message = (
            "client= is for data in partitions (a dask array or dataframe, or a list of delayed objects or loaders); "
            f"X is {type(X).__name__}. Leave client out."
        )
        raise OptionError(message)
    source = None if storage.device is not None else as_row_source(X, dataset=storage.dataset, shape=storage.shape)
    if source is not None:
        return _build_in_passes(source, storage, statistics, missing)
    misplaced = storage.find_set(("memory_limit", "checkpoint", "dataset", "shape", "on_block"))
    if misplaced is not None:
        message = f"{misplaced} is for data read in passes (a path, a memory map, blocks of rows), not for X in memory."
        raise OptionError(message)
    checked = check_data(X, device=storage.device, gaps=missing == "mean")
    if checked.layout == "device":
        refuse_filling(missing, "data on a device")
        if statistics["scale"] == PATTERSON:
            message = "scale='patterson' is not for data on a device; divide the columns first, or leave device out."
            raise OptionError(message, parameter="scale")
    if missing == "error":
        return COVARIANCE_OPERATORS[checked.layout](checked, **statistics)
    filled, gaps = fill_array(checked.values, checked.names)
    operator = COVARIANCE_OPERATORS[checked.layout](replace(checked, values=filled), **statistics)
    operator.gaps = gaps  # type: ignore[attr-defined]
    return operator


def refuse_filling(missing: str, where: str) -> None:
    """Where gaps cannot be filled they are refused before anything is read."""
    if missing != "error":
        message = f"missing={missing!r} is for data in memory and files, not for {where}; fill the gaps first."
        raise OptionError(message, parameter="missing")


def _build_in_passes(source: Any, storage: Storage, statistics: dict[str, Any], missing: str) -> Operator:
    """The covariance of data that stay where they are and are read block by block."""
    from sparseigen.operators.pass_data import ChunkedData
    from sparseigen.rows.files import check_checkpoint
    from sparseigen.rows.read_ahead import check_memory_limit

    limit, log = check_memory_limit(storage.memory_limit), check_checkpoint(storage.checkpoint)
    options = {"memory_limit": limit, "checkpoint": log, "on_block": storage.on_block, **statistics}
    if getattr(source, "by_variable", False):
        from sparseigen.operators.variable_data import VariableData

        return VariableData(source, missing=missing, **options)
    if missing == "error":
        return ChunkedData(source, **options)
    filled = FilledRows(source)
    operator = ChunkedData(filled, **options)  # type: ignore[arg-type]
    operator.passes_made += 1  # the one that found the means
    operator.gaps = filled.gaps  # type: ignore[attr-defined]
    return operator


def _build_on_cluster(X: Any, storage: Storage, statistics: dict[str, Any]) -> Operator:
    """The covariance of data in partitions, which stay with the workers."""
    from sparseigen.operators.pass_data import ClusterData
    from sparseigen.rows.cluster import Cluster
    from sparseigen.rows.files import check_checkpoint
    from sparseigen.rows.partitions import row_partitions

    misplaced = storage.find_set(("device", "memory_limit", "dataset", "shape", "on_block"))
    if misplaced is not None:
        wish = getattr(storage, misplaced)
        message = f"{misplaced}={wish!r} is not for data in partitions, which stay with the workers."
        raise OptionError(message)
    log = check_checkpoint(storage.checkpoint)
    return ClusterData(row_partitions(X), Cluster(storage.client), keep=storage.keep, checkpoint=log, **statistics)


def covariance_of_data(value: Any, *, scale: bool | str) -> Any:
    """An operator that knows its data's means and scales, if that is what was given; None for anything else.

    Raises
    ------
    OptionError
        If it was made without scaling and ``scale`` asks for it, or without centring.
    """
    if not isinstance(value, Operator) or not hasattr(value, "means"):
        return None
    if (scale and scale != value.scale) or not value.center:  # type: ignore[attr-defined]
        message = (
            "the operator was made with other options than the estimator's: use covariance(source"
            f"{f', scale={scale!r}' if scale else ''}), centred, or set scale={value.scale!r} here."  # type: ignore[attr-defined]
        )
        raise OptionError(message)
    return value


def _is_linear_operator(value: Any) -> bool:
    # Without that module there is no LinearOperator; nor is there while another thread is still importing it.
    kind = getattr(sys.modules.get("scipy.sparse.linalg"), "LinearOperator", None)
    return kind is not None and isinstance(value, kind)


def as_operator(matrix: Any) -> Operator:
    """The operator that stands for a symmetric matrix of any kind.

    Parameters
    ----------
    matrix : array, scipy sparse matrix, DataFrame, LinearOperator, Operator, or object with the operator contract
        An operator comes back as it is. For data use `covariance`.

    Returns
    -------
    Operator

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> se.operators.as_operator(np.eye(3))
    <DenseSymmetric 3 x 3 float64>
    """
    if isinstance(matrix, Operator):
        return matrix
    if all(hasattr(matrix, name) for name in CONTRACT) and callable(getattr(matrix, "apply_support", None)):
        return AdaptedOperator(matrix)
    if _is_linear_operator(matrix):
        return from_linear_operator(matrix)
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
        """The object's own block product, or one product per column."""
        if hasattr(self.base, "block_apply"):
            return np.asarray(self.base.block_apply(block))
        everything = np.arange(self.size, dtype=np.int64)
        return np.column_stack([self.apply_support(everything, column) for column in block.T])
