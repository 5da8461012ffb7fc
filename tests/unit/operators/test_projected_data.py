"""Dense data less a component: the deflated matrix, its rounding, and the kernels of data."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import projected_data
from sparseigen.operators.data import DenseData
from sparseigen.operators.deflated import LowRankUpdated, project_out
from sparseigen.operators.projected_data import ProjectedData
from tests.common.entries import within


def sparse_vector(rng: np.random.Generator, size: int, count: int) -> np.ndarray:
    x = np.zeros(size)
    x[rng.choice(size, count, replace=False)] = rng.standard_normal(count)
    return x / np.linalg.norm(x)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_three_components_taken_out_equal_the_change_of_products(rng, center, scale) -> None:
    data = rng.standard_normal((40, 25)) * rng.uniform(0.5, 3.0, 25) + 2.0
    as_data = as_change = se.covariance(data, center=center, scale=scale)
    for _ in range(3):
        x = sparse_vector(rng, 25, 6)
        as_data, as_change = as_data.deflated(5.0 * x), project_out(as_change, x)
        assert np.abs(as_data.block_apply(x[:, None])).max() < 1e-12
    assert isinstance(as_data, ProjectedData)
    assert isinstance(as_change, LowRankUpdated)
    np.testing.assert_allclose(as_data.to_dense(), as_change.to_dense(), atol=1e-12)
    np.testing.assert_allclose(as_data.diagonal(), np.diag(as_data.to_dense()), atol=1e-12)
    assert as_data.negative_part == 0.0
    assert as_data.describe()["components_taken_out"] == 3
    assert not hasattr(as_data, "means")  # it is not the covariance of anybody's data


@pytest.mark.parametrize("mean", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")
def test_entries_are_within_their_errors_of_exact_ones(rng, mean, scale) -> None:
    """The matrix meant: stored numbers of the components' variables, exact centred and scaled numbers elsewhere."""
    for _ in range(20):
        data = rng.standard_normal((30, 14)) + mean * rng.standard_normal(14)
        operator, changed = se.covariance(data, scale=scale), np.zeros(14, dtype=bool)
        for _ in range(3):
            x = sparse_vector(rng, 14, 5)
            operator, changed = operator.deflated(x), changed | (x != 0.0)
        wide = data.astype(np.longdouble)
        rows = (wide - wide.mean(axis=0)).T
        if scale:
            rows = rows / np.sqrt((rows**2).sum(axis=1) / 29)[:, None]
        rows[changed] = operator.variables[changed]
        assert within(operator, rows @ rows.T / 29)
    assert float(operator.entry_errors().max()) < 1e-11 * (1.0 + mean**2 * 1e-13) * 1e2


def test_uncentred_numbers_have_means_that_are_no_errors(rng) -> None:
    data = rng.standard_normal((30, 8)) + 5.0
    before = se.covariance(data, center=False)
    after = before.deflated(sparse_vector(rng, 8, 3))
    assert float(after.entry_errors().max()) <= 2.0 * float(before.entry_errors().max())
    rows = after.variables.astype(np.longdouble)
    assert within(after, rows @ rows.T / 29)


def test_the_base_is_left_as_it_was(rng) -> None:
    base = se.covariance(rng.standard_normal((20, 9)))
    before = base.variables.copy()
    base.deflated(np.eye(9)[2]).deflated(np.eye(9)[5])
    np.testing.assert_array_equal(base.variables, before)


def test_where_a_copy_does_not_fit_the_products_are_changed(rng, monkeypatch) -> None:
    operator, x = se.covariance(rng.standard_normal((20, 9))), sparse_vector(rng, 9, 3)
    whole = operator.deflated(x).to_dense()
    monkeypatch.setattr(projected_data, "available_bytes", lambda: 1000)
    changed = operator.deflated(x)
    assert isinstance(changed, LowRankUpdated)
    np.testing.assert_allclose(changed.to_dense(), whole, atol=1e-13)
    single = se.covariance(rng.standard_normal((20, 9)).astype(np.float32))
    assert isinstance(single.deflated(x), LowRankUpdated)


def test_components_are_found_with_the_steps_of_data(rng) -> None:
    data = rng.standard_normal((50, 700))
    for place in range(3):
        data[:, 10 * place : 10 * place + 10] += (3.0 - place) * rng.standard_normal((50, 1))
    found = se.sparse_components(se.covariance(data), [10, 10, 10])
    assert [tuple(result.support) for result in found] == [tuple(range(10 * p, 10 * p + 10)) for p in range(3)]
    assert all(result.certificate.relative_gap < 0.05 for result in found)
    deflated = se.covariance(data).deflated(found[0].vector)
    assert isinstance(deflated, DenseData)
    assert deflated.factor_rank == 50
