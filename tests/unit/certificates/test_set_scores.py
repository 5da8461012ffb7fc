"""The bound for uncorrelated scores holds for any combinations G."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.set_certificate import SET_EFFORTS, SetQuestion
from sparseigen.certificates.set_scores import is_semidefinite, prove_scores
from sparseigen.operators import as_operator


def test_any_combinations_prove_a_bound(rng) -> None:
    for _ in range(6):
        data = rng.standard_normal((20, 7)) + rng.standard_normal((20, 1))
        operator = se.covariance(data)
        found = se.sparse_components(operator, [3, 3], constraint="uncorrelated", certify=False)
        single = se.upper_bound(operator, 3).upper_bound
        problem = BoundProblem(operator, 3)
        question = SetQuestion((3, 3), found.vectors.T, SET_EFFORTS["default"])
        groups, members = question.groups()
        for scale in (0.01, 0.1, 0.5):
            combined = scale * rng.standard_normal((7, 2))
            bound = prove_scores(problem, groups, members, question, combined, problem.scale_value(single))
            assert problem.unscale_bound(bound) >= found.value


def test_semidefinite_is_proven_or_not_claimed(rng) -> None:
    data = rng.standard_normal((20, 6))
    assert is_semidefinite(BoundProblem(se.covariance(data), 2))
    assert is_semidefinite(BoundProblem(as_operator(data.T @ data), 2))
    assert not is_semidefinite(BoundProblem(as_operator(data[:3].T @ data[:3]), 2))  # singular: nobody can prove it
    assert not is_semidefinite(BoundProblem(as_operator(np.diag([1.0, -0.5])), 1))


def test_it_beats_ky_fan_and_single_bounds() -> None:
    matrix = se.datasets.load_pitprops().matrix
    found = se.sparse_components(matrix, [4, 4, 4, 4], constraint="uncorrelated")
    assert found.certificate.method == "levelled scores"  # the same with a level per component
    assert found.value == pytest.approx(7.559, abs=1e-3)
    assert found.certificate.upper_bound < 8.1  # Ky Fan 9.58, single bounds 11.75
