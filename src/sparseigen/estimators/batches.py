"""Data that come in batches: exact second moments while the matrix can be held, the rows themselves beyond that.

With c the mean of the first batch, S1 the sum and S2 the second moment of x - c over all samples, the covariance is
(S2 - S1 S1' / n) / (n - 1): no sketch, and the order of batches changes it by rounding only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import CheckedArray, is_sparse, row_blocks
from sparseigen.checks.coercion import check_meaning
from sparseigen.checks.frames import check_no_gaps
from sparseigen.checks.memory import check_room
from sparseigen.errors import OptionError, ShapeError, TooFewSamplesError
from sparseigen.operators import Operator, covariance
from sparseigen.operators.contract import LARGEST_MATERIALISED
from sparseigen.operators.gaps import check_missing
from sparseigen.operators.matrix import DenseSymmetric
from sparseigen.operators.moments import PATTERSON, check_scale, check_variances, find_scales, finite_scales

Numbers = NDArray[np.float64]


class Batches:
    """What was seen so far of data with ``size`` variables."""

    def __init__(self, size: int) -> None:
        self.size, self.n_samples, self.n_batches = size, 0, 0
        self.rows: list[Any] = []
        """The batches themselves, where there are too many variables for a matrix of them."""
        self.centre: Numbers = np.zeros(size)
        self.sums: Numbers = np.zeros(size)
        self.squares: Numbers | None = None
        if size <= LARGEST_MATERIALISED:
            check_room(24 * size**2, f"the second moments of {size} variables", "use fewer variables")
            self.squares = np.zeros((size, size))

    def add(self, batch: Any) -> None:
        """One more batch, dense or sparse, checked before; it is not kept where moments are."""
        if batch.shape[1] != self.size:
            message = f"this batch has {batch.shape[1]} variables; those before it had {self.size}."
            raise ShapeError(message)
        if self.squares is None:
            self.rows.append(batch.copy())
        else:
            self._add_moments(batch, self.squares)
        self.n_samples += batch.shape[0]
        self.n_batches += 1

    def _add_moments(self, batch: Any, squares: Numbers) -> None:
        if not self.n_samples:
            self.centre = np.asarray(batch.mean(axis=0), dtype=np.float64).ravel()
        for part in row_blocks(*batch.shape):
            rows = batch[part]
            away = np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64) - self.centre
            self.sums += away.sum(axis=0)
            squares += away.T @ away

    def operator(self, *, scale: bool | str, names: tuple[str, ...] | None) -> tuple[Operator, Numbers, Numbers]:
        """The covariance (or correlation) of all batches, and the means and scales of the variables."""
        if self.n_samples < 2:
            message = f"{self.n_samples} sample was seen; a covariance needs at least 2. Pass more batches first."
            raise TooFewSamplesError(message)
        if self.squares is None:
            return self._build_from_rows(scale, names)
        if scale == PATTERSON:
            message = "scale='patterson' is not for batches; write the genotypes to one file and fit that."
            raise OptionError(message, parameter="scale")
        n, divisor = self.n_samples, self.n_samples - 1
        matrix = (self.squares - np.outer(self.sums, self.sums) / n) / divisor
        matrix = 0.5 * (matrix + matrix.T)
        means = self.centre + self.sums / n
        variances = check_variances(np.maximum(matrix.diagonal(), 0.0), np.dtype(np.float64))
        deviations = find_scales(variances, means, names) if scale else np.ones(self.size)
        matrix /= np.outer(deviations, deviations)
        errors = self._bound_errors(divisor) / deviations**2
        if scale:
            np.fill_diagonal(matrix, np.isfinite(deviations).astype(np.float64))
            # Deviations are off by half of w_i each, relatively: an entry, at most one, by about the mean of w_i and
            # w_j, which is above sqrt(w_i w_j) where they differ; twice the largest also covers the squares of both.
            errors += 2.0 * float(errors.max()) + 2.0**-50  # the last: of the quotients
        checked = CheckedArray(matrix, "dense", names)
        return DenseSymmetric(checked, positive_semidefinite=True, entry_errors=errors), means, deviations

    def _bound_errors(self, divisor: int) -> Numbers:
        """`Operator.entry_errors` of the matrix: w with |error of entry (i, j)| <= sqrt(w_i w_j).

        With q_i the second moment of x_i - c_i and B batches: x - c is rounded once per factor, sums of products have n
        terms in blocks that are added up, together gamma(n + B + 4) sqrt(q_i q_j) n; S1_i is off by gamma(n) times the
        sum of magnitudes, at most sqrt(n q_i n), so S1_i S1_j / n by 2 gamma(n + 4) sqrt(q_i q_j) n; subtraction,
        halving and division add four roundings of numbers no larger than twice that. All together is below
        4 (n + B + 20) roundings of sqrt(q_i q_j) n / (n - 1).
        """
        assert self.squares is not None
        moments = self.squares.diagonal() / divisor
        parts = self.n_batches * len(row_blocks(max(1, self.n_samples // self.n_batches), self.size))
        bound: Numbers = 4.0 * 1.02 * (self.n_samples + parts + self.n_batches + 20.0) * 2.0**-53 * moments
        return bound

    def _build_from_rows(self, scale: bool | str, names: tuple[str, ...] | None) -> tuple[Operator, Numbers, Numbers]:
        """Too many variables for their second moments: the rows are kept, and stand for themselves."""
        if any(is_sparse(part) for part in self.rows):
            from scipy.sparse import vstack

            whole: Any = vstack(self.rows, format="csr")
        else:
            whole = np.concatenate(self.rows)
        self.rows = [whole]
        built: Any = covariance(whole, scale=scale, names=names)
        return built, built.means, built.deviations


class InBatches:
    """What `SparsePCA` does with batches."""

    scale: bool | str
    missing: str
    _batches: Batches
    n_samples_: int | None
    missing_: NDArray[np.float64] | None

    if TYPE_CHECKING:

        def _fit_operator(self, operator: Operator) -> Any: ...

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Add a batch of samples to those seen before, and find the components of all of them.

        Up to 4096 variables the second moments are kept, exact but for rounding, which the certificates allow for; of
        more variables the rows themselves are kept. `fit` begins anew; ``fit(iterator)`` adds up all batches that an
        iterator gives and finds the components once.

        Parameters
        ----------
        X : array, scipy sparse matrix or DataFrame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> import sparseigen as se
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((100, 8)) + 2.0 * rng.standard_normal((100, 1)) * (np.arange(8) < 3)
        >>> pca = se.SparsePCA(n_components=1, cardinality=3)
        >>> for batch in np.split(X, 4):
        ...     pca = pca.partial_fit(batch)
        >>> pca.n_samples_, pca.results_[0].support.tolist()
        (100, [0, 1, 2])
        """
        self._add_batch(X)
        return self._fit_batches()

    def _add_batch(self, X: Any) -> None:
        if check_missing(self.missing) != "error":
            msg = "missing='mean' needs the means of all samples before the first product; fill the gaps of batches."
            raise OptionError(msg, parameter="missing")
        check_meaning(X, "X")
        names = getattr(X, "columns", None)
        first = "_batches" not in self.__dict__
        from sklearn.utils.validation import validate_data

        X = validate_data(
            self, X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), ensure_all_finite=False, reset=first
        )
        check_no_gaps(X, names)
        if first:
            self._batches = Batches(X.shape[1])
        self._batches.add(X.tocsr() if is_sparse(X) else X)

    def _fit_batches(self) -> Any:
        if "_batches" not in self.__dict__:
            msg = "the iterator gave no batch; it must give arrays of shape (n_samples, n_features)."
            raise ShapeError(msg)
        named = tuple(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        operator, self.mean_, deviations = self._batches.operator(scale=check_scale(self.scale), names=named)
        self.scale_, self.n_samples_, self.missing_ = finite_scales(deviations), self._batches.n_samples, None
        return self._fit_operator(operator)
