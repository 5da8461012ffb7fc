"""Sets under a constraint, from request to result."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import CardinalityError, OptionError


@pytest.mark.parametrize("constraint", ["orthogonal", "uncorrelated"])
def test_the_constraint_holds_and_the_bracket_is_of_the_sum(matrix, constraint) -> None:
    found = se.sparse_components(matrix, [4, 3, 4], constraint=constraint, effort="quick")
    columns = found.vectors.T
    products = columns.T @ (matrix @ columns if constraint == "uncorrelated" else columns)
    assert np.abs(np.triu(products, 1)).max() <= 1e-12 * np.abs(products).max()
    assert found.violation <= 1e-12
    assert [len(result.support) <= k for result, k in zip(found, (4, 3, 4), strict=True)] == [True] * 3
    assert found[0].value >= found[2].value  # equal cardinalities by variance
    assert found.certificate.lower_bound <= found.value <= found.certificate.upper_bound
    assert found.value == pytest.approx(sum(result.value for result in found))
    assert all(result.certificate.upper_bound >= result.value for result in found)


def test_data_and_matrix_give_the_same_set(rng) -> None:
    data = rng.standard_normal((40, 9)) + rng.standard_normal((40, 1)) * (np.arange(9) < 5)
    first = se.sparse_components(se.covariance(data), [3, 3], constraint="orthogonal", effort="quick")
    second = se.sparse_components(np.cov(data, rowvar=False), [3, 3], constraint="orthogonal", effort="quick")
    np.testing.assert_allclose(first.vectors, second.vectors, atol=1e-9)
    assert first.certificate.upper_bound == pytest.approx(second.certificate.upper_bound, rel=1e-3)


def test_variables_outside_the_first_choice_are_found(rng) -> None:
    """More variables than are searched at once: two programmes among 400."""
    data = rng.standard_normal((60, 400))
    data[:, 100:110] += 3.0 * rng.standard_normal((60, 1))
    data[:, 300:310] += 2.5 * rng.standard_normal((60, 1))
    found = se.sparse_components(se.covariance(data), [10, 10], constraint="orthogonal", effort="quick")
    assert found[0].support.tolist() == list(range(100, 110))
    assert found[1].support.tolist() == list(range(300, 310))


def test_disjoint_candidates_and_time(matrix) -> None:
    found = se.sparse_components(matrix, [3, 3], disjoint=True, candidates=[0, 2, 3, 5, 7, 8, 9], effort="quick")
    assert not set(found[0].support) & set(found[1].support)
    assert set(np.flatnonzero(found.vectors.any(axis=0))) <= {0, 2, 3, 5, 7, 8, 9}
    assert bool(se.verify(found, matrix, candidates=[0, 2, 3, 5, 7, 8, 9]))
    hurried = se.sparse_components(matrix, [3, 3], constraint="orthogonal", time_limit=1e-6)
    assert hurried.violation <= 1e-12
    assert hurried.certificate.upper_bound >= hurried.value


def test_refusals(matrix) -> None:
    with pytest.raises(
        OptionError, match=r"constraint='orthogonal' is searched jointly .* not nonnegative; leave that"
    ):
        se.sparse_components(matrix, [3, 3], constraint="orthogonal", nonnegative=True)
    with pytest.raises(OptionError, match="a set under a constraint is searched jointly: leave out deflation"):
        se.sparse_components(matrix, [3, 3], constraint="orthogonal", deflation="projection")
    with pytest.raises(OptionError, match="constraint='both' is not known"):
        se.sparse_components(matrix, [3, 3], constraint="both")
    with pytest.raises(OptionError, match="3 components of 2 variables: disjoint=True allows at most 2"):
        se.sparse_components(np.eye(2), [1, 1, 1], disjoint=True)
    with pytest.raises(CardinalityError, match="no set of 2 components with uncorrelated scores was found"):
        se.sparse_components(np.array([[2.0, 1.0], [1.0, 2.0]]), [1, 1], constraint="uncorrelated")


def test_free_sets_have_a_bound_on_their_span_or_say_why_not(matrix, rng) -> None:
    found = se.sparse_components(matrix, [3, 3])
    assert found.constraint is None
    assert found.value <= found.certificate.upper_bound <= np.linalg.eigvalsh(matrix)[-2:].sum() * (1.0 + 1e-9)
    assert se.sparse_components(matrix, [3, 3], certify=False).reason == "no bound was asked for"
    wide = se.sparse_components(se.covariance(rng.standard_normal((20, 600))), [3, 3], effort="quick")
    assert wide.certificate is None
    assert "more than 512 variables" in wide.reason


def test_refined_sets_beat_every_deflation(matrix) -> None:
    joint = se.sparse_components(matrix, [4, 3, 3], refine=True)
    for deflation in ("schur", "projection", "hotelling", "orthogonal-hotelling"):
        single = se.sparse_components(matrix, [4, 3, 3], deflation=deflation, certify=False)
        assert joint.shares["adjusted"] >= single.shares["adjusted"] * (1.0 - 1e-9)
    assert joint.shares["adjusted"] <= joint.shares["span"] <= joint.certificate.upper_bound / matrix.trace()
