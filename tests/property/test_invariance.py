"""Properties that hold for every matrix: invariance, monotone ascent, agreement of all operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseigen import covariance, sparse_eigenvector
from sparseigen.operators import as_operator
from sparseigen.problems import brute_force
from tests.common.operators import OPERATORS

# Random data may be nearly constant, of which the package warns on purpose: what is proven must hold there too.
pytestmark = pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")

Problem = tuple[np.ndarray, int]

EXAMPLES = settings(max_examples=60, deadline=None)


@st.composite
def problems(draw: Any) -> Problem:
    """Random factors of all shapes (n < p too), with unequal scales, and a cardinality."""
    n_rows, size = draw(st.integers(2, 20)), draw(st.integers(2, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    factor = rng.standard_normal((n_rows, size)) * rng.uniform(0.2, 3.0, size)
    return factor, draw(st.integers(1, size))


def plain(matrix: Any, cardinality: int, **options: Any) -> Any:
    return sparse_eigenvector(
        matrix,
        cardinality,
        **({"start": "max-variance", "polish": None, "certify": False, "max_iterations": 5000} | options),
    )


def gram(factor: np.ndarray) -> np.ndarray:
    return factor.T @ factor / len(factor)


@EXAMPLES
@given(problems(), st.sampled_from(sorted(OPERATORS)))
def test_all_operators_give_the_same_iterates(problem: Problem, name: str) -> None:
    factor, cardinality = problem
    reference, ours = [], []
    plain(gram(factor), cardinality, on_iteration=lambda i, vector, value: reference.append((vector, value)))
    operator = OPERATORS[name](factor)
    plain(operator, cardinality, on_iteration=lambda i, vector, value: ours.append((vector, value)))
    assert len(ours) == len(reference)
    for (vector, value), (expected, expected_value) in zip(ours, reference, strict=True):
        np.testing.assert_allclose(vector, expected, rtol=0, atol=1e-10)
        assert value == pytest.approx(expected_value, rel=1e-10)


@EXAMPLES
@given(problems(), st.randoms(use_true_random=False))
def test_permuting_variables_permutes_the_answer(problem: Problem, random: Any) -> None:
    factor, cardinality = problem
    order = list(range(factor.shape[1]))
    random.shuffle(order)
    matrix = gram(factor)
    before = plain(matrix, cardinality)
    after = plain(matrix[np.ix_(order, order)], cardinality)
    np.testing.assert_allclose(np.abs(after.vector), np.abs(before.vector[order]), atol=1e-9)


@EXAMPLES
@given(problems(), st.integers(-60, 60))
def test_scaling_scales_the_value_alone(problem: Problem, exponent: int) -> None:
    factor, cardinality = problem
    matrix = gram(factor)
    before, after = plain(matrix, cardinality), plain(matrix * 2.0**exponent, cardinality)
    np.testing.assert_array_equal(after.vector, before.vector)
    assert after.value == before.value * 2.0**exponent


@EXAMPLES
@given(problems(), st.integers(0, 2**25 - 1))
def test_flipping_signs_flips_loadings(problem: Problem, bits: int) -> None:
    factor, cardinality = problem
    signs = np.array([-1.0 if bits >> i & 1 else 1.0 for i in range(factor.shape[1])])
    before, after = plain(gram(factor), cardinality), plain(gram(factor * signs), cardinality)
    np.testing.assert_allclose(np.abs(after.vector), np.abs(before.vector), atol=1e-12)
    assert after.value == pytest.approx(before.value, rel=1e-12)


@EXAMPLES
@given(problems())
def test_objective_never_falls_on_positive_semidefinite_matrices(problem: Problem) -> None:
    factor, cardinality = problem
    for start in ("max-variance", "top-k-variance", "random"):
        history = plain(gram(factor), cardinality, start=start).history
        assert (np.diff(history) >= -1e-12 * abs(history[-1])).all()


@EXAMPLES
@given(problems())
def test_default_value_does_not_fall_with_more_variables(problem: Problem) -> None:
    factor, _ = problem
    matrix = gram(factor)[:8, :8]
    optima = [brute_force(matrix, k)[0] for k in range(1, len(matrix) + 1)]
    assert (np.diff(optima) >= -1e-12).all()
    for cardinality, optimum in enumerate(optima, start=1):
        result = sparse_eigenvector(matrix, cardinality)
        assert result.value <= optimum * (1 + 1e-12)
        assert result.certificate is not None
        assert result.certificate.upper_bound >= optimum * (1 - 1e-15)


@EXAMPLES
@given(problems(), st.booleans(), st.booleans())
def test_data_forms_agree_with_their_covariance_matrix(problem: Problem, center: bool, scale: bool) -> None:
    factor, cardinality = problem
    data = np.round(factor * (np.abs(factor) > 0.4), 3)
    data[0] += 1.0 + np.arange(data.shape[1])  # no constant column
    options = {"center": center, "scale": scale}
    dense, sparse = covariance(data, **options), covariance(sp.csr_array(data), **options)
    reference = as_operator(dense.to_dense())
    expected = plain(reference, cardinality)
    for operator in (dense, sparse):
        found = plain(operator, cardinality)
        assert found.value == pytest.approx(expected.value, rel=1e-9)
