"""The relaxation of sets: its projections, and that a true set fits into it."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.certificates.set_relaxation import (
    Group,
    SetRelaxation,
    group_cardinalities,
    keep_positive,
    keep_trace,
    project_below_level,
)


@pytest.fixture
def symmetric(rng):
    matrix = rng.standard_normal((7, 7))
    return matrix + matrix.T


def test_projections_on_semidefinite_matrices(symmetric) -> None:
    nearest = keep_trace(symmetric, 2.0)
    assert np.trace(nearest) == pytest.approx(2.0)
    assert np.linalg.eigvalsh(nearest)[0] >= -1e-12
    for sign in (1.0, -1.0):  # the rest is orthogonal to the projection and negative
        kept = keep_positive(sign * symmetric)
        rest = sign * symmetric - kept
        assert np.linalg.eigvalsh(kept)[0] >= -1e-12
        assert np.linalg.eigvalsh(rest)[-1] <= 1e-12
        assert abs((kept * rest).sum()) < 1e-10


def test_projection_below_a_level_has_the_conditions_of_the_nearest_point(rng) -> None:
    tops, shares = rng.standard_normal((2, 6)), 2.0 * rng.standard_normal((2, 6, 6))
    at = np.diag_indices(6)
    level, kept = project_below_level(tops.copy(), shares.copy(), (slice(None), *at))
    shares[:, *at] = kept[:, *at] = 0.0
    excess = shares - kept
    assert (kept <= level[:, :, None] + 1e-12).all() or (level < 0.0).any()
    assert (excess >= -1e-12).all()
    np.testing.assert_allclose(level - tops, excess.sum(axis=2), atol=1e-12)


def test_groups_and_growth(symmetric) -> None:
    groups = group_cardinalities([2, 3, 2])
    assert groups == (Group(1, 3), Group(2, 2))
    matrix = symmetric @ symmetric
    small = SetRelaxation(matrix[:5, :5], groups)
    for _ in range(3):
        small.step()
    before = small.multipliers()
    small.enlarge(matrix, np.arange(5))
    after = small.multipliers()
    np.testing.assert_array_equal(after.part[:, :5, :5], before.part)
    np.testing.assert_array_equal(before.enlarge(7, np.arange(5)).costs, after.costs)
    small.step()
    assert np.isfinite(small.outer).all()


def test_the_method_converges_to_ky_fan_where_nothing_is_sparse(symmetric) -> None:
    matrix = symmetric @ symmetric
    state = SetRelaxation(matrix, (Group(2, 7),))
    for step in range(600):
        state.step()
        if step % 20 == 0:
            state.balance()
    reached = float((state.outer[0] * matrix).sum())
    assert reached == pytest.approx(np.linalg.eigvalsh(matrix)[-2:].sum(), rel=2e-3)
