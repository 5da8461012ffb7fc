"""Exchanges of several variables: what they promise, and that no value falls."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.eigenpairs import best_on_support
from sparseigen.solvers.exchanging import climb, measure_strengths, propose, race, scatter
from sparseigen.solvers.interface import Progress


def value_on(matrix: np.ndarray, support: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1])


def test_strengths_are_gains_and_losses_to_the_second_order(rng) -> None:
    """With weak ties to all other variables the value changes by what the formula says."""
    data = rng.standard_normal((400, 12))
    data[:, :5] += 3.0 * rng.standard_normal((400, 1))
    matrix = np.cov(data, rowvar=False)
    inside = np.arange(5)
    start, value = best_on_support(as_operator(matrix), SparseVector(inside, np.full(5, 0.2**0.5)))
    strengths, weights = measure_strengths(np.diag(matrix), start, value, matrix[:, inside] @ start.weights)
    for j in range(5, 12):
        gained = value_on(matrix, np.append(inside, j)) - value
        assert gained == pytest.approx(strengths[j], rel=0.05)
        vector = np.linalg.eigh(matrix[np.ix_([*inside, j], [*inside, j])])[1][:, -1]
        vector *= np.sign(vector[:5] @ start.weights)
        assert vector[-1] == pytest.approx(weights[j], rel=0.1)
    np.testing.assert_allclose(weights[inside], start.weights, rtol=1e-9)


def test_a_proposal_exchanges_the_weakest_for_the_strongest(rng) -> None:
    matrix = np.cov(rng.standard_normal((30, 20)), rowvar=False)
    inside = np.arange(6)
    start, value = best_on_support(as_operator(matrix), SparseVector(inside, np.full(6, 6**-0.5)))
    product = matrix[:, inside] @ start.weights
    strengths, _ = measure_strengths(np.diag(matrix), start, value, product)
    for most in (1, 2, 6):
        vector, leaving, entering = propose(np.diag(matrix), start, value, product, most)
        assert len(leaving) == len(entering) <= most
        assert np.linalg.norm(vector.weights) == pytest.approx(1.0)
        assert set(vector.indices) == (set(inside) - set(inside[leaving])) | set(entering)
        assert (np.diff(vector.indices) > 0).all()
        assert (strengths[entering] > strengths[inside[leaving]]).all()
        assert set(entering) == set(6 + np.argsort(-strengths[6:])[: len(entering)])
    assert not len(propose(np.diag(matrix), start, value, product, 0).entering)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("form", ["data", "matrix", "long"])
def test_a_climb_never_falls_and_its_value_is_that_of_its_support(rng, form, nonnegative) -> None:
    data = rng.standard_normal((40 if form != "long" else 150, 400))
    operator = se.covariance(data) if form != "matrix" else as_operator(np.cov(data, rowvar=False))
    cardinality = 140 if form == "data" else 12  # beside few samples: solved from the factor
    indices = np.sort(rng.choice(400, cardinality, replace=False))
    first = SparseVector(indices, np.full(cardinality, cardinality**-0.5))
    start, value = best_on_support(operator, first, nonnegative=nonnegative)
    report = climb(operator, start, value, rounds=40, progress=Progress(400), nonnegative=nonnegative)
    assert len(report.history) > 2
    assert (np.diff([value, *report.history]) > 0.0).all()
    assert report.value == report.history[-1]
    dense = report.vector.spread(400)
    assert dense @ operator.to_dense() @ dense == pytest.approx(report.value, rel=1e-9)
    assert not nonnegative or (dense >= 0.0).all()


def test_a_climb_says_when_it_was_cut_short(rng) -> None:
    operator = se.covariance(rng.standard_normal((40, 300)))
    start, value = best_on_support(operator, SparseVector(np.arange(8), np.full(8, 8**-0.5)))
    assert climb(operator, start, value, rounds=1, progress=Progress(300)).limited
    assert not climb(operator, start, value, rounds=500, progress=Progress(300)).limited


def test_a_race_is_won_by_the_run_that_is_furthest(rng) -> None:
    data = rng.standard_normal((60, 200))
    data[:, 50:58] += 2.0 * rng.standard_normal((60, 1))
    operator = se.covariance(data)
    starts = []
    for label in range(20):
        indices = np.sort(rng.choice(200, 8, replace=False))
        starts.append((str(label), SparseVector(indices, np.full(8, 8**-0.5))))
    won = race(operator, starts, 3)
    assert 1 <= len(won) <= 3
    assert tuple(won[0][1].indices) == tuple(range(50, 58))
    values = [float(x.weights @ operator.submatrix(x.indices) @ x.weights) for _, x in won]
    assert values == sorted(values, reverse=True)
    assert len({x.indices.tobytes() for _, x in won}) == len(won)
    begun = max(float(x.weights @ operator.submatrix(x.indices) @ x.weights) for _, x in starts)
    assert values[0] >= begun


def test_runs_that_lead_nowhere_do_no_harm() -> None:
    matrix = np.diag([3.0, 2.0, 1.0, 0.0, 0.0, 0.0])
    starts = [(str(j), SparseVector(np.array([j, j + 1]), np.array([0.6, 0.8]))) for j in range(5)]
    won = race(as_operator(matrix), starts, 2)
    assert max(float(x.weights**2 @ np.diag(matrix)[x.indices]) for _, x in won) >= 2.36 - 1e-12


@pytest.mark.parametrize(("size", "cardinality"), [(200, 8), (10, 9), (6, 6)])
def test_vectors_around_one_share_half_of_its_variables(rng, size, cardinality) -> None:
    operator = se.covariance(rng.standard_normal((60, size)))
    indices = np.arange(cardinality)
    start, value = best_on_support(operator, SparseVector(indices, np.full(cardinality, cardinality**-0.5)))
    around = scatter(operator, start, value, 5)
    exchanged = min(cardinality // 2, size - cardinality)
    assert len(around) == (5 if exchanged else 0)
    for vector in around:
        assert len(np.unique(vector.indices)) == cardinality
        assert len(np.intersect1d(vector.indices, indices)) == cardinality - exchanged
        assert np.linalg.norm(vector.weights) == pytest.approx(1.0)
    again = scatter(operator, start, value, 5)
    assert [x.indices.tolist() for x in again] == [x.indices.tolist() for x in around]
