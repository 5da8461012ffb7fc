"""Certificates of sets: which bounds apply to which constraint, and that the smallest is taken."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates.set_certificate import (
    SET_EFFORTS,
    SetQuestion,
    add_single_bounds,
    bound_free,
    bound_orthogonal,
    bound_uncorrelated,
    reach_set,
    reach_span,
)
from sparseigen.operators import as_operator


@pytest.fixture
def operator():
    return as_operator(se.datasets.load_pitprops().matrix)


def ask(operator, cardinalities, effort="default"):
    found = se.sparse_components(operator, cardinalities, constraint="orthogonal", certify=False, effort="quick")
    return SetQuestion(tuple(cardinalities), found.vectors.T, SET_EFFORTS[effort])


def test_more_effort_proves_no_less(operator) -> None:
    bounds = []
    for effort in ("cheap", "quick", "default"):
        question = ask(operator, [4, 4], effort)
        bounds.append(bound_orthogonal(operator, question, add_single_bounds(operator, question), 5.0)[0])
    assert bounds[0] > bounds[1] >= bounds[2]
    assert 5.255158 < bounds[2] < 5.255159  # the best set, proven


def test_unequal_cardinalities_have_a_bound_of_their_own(operator) -> None:
    """Smaller than with the largest cardinality for all."""
    question, equal = ask(operator, [5, 2]), ask(operator, [5, 5])
    unequal = bound_orthogonal(operator, question, add_single_bounds(operator, question), 0.0)[0]
    same = bound_orthogonal(operator, equal, add_single_bounds(operator, equal), 0.0)[0]
    assert 4.9 < unequal < same - 0.3


def test_single_components_and_large_matrices(operator) -> None:
    question = ask(operator, [4])
    singles = add_single_bounds(operator, question)
    assert bound_orthogonal(operator, question, singles, 0.0) == singles.of[4]
    assert bound_uncorrelated(operator, question, singles, 0.0) == singles.of[4]
    large = se.covariance(np.random.default_rng(0).standard_normal((5, 4200)))
    columns = np.zeros((4200, 2))
    columns[0, 0] = columns[1, 1] = 1.0
    question = SetQuestion((1, 1), columns, SET_EFFORTS["quick"])
    upper, method = bound_orthogonal(large, question, add_single_bounds(large, question), 0.0)
    assert np.isfinite(upper)
    assert method == "sum of single bounds (set bounds left out: 4200 variables)"
    assert bound_free(large, question, 0.0)[1].startswith("the matrix of 4200 variables is not formed")


def test_spans_need_a_covariance(operator) -> None:
    indefinite = as_operator(np.diag([3.0, -1.0, 2.0]))
    question = SetQuestion((1, 1), np.eye(3)[:, [0, 2]], SET_EFFORTS["default"])
    assert bound_free(indefinite, question, 0.0)[0] == np.inf
    singles = add_single_bounds(indefinite, question)
    assert bound_orthogonal(indefinite, question, singles, 5.0)[0] == pytest.approx(5.0, rel=1e-6)
    # Uncorrelated sets of such a matrix have single bounds only.
    assert bound_uncorrelated(indefinite, question, singles, 5.0) == (singles.total, "sum of single bounds")


def test_what_a_set_reaches(operator) -> None:
    found = se.sparse_components(operator, [4, 3], certify=False)
    columns = found.vectors.T
    plain, span = found.variances["plain"].sum(), found.variances["span"].sum()
    assert reach_set(operator, columns)[0] == pytest.approx(plain, rel=1e-12)
    assert reach_set(operator, columns)[0] <= plain
    assert reach_span(operator, columns) == pytest.approx(span, rel=1e-10)
    assert reach_span(operator, np.repeat(columns[:, :1], 2, axis=1)) == pytest.approx(found.variances["plain"][0])
