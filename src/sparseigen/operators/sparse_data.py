"""The covariance of sparse data, centred and scaled without ever being densified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.arrays import CheckedArray, row_blocks
from sparseigen.checks.memory import check_room
from sparseigen.operators.contract import FORM_ENTRIES, AccessCosts, Indices, Matrix, Operator, Vector, computed_once
from sparseigen.operators.moments import (
    check_variances,
    choose_scales,
    degrees_of_freedom,
    gram_errors,
    scaled_variances,
)
from sparseigen.operators.samples import Samples, SparseSamples

SHORT_NUMBERS_FROM = 1 << 20
"""Stored entries from which the products no longer fit in the caches."""
SPARSE_PRODUCT_COST = 6.0
"""Time of a multiplication between two sparse matrices, in those of a sparse with a dense one."""

REMEMBERED_FROM = 512
"""Variables of a principal block from which the last one is kept: deflated data ask for it again."""
SUMMED_AT_ONCE = 1 << 19
"""Stored entries that are converted and summed at a time: four temporaries of this length."""


class SparseData(Operator):
    """A = D'D / (n - ddof) with D = (X - 1 means') / deviations and X sparse.

    X is kept by columns (one sparse row per variable). Centring costs nothing in the second half of a product,
    because centred scores sum to zero; only their rounding error is subtracted.
    """

    negative_part = 0.0

    def __init__(self, data: CheckedArray, *, center: bool, scale: bool | str, ddof: int) -> None:
        _check_fits(data.values)
        by_column = data.values if data.values.format == "csc" else _transpose(data.values).T
        usable = data.values.format == "csr" and data.values.has_canonical_format
        self._given_by_sample = data.values if usable else None
        if not by_column.has_canonical_format:
            by_column = by_column.copy()  # summing duplicates works in place, and the caller's matrix is not ours
            by_column.sum_duplicates()
        if not by_column.data.all():  # stored zeros are the same data
            by_column = by_column.copy() if by_column is data.values else by_column
            by_column.eliminate_zeros()
        self.variables = by_column.T  # compressed rows, one per variable, sharing the memory of by_column
        self.size, self.n_samples = self.variables.shape
        # The products are bound by the memory: short numbers where they suffice, at 2 bytes per entry more memory.
        few = self.n_samples <= 1 << 16 and self.variables.nnz >= SHORT_NUMBERS_FROM
        self.sample_numbers = self.variables.indices.astype(np.uint16) if few else self.variables.indices
        self.dtype = self.variables.dtype
        self.names = data.names
        self.divisor = degrees_of_freedom(self.n_samples, ddof)
        self.center, self.scale = center, scale
        self.means = (
            self._sum_entries(lambda values, variables: values) / self.n_samples if center else np.zeros(self.size)
        )
        self.deviations = np.ones(self.size)
        self._block_known: tuple[bytes, NDArray[np.float64]] | None = None
        variances = check_variances(self._variances(), self.dtype)
        self.deviations = choose_scales(scale, variances, self.means, self.names)

    def _diagonal(self) -> NDArray[np.float64]:
        # Exactly one after scaling: rounding must not decide which of equal variances is the largest.
        return scaled_variances(self.deviations) if self.scale is True else self._variances()

    def _variances(self) -> NDArray[np.float64]:
        # Sum over the non-zeros of (value - mean)^2 plus mean^2 for every zero: no cancellation.
        filled = np.diff(self.variables.indptr)
        with np.errstate(over="ignore", invalid="ignore"):  # refused by check_variances
            squares = self._sum_entries(lambda values, variables: (values - self.means[variables]) ** 2)
            squares += (self.n_samples - filled) * self.means**2
        return np.asarray(squares / (self.divisor * self.deviations**2))

    def _sum_entries(self, of: Callable[[NDArray[np.float64], Indices], NDArray[np.float64]]) -> NDArray[np.float64]:
        """For every variable the sum of a function of its entries, in float64; some variables at a time.

        scipy's own sum rounds float32 data to float32 on the way, and copies all of them.
        """
        starts, sums = self.variables.indptr, np.empty(self.size)
        begin = 0
        while begin < self.size:
            end = int(np.searchsorted(starts, starts[begin] + SUMMED_AT_ONCE, side="right")) - 1
            end = min(max(end, begin + 1), self.size)
            variables = np.repeat(np.arange(begin, end), np.diff(starts[begin : end + 1]))
            values = self.variables.data[starts[begin] : starts[end]].astype(np.float64)
            sums[begin:end] = np.bincount(variables - begin, weights=of(values, variables), minlength=end - begin)
            begin = end
        return sums

    def _scores(self, indices: Indices, weights: Vector) -> NDArray[np.float64]:
        data = self.variables
        scaled = np.asarray(weights, dtype=np.float64) / self.deviations[indices]
        raw = kernels.sparse_combine_rows(
            data.indptr,
            self.sample_numbers,
            data.data,
            indices,
            scaled.astype(self.dtype, copy=False),
            self.n_samples,
        )
        return raw.astype(np.float64, copy=False) - float(self.means[indices] @ scaled)

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """Centred scores of the k variables, then every variable's product with them."""
        scores = self._scores(indices, weights) / self.divisor
        data = self.variables
        raw = kernels.sparse_row_dots(
            data.indptr, self.sample_numbers, data.data, scores.astype(self.dtype, copy=False)
        )
        product: Vector = (raw - self.means * scores.sum()) / self.deviations
        return product.astype(self.dtype, copy=False)

    @computed_once
    def _by_sample(self) -> Any:
        """X by samples: the caller's own where it came so."""
        return _transpose(self.variables) if self._given_by_sample is None else self._given_by_sample

    @computed_once
    def _sample_lengths(self) -> NDArray[np.int64]:
        """Stored entries of each sample."""
        lengths: NDArray[np.int64] = np.diff(self._by_sample.indptr)
        return lengths

    def _centre(self, indices: Indices, samples: slice) -> NDArray[np.float64]:
        """Some samples of some variables, dense, centred and scaled: shape (len(indices), samples)."""
        block = self.variables[indices][:, samples].toarray().astype(np.float64)
        centred: NDArray[np.float64] = (block - self.means[indices, None]) / self.deviations[indices, None]
        return centred

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices]; only the k chosen variables are ever dense, a block of samples at a time."""
        return self.accurate_columns(indices).astype(self.dtype, copy=False)

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """The same in float64; variables that share few samples are multiplied as sparse ones.

        Both ways subtract products of uncentred numbers, which is what `entry_errors` allows for.
        """
        chosen = self.variables[indices].astype(np.float64)
        entries_met = float(self._sample_lengths[chosen.indices].sum())
        if SPARSE_PRODUCT_COST * entries_met < float(self.variables.nnz) * len(indices):
            with np.errstate(over="ignore", invalid="ignore"):
                raw = (chosen @ self._by_sample).toarray()
                raw -= np.multiply.outer(self.n_samples * self.means[indices], self.means)
            if np.isfinite(raw).all():  # uncentred squares can overflow where centred ones do not
                return np.asarray(raw.T / (self.divisor * self.deviations[:, None]) / self.deviations[indices])
        out = np.zeros((self.size, len(indices)))
        for samples in row_blocks(self.n_samples, len(indices)):
            block = self._centre(indices, samples)
            part = self.variables if samples == slice(0, self.n_samples) else self.variables[:, samples]
            out += part @ block.T
            out -= self.means[:, None] * block.sum(axis=1)
        out /= self.divisor * self.deviations[:, None]
        return out

    def entry_errors(self) -> NDArray[np.float64]:
        """Rounding of dot products with uncentred columns, of scaling, and of the means."""
        moments = (self.diagonal(), self.means, self.deviations, self.n_samples, self.divisor)
        return gram_errors(*moments, np.dtype(np.float64), scale=self.scale, uncentred=True)

    @property
    def costs(self) -> AccessCosts:
        """The stored entries of k variables, then of all."""
        stored = float(self.variables.nnz)
        return AccessCosts(self.size, product=stored, per_variable=stored / self.size)

    @property
    def samples(self) -> Samples:
        """The data as they are stored, and a second array for the squares of their entries."""
        squares = self.diagonal() * self.divisor
        return SparseSamples(self.variables, self.means, self.deviations, squares, centred=self.center)

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """A[rows, columns]; principal ones are accumulated in float64, as sparse products or over blocks of samples."""
        if columns is not None:
            step = max(1, FORM_ENTRIES // self.size)  # columns are dense while some of their rows are taken
            out = np.empty((len(rows), len(columns)))
            for begin in range(0, len(columns), step):
                out[:, begin : begin + step] = self.accurate_columns(columns[begin : begin + step])[rows]
            return out
        if len(rows) < REMEMBERED_FROM:
            return self._accumulate(rows)
        key = rows.tobytes()
        if self._block_known is None or self._block_known[0] != key:
            crossed = self._cross(rows)
            self._block_known = key, self._accumulate(rows) if crossed is None else crossed
        return self._block_known[1].copy()

    def _accumulate(self, rows: Indices) -> NDArray[np.float64]:
        """A[rows, rows] from dense centred blocks of samples."""
        out = np.zeros((len(rows), len(rows)))
        for samples in row_blocks(self.n_samples, len(rows)):
            block = self._centre(rows, samples)
            out += block @ block.T
        return out / self.divisor

    def _cross(self, rows: Indices) -> NDArray[np.float64] | None:
        """A[rows, rows] from products of sparse variables, centred by algebra; None where dense blocks cost less."""
        chosen = self.variables[rows].astype(np.float64)
        met = np.bincount(chosen.indices, minlength=self.n_samples).astype(np.float64)
        if SPARSE_PRODUCT_COST * float(met @ met) > float(self.n_samples) * len(rows) ** 2:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            raw: NDArray[np.float64] = (chosen @ chosen.T).toarray()
            raw -= np.multiply.outer(self.n_samples * self.means[rows], self.means[rows])
            raw /= self.divisor * self.deviations[rows, None]
            raw /= self.deviations[rows]
        return raw if np.isfinite(raw).all() else None  # uncentred squares can overflow where centred ones do not

    def block_apply(self, block: Matrix) -> Matrix:
        """A V by two sparse products."""
        scaled = block.astype(np.float64, copy=False) / self.deviations[:, None]
        scores = self.variables.T @ scaled - self.means @ scaled
        product = self.variables @ scores - self.means[:, None] * scores.sum(axis=0)
        return np.asarray(product / (self.divisor * self.deviations[:, None]), dtype=self.dtype)

    def describe(self) -> dict[str, object]:
        """Adds the number of samples, the stored entries and what was done to the columns."""
        return super().describe() | {
            "n_samples": self.n_samples,
            "nonzeros": int(self.variables.nnz),
            "extra_bytes": 0 if self.sample_numbers is self.variables.indices else int(self.sample_numbers.nbytes),
            "center": self.center,
            "scale": self.scale,
        }


def _transpose(rows: Any) -> Any:
    """The transpose of compressed rows, in compressed rows: scipy's way takes seconds that Ctrl-C cannot end."""
    starts, numbers, values = kernels.sparse_transpose(rows.indptr, rows.indices, rows.data, rows.shape[1])
    return type(rows)((values, numbers, starts), shape=rows.shape[::-1])


def _check_fits(values: Any) -> None:
    """Refuse data whose copy by columns, with short sample numbers beside it, would not fit."""
    entries = int(values.nnz)
    copied = 0 if values.format == "csc" else (values.dtype.itemsize + values.indices.itemsize) * entries
    subject = f"X by columns ({values.shape[0]} x {values.shape[1]}, {entries} entries)"
    check_room(copied + 2 * entries, subject, "save X as an .h5ad file and pass its path, which is read in passes")
