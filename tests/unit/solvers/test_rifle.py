"""Truncated Rayleigh flow: its step, its starts, and where it ends."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen import errors
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.results import StopReason
from sparseigen.solvers.interface import Progress, SolverOptions
from sparseigen.solvers.rifle import Quotient, flow, make_starts, solve_rifle


def draw(rng, size=8):
    first, second = rng.standard_normal((2, 3 * size, size))
    first[:, :3] += 2.0 * rng.standard_normal((3 * size, 1))
    return first.T @ first / len(first), second.T @ second / len(second)


def test_one_step_is_that_of_the_paper(rng) -> None:
    form, metric = draw(rng)
    start = np.zeros(8)
    start[[1, 4]] = 0.6, 0.8
    eta, rho = 0.3, (start @ form @ start) / (start @ metric @ start)
    moved = start + eta / rho * (form @ start - rho * metric @ start)
    moved[np.argsort(-np.abs(moved))[3:]] = 0.0
    options = SolverOptions(max_iterations=1, progress=Progress(8))
    quotient = Quotient(as_operator(form), as_operator(metric))
    found = flow(quotient, SparseVector.from_dense(start), 3, eta, options)
    np.testing.assert_allclose(found.vector.spread(8), moved / np.linalg.norm(moved), atol=1e-12)
    assert found.stop_reason is StopReason.ITERATION_LIMIT


def test_without_limit_it_ends_at_the_generalised_eigenvector(rng) -> None:
    from scipy.linalg import eigh

    form, metric = draw(rng)
    result = se.sparse_eigenvector(form, 8, metric=metric, method="rifle", rtol=1e-13, max_iterations=20000)
    assert result.value == pytest.approx(eigh(form, metric, eigvals_only=True)[-1], rel=1e-6)
    assert result.settings["step"] == 0.5
    assert result.solver == "rifle"


def test_it_is_certified_like_any_other_answer(rng) -> None:
    form, metric = draw(rng)
    flowed = se.sparse_eigenvector(form, 3, metric=metric, method="rifle")
    exact = se.solve_exact(form, 3, metric=metric)
    assert flowed.value <= exact.value * (1.0 + 1e-9)
    assert flowed.certificate.upper_bound >= exact.value * (1.0 - 1e-9)
    assert se.verify(flowed, form, metric=metric)


def test_starts_and_small_matrices(rng) -> None:
    form, metric = draw(rng)
    names = [name for name, _ in make_starts(as_operator(form), as_operator(metric), 3)]
    assert names[-2:] == ["top-k", "leading"]
    two = se.sparse_eigenvector(np.diag([1.0, 2.0]), 1, metric=np.diag([0.1, 1.0]), method="rifle")
    assert two.value == pytest.approx(10.0)


def test_it_stops_where_nothing_moves_and_when_time_is_over(rng) -> None:
    quotient = Quotient(as_operator(np.eye(3)), None)
    start = SparseVector(np.array([0]), np.ones(1))
    assert flow(quotient, start, 1, 0.5, SolverOptions(progress=Progress(3))).stop_reason is StopReason.VALUE_STALLED
    form = as_operator(draw(rng)[0])
    late = SolverOptions(progress=Progress(8), deadline=0.0, rtol=0.0)
    assert solve_rifle(form, 2, late).stop_reason is StopReason.TIME_LIMIT
    overflow = Quotient(as_operator(1e200 * np.ones((2, 2))), None)
    with np.errstate(all="ignore"):
        assert flow(overflow, start, 1, 1e250, SolverOptions(progress=Progress(2))).stop_reason in (
            StopReason.FIXED_POINT,
            StopReason.VALUE_STALLED,
        )


def test_the_step_must_be_positive(rng) -> None:
    form, metric = draw(rng)
    with pytest.raises(errors.OptionError, match=r"step=-1\.0"):
        se.sparse_eigenvector(form, 2, metric=metric, method="rifle", method_options={"step": -1.0})
