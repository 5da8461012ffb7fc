"""The steps of Algorithm 1 that every operator offers."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.iteration import Iteration
from tests.common.operators import OPERATORS


@pytest.fixture
def factor(rng):
    data = rng.standard_normal((15, 10)) * rng.uniform(0.5, 2.0, 10)
    data[rng.random((15, 10)) < 0.4] = 0.0
    return data


def unit(index):
    return SparseVector(np.array([index], dtype=np.int64), np.ones(1))


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_looks_are_those_of_the_formula(name, factor):
    """Objective, length and repeated support of three steps, and the iterates themselves."""
    matrix, operator = factor.T @ factor / 15, OPERATORS[name](factor)
    steps = operator.iteration([4])
    x = np.eye(10)[3]
    assert steps.begin([unit(3)]) == pytest.approx([matrix[3, 3]])
    (looks,) = steps.advance([0], 3)
    for step, (value, length, repeated) in enumerate(looks, start=1):
        product = matrix @ x
        kept = np.sort(np.argsort(-np.abs(product), kind="stable")[:4])
        following = np.zeros(10)
        following[kept] = product[kept]
        assert length == pytest.approx(np.linalg.norm(following))
        assert repeated == np.array_equal(kept, np.flatnonzero(x))
        x = following / np.linalg.norm(following)
        assert value == pytest.approx(x @ matrix @ x)
        np.testing.assert_allclose(steps.iterate(0, step).spread(10), x, atol=1e-12)
        if repeated:
            break


@pytest.mark.parametrize("name", ["data", "dense", "memmap", "sparse-data", "foreign"])
def test_runs_that_step_together_are_those_that_step_alone(name, factor):
    operator, starts = OPERATORS[name](factor), [unit(2), unit(5), unit(7)]
    together = operator.iteration([3, 4, 6])
    together.begin(starts)
    looks = [together.advance([0, 1, 2], 5), together.advance([0, 2], 5)]
    for run, cardinality in enumerate([3, 4, 6]):
        alone = operator.iteration([cardinality])
        alone.begin([starts[run]])
        (expected,) = alone.advance([0], 2)
        seen = [looks[0][run][0]] + ([] if run == 1 else [looks[1][run // 2][0]])
        for ours, theirs in zip(seen, expected, strict=False):
            assert ours == pytest.approx(theirs, rel=1e-12)


def test_a_product_that_vanishes_leaves_the_run_where_it_is():
    steps = as_operator(np.diag([1.0, 0.0, 2.0])).iteration([2])
    assert steps.begin([unit(1)]) == [0.0]
    ((_, length, repeated),) = steps.advance([0], 5)[0]
    assert (length, repeated) == (0.0, False)
    assert steps.iterate(0, 0).indices.tolist() == [1]


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_two_iterations_of_one_operator_do_not_see_each_other(share, rng, monkeypatch):
    """Each owns what screening remembers: steps taken in turn are those taken one after the other."""
    monkeypatch.setattr("sparseigen.operators.screening.SMALLEST_DATA", 0)
    data = rng.standard_normal((200, 300))
    data[:, :30] += rng.standard_normal((200, 1))
    operator, cardinality = se.covariance(data), int(300 * share)

    def follow(steps: Iteration, index: int):
        steps.begin([unit(index)])
        yield from steps.advance([0], 12)[0]

    alone = [list(follow(operator.iteration([cardinality]), index)) for index in (0, 299)]
    first, second = (follow(operator.iteration([cardinality]), index) for index in (0, 299))
    assert list(zip(first, second, strict=True)) == list(zip(*alone, strict=True))


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_products_with_several_vectors_are_those_with_each(name, factor):
    matrix, operator = factor.T @ factor / 15, OPERATORS[name](factor)
    vectors = [unit(3), SparseVector(np.array([1, 4, 7]), np.array([0.6, 0.0, -0.8])), unit(9)]
    products = operator.iteration([2]).multiply(vectors)
    assert products.shape == (3, 10)
    for product, vector in zip(products, vectors, strict=True):
        np.testing.assert_allclose(product, matrix @ vector.spread(10), atol=1e-12)
