"""Bounds on x'Ax / x'Bx for sparse x: no k variables exceed t where every k x k block of tB - A is semidefinite.

`Pencil` holds A and B in units in which both are easy to work with, D A D and D B D with D a diagonal of powers of two
that brings the diagonal of B near one. That rounds nothing, and leaves every quotient as it is (x = D y).

Let beta > 0 be a proven lower bound on y'(DBD)y / y'y. Whatever proves y'D(A - tB)Dy <= e y'y for all y allowed proves
x'Ax / x'Bx <= t + e / beta, because x'Ax = t x'Bx + (rest) <= (t + e / beta) x'Bx. So a rounding error e costs
e / beta, and that is the only place where an ill-conditioned B hurts; one that would hurt too much is refused.

Three ways to such an e:

* the kernel `search_blocks` asks whether all blocks allowed of M = t DBD - DAD are semidefinite. Its L D L' is off by
  at most 1.02 (i + 3) u sqrt(m_bb m_cc) per entry after i steps (`small_proof`), and y has k non-zeros, so e is that
  times the sum of the k largest diagonal entries; here twice that, with i at most k + the size of blocks factorised
  whole;
* a Cholesky factorisation of M as a whole: no vector at all exceeds t (`spectral.cholesky_defect`);
* the bounds on the largest sparse eigenvalue of D(A - tB)D where the matrix is too large to be held.

Each adds what the entries of M themselves are off by: those of A and |t| times those of B, and three roundings of
|a| + |t b|, as in `operators.combined`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.certificates.portfolio import QUICK, smallest_bound
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import TINY, UNIT, gamma, raised_sum, sum_of_largest
from sparseigen.certificates.spectral import cholesky_defect
from sparseigen.checks.memory import check_room
from sparseigen.errors import NotDefiniteError, RangeError
from sparseigen.kernels.block_search import FOUND, PROVEN
from sparseigen.kernels.eigen import run_arpack
from sparseigen.operators.combined import CombinedOperator, entry_magnitudes
from sparseigen.operators.contract import (
    LARGEST_MATERIALISED,
    Indices,
    Operator,
    SparseVector,
    computed_once,
    scale_exponent,
)
from sparseigen.operators.wrapped import scale_operator

Numbers = NDArray[np.float64]

SMALLEST_DEFINITE = 1e-10
"""The smallest eigenvalue of B (with a diagonal near one) that is worked with: rounding costs 1e-14 over this."""
WELL_CONDITIONED = 1e-4
"""A ridge that proves this much needs no factorisation to say more."""
NARROW = 160
"""Blocks up to this size are also looked at as a whole by the search: then all quotients in them are below t."""
LARGEST_SCALE, LARGEST_POWER = 250, 1000
"""Powers of two of D at most, and of the quotients."""
UNDERFLOW = 2.0**-270
"""More than what falls below 2**-1074 can come to: entries are scaled by 2**250 twice and by 2**300 at most after."""
COARSE = 1e-5
"""How far above Lanczos' estimate the largest quotient of many variables is proven, relative to it."""
SOLVES = 40
"""Steps of inverse iteration that find the smallest eigenvalue of B, whose proof follows."""
ROW_WORK = 1.6e10
"""Multiplications that bounds of a matrix too large to be held may spend on its columns."""


class Quota(NamedTuple):
    """How many variables may be chosen: ``picks`` of all; or of those below ``boundary``, and ``others`` beyond it."""

    picks: int
    others: int = 0
    boundary: int | None = None

    @property
    def total(self) -> int:
        """All variables that may be chosen."""
        return self.picks + self.others


class Verdict(NamedTuple):
    """What a search at t says: the bound it proves (infinite: none), or variables that reach more than t."""

    upper: float
    better: Indices | None = None
    allowance: float = 0.0
    """How far above t a bound proven there lies, for rounding."""


class Pencil:
    """A symmetric A and a positive definite B of one size, and how many variables may be chosen.

    ``unit`` is what A is multiplied with (-1 turns the smallest quotient into the largest); quotients here are those of
    unit A and B. Raises NotDefiniteError where B is not proven positive definite.
    """

    def __init__(self, form: Operator, metric: Operator, quota: Quota, *, unit: float = 1.0) -> None:
        self.quota, self.size = quota, form.size
        self.held = self.size <= LARGEST_MATERIALISED
        if self.held:
            check_room(48 * self.size**2, f"a generalised problem of {self.size} variables", "choose candidates=")
        self.metric, self.scales, metric_power = scale_metric(metric)
        power = -scale_exponent(form.magnitude)
        self.form = scale_operator(form, math.copysign(math.ldexp(1.0, min(power, 1000)), unit))
        if self.held:
            self.a, self.b = (self._hold(operator) for operator in (self.form, self.metric))
            further = -scale_exponent(float(np.abs(self.a).max()))
            if further:  # variables of very different size
                self.a = np.ldexp(self.a, further)
                self.form = scale_operator(self.form, math.ldexp(1.0, further))
                power += further
        self.unit = self._find_unit(min(power, 1000) - metric_power, unit)
        self.definite = self._prove_definite()

    def _find_unit(self, power: int, sign: float) -> float:
        """What quotients of the caller's matrices are multiplied with here; refused where they leave the range."""
        held = (self.a, self.b) if self.held else ()
        if abs(power) > LARGEST_POWER or not all(np.isfinite(matrix).all() for matrix in held):
            raise refuse_range()
        return math.copysign(math.ldexp(1.0, power), sign)

    def _hold(self, operator: Operator) -> Numbers:
        matrix = operator.to_dense()
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            matrix *= self.scales[:, None]
            matrix *= self.scales
        return matrix

    @computed_once
    def scale(self) -> float:
        """The size of the entries of A where the diagonal of B is near one: quotients far below it are zero."""
        entries = self.a if self.held else self.form.diagonal() * self.scales**2
        return float(np.abs(entries).max()) or 1.0

    @computed_once
    def _errors(self) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Errors of the entries of both matrices, and vectors that bound the entries; all scaled."""
        squares = self.scales**2
        if self.held and not np.isfinite(self.form.negative_part):
            sizes = np.abs(self.a).max(axis=0)
        else:
            sizes = entry_magnitudes(self.form) * squares
        return (
            self.form.entry_errors() * squares,
            self.metric.entry_errors() * squares,
            sizes,
            np.abs(self.metric.diagonal() * squares) + 3.0 * self.metric.entry_errors() * squares,
        )

    def _prove_definite(self) -> float:
        """The number beta, less what the entries of B are off by on the variables chosen."""
        inherited = raised_sum(
            sum_of_largest(self.metric.entry_errors() * self.scales**2, self.quota.total), self.quota.total
        )
        # A Gram matrix plus a ridge is at least the ridge.
        ridge, base = getattr(self.metric, "shift", 0.0), getattr(self.metric, "base", self.metric)
        known = ridge - getattr(self.metric, "multiplier", 1.0) * base.negative_part
        proven = known * float(self.scales.min()) ** 2 * (1.0 - 8.0 * UNIT) - inherited if known > 0.0 else 0.0
        if proven > (WELL_CONDITIONED if self.held else SMALLEST_DEFINITE):
            return proven
        if not self.held:
            message = (
                f"the metric has {self.size} variables, and above {LARGEST_MATERIALISED} it is proven positive "
                "definite only as a covariance plus a ridge. Give ridge= (a number above 0, in the units of the "
                "metric's diagonal), or fewer variables by candidates=."
            )
            raise NotDefiniteError(message, parameter="metric")
        estimate = self.factorised[1]
        for share in (0.9, 0.5, 0.1):
            shifted = self.b.copy()
            shifted[np.diag_indices(self.size)] -= share * estimate
            rounding = 4.0 * UNIT * float(np.abs(shifted.diagonal()).max())
            proven = (share * estimate - cholesky_defect(shifted) - rounding - inherited) * (1.0 - 8.0 * UNIT)
            if proven > SMALLEST_DEFINITE:
                return proven
        raise refuse_metric(estimate)

    @computed_once
    def factorised(self) -> tuple[Numbers, float]:
        """The Cholesky factor of B and about its smallest eigenvalue."""
        return factorise(self.b)

    def at(self, t: float) -> Operator:
        """D(A - tB)D as an operator, nothing formed."""
        return CombinedOperator([(1.0, self.form), (-t, self.metric)], scales=self.scales)

    def raise_to(self, t: float, excess: float) -> float:
        """The bound on quotients from y'D(A - tB)Dy <= excess y'y, rounded upward."""
        upper = t + max(excess, 0.0) / self.definite * (1.0 + 4.0 * UNIT)
        return math.nextafter(upper + 2.0 * UNIT * abs(upper), math.inf)

    def _form_at(self, t: float) -> tuple[Numbers, float]:
        """M = t DBD - DAD, and what the errors of its entries can add on the variables chosen."""
        own, metric_own, sizes, metric_sizes = self._errors
        errors = own + abs(t) * metric_own + 3.0 * UNIT * (sizes + abs(t) * metric_sizes)
        inherited = raised_sum(sum_of_largest(errors, self.quota.total), self.quota.total + 4)
        inherited += self.quota.total * UNDERFLOW * (1.0 + abs(t))
        matrix = t * self.b
        matrix -= self.a
        return matrix, inherited

    def search(self, t: float, most_work: float, weights: Numbers | None = None) -> Verdict:
        """Whether the variables allowed reach more than t, by at most about ``most_work`` operations."""
        matrix, inherited = self._form_at(t)
        total = self.quota.total
        steps = min(self.size, total + NARROW) + 2
        diagonal = np.maximum(matrix.diagonal(), 0.0)
        defect = 2.0 * gamma(steps) * raised_sum(sum_of_largest(diagonal, total), total) + TINY
        report = kernels.search_blocks(
            matrix,
            self.quota.picks,
            most_work,
            np.ones(self.size) if weights is None else weights,
            others=self.quota.others,
            boundary=self.quota.boundary,
            narrow=NARROW,
        )
        upper = self.raise_to(t, defect + inherited)
        if report.verdict == PROVEN:
            return Verdict(upper, None, upper - t)
        return Verdict(math.inf, report.support if report.verdict == FOUND else None, upper - t)

    def prove_whole(self, t: float) -> float:
        """A bound near t where no vector at all exceeds t, by a Cholesky factorisation; infinity where one does."""
        matrix, inherited = self._form_at(t)
        if not matrix.diagonal().min() > 0.0:
            return math.inf
        defect = cholesky_defect(matrix)
        return self.raise_to(t, defect + inherited) if math.isfinite(defect) else math.inf

    @computed_once
    def whole(self) -> tuple[float, Numbers]:
        """The largest quotient of all vectors as LAPACK or Lanczos see it, and its vector (of y)."""
        from scipy.linalg import eigh, solve_triangular

        if self.size <= NARROW:
            values, vectors = eigh(self.a, self.b, subset_by_index=[self.size - 1, self.size - 1])
            return float(values[0]), vectors[:, 0]

        factor = self.factorised[0]

        def multiply(vector: Numbers) -> Numbers:
            back = solve_triangular(factor, vector, lower=True, trans="T", check_finite=False)
            product: Numbers = solve_triangular(factor, self.a @ back, lower=True, check_finite=False)
            return product

        values, vectors = run_arpack(multiply, 1, np.ones(self.size), tol=0.1 * COARSE, ncv=40)
        if not len(values):
            return math.inf, np.ones(self.size)
        return float(values[0]), solve_triangular(factor, vectors[:, 0], lower=True, trans="T")

    def bound_whole(self) -> float:
        """The largest quotient of all vectors, proven."""
        estimate = self.whole[0]
        step = (1e-9 if self.size <= NARROW else COARSE) * max(abs(estimate), 1e-9)
        while math.isfinite(estimate) and step < 1.0:
            proven = self.prove_whole(estimate + step)
            if math.isfinite(proven):
                return proven
            step *= 100.0
        return math.inf

    def bound_products(self, t: float, vector: SparseVector | None) -> float:
        """A bound from those of the largest sparse eigenvalue of D(A - tB)D, where the matrices are not held."""
        operator = self.at(t)
        problem = BoundProblem(operator, self.quota.total, vector)
        problem.columns_left = min(problem.columns_left, ROW_WORK / max(operator.costs.step(1), 1.0))
        excess, _ = smallest_bound(problem, QUICK)
        return self.raise_to(t, excess) if math.isfinite(excess) else math.inf

    def measure(self, vector: SparseVector) -> tuple[float, float]:
        """The quotient of a vector (of x), and a number that it certainly reaches."""
        indices, weights = vector.indices, vector.weights
        count, slack = len(indices), 1.0 + 8.0 * gamma(len(indices))
        ends = []
        for operator in (self.form, self.metric):
            form, error = operator.quadratic_form(indices, weights)
            inherited = float(np.abs(weights) @ np.sqrt(operator.entry_errors()[indices])) ** 2
            ends.append((form, (error + inherited) * slack + 4.0 * UNIT * abs(form) + count * TINY))
        (top, top_error), (bottom, bottom_error) = ends
        value, low = top / bottom, top - top_error
        least, most = bottom - bottom_error, bottom + bottom_error
        if not least > 0.0:
            return value, -math.inf
        reached = low / (most if low >= 0.0 else least)
        return value, math.nextafter(reached - 4.0 * UNIT * abs(reached), -math.inf)


def scale_metric(metric: Operator) -> tuple[Operator, Numbers, int]:
    """B times a power of two, those powers that then bring its diagonal between one half and two, and the first."""
    diagonal = metric.diagonal()
    if not float(diagonal.min()) > 0.0:
        place = int(diagonal.argmin())
        name = place if metric.names is None else repr(metric.names[place])
        message = (
            f"the metric is not positive definite: variable {name} has {diagonal[place]:.6g} on its diagonal. Leave "
            "such variables out by candidates=, or give ridge= (a number above 0, added to the diagonal)."
        )
        raise NotDefiniteError(message, parameter="metric")
    power = -scale_exponent(float(np.median(diagonal)))
    power = min(power, 1000)
    exponents = np.round(0.5 * (np.log2(diagonal) + power)).clip(-LARGEST_SCALE, LARGEST_SCALE).astype(np.int64)
    scales: Numbers = np.ldexp(np.ones(metric.size), -exponents)
    return scale_operator(metric, math.ldexp(1.0, power)), scales, power


def factorise(matrix: Numbers) -> tuple[Numbers, float]:
    """The Cholesky factor of B and about its smallest eigenvalue, by inverse iteration; refused where there is none."""
    from scipy.linalg import LinAlgError, cho_solve, cholesky

    try:
        factor = cholesky(matrix, lower=True, check_finite=False)
    except LinAlgError:
        raise refuse_metric(0.0) from None
    vector, estimate = 1.0 + 0.1 * np.sin(np.arange(len(matrix)) + 1.0), 0.0
    vector /= np.linalg.norm(vector)
    for _ in range(SOLVES):
        solved = cho_solve((factor, True), vector, check_finite=False)
        length = float(np.linalg.norm(solved))
        previous, estimate = estimate, 1.0 / length
        vector = solved / length
        if abs(estimate - previous) <= 1e-3 * estimate:
            break
    return factor, estimate


def refuse_range() -> RangeError:
    """The error for quotients that float64 cannot hold."""
    message = (
        "the quotients x'Ax / x'Bx leave the range of float64: A and the metric have entries of very different size. "
        "Scale the variables, or one of the matrices, to entries of like size."
    )
    return RangeError(message, parameter="metric")


def refuse_metric(smallest: float) -> NotDefiniteError:
    """The error for a metric that is singular, or so nearly that rounding would take every digit of a proof."""
    found = f"has a smallest eigenvalue of about {smallest:.1e}" if smallest > 0.0 else "is singular or indefinite"
    message = (
        f"the metric {found} when its diagonal is scaled to one; proofs need {SMALLEST_DEFINITE:.0e} at least. Give "
        "ridge= (a number above 0, added to the metric's diagonal), or leave out variables that depend on others by "
        "candidates=. With more variables than samples a covariance is always singular."
    )
    return NotDefiniteError(message, parameter="metric")
