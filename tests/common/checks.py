"""One check for every result of every solver, and one for brackets against exact values."""

from __future__ import annotations

import numpy as np

from fuzzing.truth import Truth
from sparseigen import Operator
from sparseigen.results import Certificate, SparseEigResult


def check_result(result: SparseEigResult, operator: Operator, *, rtol: float = 1e-9) -> None:
    """Unit norm, cardinality, value recomputed from the matrix, history ending at it, a bracket that holds it."""
    vector = result.vector
    assert vector.dtype == np.float64
    assert vector.shape == (operator.size,)
    assert not vector.flags.writeable
    assert np.linalg.norm(vector) == np.float64(1.0).item() or abs(np.linalg.norm(vector) - 1.0) < 1e-12
    assert 1 <= len(result.support) <= result.cardinality
    support = result.support
    recomputed = vector[support] @ operator.submatrix(support) @ vector[support]
    scale = max(abs(recomputed), float(np.abs(operator.diagonal()).max()))
    assert abs(result.value - recomputed) <= rtol * scale
    assert abs(result.history[-1] - result.value) <= rtol * scale
    assert vector[np.abs(vector).argmax()] > 0
    assert result.seconds >= 0.0
    assert result.n_iterations >= 0
    if result.certificate is not None:
        low, high = result.certificate.lower_bound, result.certificate.upper_bound
        slack = rtol * scale
        assert low <= high
        assert low - slack <= result.value <= high + slack
        assert result.certificate.method


def check_bracket(certificate: Certificate, truth: Truth, k: int) -> None:
    """The ends of a bracket against the exact largest k-sparse eigenvalue."""
    assert truth.is_upper_bound(certificate.upper_bound, k)[0]
    assert truth.is_reached(certificate.lower_bound, k)[0]
