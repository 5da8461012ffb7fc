"""Where the truncated power method starts."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen import sparse_eigenvector
from sparseigen.errors import StartError, ZeroMatrixError
from sparseigen.operators import as_operator
from tests.unit.solvers.test_truncated_power import covariance_matrix


def test_default_starts_include_the_papers_where_some_variances_are_zero(data) -> None:
    matrix = np.zeros((16, 16))
    matrix[:15, :15] = np.cov(data.T)
    tried = se.sparse_eigenvector(matrix, 4, certify=False).settings["starts_tried"]
    assert tried[:2] == ["max-variance", "top-k-variance"]
    assert len(tried) > 2


def test_callers_vector_as_start(rng: np.random.Generator) -> None:
    matrix = covariance_matrix(rng)
    vector = rng.standard_normal(40)
    result = sparse_eigenvector(matrix, 5, start=vector * 1e200, polish=None)
    assert result.settings["start"] == "vector"
    assert result.history[0] == pytest.approx(vector @ matrix @ vector / (vector @ vector))


def test_zero_column_start() -> None:
    matrix = np.zeros((4, 4))
    matrix[2, 3] = matrix[3, 2] = 1.0
    assert sparse_eigenvector(matrix, 2).value == pytest.approx(1.0)
    assert sparse_eigenvector(matrix, 2, start="max-variance").value == pytest.approx(1.0)
    low = np.diag([-1.0, 0.0, 0.0])
    low[0, 0] = -1.0
    with pytest.raises(StartError, match="zero columns"):
        sparse_eigenvector(low, 1, start="max-variance")
    assert sparse_eigenvector(low, 1).value == pytest.approx(0.0, abs=1e-12)


def test_zero_columns_beside_the_largest_diagonal_entry_do_not_stop_the_default():
    matrix = np.diag([0.0, -1.0, -2.0])
    result = se.sparse_eigenvector(matrix, 1)
    assert result.value == 0.0
    assert se.upper_bound(matrix, 2).upper_bound >= 0.0


def test_what_a_deflation_leaves_of_a_matrix_of_rank_one_is_refused():
    operator = as_operator(np.diag([1.0, 0.0])).deflated(np.array([1.0, 0.0]))
    with pytest.raises(ZeroMatrixError, match="every column of the matrix is zero"):
        se.upper_bound(operator, 1)


@pytest.mark.parametrize("matrix", [np.ones((5, 5)) - np.eye(5), np.diag([1.0, 2.0, 3.0])])
def test_all_variables_are_a_support_too(matrix) -> None:
    result = se.sparse_eigenvector(matrix, len(matrix))
    assert result.value == pytest.approx(np.linalg.eigvalsh(matrix)[-1])


def test_starts_of_the_default_are_those_that_won_a_race(rng: np.random.Generator) -> None:
    data = rng.standard_normal((50, 1200))
    data[:, 700:712] += 1.5 * rng.standard_normal((50, 1))
    result = sparse_eigenvector(se.covariance(data), 12, certify=False)
    tried = result.settings["starts_tried"]
    assert len(tried) <= 8
    assert all(label.startswith(("column ", "direction ")) for label in tried[2:])
    assert tuple(result.support) == tuple(range(700, 712))
