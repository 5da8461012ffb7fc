"""Dense data less a component: the deflated matrix, its rounding, and the kernels of data."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import deflated_data
from sparseigen.operators.data import DenseData
from sparseigen.operators.deflated import DEFLATIONS, LowRankUpdated, find_unit_vector, project_out, regress_out
from sparseigen.operators.deflated_data import DeflatedData
from tests.common.entries import within


def sparse_vector(rng: np.random.Generator, size: int, count: int) -> np.ndarray:
    x = np.zeros(size)
    x[rng.choice(size, count, replace=False)] = rng.standard_normal(count)
    return x / np.linalg.norm(x)


CHANGES = {"projection": project_out, "schur": regress_out}


@pytest.mark.parametrize("deflation", sorted(CHANGES))
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_three_components_taken_out_equal_the_change_of_products(rng, center, scale, deflation) -> None:
    data = rng.standard_normal((40, 25)) * rng.uniform(0.5, 3.0, 25) + 2.0
    as_data = as_change = se.covariance(data, center=center, scale=scale)
    for _ in range(3):
        x = sparse_vector(rng, 25, 6)
        as_data, as_change = DEFLATIONS[deflation](as_data, 5.0 * x), CHANGES[deflation](as_change, x)
        assert np.abs(as_data.block_apply(x[:, None])).max() < 1e-12
    assert isinstance(as_data, DeflatedData)
    assert isinstance(as_change, LowRankUpdated)
    np.testing.assert_allclose(as_data.to_dense(), as_change.to_dense(), atol=1e-12)
    np.testing.assert_allclose(as_data.diagonal(), np.diag(as_data.to_dense()), atol=1e-12)
    assert as_data.negative_part == 0.0
    assert 0.0 < as_change.negative_part < 1e-8
    assert as_data.describe()["components_taken_out"] == 3
    assert not hasattr(as_data, "means")  # it is not the covariance of anybody's data


@pytest.mark.parametrize("deflation", sorted(CHANGES))
@pytest.mark.parametrize("mean", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")
def test_entries_are_within_their_errors_of_exact_ones(rng, mean, scale, deflation) -> None:
    """The matrix meant: the exact covariance of the caller's numbers, deflated three times."""
    for _ in range(20):
        data = rng.standard_normal((30, 14)) + mean * rng.standard_normal(14)
        operator = se.covariance(data, scale=scale)
        wide = data.astype(np.longdouble)
        rows = (wide - wide.mean(axis=0)).T
        if scale:
            rows = rows / np.sqrt((rows**2).sum(axis=1) / 29)[:, None]
        for _ in range(3):
            x = find_unit_vector(operator, sparse_vector(rng, 14, 5)).astype(np.longdouble)
            operator = DEFLATIONS[deflation](operator, x.astype(np.float64))
            scores = x @ rows
            slopes = x if deflation == "projection" else rows @ scores / (scores @ scores)
            rows = rows - np.multiply.outer(slopes, scores)
        assert isinstance(operator, DeflatedData)
        assert within(operator, rows @ rows.T / 29)
    assert float(operator.entry_errors().max()) < 1e-8 * (1.0 + mean**2 * 1e-13)


def test_errors_of_many_regressions_stay_small(rng) -> None:
    """What a regression adds is added: the errors do not double with every component."""
    operator = before = se.covariance(rng.standard_normal((60, 200)) + rng.standard_normal((60, 1)))
    for _ in range(15):
        operator = operator.deflated(se.sparse_eigenvector(operator, 10, certify=False).vector, regress=True)
    assert float(operator.entry_errors().max()) <= 1e4 * float(before.entry_errors().max())


def test_scores_that_are_rounding_are_not_regressed_on(rng) -> None:
    """Two equal variables: their difference has no variance, and dividing by rounding is not done."""
    data = rng.standard_normal((30, 5))
    data[:, 1] = data[:, 0] * (1.0 + 1e-16)
    operator = se.covariance(data)
    with pytest.warns(se.errors.IndefiniteWarning, match="projection deflation takes this component out"):
        after = operator.deflated(np.array([1.0, -1.0, 0.0, 0.0, 0.0]), regress=True)
    np.testing.assert_allclose(after.to_dense(), operator.to_dense(), atol=1e-12)


def test_errors_grow_little(rng) -> None:
    data = rng.standard_normal((30, 8)) + 5.0
    before = se.covariance(data, center=False)
    after = before.deflated(sparse_vector(rng, 8, 3))
    assert float(after.entry_errors().max()) <= 100.0 * float(before.entry_errors().max())
    rows = after.variables.astype(np.longdouble)
    assert within(after, rows @ rows.T / 29)


def test_the_base_is_left_as_it_was(rng) -> None:
    base = se.covariance(rng.standard_normal((20, 9)))
    before = base.variables.copy()
    base.deflated(np.eye(9)[2]).deflated(np.eye(9)[5])
    base.deflated(np.eye(9)[2], regress=True).deflated(np.eye(9)[5], regress=True)
    np.testing.assert_array_equal(base.variables, before)


def test_where_a_copy_does_not_fit_the_products_are_changed(rng, monkeypatch) -> None:
    operator, x = se.covariance(rng.standard_normal((20, 9))), sparse_vector(rng, 9, 3)
    wholes = {name: deflate(operator, x).to_dense() for name, deflate in DEFLATIONS.items()}
    monkeypatch.setattr(deflated_data, "available_bytes", lambda: 1000)
    single = se.covariance(rng.standard_normal((20, 9)).astype(np.float32))
    for name, whole in wholes.items():
        changed = DEFLATIONS[name](operator, x)
        assert isinstance(changed, LowRankUpdated)
        np.testing.assert_allclose(changed.to_dense(), whole, atol=1e-13)
        assert isinstance(DEFLATIONS[name](single, x), LowRankUpdated)


@pytest.mark.parametrize("deflation", sorted(CHANGES))
def test_components_are_found_with_the_steps_of_data(rng, deflation) -> None:
    data = rng.standard_normal((50, 700))
    for place in range(3):
        data[:, 10 * place : 10 * place + 10] += (3.0 - place) * rng.standard_normal((50, 1))
    found = se.sparse_components(se.covariance(data), [10, 10, 10], deflation=deflation)
    assert [tuple(result.support) for result in found] == [tuple(range(10 * p, 10 * p + 10)) for p in range(3)]
    assert all(result.certificate.relative_gap < 0.05 for result in found)
    deflated = DEFLATIONS[deflation](se.covariance(data), found[0].vector)
    assert isinstance(deflated, DenseData)
    assert deflated.factor_rank == 50
