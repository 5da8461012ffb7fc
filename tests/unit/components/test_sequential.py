"""Several components: one after the other and in blocks, and the cardinalities they get."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen import errors
from sparseigen.components.sequential import cardinality_grid, choose_cardinalities
from sparseigen.errors import CardinalityError, OptionError, ZeroMatrixError
from sparseigen.operators import as_operator


def test_projection_leaves_nothing_along_earlier_components(matrix) -> None:
    found = se.sparse_components(matrix, [4, 4, 4], deflation="projection", certify=False)
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


def test_choosing_by_itself() -> None:
    operator = as_operator(se.datasets.load_pitprops().matrix)
    with pytest.raises(errors.OptionError, match="chooses component by component; with deflation='block' give numbers"):
        choose_cardinalities(operator, "auto", 2, deflation="block")
    with pytest.raises(errors.OptionError, match=r"share=0\.0 must be above 0 and at most 1"):
        choose_cardinalities(operator, "auto", 1, share=0.0)
    with pytest.raises(errors.CardinalityError, match="a grid of cardinalities needs at least one variable, got 0"):
        cardinality_grid(0)
    assert cardinality_grid(1) == [1]


def test_methods_without_blocks(matrix) -> None:
    with pytest.raises(errors.OptionError, match="method='tpower' finds one component at a time; deflation='block'"):
        se.sparse_components(matrix, [2, 2], deflation="block", method="tpower")


def test_components_share_a_time_limit_and_pass_the_effort_on(rng):
    operator = se.covariance(rng.standard_normal((30, 40)))
    hurried = se.sparse_components(operator, [4, 4], time_limit=1e-9)
    assert [result.stop_reason.value for result in hurried] == ["time_limit"] * 2
    assert all(result.certificate.upper_bound < np.inf for result in hurried)
    quick = se.sparse_components(operator, [4, 4], effort="quick")
    assert [[stage.name for stage in result.stages] for result in quick] == [["plain run", "bound"]] * 2


@pytest.mark.parametrize("form", ["data", "matrix"])
def test_by_default_a_value_is_what_the_component_adds(programmes, form) -> None:
    """The value on the Schur complement is the adjusted variance, and so its certificate bounds that."""
    operator = se.covariance(programmes) if form == "data" else as_operator(np.cov(programmes, rowvar=False))
    found = se.sparse_components(operator, [10, 10, 5])
    added = se.explained_variance(operator, [result.vector for result in found], definition="adjusted")
    np.testing.assert_allclose([result.value for result in found], added, rtol=1e-9)
    assert all(r.certificate.lower_bound <= a * (1.0 + 1e-9) for r, a in zip(found, added, strict=True))
    assert found[1].support.min() >= 40  # the other programme
    repeated = se.sparse_components(operator, [10, 10], deflation="projection", certify=False)
    assert repeated[1].support.max() < 40  # the same programme again


def test_settings_name_the_matrix_each_component_is_of(matrix) -> None:
    for operator in (matrix, se.covariance(np.linalg.cholesky(matrix).T, center=False)):
        for deflation in ("schur", "projection", "hotelling", "orthogonal-hotelling"):
            found = se.sparse_components(operator, [3, 3, 3], deflation=deflation, certify=False)
            assert "deflation" not in found[0].settings
            assert [r.settings["components_taken_out"] for r in found[1:]] == [1, 2]
            assert {r.settings["deflation"] for r in found[1:]} == {deflation}


def test_matrices_that_are_no_covariance_still_have_components() -> None:
    """Where there is nothing to regress on, projection is used, and a warning says so."""
    signs = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, -1.0]])
    with pytest.warns(errors.IndefiniteWarning, match="projection deflation takes this component out"):
        found = se.sparse_components(signs, [2, 2])
    expected = se.sparse_components(signs, [2, 2], deflation="projection")
    np.testing.assert_array_equal([r.vector for r in found], [r.vector for r in expected])
    assert found[1].settings["deflation"] == "projection"
    matrix = np.diag([3.0, 2.0, 1.0])
    smallest = se.sparse_components(matrix, [1, 1], which="smallest")
    assert smallest[0].value == 1.0
