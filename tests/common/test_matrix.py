"""Every solver on every operator on every known problem. Registering is joining."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

from sparseigen import sparse_eigenvector
from sparseigen.errors import ConvergenceWarning
from sparseigen.problems import PROBLEMS, KnownProblem
from sparseigen.solvers import SOLVERS
from tests.common.checks import check_result
from tests.common.operators import OPERATORS, SINGLE_PRECISION

FINDS_EASY_OPTIMA = {"tpower", "exact"}
"""Methods that must reach the optimum of every easy problem; the others must not exceed it."""


@cache
def problem(name: str) -> KnownProblem:
    return PROBLEMS[name]()


@pytest.mark.parametrize("problem_name", sorted(PROBLEMS))
@pytest.mark.parametrize("operator_name", sorted(OPERATORS | SINGLE_PRECISION))
@pytest.mark.parametrize("method", sorted(SOLVERS))
def test_solver_on_operator_on_problem(method: str, operator_name: str, problem_name: str) -> None:
    known = problem(problem_name)
    operator = (OPERATORS | SINGLE_PRECISION)[operator_name](known.factor)
    single = operator_name in SINGLE_PRECISION
    rtol = 2e-5 if single else 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = sparse_eigenvector(operator, known.cardinality, method=method)
    check_result(result, operator, rtol=rtol)
    assert result.value <= known.optimum * (1.0 + rtol)
    assert result.certificate is None or result.certificate.upper_bound >= known.optimum * (1.0 - rtol)
    if known.easy and method in FINDS_EASY_OPTIMA:
        assert result.value == pytest.approx(known.optimum, rel=rtol)
        if known.unique_support is not None:
            assert tuple(result.support) == known.unique_support


@pytest.mark.parametrize("operator_name", sorted(OPERATORS))
def test_plain_iterates_equal_the_dense_reference(operator_name: str, rng: np.random.Generator) -> None:
    factor = rng.standard_normal((20, 30)) * rng.uniform(0.5, 2.0, 30)
    seen: dict[str, list[np.ndarray]] = {}
    for name in ("dense", operator_name):
        seen[name] = []
        sparse_eigenvector(
            OPERATORS[name](factor),
            6,
            start="max-variance",
            polish=None,
            certify=False,
            on_iteration=lambda iteration, vector, value, kept=seen[name]: kept.append(vector),
        )
    assert len(seen["dense"]) == len(seen[operator_name]) > 3
    for reference, iterate in zip(seen["dense"], seen[operator_name], strict=True):
        np.testing.assert_allclose(iterate, reference, rtol=0, atol=1e-10)
