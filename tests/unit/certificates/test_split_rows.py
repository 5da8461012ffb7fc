"""Any split among any heavy variables proves a valid bound, rounding included, and the steps lower it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sparseigen.certificates import split_rows
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.scaled_rows import scaled_row_bound
from sparseigen.certificates.split_rows import (
    Split,
    begin_split,
    converged_split_row_bound,
    lower_split,
    prove_split,
    split_from_rows,
    split_row_bound,
    surround,
)
from sparseigen.operators import as_operator, covariance
from sparseigen.operators.contract import SparseVector
from sparseigen.solve import sparse_eigenvector
from tests.brute_force import brute_force
from tests.unit.certificates.exact_arithmetic import SEEDS, bounds_eigenvalues, exact, symmetric


def pose(matrix, cardinality: int) -> BoundProblem:
    """The question with the default solver's answer."""
    found = sparse_eigenvector(matrix, cardinality, certify=False)
    vector = SparseVector(found.support.astype(np.int64), found.vector[found.support])
    return BoundProblem(as_operator(matrix), cardinality, vector, achieved=found.value * (1.0 - 1e-12))


def random_split(matrix: np.ndarray, cardinality: int, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    part = rng.standard_normal(matrix.shape)
    part = 0.4 * (part + part.T)
    np.fill_diagonal(part, 0.0)
    turns = rng.standard_normal(matrix.shape)
    others = np.empty((len(matrix), 0))
    return Split(matrix, others, cardinality, part, np.exp(turns - turns.T))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_proven_split_is_above_the_exact_matrix_and_hardly_more(seed):
    """C = A - M + Diag(row) with exact products, sums and reciprocals."""
    matrix = symmetric(seed)
    split = random_split(matrix, 3, seed)
    bound, part, ratios = prove_split(split), exact(split.part), exact(split.ratios)
    whole = exact(matrix)
    size = len(matrix)
    rest = [[whole[i][j] - part[i][j] for j in range(size)] for i in range(size)]
    for i in range(size):
        terms = [abs(part[i][j]) * (ratios[i][j] if i < j else 1 / ratios[j][i]) for j in range(size) if j != i]
        rest[i][i] = whole[i][i] + sum(sorted(terms)[-2:], Fraction(0))
    assert bounds_eigenvalues(exact(bound), rest)
    assert not bounds_eigenvalues(exact(bound - 1e-11 * max(1.0, abs(bound))), rest)


@pytest.mark.parametrize("seed", range(20))
def test_no_split_is_below_the_optimum(seed, monkeypatch):
    """Random M and ratios, and those of the method, for every cardinality of small indefinite matrices."""
    monkeypatch.setattr(split_rows, "MOST_STEPS", 40)
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 8))
    matrix = rng.standard_normal((size, size)) * 10.0 ** rng.uniform(-2, 2, size)
    matrix = matrix + matrix.T
    for cardinality in range(2, size):
        optimum = brute_force(matrix, cardinality)
        problem = pose(matrix, cardinality)
        assert problem.unscale_bound(prove_split(random_split(problem.dense, cardinality, seed))) >= optimum
        assert problem.unscale_bound(split_row_bound(problem)) >= optimum


@pytest.mark.parametrize("cardinality", [2, 3, 5])
def test_variables_outside_keep_their_rows(rng, monkeypatch, cardinality):
    """With few heavy variables the others' rows are part of the bound, from a matrix held and from data alike."""
    monkeypatch.setattr(split_rows, "FEWEST", 4)
    monkeypatch.setattr(split_rows, "HEAVY", 1)
    data = rng.standard_normal((6, 10)) * np.linspace(2.0, 1.0, 10)
    operator = covariance(data)
    optimum = brute_force(operator.to_dense(), cardinality)
    problem = pose(operator, cardinality)
    bound = problem.unscale_bound(split_row_bound(problem))
    assert bound >= optimum
    around = surround(problem, 4, problem.achieved)
    split = begin_split(problem, around)
    assert split.others.shape == (4, min(cardinality - 1, 6))
    assert around.outer >= float(np.delete(problem.diagonal, around.heavy).max())
    assert bound >= problem.unscale_bound(around.outer)


def test_steps_close_what_rows_leave_open(rng):
    """A gap of several per cent falls below a tenth of it; more steps and more heavy variables never prove less."""
    factors = rng.standard_normal((40, 3)) @ (rng.standard_normal((3, 300)) * np.linspace(1.5, 0.2, 300))
    problem = pose(np.cov(factors + 0.7 * rng.standard_normal((40, 300)), rowvar=False), 12)
    rows = scaled_row_bound(problem) / problem.achieved - 1.0
    default = split_row_bound(problem) / problem.achieved - 1.0
    assert rows > 0.01
    assert default < 0.3 * rows
    assert converged_split_row_bound(problem) / problem.achieved - 1.0 < default + 1e-4


def test_the_leading_space_is_followed_as_well_as_computed(rng, monkeypatch):
    """Above some size only leading eigenvectors follow C; what is proven is nearly the same."""
    data = rng.standard_normal((30, 200)) + 2.0 * rng.standard_normal((30, 1)) * (np.arange(200) < 15)
    problem = pose(np.cov(data, rowvar=False), 10)
    followed = split_row_bound(problem)
    monkeypatch.setattr(split_rows, "FOLLOWED", 1000)
    assert split_row_bound(problem) == pytest.approx(followed, rel=2e-3)


def test_where_it_does_not_apply(rng):
    """One variable, all variables, no answer, or data too large for its passes: infinite."""
    matrix = np.cov(rng.standard_normal((9, 6)), rowvar=False)
    assert split_row_bound(pose(matrix, 6)) == np.inf
    assert split_row_bound(pose(matrix, 1)) == np.inf
    assert split_row_bound(BoundProblem(as_operator(matrix), 3)) == np.inf
    problem = pose(matrix, 3)
    problem.deadline = 0.0  # out of time: the first split stands
    assert brute_force(matrix, 3) <= problem.unscale_bound(split_row_bound(problem)) < np.inf


def test_inputs_stay_as_they_are(rng):
    matrix = np.cov(rng.standard_normal((9, 8)), rowvar=False)
    split = split_from_rows(matrix.copy(), np.empty((8, 0)), np.linspace(1.0, 2.0, 8), 3)
    part, ratios = split.part.copy(), split.ratios.copy()
    lower_split(split, 0.0, 20, enough=0.0)
    assert (split.matrix == matrix).all()
    assert (split.part == part).all()
    assert (split.ratios == ratios).all()


def test_steps_that_gain_too_little_end(rng):
    matrix = np.cov(rng.standard_normal((30, 20)), rowvar=False)
    begun = random_split(matrix, 4, 3)
    every = lower_split(begun, 0.0, 80, enough=0.0)
    ended = lower_split(begun, 0.0, 80, enough=0.0, least_gain=0.5)
    assert every.steps == 80
    assert 3 * split_rows.LOOK_BACK < ended.steps < 60
    assert every.value <= ended.value
