"""GPower against the paper."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import OptionError
from sparseigen.operators import as_operator
from sparseigen.solvers.generalized_power import _check_not_empty, _pivots


def gpower_on_data(data, gamma, penalty):
    """Algorithms 2 and 3 of Journée et al. as printed, on the data themselves."""
    norms = np.linalg.norm(data, axis=0)
    z = data[:, norms.argmax()] / norms.max()
    for _ in range(2000):
        images = data.T @ z
        if penalty == "l1":
            weights = np.sign(images) * np.maximum(np.abs(images) - gamma, 0.0)
        else:
            weights = images * (images**2 > gamma)
        z = data @ weights
        z /= np.linalg.norm(z)
    return np.flatnonzero(weights)


@pytest.mark.parametrize("penalty", ["l1", "l0"])
@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.6])
def test_gpower_on_the_operator_is_gpower_on_the_data(data, penalty, gamma) -> None:
    centred = (data - data.mean(axis=0)) / np.sqrt(39.0)
    norm = np.linalg.norm(centred, axis=0).max()
    expected = gpower_on_data(centred, gamma * (norm if penalty == "l1" else norm**2), penalty)
    result = se.sparse_eigenvector(
        se.covariance(data), 15, method=f"gpower-{penalty}", certify=False, rtol=1e-12, method_options={"gamma": gamma}
    )
    np.testing.assert_array_equal(result.support, expected)


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0"])
def test_gpower_never_exceeds_the_cardinality_even_on_ties(method) -> None:
    matrix = np.ones((6, 6))  # every penalty keeps all variables or none
    result = se.sparse_eigenvector(matrix, 2, method=method, certify=False)
    assert len(result.support) == 2
    assert result.value == pytest.approx(2.0)
    assert result.settings["truncated_from"] == 6


def test_gpower_penalties_are_checked(data) -> None:
    operator = se.covariance(data)
    for options, match in [({"gamma": 1.0}, "must be below 1"), ({"gamma": -0.1}, "finite and >= 0")]:
        with pytest.raises(OptionError, match=match):
            se.sparse_eigenvector(operator, 5, method="gpower-l1", method_options=options)
    with pytest.raises(OptionError, match="a list of 2"):
        se.sparse_components(
            operator, [5, 5], method="gpower-l1", deflation="block", method_options={"gamma": [0.1, 0.2, 0.3]}
        )


def test_block_gpower_names_the_component_that_is_left_empty() -> None:
    block = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(OptionError, match=r"gamma=0.5 leaves nothing of component 2; lower it"):
        _check_not_empty(block, np.array([0.25, 0.5, 0.75]))
    _check_not_empty(block[:, :1], np.array([0.25]))


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0"])
def test_gpower_takes_the_better_of_the_patterns_beside_a_cardinality_it_skips(method) -> None:
    """One variable of large variance, then four that enter together: penalties leave one or five, never three."""
    matrix = np.ones((5, 5))
    matrix[0] = matrix[:, 0] = 0.5 * 2.0**0.5
    matrix[0, 0] = 2.0
    result = se.sparse_eigenvector(matrix, 3, method=method, certify=False)
    assert result.settings["truncated_from"] == 5
    assert result.value == pytest.approx(3.0)  # one variable alone has 2


def polar(block):
    left, _, right = np.linalg.svd(block, full_matrices=False)
    return left @ right


@pytest.mark.parametrize("weights", ["decreasing", [1.0, 0.4]])
@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_block_gpower_is_the_papers_on_the_data(rng, penalty, weights) -> None:
    """Algorithms 4 and 5 as printed, with weights that differ; the pattern is theirs."""
    data = rng.standard_normal((40, 12))
    data[:, :4] += 3.0 * rng.standard_normal((40, 1))
    data[:, 4:8] += 2.0 * rng.standard_normal((40, 1))
    centred = (data - data.mean(axis=0)) / np.sqrt(39.0)
    norm = np.linalg.norm(centred, axis=0).max()
    gamma = np.array([0.2, 0.04]) * (norm if penalty == "l1" else norm**2)
    mu = np.array([1.0, 0.5 if weights == "decreasing" else 0.4])
    first = int(np.linalg.norm(centred, axis=0).argmax())
    rest = centred - np.outer(centred[:, first], centred[:, first] @ centred) / (centred[:, first] @ centred[:, first])
    z = polar(centred[:, [first, int(np.linalg.norm(rest, axis=0).argmax())]])
    for _ in range(500):
        images = centred.T @ z * mu
        if penalty == "l1":
            shrunk = np.sign(images) * np.maximum(np.abs(images) - gamma, 0.0)
        else:
            shrunk = images * (images**2 > gamma)
        z = polar(centred @ (shrunk * mu))
    found = se.sparse_components(
        se.covariance(data), [12, 12], method=f"gpower-{penalty}", deflation="block", rtol=1e-12,
        method_options={"gamma": [0.2, 0.04], "weights": weights}, certify=False,
    )  # fmt: skip
    for result, column in zip(found, shrunk.T, strict=True):
        assert 0 < len(result.support) < 12
        np.testing.assert_array_equal(result.support, np.flatnonzero(column))


def test_block_starts_are_the_pivots_of_a_qr_decomposition(rng) -> None:
    from scipy.linalg import qr

    factor = 0.03 * rng.standard_normal((20, 8)) * np.linspace(0.5, 2.0, 8)  # variances below one
    block = _pivots(as_operator(factor.T @ factor), 5)
    np.testing.assert_array_equal(block.argmax(axis=0), qr(factor, pivoting=True, mode="r")[1][:5])
    np.testing.assert_array_equal(np.sort(block, axis=0)[-1], 1.0)
    assert np.count_nonzero(block) == 5


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0"])
def test_gpower_reports_unit_vectors_and_their_values(data, method) -> None:
    matrix, heard = np.cov(data.T), []
    options = {"method_options": {"gamma": 0.2}, "certify": False}
    result = se.sparse_eigenvector(matrix, 15, method=method, on_iteration=lambda *s: heard.append(s), **options)
    assert len(heard) == len(result.history) >= 3
    for _, vector, _ in heard:
        assert np.linalg.norm(vector) == pytest.approx(1.0)
    for (_, vector, _), value in zip(heard[:-2], result.history[1:-1], strict=True):
        assert value == pytest.approx(vector @ matrix @ vector)  # what a step found is measured in the next one
