"""The table of solvers: every method on every operator, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import OptionError, UnsupportedOperatorError
from sparseigen.operators import as_operator
from sparseigen.solve.eigenvector import check_solver
from sparseigen.solvers import SOLVERS


def test_what_a_solver_lacks_is_named():
    with pytest.raises(UnsupportedOperatorError, match=r"solver 'pathspca' needs SimpleNamespace.columns.*: none\."):
        check_solver("pathspca", SimpleNamespace(), nonnegative=False)
    able = SimpleNamespace(to_dense=None)
    with pytest.raises(UnsupportedOperatorError, match=r"that accept this operator: backward, dspca\."):
        check_solver("tpower", able, nonnegative=False)


METHODS = sorted(SOLVERS)


def operators(data):
    table = np.where(np.abs(data) > 0.3, data, 0.0)
    return {
        "matrix": as_operator(np.cov(data.T)),
        "data": se.covariance(data),
        "sparse data": se.covariance(sp.csr_matrix(table)),
        "deflated": se.covariance(data).deflated(np.eye(15)[0]),
    }


@pytest.mark.parametrize("kind", ["matrix", "data", "sparse data", "deflated"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_every_operator(data, method, kind) -> None:
    operator = operators(data)[kind]
    result = se.sparse_eigenvector(operator, 5, method=method, certify=False)
    assert len(result.support) <= 5
    assert np.linalg.norm(result.vector) == pytest.approx(1.0)
    assert result.value == pytest.approx(result.vector @ operator.to_dense() @ result.vector)
    assert result.solver == method
    assert set(result.support) == {3, 4, 5, 6, 7}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cardinality", [1, 15])
def test_smallest_and_largest_cardinality(data, method, cardinality) -> None:
    matrix = np.cov(data.T)
    result = se.sparse_eigenvector(matrix, cardinality, method=method, certify=False)
    best = matrix.diagonal().max() if cardinality == 1 else np.linalg.eigvalsh(matrix)[-1]
    assert result.value <= best * (1.0 + 1e-12)
    assert result.value >= (0.99 if cardinality == 15 else 0.3) * best


@pytest.mark.parametrize("method", METHODS)
def test_answers_do_not_depend_on_the_scale_of_the_matrix(data, method) -> None:
    matrix = np.cov(data.T)
    one, other = (se.sparse_eigenvector(c * matrix, 4, method=method, certify=False) for c in (1.0, 1e6))
    np.testing.assert_allclose(one.vector, other.vector, atol=1e-6)


def test_unknown_method_options_are_named() -> None:
    with pytest.raises(OptionError, match=r"names 'gama'.*Allowed: 'gamma', 'relative', 'weights'"):
        se.sparse_eigenvector(np.eye(3), 2, method="gpower-l1", method_options={"gama": 0.1})
    with pytest.raises(OptionError, match="must be a dict"):
        se.sparse_eigenvector(np.eye(3), 2, method="gpower-l1", method_options=[0.1])


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0", "rsvd", "spca"])
def test_covariance_methods_refuse_indefinite_matrices(method) -> None:
    with pytest.raises(UnsupportedOperatorError, match=f"method='{method}' is defined for covariance"):
        se.sparse_eigenvector(np.diag([1.0, -1.0, 0.5]), 2, method=method)
    with pytest.raises(UnsupportedOperatorError, match="Methods for every symmetric matrix: backward, dspca"):
        se.sparse_eigenvector(np.eye(3), 2, method=method, which="smallest")
