"""Every bound against brute force, and the exact method against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparseigen.certificates import EFFORTS, UPPER_BOUNDS, certify
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.kernels.eigen import leading_eigenpair
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.results import StopReason
from sparseigen.solve import solve_exact
from tests.brute_force import KINDS, brute_force, small_matrix

# Random data may be nearly constant, of which the package warns on purpose: what is proven must hold there too.
pytestmark = pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")


def matrix_with_entries(rng, size, kind):
    matrix = small_matrix(rng, size, kind)
    if not matrix.any():
        matrix[0, 0] = 1.0
    return matrix


def some_vector(matrix, cardinality, rng):
    """The best vector on the largest diagonal entries, or on any support: bounds must hold from any start."""
    size = len(matrix)
    chosen = np.argsort(-matrix.diagonal())[:cardinality] if rng.random() < 0.7 else rng.permutation(size)[:cardinality]
    chosen = np.sort(chosen).astype(np.int64)
    scale = np.abs(matrix).max()
    return SparseVector(chosen, leading_eigenpair(matrix[np.ix_(chosen, chosen)] / scale)[0])


@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from(KINDS), st.integers(0, 8))
def test_no_bound_of_any_effort_is_below_the_optimum(seed, size, kind, choice):
    rng = np.random.default_rng(seed)
    matrix = matrix_with_entries(rng, size, kind)
    cardinality = 1 + choice % size
    scale = float(np.abs(matrix).max())
    optimum = brute_force(matrix / scale, cardinality) * scale
    error = 2e-15 * size * scale  # of the brute force itself
    operator, vector = as_operator(matrix), some_vector(matrix, cardinality, rng)
    for effort in EFFORTS:
        certificate = certify(operator, cardinality, vector, effort=effort, seconds=0.004)
        assert certificate.upper_bound >= optimum - error, effort
        assert certificate.lower_bound <= optimum + error, effort
        assert np.isfinite(certificate.upper_bound)


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.sampled_from(KINDS), st.sampled_from(sorted(UPPER_BOUNDS)))
def test_each_bound_alone_is_valid(seed, size, kind, name):
    """Inside the portfolio a loose bound hides behind a tight one; alone it cannot."""
    rng = np.random.default_rng(seed)
    matrix = matrix_with_entries(rng, size, kind)
    cardinality = int(rng.integers(1, size + 1))
    scale = float(np.abs(matrix).max())
    optimum = brute_force(matrix / scale, cardinality) * scale
    operator, vector = as_operator(matrix), some_vector(matrix, cardinality, rng)
    problem = BoundProblem(operator, cardinality, vector, achieved=achieved_value(operator, vector))
    assert problem.unscale_bound(UPPER_BOUNDS[name].bound(problem)) >= optimum - 2e-15 * size * scale


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(2, 12), st.booleans(), st.booleans(), st.booleans())
def test_bounds_of_data_hold_for_the_covariance_in_extended_precision(seed, size, samples, scale, single, sparse):
    """Means far from zero and float32 storage: the entries' own rounding must be inside the margins."""
    import scipy.sparse as sp

    import sparseigen as se

    rng = np.random.default_rng(seed)
    data = rng.standard_normal((samples, size)) + rng.choice([0.0, 100.0], size=size)
    data = data.astype(np.float32 if single else np.float64)
    exact = data.astype(np.longdouble)
    exact -= exact.mean(axis=0)
    if scale:
        exact /= np.sqrt((exact**2).sum(axis=0) / (samples - 1))
    matrix = exact.T @ exact / (samples - 1)
    operator = se.covariance(sp.csr_matrix(data) if sparse else data, scale=scale)
    computed = operator.accurate_columns(np.arange(size, dtype=np.int64))
    errors = operator.entry_errors()
    assert (np.abs(computed - matrix) <= np.sqrt(np.outer(errors, errors)) * (1 + 1e-9)).all()
    cardinality = int(rng.integers(1, size + 1))
    certificate = se.sparse_eigenvector(operator, cardinality).certificate
    optimum = brute_force(matrix.astype(np.float64), cardinality)
    assert certificate.lower_bound <= optimum * (1 + 1e-14)
    assert certificate.upper_bound >= optimum * (1 - 1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_agrees_with_brute_force(kind):
    """Over all kinds 561 problems: every k of matrices of size 1 to 14."""
    rng = np.random.default_rng(len(kind))
    solved = 0
    for size in (1, 2, 3, 4, 5, 6, 7, 9, 14):
        matrix = matrix_with_entries(rng, size, kind)
        scale = float(np.abs(matrix).max())
        for cardinality in range(1, size + 1):
            optimum = brute_force(matrix / scale, cardinality) * scale
            result = solve_exact(matrix, cardinality)
            assert result.stop_reason is StopReason.BRACKET_CLOSED
            assert result.certificate.optimal
            error = 2e-15 * size * scale
            assert result.certificate.lower_bound <= optimum + error
            assert result.certificate.upper_bound >= optimum - error
            assert result.value == pytest.approx(optimum, rel=1e-6, abs=1e-12 * scale)
            solved += 1
    assert solved == 51
