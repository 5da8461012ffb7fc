"""Joint refinement: the objective, its gradient, and what is never lowered."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.components.joint import adjusted_variance


def test_refinement_never_lowers_the_adjusted_variance_nor_adds_loadings(matrix) -> None:
    vectors = np.array([r.vector for r in se.sparse_components(matrix, [5, 3, 2], method="threshold", certify=False)])
    refined = se.components.refine_components(matrix, vectors)
    before, after = (se.explained_variance(matrix, v).sum() for v in (vectors, refined))
    assert after >= before
    assert ((refined != 0.0).sum(axis=1) <= (vectors != 0.0).sum(axis=1)).all()
    np.testing.assert_allclose(np.linalg.norm(refined, axis=1), 1.0)


def test_gradient_of_the_adjusted_variance(matrix, rng) -> None:
    columns = rng.standard_normal((12, 3))
    value, gradient = adjusted_variance(matrix, columns)
    assert value == pytest.approx(se.explained_variance(matrix, columns.T).sum())
    step = rng.standard_normal(columns.shape)
    ahead, behind = (adjusted_variance(matrix, columns + t * step)[0] for t in (1e-6, -1e-6))
    assert (ahead - behind) / 2e-6 == pytest.approx(float((gradient * step).sum()), rel=1e-5)
