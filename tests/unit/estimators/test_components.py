"""Several components: deflations, blocks and joint refinement."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import CardinalityError, OptionError, ZeroMatrixError
from sparseigen.operators import as_operator
from sparseigen.operators.deflated import DEFLATIONS


@pytest.fixture
def matrix(rng):
    data = rng.standard_normal((30, 12))
    return data.T @ data


def explicit(matrix, vectors, name):
    """The deflations as written in Mackey's paper, on the formed matrix."""
    directions = []
    for x in vectors:
        if name == "projection":
            rest = np.eye(len(x)) - np.outer(x, x)
            matrix = rest @ matrix @ rest
        elif name == "hotelling":
            matrix = matrix - (x @ matrix @ x) * np.outer(x, x)
        elif name == "schur":
            matrix = matrix - np.outer(matrix @ x, matrix @ x) / (x @ matrix @ x)
        else:
            q = x - sum((d @ x) * d for d in directions) if directions else x
            q = q / np.linalg.norm(q)
            directions.append(q)
            matrix = matrix - (q @ matrix @ q) * np.outer(q, q)
    return matrix


@pytest.mark.parametrize("name", sorted(DEFLATIONS))
def test_deflation_equals_the_formed_matrix(matrix, rng, name) -> None:
    vectors = rng.standard_normal((3, 12)) * (rng.random((3, 12)) < 0.5)
    vectors[:, 0] = 1.0
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    operator = as_operator(matrix)
    for x in vectors:
        operator = DEFLATIONS[name](operator, x)
    np.testing.assert_allclose(operator.to_dense(), explicit(matrix, vectors, name), atol=1e-10 * matrix.max())


def test_projection_leaves_nothing_along_earlier_components(matrix) -> None:
    found = se.sparse_components(matrix, [4, 4, 4], certify=False)
    deflated = as_operator(matrix)
    for result in found:
        deflated = deflated.deflated(result.vector)
    last = found[-1].vector
    assert abs(last @ deflated.to_dense() @ last) < 1e-9 * matrix.max()


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0", "spca"])
def test_block_methods_give_the_cardinalities_asked_for(matrix, method) -> None:
    found = se.sparse_components(matrix, [5, 3], method=method, deflation="block")
    assert [result.cardinality for result in found] == [5, 3]
    assert all(0 < len(result.support) <= result.cardinality for result in found)
    assert all(np.linalg.norm(result.vector) == pytest.approx(1.0) for result in found)


def test_block_is_refused_by_methods_without_one(matrix) -> None:
    with pytest.raises(OptionError, match="'gpower-l0', 'gpower-l1', 'spca'"):
        se.sparse_components(matrix, [5, 3], method="pathspca", deflation="block")


def test_exhausted_variance_is_said_not_filled_in() -> None:
    with pytest.raises(ZeroMatrixError, match="after 1 component no variance is left"):
        se.sparse_components(np.outer([1.0, 2.0, 2.0], [1.0, 2.0, 2.0]), [3, 3], certify=False)


def test_errors_name_the_component(matrix) -> None:
    with pytest.raises(CardinalityError, match=r"cardinalities\[1\]=13"):
        se.sparse_components(matrix, [3, 13])
    with pytest.raises(OptionError, match="cardinalities is empty"):
        se.sparse_components(matrix, [])


def test_refinement_never_lowers_the_adjusted_variance_nor_adds_loadings(matrix) -> None:
    vectors = np.array([r.vector for r in se.sparse_components(matrix, [5, 3, 2], method="threshold", certify=False)])
    refined = se.components.refine_components(matrix, vectors)
    before, after = (se.explained_variance(matrix, v).sum() for v in (vectors, refined))
    assert after >= before
    assert ((refined != 0.0).sum(axis=1) <= (vectors != 0.0).sum(axis=1)).all()
    np.testing.assert_allclose(np.linalg.norm(refined, axis=1), 1.0)


def test_gradient_of_the_adjusted_variance(matrix, rng) -> None:
    from sparseigen.components.joint import adjusted_variance

    columns = rng.standard_normal((12, 3))
    value, gradient = adjusted_variance(matrix, columns)
    assert value == pytest.approx(se.explained_variance(matrix, columns.T).sum())
    step = rng.standard_normal(columns.shape)
    ahead, behind = (adjusted_variance(matrix, columns + t * step)[0] for t in (1e-6, -1e-6))
    assert (ahead - behind) / 2e-6 == pytest.approx(float((gradient * step).sum()), rel=1e-5)


def test_an_interruption_keeps_the_components_finished_before_it() -> None:
    matrix = se.datasets.load_pitprops().matrix
    first = se.sparse_components(matrix, [7], certify=False)[0]
    after = []

    def stop_in_the_second(iteration, vector, value) -> None:
        after.append(iteration)
        if len(after) > 5 and iteration == 3 and after.count(3) == 2:
            raise KeyboardInterrupt

    with pytest.raises(se.errors.SolveInterrupted) as caught:
        se.sparse_components(matrix, [7, 2], certify=False, on_iteration=stop_in_the_second)
    assert len(caught.value.completed) == 1
    np.testing.assert_array_equal(caught.value.completed[0].vector, first.vector)
    assert caught.value.result is not None
