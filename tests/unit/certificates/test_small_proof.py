"""Small problems proven by a search over blocks."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen import kernels
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.small_proof import _shift, search_small
from sparseigen.kernels.block_search import PROVEN
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from tests.brute_force import KINDS, brute_force, small_matrix
from tests.unit.certificates.exact_arithmetic import SEEDS, blocks, bounds_eigenvalues, exact, gram, symmetric


def ask(matrix, support, cardinality, most_work=1e8):
    """The search from the best vector on a support, in the caller's units."""
    operator = as_operator(matrix)
    weights = np.linalg.eigh(operator.submatrix(np.array(support)))[1][:, -1]
    vector = SparseVector(np.array(support, dtype=np.int64), weights)
    problem = BoundProblem(operator, cardinality, vector, achieved=achieved_value(operator, vector))
    upper, better = search_small(problem, most_work)
    reached = achieved_value(operator, vector if better is None else better)
    return (problem.unscale_bound(upper) if np.isfinite(upper) else np.inf), better, reached


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cardinality", [1, 2, 3, 5, 8])
def test_the_bracket_closes_around_the_optimum_from_any_start(kind, cardinality, rng):
    matrix = small_matrix(rng, 8, kind)
    if not matrix.any():
        pytest.skip("zero")
    scale = np.abs(matrix).max()
    best = brute_force(matrix / scale, cardinality) * scale
    worst = np.sort(np.argsort(matrix.diagonal())[:cardinality])
    upper, _, reached = ask(matrix, worst, cardinality)
    assert reached <= best * (1.0 + np.sign(best) * 1e-12) + 1e-13 * scale
    assert best - 1e-13 * scale <= upper
    assert upper - reached <= 1e-7 * abs(best) + 1e-12 * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_proven_at_the_edge_of_rounding_holds_exactly(seed):
    """Thresholds within some units in the last place of the optimum, every block in fractions."""
    for matrix in (symmetric(seed, 6) / 8.0, gram(seed, 6) / 16.0, -gram(seed, 6) / 16.0):
        entries = exact(matrix)
        for cardinality in (2, 3, 4, 6):
            best = brute_force(matrix, cardinality)
            verdicts = []
            for steps in (-64, -8, -1, 0, 1, 8, 64):
                threshold = best + steps * 2.0**-53 * abs(best)
                shifted, defect = _shift(matrix, matrix.diagonal(), threshold)
                assert defect < 1e-13
                report = kernels.search_blocks(shifted, cardinality, 1e9, np.ones(6))
                verdicts.append(report.verdict)
                if report.verdict == PROVEN:
                    bound = exact(threshold) + exact(defect)
                    assert all(bounds_eigenvalues_exactly(bound, block) for block in blocks(entries, cardinality))
            assert verdicts[-1] == PROVEN or cardinality > 1


def bounds_eigenvalues_exactly(bound, block):
    size = range(len(block))
    return bounds_eigenvalues(0.0, [[block[i][j] - (bound if i == j else 0) for j in size] for i in size])


def test_a_budget_ends_the_search_without_a_claim(rng):
    matrix = np.cov(rng.standard_normal((60, 40)), rowvar=False)
    found = se.sparse_eigenvector(matrix, 12, certify=False)
    assert ask(matrix, found.support, 12, most_work=1e4)[0] == np.inf
    assert ask(matrix, found.support, 12, most_work=0.0)[0] == np.inf


def test_matrices_that_are_not_held_and_answers_that_are_not_there(monkeypatch, rng):
    operator = as_operator(small_matrix(rng, 8, "gram"))
    assert search_small(BoundProblem(operator, 3), 1e6) == (np.inf, None)
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 5)
    assert search_small(BoundProblem(operator, 3, achieved=1.0), 1e6) == (np.inf, None)


def test_a_wider_gap_and_some_members_alone(rng):
    matrix = np.cov(rng.standard_normal((60, 30)), rowvar=False)
    operator, members = as_operator(matrix), np.arange(0, 30, 2)
    found = se.sparse_eigenvector(matrix, 6, candidates=members, method="exact")
    vector = SparseVector(found.support, found.vector[found.support])
    problem = BoundProblem(operator, 6, vector, achieved=achieved_value(operator, vector))
    upper, better = search_small(problem, 1e8, members=members)
    assert better is None
    assert problem.achieved <= upper <= problem.achieved * (1.0 + 1e-7)
    assert search_small(problem, 1e8)[1] is not None  # there are better ones elsewhere
    wide, better = search_small(problem, 1e8, members=members, gap=0.1)
    assert better is None
    assert wide == pytest.approx(1.1 * problem.achieved)
    assert search_small(problem, 1e8, members=members[:5]) == (problem.achieved, None)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_errors_of_the_entries_count(dtype, rng):
    """Data in float32: the bracket is as wide as their rounding, and holds the optimum of the exact matrix."""
    data = rng.standard_normal((30, 9)).astype(dtype)
    operator = se.covariance(data)
    exactly = np.cov(data.astype(np.float64), rowvar=False)
    found = se.sparse_eigenvector(operator, 4, certify=False)
    vector = SparseVector(found.support, found.vector[found.support])
    problem = BoundProblem(operator, 4, vector, achieved=achieved_value(operator, vector))
    upper, _ = search_small(problem, 1e7)
    assert brute_force(exactly, 4) - 1e-14 <= problem.unscale_bound(upper) < found.value * (1.0 + 1e-4)


@pytest.mark.parametrize("cardinality", range(1, 14))
def test_pit_props_are_proven_by_default_at_every_cardinality(cardinality):
    result = se.sparse_eigenvector(se.datasets.load_pitprops().frame(), cardinality)
    assert result.certificate.optimal
    assert se.verify(result, se.datasets.load_pitprops().frame())
