"""Every margin for rounding against exact rational arithmetic: bounds hold without a tolerance, and stay close.

Elsewhere bounds are compared with eigenvalues from LAPACK, which takes a tolerance of the very size of the margins.
Here numbers are fractions: a margin that is missing or turned round fails.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sparseigen.certificates import UPPER_BOUNDS, rounding
from sparseigen.certificates.dual_points import DualParts, dual_value, dual_values, measure, remainders
from sparseigen.certificates.factor import _pivoted_cholesky, find_factor
from sparseigen.certificates.paths import shared_row_values, trace_values
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.scaled_rows import scaled_row_values, trace_bound
from sparseigen.certificates.spectral import cholesky_defect, largest_eigenvalue_bound, psd_shift
from sparseigen.certificates.splitting import split_value
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.semidefinite import _dual_bound
from tests.brute_force import brute_force

U = Fraction(1, 2**53)
SEEDS = range(12)


def exact(values):
    """The same numbers as fractions."""
    return [exact(value) for value in values] if np.ndim(values) else Fraction(float(values))


def semidefinite(matrix):
    """Whether a matrix of fractions is positive semidefinite: elimination without rounding."""
    rows = [list(row) for row in matrix]
    for pivot in range(len(rows)):
        top = rows[pivot][pivot]
        if top < 0 or (top == 0 and any(rows[pivot][pivot:])):
            return False
        for below in range(pivot + 1, len(rows) if top else 0):
            share = rows[below][pivot] / top
            rows[below] = [a - share * b for a, b in zip(rows[below], rows[pivot], strict=True)]
    return True


def bounds_eigenvalues(bound, matrix):
    """Whether no eigenvalue of the matrix of fractions is above the bound."""
    size = range(len(matrix))
    return semidefinite([[(exact(bound) if i == j else 0) - matrix[i][j] for j in size] for i in size])


def blocks(matrix, cardinality):
    """Every principal submatrix."""
    return [
        [[matrix[i][j] for j in chosen] for i in chosen] for chosen in combinations(range(len(matrix)), cardinality)
    ]


def symmetric(seed, size=5):
    square = np.random.default_rng(seed).standard_normal((size, size))
    return square + square.T


def gram(seed, size=5, rank=3):
    rows = np.random.default_rng(seed).standard_normal((size, rank))
    return rows @ rows.T


def test_margins_cover_every_sum_of_so_many_terms():
    assert exact(rounding.UNIT) == U
    for terms in (1, 2, 3, 10, 1000, 2**20, 2**40):
        classical = terms * U / (1 - terms * U)
        assert classical < exact(rounding.gamma(terms)) < 10 * classical
        # One and many halves of its last place: every addition rounds them away.
        assert exact(rounding.raised_sum(1.0, terms + 1)) > 1 + terms * U
        assert rounding.raised_sum(1.0, terms + 1) < 1.0 + 20.0 * terms * 2.0**-53
    assert 2.0**60 * np.finfo(float).smallest_normal < rounding.TINY < 1e-280
    assert rounding.raised_sum(0.0, 1) > 0.0


def test_sum_of_largest_takes_the_largest():
    values = np.array([3.0, -1.0, 7.0, 2.0])
    assert [rounding.sum_of_largest(values, count) for count in (1, 2, 3, 4, 5)] == [7.0, 10.0, 12.0, 11.0, 11.0]


@pytest.mark.parametrize("seed", SEEDS)
def test_row_bounds_are_above_the_exact_rows(seed):
    rng = np.random.default_rng(seed)
    for cardinality in (1, 2, 4, 5):
        problem = BoundProblem(as_operator(symmetric(seed)), cardinality)
        weights = rng.random(5) + 0.1
        matrix, scales = exact(problem.dense), exact(weights)
        bound, rows = scaled_row_values(problem, weights)
        wanted = []
        for i in range(5):
            others = sorted((abs(matrix[i][j]) * scales[j] for j in range(5) if j != i), reverse=True)
            wanted.append(matrix[i][i] + sum(others[: cardinality - 1]) / scales[i])
            spread = abs(matrix[i][i]) + sum(others) / scales[i]
            assert 0 < exact(rows[i]) - wanted[i] <= spread / 10**12
        assert max(exact(rows)) <= exact(bound) <= max(exact(rows)) + Fraction(1, 10**12)
        shared = shared_row_values(problem, weights)[cardinality - 1]
        assert 0 < exact(shared) - max(wanted) < Fraction(1, 10**12)


@pytest.mark.parametrize("seed", SEEDS)
def test_traces_are_above_the_exact_ones(seed):
    matrix = gram(seed, rank=5) + 0.01 * np.eye(5)
    for cardinality in (1, 3, 5):
        problem = BoundProblem(as_operator(matrix), cardinality)
        trace = sum(sorted(exact(problem.diagonal))[-cardinality:])
        shift = exact(psd_shift(problem))
        for bound in (trace_bound(problem), trace_values(problem)[cardinality - 1]):
            assert trace + (cardinality - 1) * shift < exact(bound) < trace + Fraction(1, 10**12)


@pytest.mark.parametrize("seed", SEEDS)
def test_matrix_is_semidefinite_after_the_shift(seed):
    """Rank three of five: rounding decides the sign of two eigenvalues."""
    problem = BoundProblem(as_operator(gram(seed)), 3)
    shift = psd_shift(problem)
    assert shift < 1e-12
    assert bounds_eigenvalues(shift, [[-entry for entry in row] for row in exact(problem.dense)])
    raised = problem.dense + shift * np.eye(5)
    defect = cholesky_defect(raised.copy())
    assert defect < 1e-12
    assert bounds_eigenvalues(defect, [[-entry for entry in row] for row in exact(raised)])


@pytest.mark.parametrize("seed", SEEDS)
def test_eigenvalue_bound_is_above_the_exact_one(seed):
    for matrix in (symmetric(seed) / 4.0, gram(seed) / 8.0, -gram(seed) / 8.0):
        bound = largest_eigenvalue_bound(matrix)
        assert bounds_eigenvalues(bound, exact(matrix))
        assert bound <= np.linalg.eigvalsh(matrix)[-1] + 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_achieved_value_is_below_the_exact_quotient(seed):
    rng = np.random.default_rng(seed)
    for matrix in (symmetric(seed), -gram(seed)):
        chosen = np.sort(rng.permutation(5)[:3]).astype(np.int64)
        weights = rng.standard_normal(3)
        block, parts = exact(matrix[np.ix_(chosen, chosen)]), exact(weights)
        form = sum(parts[i] * block[i][j] * parts[j] for i in range(3) for j in range(3))
        quotient = form / sum(part**2 for part in parts)
        low = exact(achieved_value(as_operator(matrix), SparseVector(chosen, weights)))
        assert 0 < quotient - low < Fraction(1, 10**12)


@pytest.mark.parametrize("seed", SEEDS)
def test_remainders_are_above_the_exact_roots(seed):
    """rho bounds f f' - z z' when it is above the larger root of a quadratic equation with rational coefficients."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((6, 3))
    for points in (rows * (1.0 + 1e-9), rows * 0.5, rows + rng.standard_normal((6, 3)), 2.0 * rows, 0.0 * rows):
        found = remainders(rows, points)
        for f, z, rho in zip(exact(rows), exact(points), exact(found), strict=True):
            square, size = sum(a * a for a in f), sum(a * a for a in z)
            across = square * size - sum(a * b for a, b in zip(f, z, strict=True)) ** 2
            assert rho * rho - (square - size) * rho - across > 0
            assert 2 * rho > square - size
            close = rho * (1 - Fraction(1, 10**11)) - (square + size) / 10**13
            assert close <= 0 or close * close - (square - size) * close - across < 0


@pytest.mark.parametrize("seed", SEEDS)
def test_dual_bound_is_above_what_its_points_prove(seed):
    """Against the exact Gram matrix and remainders, and above the optimum without a tolerance."""
    rng = np.random.default_rng(seed)
    matrix = gram(seed)
    problem = BoundProblem(as_operator(matrix), 2)
    factor = find_factor(problem)
    for points in (factor.rows, factor.rows * 0.7, factor.rows + 0.1 * rng.standard_normal(factor.rows.shape)):
        rho = remainders(factor.rows, points)
        every = dual_values(measure(factor.rows, points), factor.rest)
        for cardinality in (1, 2, 5):
            z, total = exact(points), sum(sorted(exact(rho))[-cardinality:]) + exact(factor.rest)
            rank = range(len(z[0]))
            products = [[sum(row[i] * row[j] for row in z) for j in rank] for i in rank]
            scale = float(sum(products[i][i] for i in rank))
            for bound in (dual_value(factor, points, cardinality), float(every[cardinality - 1])):
                assert bounds_eigenvalues(exact(bound) - total, products)
                assert not bounds_eigenvalues(exact(bound - 1e-11 * scale) - total, products)


def test_streamed_dual_bound_is_above_what_its_parts_prove():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        points, rho = rng.standard_normal((40, 3)), rng.random(40)
        parts = DualParts(points.T @ points, float((points**2).sum()), rho)
        z = exact(points)
        products = [[sum(row[i] * row[j] for row in z) for j in range(3)] for i in range(3)]
        values = dual_values(parts)
        for cardinality in (1, 7, 40):
            total = sum(sorted(exact(rho))[-cardinality:])
            bound = float(values[cardinality - 1])
            assert bounds_eigenvalues(exact(bound) - total, products)
            assert not bounds_eigenvalues(exact(bound - 1e-10 * bound) - total, products)
    for broken in (parts._replace(squares=np.inf), parts._replace(gram=parts.gram * np.nan)):
        assert np.isinf(dual_values(broken)).all()
    rho[3] = np.nan
    assert np.isinf(dual_values(parts._replace(remainders=rho))).all()


@pytest.mark.parametrize(("seed", "size"), [*((seed, 5) for seed in SEEDS), (0, 49), (1, 49)])
def test_factor_leaves_no_more_than_it_says(seed, size):
    """Above 48 variables LAPACK makes the factor."""
    matrix = gram(seed, size) / 8.0
    factor = _pivoted_cholesky(matrix, 2, 0.0)
    assert factor.rows.shape == (size, 3)
    assert 0.0 < factor.rest < 1e-11
    rows = exact(factor.rows)
    left = [
        [Fraction(float(matrix[i, j])) - sum(a * b for a, b in zip(rows[i], rows[j], strict=True)) for j in range(size)]
        for i in range(size)
    ]
    assert all(bounds_eigenvalues(factor.rest, block) for block in blocks(left, 2))


@pytest.mark.parametrize("seed", SEEDS)
def test_factor_of_an_indefinite_matrix_says_what_it_leaves(seed):
    """Far more than rounding is left out."""
    matrix = gram(seed) / 8.0 + symmetric(seed + 100) / 80.0
    for cardinality in (1, 2, 5):
        factor = _pivoted_cholesky(matrix, cardinality, 0.0)
        rows = exact(factor.rows)
        left = [
            [
                Fraction(float(matrix[i, j])) - sum(a * b for a, b in zip(rows[i], rows[j], strict=True))
                for j in range(5)
            ]
            for i in range(5)
        ]
        assert all(bounds_eigenvalues(factor.rest, block) for block in blocks(left, cardinality))
        magnitudes = [sum(sorted(map(abs, row))[-cardinality:]) for row in left]
        assert float(max(magnitudes)) < factor.rest < float(max(magnitudes)) + 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_split_bound_is_above_the_exact_sum(seed):
    """lambda_max(A - M) + row bound of M, both exact."""
    matrix, other = symmetric(seed), symmetric(seed + 100)
    problem = BoundProblem(as_operator(matrix), 2)
    split = 0.1 * other
    whole, part = exact(problem.dense), exact(split)
    rest = [[a - b for a, b in zip(left, right, strict=True)] for left, right in zip(whole, part, strict=True)]
    rows = max(part[i][i] + max(abs(part[i][j]) for j in range(5) if j != i) for i in range(5))
    bound = split_value(problem, split)
    assert bounds_eigenvalues(exact(bound) - rows, rest)
    assert not bounds_eigenvalues(exact(bound - 1e-12) - rows, rest)


def test_entry_margins_add_up_the_largest_errors():
    problem = BoundProblem(as_operator(gram(0)), 3)
    problem.entry_errors = np.array([1e-3, 3e-3, 0.0, 2e-3, 1e-3])
    sums = np.array([3e-3, 5e-3, 6e-3, 7e-3, 7e-3])
    margins = problem.margins
    assert (margins > sums).all()
    np.testing.assert_allclose(margins, sums, rtol=1e-12)
    assert problem.margin == pytest.approx(margins[2], rel=1e-12)


def test_optimum_of_integers_is_never_above_a_bound():
    """Blocks of ones have the eigenvalue k exactly; nothing may be lost."""
    matrix = np.zeros((9, 9))
    matrix[:4, :4] = 1.0
    assert brute_force(matrix, 4) == pytest.approx(4.0)
    problem = BoundProblem(as_operator(matrix), 4)
    assert problem.unscaled(scaled_row_values(problem, np.ones(9))[0]) > 4.0
    assert problem.unscaled(largest_eigenvalue_bound(problem.dense)) >= 4.0


@pytest.mark.parametrize("seed", SEEDS)
def test_dual_bound_of_the_relaxation_is_above_the_exact_sum(seed):
    matrix, dual = symmetric(seed) / 8.0, symmetric(seed + 100) / 64.0
    bound = _dual_bound(matrix, dual, 3)
    size = range(5)
    rest = [[exact(matrix[i, j]) - exact(dual[i, j]) for j in size] for i in size]
    penalty = 3 * exact(np.abs(dual).max())
    assert bounds_eigenvalues(exact(bound) - penalty, rest)
    assert not bounds_eigenvalues(exact(bound - 1e-12) - penalty, rest)


@pytest.mark.parametrize("name", sorted(UPPER_BOUNDS))
def test_entry_errors_are_part_of_every_bound(name):
    """Blocks of k variables, each entry off by at most e: up to k e on top of what holds for the entries as given."""
    error, cardinality = 1e-3, 3
    matrix = gram(1, size=8, rank=8)
    vector = SparseVector(np.arange(cardinality, dtype=np.int64), np.full(cardinality, cardinality**-0.5))

    def bound(errors):
        operator = as_operator(matrix)
        operator.entry_errors = lambda: np.full(8, errors)
        problem = BoundProblem(operator, cardinality, vector, achieved=achieved_value(as_operator(matrix), vector))
        return problem.unscaled(UPPER_BOUNDS[name].bound(problem))

    clear, rough = bound(0.0), bound(error)
    if name == "closed-form dual":
        assert clear == rough == np.inf  # nothing for a matrix in memory
    else:
        assert cardinality * error <= (rough - clear) * (1.0 + 1e-9)
        assert rough - clear <= 2.5 * cardinality * error


def test_entry_errors_lower_what_a_vector_reaches():
    matrix, error = gram(1), 1e-3
    vector = SparseVector(np.array([0, 2, 3]), np.array([0.5, -2.0, 1.0]))
    rough = as_operator(matrix)
    rough.entry_errors = lambda: np.full(5, error)
    lost = achieved_value(as_operator(matrix), vector) - achieved_value(rough, vector)
    assert lost == pytest.approx(error * 3.5**2 / 5.25, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_entry_errors_far_above_the_entries_are_covered_to_the_last_bit(seed):
    """Errors that are powers of four have exact roots, so what they can take away is known exactly."""
    rng = np.random.default_rng(seed)
    matrix, roots = gram(seed) * 2.0**-40, 2.0 ** -rng.integers(0, 4, 5)
    operator = as_operator(matrix)
    operator.entry_errors = lambda: roots**2
    for chosen in ([1, 3], [0, 2, 3], [0, 1, 2, 4]):
        weights = rng.standard_normal(len(chosen))
        parts, block = exact(weights), exact(matrix[np.ix_(chosen, chosen)])
        size = range(len(chosen))
        form = sum(parts[i] * block[i][j] * parts[j] for i in size for j in size)
        own = sum(abs(part) * exact(roots[i]) for part, i in zip(parts, chosen, strict=True)) ** 2
        lowest = (form - own) / sum(part**2 for part in parts)
        low = exact(achieved_value(operator, SparseVector(np.array(chosen), weights)))
        assert lowest * (1 + Fraction(1, 10**13)) < low <= lowest < 0
