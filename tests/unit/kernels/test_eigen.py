"""Leading eigenpairs of matrices."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from sparseigen.kernels import eigen
from sparseigen.kernels.eigen import leading_eigenpair, one_blas_thread, run_arpack, warm_eigenpair


def test_warm_eigenpair_equals_lapack(rng) -> None:
    matrix = rng.standard_normal((80, 80))
    matrix = matrix + matrix.T
    values, vectors = np.linalg.eigh(matrix)
    for start in (vectors[:, -1] + 0.1 * rng.standard_normal(80), rng.standard_normal(80), vectors[:, 0]):
        vector, value = warm_eigenpair(matrix, start)
        assert value == pytest.approx(values[-1], rel=1e-12)
        assert abs(vector @ vectors[:, -1]) == pytest.approx(1.0, abs=1e-10)


def test_warm_eigenpair_leaves_an_uncoupled_block(rng) -> None:
    matrix = np.diag(np.r_[np.linspace(1.0, 2.0, 39), 3.0])
    start = np.r_[np.zeros(38), 1.0, 0.0]
    assert warm_eigenpair(matrix, start)[1] == pytest.approx(3.0, rel=1e-12)


def test_warm_eigenpair_without_a_start_is_lapacks(rng) -> None:
    matrix = rng.standard_normal((40, 40))
    matrix = matrix + matrix.T
    assert warm_eigenpair(matrix, np.zeros(40))[1] == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-13)


@pytest.mark.parametrize("size", [1, 5, 120])
def test_leading_eigenpair(size: int, rng: np.random.Generator) -> None:
    matrix = rng.standard_normal((size, size))
    matrix = matrix + matrix.T
    vector, value = leading_eigenpair(matrix)
    assert value == pytest.approx(np.linalg.eigvalsh(matrix)[-1])
    np.testing.assert_allclose(matrix @ vector, value * vector, atol=1e-9)


def test_arpack_that_fails_returns_fewer():
    """A product that is zero everywhere is an error of ARPACK, not of the caller."""
    values, vectors = run_arpack(np.zeros((50, 50)), 1, np.ones(50))
    assert len(values) == vectors.shape[1] in (0, 1)
    assert not values.any()


def test_scipy_that_comes_later_has_one_blas_thread_too(monkeypatch):
    """SciPy brings a BLAS of its own, and is imported when it is first needed: often within."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    pytest.importorskip("scipy.linalg")
    limited = []

    class Controller:
        def __init__(self):
            self.sees_scipy = "scipy.linalg" in sys.modules

        def limit(self, **_):
            limited.append(self.sees_scipy)
            return SimpleNamespace(restore_original_limits=limited.pop)

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Controller)
    threads = eigen._BlasThreads()
    with monkeypatch.context() as before:
        before.delitem(sys.modules, "scipy.linalg")
        threads.enter()
    assert limited == [False]
    for _ in range(2):
        threads.enter()
    assert limited == [False, True]
    for _ in range(3):
        threads.leave()
    assert limited == []


def test_one_blas_thread_is_given_back():
    """Also where two callers overlap."""
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads():
        return sorted(info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas")

    before = threads()
    with one_blas_thread():
        with one_blas_thread():
            assert set(threads()) <= {1}
        assert set(threads()) <= {1}
    assert threads() == before


@pytest.mark.parametrize("seed", range(20))
def test_values_belong_to_their_vectors_where_a_space_is_invariant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    block = np.round(8.0 * rng.standard_normal((size, size))) / 8.0
    block = block + block.T
    matrix = np.kron(np.eye(12 + 48 // size), block)
    matrix -= float(np.linalg.eigvalsh(block)[0]) * np.eye(len(matrix))  # a path shifts an indefinite matrix like this
    matrix[0, 0] += 2.0**-40
    start = np.zeros(len(matrix))
    start[: int(rng.integers(size, len(start)))] = 1.0
    vector, value = warm_eigenpair(matrix, start)
    assert value == pytest.approx(float(vector @ matrix @ vector), rel=1e-13)
    assert value == pytest.approx(float(np.linalg.eigvalsh(matrix)[-1]), rel=1e-11)
