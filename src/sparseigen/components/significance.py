"""Which variables take part in a component: tests of every variable against its score, and the level they are held to.

A variable is tested by its regression on the component's score. The score of a component contains its members, so that
a member is tested on the score *without its own part*: otherwise every member looks significant. With the data at hand
(`RowTests`) the variance of the slope is the one that allows for unequal and heavy-tailed noise (HC3): a residual at a
sample of leverage h counts 1 / (1 - h)^2. From a covariance matrix and the number of samples alone (`MatrixTests`)
only the classical t is possible, which trusts that noise is normal.

J. S. Long, L. H. Ervin, "Using heteroscedasticity consistent standard errors in the linear regression model", The
American Statistician 54 (2000), 217-224. Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", J. Royal
Statistical Society B 57 (1995), 289-300.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels.eigen import leading_eigenpair
from sparseigen.operators import Operator
from sparseigen.operators.contract import Indices, SparseVector
from sparseigen.operators.deflated import schur_complement
from sparseigen.operators.samples import Samples

Floats = NDArray[np.float64]

LARGEST_LEVERAGE = 0.999
"""A sample that determines the score by itself would have an infinite weight."""
LARGEST_STATISTIC = 1e8
"""A copy of another variable leaves no residual."""
TESTED_EXACTLY = 256
"""Members whose leverages are computed without their own part; in larger sets one member hardly moves them."""
ALIVE, REMAINING = 1e-12, 1e-6
"""Variables below these shares of the largest variance, or of the variance they had, are constant."""
LARGEST_DECOMPOSED, LONG_ITERATION = 1500, 100
"""Size of the eigenproblems that are solved by decomposition, and power steps for larger ones."""
LARGEST_SCAN, SCANNED_AT_ONCE = 2e10, 256
"""Multiplications that all pairs of variables may cost, and variables at a time."""
LARGEST_VALUE, NORMAL_MEDIAN = 2.0, 0.6745
"""In standard deviations: what is above counts as this much where pairs are looked at; and the median magnitude of a
normal variable in the same unit."""
FEW_SAMPLES = 256
"""Whose inner products cost no more than a subspace iteration."""
CACHED_ROWS = 1 << 22
"""Numbers of a part of the variables that are copied for repeated products with it."""


class Tested(NamedTuple):
    """What a test of all variables on one component finds."""

    statistics: Floats
    """t of every variable; 0 for constant ones."""
    covariances: Floats
    """A w: every variable's covariance with the score."""


class VariableTests(ABC):
    """Tests of all variables, components taken out by regression on their scores."""

    size: int
    n_samples: int
    removed: int = 0

    def __init__(self, variances: Floats) -> None:
        self.size = len(variances)
        self.original = self.variances = variances
        self.live = variances > ALIVE * float(variances.max(initial=0.0))
        spread = variances[self.live]
        self.equal = bool(spread.size and spread.max() < 1.0001 * spread.min())
        """Whether the variances say nothing: those of a correlation matrix."""

    @property
    def freedom(self) -> int:
        """Degrees of freedom: a mean, a slope and the components taken out are paid for."""
        return self.n_samples - 2 - self.removed

    @property
    def count(self) -> int:
        """Variables that are not constant: how many tests are made at once."""
        return int(self.live.sum())

    @abstractmethod
    def apply(self, vectors: Sequence[SparseVector]) -> Floats:
        """A w for each of the vectors, shape (p, number of vectors)."""

    @abstractmethod
    def submatrix(self, indices: Indices) -> Floats:
        """The covariances among some variables."""

    def lead(self, indices: Indices) -> tuple[Floats, float]:
        """The leading eigenvector on some variables, and its variance."""
        if len(indices) <= LARGEST_DECOMPOSED:
            return leading_eigenpair(self.submatrix(indices))
        weights = self.iterate_within(indices, np.sqrt(self.variances[indices]), LONG_ITERATION, scaled=False)
        product = self.apply([SparseVector(indices, weights)])[indices, 0]
        return weights, float(weights @ product)

    @abstractmethod
    def test(self, vector: SparseVector) -> Tested:
        """The statistics of every variable on the component's score."""

    @abstractmethod
    def take_out(self, vector: SparseVector) -> None:
        """Go on with what a component leaves: every variable less its regression on the score."""

    @abstractmethod
    def communality(self, *, scaled: bool) -> Floats:
        """How much of each variable the leading directions hold; of standardised variables where ``scaled``."""

    def iterate_within(self, indices: Indices, weights: Floats, steps: int, *, scaled: bool) -> Floats:
        """Power steps on some variables alone; ``scaled``: on them standardised, seen in the given variables."""
        for _ in range(steps):
            covariances = self.apply([SparseVector(indices, weights)])[indices, 0]
            weights = _normalise(covariances / self.variances[indices] if scaled else covariances)
        return weights

    def test_classically(self, covariances: Floats, vector: SparseVector) -> Floats:
        """The t of normal theory from A w: sqrt(nu / (1 - r^2)) r, r the correlation with the score less the own part.

        Cheap, for deciding where to begin.
        """
        indices, weights, variances = vector.indices, vector.weights, self.variances
        length = float(weights @ covariances[indices])
        numerator, lengths = covariances.copy(), np.full(self.size, length)
        numerator[indices] -= weights * variances[indices]
        lengths[indices] -= weights * (2.0 * covariances[indices] - weights * variances[indices])
        scale = np.sqrt(np.maximum(variances * np.maximum(lengths, 1e-12 * length), np.finfo(float).tiny))
        r = np.where(self.live, np.clip(numerator / scale, -0.999999, 0.999999), 0.0)
        statistics: Floats = r * np.sqrt(self.freedom / (1.0 - r * r))
        return statistics

    def scan_pairs(self) -> Floats | None:
        """How strongly each variable is correlated with single others; None where all pairs cost too much.

        Of squared correlations, in units of their variance under independence, what is above 2 log p: among p
        independent variables about one exceeds that.
        """
        if self.pair_cost > LARGEST_SCAN:
            return None
        live = np.flatnonzero(self.live)
        lengths, strengths = np.sqrt(self.variances[live]), np.zeros(self.size)
        least = 2.0 * np.log(len(live))
        for begin in range(0, len(live), SCANNED_AT_ONCE):
            part = live[begin : begin + SCANNED_AT_ONCE]
            r = self.correlate(part)[live]
            r /= lengths[:, None]
            r[begin + np.arange(len(part)), np.arange(len(part))] = 0.0
            z = self.freedom * r * r
            strengths[part] = np.maximum(z - least, 0.0, out=z).sum(axis=0)
        return strengths

    @property
    @abstractmethod
    def pair_cost(self) -> float:
        """Multiplications for the covariances of all pairs."""

    @abstractmethod
    def correlate(self, indices: Indices) -> Floats:
        """The covariances of all variables with some, these of variance 1; shape (p, len(indices))."""

    def excess(self, vector: SparseVector) -> float:
        """w'Aw less what the variables would have alone: the sum of the covariances between different members."""
        return self.find_variance(vector) - float(vector.weights**2 @ self.variances[vector.indices])

    @abstractmethod
    def find_variance(self, vector: SparseVector) -> float:
        """w'Aw."""


class RowTests(VariableTests):
    """Tests from the samples themselves, safe against unequal variances and heavy tails."""

    def __init__(self, samples: Samples) -> None:
        self.samples, self.n_samples = samples, samples.n_samples
        self.divisor = max(1, samples.n_samples - 1)
        super().__init__(samples.squares / self.divisor)
        self._directions: dict[bool, Floats] = {}

    def apply(self, vectors: Sequence[SparseVector]) -> Floats:
        """Scores of each, then one product for all."""
        scores = np.column_stack([self.samples.scores(vector.indices, vector.weights) for vector in vectors])
        return self.samples.multiply(scores) / self.divisor

    def find_variance(self, vector: SparseVector) -> float:
        """From the scores."""
        scores = self.samples.scores(vector.indices, vector.weights)
        return float(scores @ scores) / self.divisor

    @property
    def pair_cost(self) -> float:
        """A product with the data for every variable."""
        return float(self.size) ** 2 * self.n_samples

    def correlate(self, indices: Indices) -> Floats:
        """One product with the data, large values cut: two outliers in one sample are not a relation."""
        rows = self.samples.gather(indices)
        middle = np.median(np.abs(rows), axis=1) / NORMAL_MEDIAN  # a standard deviation that outliers do not raise
        usual = np.where(middle > 0.0, middle, np.sqrt(self.variances[indices]))
        most = LARGEST_VALUE * usual[:, None]
        rows = np.clip(rows, -most, most)
        rows -= rows.mean(axis=1, keepdims=True)
        deviations = np.sqrt(np.einsum("ij,ij->i", rows, rows) / self.divisor)
        return self.samples.multiply((rows / np.where(deviations > 0.0, deviations, np.inf)[:, None]).T) / self.divisor

    def submatrix(self, indices: Indices) -> Floats:
        """From the chosen variables alone."""
        rows = self.samples.gather(indices)
        return rows @ rows.T / self.divisor

    def lead(self, indices: Indices) -> tuple[Floats, float]:
        """By the samples' inner products where they are fewer than the variables."""
        if len(indices) <= self.n_samples or self.n_samples > LARGEST_DECOMPOSED:
            return super().lead(indices)
        rows = self.samples.gather(indices)
        scores, value = leading_eigenpair(rows.T @ rows)
        return _normalise(rows @ scores), value / self.divisor

    def iterate_within(self, indices: Indices, weights: Floats, steps: int, *, scaled: bool) -> Floats:
        """On a copy of the chosen variables where that is small."""
        if len(indices) * self.n_samples > CACHED_ROWS or len(indices) == self.size:
            return super().iterate_within(indices, weights, steps, scaled=scaled)
        rows = self.samples.gather(indices)
        for _ in range(steps):
            covariances = rows @ (weights @ rows)
            weights = _normalise(covariances / self.variances[indices] if scaled else covariances)
        return weights

    def test(self, vector: SparseVector) -> Tested:
        """The robust t: three sums per variable in one read of the data."""
        samples, indices, weights = self.samples, vector.indices, vector.weights
        s = samples.scores(indices, weights)
        length = float(s @ s)
        if not length > 0.0:
            return Tested(np.zeros(self.size), np.zeros(self.size))
        leverages = np.minimum(samples.leverages + s * s / length, LARGEST_LEVERAGE)
        omega = s * s / (1.0 - leverages) ** 2
        products, crossed, squares = samples.moments(s, omega).T
        numerator, lengths = products.copy(), np.full(self.size, length)
        own = weights * samples.squares[indices]
        numerator[indices] -= own
        lengths[indices] = np.maximum(length - weights * (2.0 * products[indices] - own), 1e-12 * length)
        slopes = numerator / lengths
        errors = squares - 2.0 * slopes * crossed + slopes**2 * float(omega @ (s * s))
        statistics = _studentise(numerator, errors)
        if 1 < len(indices) <= TESTED_EXACTLY:
            members = samples.gather(indices)
            others = s - members * weights[:, None]
            taken = np.minimum(samples.leverages + others**2 / lengths[indices, None], LARGEST_LEVERAGE)
            residuals = (members - others * slopes[indices, None]) * others / (1.0 - taken)
            statistics[indices] = _studentise(numerator[indices], np.einsum("ij,ij->i", residuals, residuals))
        statistics[~self.live] = 0.0
        return Tested(statistics, products / self.divisor)

    def take_out(self, vector: SparseVector) -> None:
        """Regress every variable on the scores."""
        scores = self.samples.scores(vector.indices, vector.weights)
        self.samples = self.samples.without(scores)
        self.removed = self.samples.removed
        self.variances = self.samples.squares / self.divisor
        self.live = self.live & (self.variances > REMAINING * self.original)

    def communality(self, *, scaled: bool) -> Floats:
        """The part of each variable in the span of the leading score vectors."""
        basis = self._lead_scores(scaled=scaled)
        parts: Floats = (self.samples.multiply(basis) ** 2).sum(axis=1)
        return parts / np.where(self.live, self.variances, np.inf) if scaled else parts

    def _lead_scores(self, *, scaled: bool, count: int = 16, steps: int = 8) -> Floats:
        """An orthonormal basis of the leading score vectors, of many samples near it.

        Those come by subspace iteration from the last ones found; few samples by their inner products, at that cost.
        """
        count = min(count, self.n_samples, self.size)
        if self.n_samples <= FEW_SAMPLES:
            weights = np.zeros(self.size)
            weights[self.live] = 1.0 / self.variances[self.live] if scaled else 1.0
            vectors: Floats = np.linalg.eigh(self.samples.multiply_samples(weights))[1][:, -count:]
            return vectors
        basis = self._directions.get(scaled)
        if basis is None:
            basis = np.random.default_rng(0).standard_normal((self.n_samples, count))
        else:
            steps //= 2
        divisors = np.where(self.live, self.variances, np.inf) if scaled else np.where(self.live, 1.0, np.inf)
        for _ in range(steps):
            basis = self.samples.combine(self.samples.multiply(np.linalg.qr(basis)[0]) / divisors[:, None])
        self._directions[scaled] = np.linalg.qr(basis)[0]
        return self._directions[scaled]


class MatrixTests(VariableTests):
    """Tests from a covariance matrix and the number of samples behind it: classical, for nearly normal data."""

    def __init__(self, operator: Operator, n_samples: int) -> None:
        self.operator, self.n_samples = operator, n_samples
        super().__init__(np.maximum(operator.diagonal(), 0.0))

    def apply(self, vectors: Sequence[SparseVector]) -> Floats:
        """One product per vector."""
        products = [self.operator.apply_support(vector.indices, vector.weights) for vector in vectors]
        return np.column_stack(products).astype(np.float64)

    def find_variance(self, vector: SparseVector) -> float:
        """By one product."""
        return float(vector.weights @ self.apply([vector])[vector.indices, 0])

    @property
    def pair_cost(self) -> float:
        """Every column of the matrix."""
        return float(self.operator.costs.product) * self.size

    def correlate(self, indices: Indices) -> Floats:
        """Some columns of the matrix."""
        return self.operator.submatrix(np.arange(self.size), indices) / np.sqrt(self.variances[indices])

    def submatrix(self, indices: Indices) -> Floats:
        """A block of the matrix."""
        return self.operator.submatrix(indices)

    def test(self, vector: SparseVector) -> Tested:
        """The classical t."""
        covariances = self.apply([vector])[:, 0]
        if not float(vector.weights @ covariances[vector.indices]) > 0.0:
            return Tested(np.zeros(self.size), covariances)
        return Tested(self.test_classically(covariances, vector), covariances)

    def take_out(self, vector: SparseVector) -> None:
        """The Schur complement."""
        self.operator = schur_complement(self.operator, vector.spread(self.size))
        self.removed += 1
        self.variances = np.maximum(self.operator.diagonal(), 0.0)
        self.live = self.live & (self.variances > REMAINING * self.original)

    def communality(self, *, scaled: bool) -> Floats:
        """The part of each variable in the span of the leading eigenvectors."""
        count = min(16, self.size)
        scale = np.where(self.live, 1.0 / np.sqrt(np.where(self.live, self.variances, 1.0)) if scaled else 1.0, 0.0)
        block = np.random.default_rng(0).standard_normal((self.size, count))
        for _ in range(8):
            block = scale[:, None] * self.operator.block_apply(scale[:, None] * np.linalg.qr(block)[0])
        vectors, sizes, _ = np.linalg.svd(block, full_matrices=False)
        parts: Floats = (vectors**2 * sizes).sum(axis=1)
        return parts


def find_p_values(statistics: Floats, freedom: int) -> Floats:
    """Two-sided p-values of Student's t.

    Examples
    --------
    >>> import numpy as np
    >>> find_p_values(np.array([0.0, 2.0]), 60).round(3)
    array([1.  , 0.05])
    """
    from scipy.special import stdtr

    values: Floats = 2.0 * stdtr(freedom, -np.abs(statistics))
    return values


def adjust_p_values(p_values: Floats, count: int) -> Floats:
    """Benjamini and Hochberg's adjusted p-values: the level at which each variable would be taken.

    Examples
    --------
    >>> import numpy as np
    >>> adjust_p_values(np.array([0.01, 0.5, 0.02]), 3)
    array([0.03, 0.5 , 0.03])
    """
    order = np.argsort(p_values, kind="stable")
    ratios = p_values[order] * count / np.arange(1, len(p_values) + 1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.minimum.accumulate(ratios[::-1])[::-1], 1.0)
    return adjusted


def select(statistics: Floats, freedom: int, level: float, count: int) -> Indices:
    """The variables that Benjamini and Hochberg's rule takes at this false discovery rate, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> select(np.array([0.3, 6.0, -5.0, 1.0]), 50, 0.01, 4).tolist()
    [1, 2]
    """
    from scipy.special import ndtri

    sizes, needed = np.abs(statistics), level
    for _ in range(2):  # Student's tails are above the normal's: what fails there, and so the rest of the rule, fails
        promising = np.flatnonzero(sizes >= -ndtri(0.5 * needed))
        needed = level * max(1, len(promising)) / count
    p_values = find_p_values(statistics[promising], freedom)
    order = np.argsort(p_values, kind="stable")
    passed = np.flatnonzero(p_values[order] <= level * np.arange(1, len(order) + 1) / count)
    return np.sort(promising[order[: passed[-1] + 1]]) if len(passed) else promising[:0]


def weigh_evidence(statistics: Floats, freedom: int, count: int) -> float:
    """How far the members' p-values beat the number of sets that were open to choice, in logarithms.

    -1/2 sum log p_j - log binomial(count, k) + log w_k: a union bound in form, over the sets of k among ``count``
    variables and over k itself, with w_k = 1/k^2 divided by the sum of those from k = 2 on. The factor 1/2 allows for
    members that depend on each other: for pairs, whose two tests are one, that is exact; for larger sets it is
    calibrated on noise, not derived.
    """
    from scipy.special import gammaln

    k = len(statistics)
    p_values = np.maximum(find_p_values(statistics, freedom), 1e-300)
    sets = gammaln(count + 1) - gammaln(k + 1) - gammaln(count - k + 1)
    return float(-0.5 * np.log(p_values).sum() - sets - np.log(k * k * (np.pi**2 / 6.0 - 1.0)))


def _studentise(numerator: Floats, squared_errors: Floats) -> Floats:
    floor = np.abs(numerator) / LARGEST_STATISTIC + np.finfo(float).tiny
    statistics: Floats = numerator / np.maximum(np.sqrt(np.maximum(squared_errors, 0.0)), floor)
    return statistics


def _normalise(weights: Floats) -> Floats:
    length = float(np.linalg.norm(weights))
    return weights / length if length > 0.0 else np.full(len(weights), len(weights) ** -0.5)
