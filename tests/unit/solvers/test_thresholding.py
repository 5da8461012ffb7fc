"""Plain PCA, simple thresholding and sPCA-rSVD."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import OptionError
from sparseigen.solvers.thresholding import _threshold


def test_pca_with_all_variables_is_pca(data) -> None:
    matrix = np.cov(data.T)
    result = se.sparse_eigenvector(matrix, 15, method="pca", certify=False)
    assert result.value == pytest.approx(np.linalg.eigvalsh(matrix)[-1])


def test_threshold_is_at_least_pca_cut_to_the_same_variables(data) -> None:
    cut, refitted = (se.sparse_eigenvector(np.cov(data.T), 4, method=m, certify=False) for m in ("pca", "threshold"))
    np.testing.assert_array_equal(cut.support, refitted.support)
    assert refitted.value >= cut.value


@pytest.mark.parametrize("thresholding", ["soft", "hard"])
def test_rsvd_penalty_and_degree_of_sparsity(data, thresholding) -> None:
    operator = se.covariance(data)
    options = {"thresholding": thresholding}
    by_degree = se.sparse_eigenvector(operator, 5, method="rsvd", certify=False, method_options=options)
    assert len(by_degree.support) == 5
    by_penalty = se.sparse_eigenvector(
        operator, 15, method="rsvd", certify=False, method_options=options | {"penalty": 1.0}
    )
    assert set(by_penalty.support) == {3, 4, 5, 6, 7}
    with pytest.raises(OptionError, match="leaves nothing"):
        se.sparse_eigenvector(operator, 5, method="rsvd", method_options={"penalty": 1e9})


def test_soft_thresholding_shrinks_by_nothing_where_all_variables_are_kept() -> None:
    images = np.array([0.3, -0.4, 1.2])
    np.testing.assert_allclose(_threshold(images, 3, None, "soft").weights, images / np.linalg.norm(images))
    np.testing.assert_allclose(_threshold(images, 2, None, "soft").weights, np.array([-0.1, 0.9]) / 0.82**0.5)


def test_rsvd_reports_its_sparse_vectors_only(data) -> None:
    """The start is the dense eigenvector, which is no answer; every later iterate is one, and is heard of."""
    heard = []
    result = se.sparse_eigenvector(
        np.cov(data.T), 4, method="rsvd", certify=False, on_iteration=lambda *step: heard.append(step)
    )
    assert len(heard) == result.n_iterations - 1 == len(result.history) - 1 >= 1
    assert all(0 < np.count_nonzero(vector) <= 4 for _, vector, _ in heard)
    assert [value for *_, value in heard] == pytest.approx(result.history[1:])


@pytest.mark.parametrize("method", ["pca", "threshold"])
def test_loadings_of_the_leading_eigenvector_take_one_step(data, method) -> None:
    heard = []
    result = se.sparse_eigenvector(
        np.cov(data.T), 4, method=method, certify=False, on_iteration=lambda *step: heard.append(step)
    )
    assert result.n_iterations == len(result.history) == len(heard) == 1
    assert result.stop_reason is se.results.StopReason.COMPLETED
    np.testing.assert_allclose(np.abs(heard[0][1]), np.abs(result.vector))
