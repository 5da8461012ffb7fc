"""The bundle of cuts: bounds that hold, fall, and meet the relaxation's own limit."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.certificates.dual_bundle import MOST_CUTS, DualBundle, minimise_on_simplex
from sparseigen.certificates.dual_points import Cut, dual_value, search_penalty
from sparseigen.certificates.factor import Factor, find_factor
from sparseigen.certificates.problem import BoundProblem
from sparseigen.operators import as_operator
from tests.brute_force import brute_force
from tests.unit.certificates.exact_arithmetic import random_gram


def begin(rows: np.ndarray, cardinality: int) -> DualBundle:
    direction = np.linalg.svd(rows)[2][0]
    shares = np.sort((rows @ direction) ** 2)[::-1]
    return DualBundle(rows, cardinality, direction, 0.5 * float(shares[cardinality - 1] + shares[cardinality]))


def test_ascent_tightens_and_meets_its_limit(rng):
    matrix = random_gram(rng, 30, 6)
    problem = BoundProblem(as_operator(matrix), 5)
    factor = find_factor(problem)
    bundle = begin(factor.rows, 5)
    assert bundle.advance(0.0)
    first = bundle.bound
    while bundle.steps < 60:
        assert bundle.advance(0.0)
    bundle.finish(0.0)
    assert bundle.bound < 0.9 * first
    assert bundle.limit <= bundle.bound * (1.0 + 1e-5) <= bundle.limit * 1.02
    assert len(bundle.members) == MOST_CUTS
    assert dual_value(factor, bundle.mixture(), 5) == pytest.approx(bundle.bound, rel=1e-4)


@pytest.mark.parametrize("cardinality", [2, 4, 7])
def test_every_mixture_on_the_way_proves_a_bound(cardinality, rng):
    matrix = random_gram(rng, 12, 5)
    problem = BoundProblem(as_operator(matrix), cardinality)
    factor, optimum = find_factor(problem), brute_force(matrix, cardinality)
    bundle = begin(factor.rows, cardinality)
    mixed = 0
    for _ in range(12):
        bundle.advance(problem.scale_value(optimum))
        mixture = bundle.mixture()
        mixed += len(mixture.members) > 1
        assert problem.unscale_bound(dual_value(factor, mixture, cardinality)) >= optimum
        assert bundle.limit <= bundle.bound * (1.0 + 1e-4)
    assert mixed


def test_a_mixture_proves_more_than_any_of_its_cuts(rng):
    bundle = begin(rng.standard_normal((60, 8)), 6)
    for _ in range(8):
        bundle.step()
    alone = bundle.bound
    bundle.mix(0.0)
    assert bundle.bound < alone
    assert len(bundle.mixture().members) > 1


def test_a_closed_form_takes_part(rng):
    rows = rng.standard_normal((25, 5))
    bundle = begin(rows, 5)
    form = search_penalty(rows, np.linalg.svd(rows)[2][0], 5, 5, 3)
    bundle.add_form(form)
    assert bundle.bound == pytest.approx(form.promise)
    assert dual_value(Factor(rows, 0.0), bundle.mixture(), 5) == pytest.approx(form.promise, rel=1e-6)


def test_a_penalty_above_every_row_leaves_no_step(rng):
    rows = rng.standard_normal((8, 3))
    bundle = DualBundle(rows, 2, np.eye(3)[0], 1.0, floor=1e3)
    assert not bundle.step()
    assert bundle.bound == np.inf


def test_the_tail_of_x_counts_as_its_eigenvectors_would(rng):
    """A cut whose other eigenvalues are equal is the cut with all eigenvectors told apart."""
    rows = rng.standard_normal((30, 6))
    basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    short = Cut(basis[:, 3:], np.array([0.1, 0.2, 0.4]), 0.1, 1.0)
    whole = Cut(basis, np.array([0.1, 0.1, 0.1, 0.1, 0.2, 0.4]), 0.0, 1.0)
    factor = Factor(rows, 0.0)
    assert dual_value(factor, short, 4) == pytest.approx(dual_value(factor, whole, 4), rel=1e-9)


def test_weights_on_the_simplex_are_the_best_of_a_grid(rng):
    matrices = np.array([random_gram(rng, 4, 4) for _ in range(2)])
    costs, soft = np.array([0.3, 0.1]), 0.05

    def value(share: float) -> float:
        weights = np.array([share, 1.0 - share])
        values = np.linalg.eigvalsh(np.tensordot(weights, matrices, 1))
        return float(soft * np.log(np.exp(values / soft).sum()) + weights @ costs)

    found = minimise_on_simplex(matrices, np.zeros((4, 4)), costs, soft, np.array([0.5, 0.5]))
    assert found.sum() == pytest.approx(1.0)
    assert value(found[0]) <= min(value(share) for share in np.linspace(0.0, 1.0, 201)) + 0.02 * soft


def test_rows_too_long_for_single_precision_end_the_ascent_without_a_warning(rng):
    rows = rng.standard_normal((6, 3))
    for longest in (1e25, 1e60):
        rows[0] = longest
        bundle = begin(rows, 2)
        assert not bundle.advance(0.0)
        assert bundle.bound == np.inf
