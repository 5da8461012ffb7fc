"""SPCA: the lasso path and the elastic net."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import OptionError
from sparseigen.operators import as_operator
from sparseigen.solvers import SolverOptions
from sparseigen.solvers.elastic_net import (
    LARGEST_SAME,
    SAME,
    _next_exit,
    _same_level,
    follow_lasso_path,
    solve_elastic_net_block,
)


def test_lasso_path_meets_the_optimality_conditions(rng) -> None:
    data = rng.standard_normal((30, 12))
    gram, target, ridge = data.T @ data, data.T @ rng.standard_normal(30), 0.5
    for level in (0.2, 2.0, 8.0):
        found = follow_lasso_path(as_operator(gram), target, ridge, level, 12)
        slope = target - gram @ found - ridge * found
        active = found != 0.0
        np.testing.assert_allclose(slope[active], level * np.sign(found[active]), atol=1e-8)
        assert (np.abs(slope[~active]) <= level * (1 + 1e-9)).all()
    assert np.count_nonzero(follow_lasso_path(as_operator(gram), target, ridge, 0.0, 4)) <= 4


def test_elastic_net_solution_is_a_fixed_point(data) -> None:
    operator = as_operator(np.cov(data.T))
    options = SolverOptions(extra={"penalty": [1.0, 0.5], "ridge": 0.1})
    first, second = solve_elastic_net_block(operator, [15, 15], options)
    assert len(first.vector.indices) < 15
    assert len(second.vector.indices) < 15
    with pytest.raises(OptionError, match="leaves nothing of component 1"):
        solve_elastic_net_block(operator, [15], SolverOptions(extra={"penalty": 1e6}))


def test_ridge_is_one_number(data) -> None:
    with pytest.raises(OptionError, match=r"ridge=\[0.1, 0.2\] must be one number >= 0"):
        se.sparse_eigenvector(np.cov(data.T), 4, method="spca", method_options={"ridge": [0.1, 0.2]})


def correlated(rng):
    """Variables leave again, and correlations outside grow faster than the level falls."""
    return rng.standard_normal((15, 10)) + 3.0 * rng.standard_normal((15, 1)) * rng.standard_normal(10)


def duplicated(rng):
    """Pairs come and go at the same level."""
    return np.repeat(rng.standard_normal((15, 5)), 2, axis=1)


def whole_numbers(rng):
    """Levels coincide."""
    return rng.integers(-1, 2, (15, 10)).astype(float)


@pytest.mark.parametrize("table", [correlated, duplicated, whole_numbers])
def test_lasso_path_of_variables_that_come_and_go_together(table) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data = table(rng)
        gram, target = data.T @ data, data.T @ rng.integers(-2, 3, 15).astype(float)
        for level in (0.05, 0.5, 2.0):
            found = follow_lasso_path(as_operator(gram), target, 0.1, level, 10)
            slope = target - gram @ found - 0.1 * found
            active = found != 0.0
            np.testing.assert_allclose(slope[active], level * np.sign(found[active]), atol=1e-7)
            assert (np.abs(slope[~active]) <= level * (1 + 1e-7)).all()


def test_lasso_path_with_more_ties_than_variables_allowed() -> None:
    np.testing.assert_allclose(
        follow_lasso_path(as_operator(np.eye(3)), np.array([1.0, 1.0, 0.5]), 0.0, 0.2, 3), [0.8, 0.8, 0.3]
    )
    found = follow_lasso_path(as_operator(np.ones((6, 6))), np.ones(6), 0.1, 0.0, 3)
    np.testing.assert_allclose(found, [1.0 / 3.1] * 3 + [0.0] * 3)
    result = se.sparse_eigenvector(np.ones((6, 6)), 3, method="spca", certify=False)
    assert result.value == pytest.approx(3.0)
    assert result.stop_reason == "value_stalled"


@pytest.mark.parametrize("seed", range(8))
def test_rounding_does_not_choose_among_ties(seed: int) -> None:
    noise = 1.0 + 1e-14 * np.random.default_rng(seed).standard_normal(6)
    found = follow_lasso_path(as_operator(np.ones((6, 6))), noise, 0.1, 0.0, 3)
    assert np.flatnonzero(found).tolist() == [0, 1, 2]


def test_levels_are_the_same_to_what_rounding_leaves() -> None:
    assert _same_level(np.diag([1e-8, 1e-8])) == SAME
    nearly = _same_level(np.ones((3, 3)) + 1e-6 * np.eye(3))
    assert 1e-9 < nearly < 1e-7
    for dependent in (np.ones((2, 2)), np.diag([1.0, 0.0])):
        assert _same_level(dependent) == LARGEST_SAME


def test_a_coefficient_that_does_not_move_never_leaves() -> None:
    still, moving = np.array([0.5, -0.2]), np.array([0.0, -0.1])
    assert _next_exit(still, moving, 3.0, np.array([False, False])) == (1, 2.0)
    assert _next_exit(still, moving, 3.0, np.array([False, True]))[1] == 0.0
    assert _next_exit(still, moving, 1.9, np.array([False, False]))[1] == 0.0
    assert _next_exit(still, moving, 2.0, np.array([False, False])) == (1, 2.0)  # two leave at the same level
