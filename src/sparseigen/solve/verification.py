"""Checking a result from the matrix alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from sparseigen.certificates import certify
from sparseigen.certificates.pencil import Pencil, Quota
from sparseigen.certificates.portfolio import QUICK
from sparseigen.certificates.problem import TARGET_GAP
from sparseigen.certificates.rounding import achieved_value
from sparseigen.checks.arguments import check_candidates, check_positive, check_result, check_tolerance
from sparseigen.errors import OptionError
from sparseigen.operators import Operator, as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.wrapped import scale_operator
from sparseigen.results import ComponentSet, SparseEigResult
from sparseigen.results.certificate import Check, Verification
from sparseigen.solve.generalised import check_metric, prove_again
from sparseigen.solve.set_verification import check_set
from sparseigen.solvers.branch_and_bound import branch_and_bound
from sparseigen.solvers.interface import Progress, SolverOptions

VALUE_TOLERANCE = {"float64": 1e-9, "float32": 1e-4}
"""How far, relative to the sum of magnitudes, a value may be from the recomputed one."""
TOLERANCE = 1e-6
"""The relative gap up to which a certificate of a quotient may call it optimal."""
PROOF_TOLERANCE = {"float64": 1e-12, "float32": 1e-6}
"""How far an end of the bracket may be from what is proven again. Another operator for the same matrix adds up in
another order, and the margins of float32 products differ by that much."""


def verify(
    result: SparseEigResult | ComponentSet,
    A: Any,
    *,
    metric: Any = None,
    candidates: Any = None,
    time_limit: float = 60.0,
) -> Verification:
    """Recompute every claim of a result, or of a set of components, from the matrix alone.

    Parameters
    ----------
    result : SparseEigResult or ComponentSet
        An answer to a question about A.
    A : array, scipy sparse matrix, DataFrame, LinearOperator, or operator
        The matrix.
    metric : array, scipy sparse matrix, DataFrame, or operator, optional
        B of a result for x'Ax / x'Bx; the ridge that was added to it is in the result's settings.
    candidates : optional
        The candidates that were given to the solve, if any.
    time_limit : float
        Seconds that a new exact search may take, should the claimed bound need one.

    Returns
    -------
    Verification
        Its ``checks`` cover the vector (length, unit norm, cardinality, and where they apply the names, the
        candidates and the signs), the value, the end of the bracket that the vector attains, and the proven end,
        which is proven again: by the quick bounds, the default ones, the tight ones, then branch and bound. What the
        certificate calls optimal must be so by its usual tolerance. Of a set: cardinalities, the constraint, the three
        variances, and both ends of its one bracket.

    Examples
    --------
    >>> import sparseigen as se
    >>> matrix = se.datasets.load_pitprops().matrix
    >>> bool(se.verify(se.sparse_eigenvector(matrix, 5), matrix))
    True
    """
    check_positive(time_limit, "time_limit")
    if isinstance(result, ComponentSet):
        operator = as_operator(A)
        return Verification(
            tuple(check_set(result, operator, check_candidates(candidates, operator.size, operator.names)))
        )
    check_result(result, "result")
    operator = as_operator(A)
    allowed = check_candidates(candidates, operator.size, operator.names)
    checks = list(_check_vector(result, operator, allowed))
    generalised = check_same_question(result, metric)
    if generalised and all(check.holds for check in checks):
        checks += _check_pencil(result, operator, metric, allowed, time_limit)
    elif all(check.holds for check in checks):
        checks += _check_value(result, operator)
        checks += _check_certificate(result, operator, allowed, time_limit)
    return Verification(tuple(checks))


def check_same_question(result: SparseEigResult, metric: Any) -> bool:
    """Whether the result is of a generalised problem; refused where ``metric`` does not fit that."""
    generalised = "metric" in result.settings
    if generalised and metric is None:
        message = "the result is of x'Ax / x'Bx, and no metric is given. Pass metric=B."
        raise OptionError(message, parameter="metric")
    if metric is not None and not generalised:
        message = "the result is of x'Ax alone, and a metric is given. Leave metric out."
        raise OptionError(message, parameter="metric")
    return generalised


def _check_pencil(
    result: SparseEigResult, operator: Operator, metric: Any, allowed: Any, time_limit: float
) -> Iterator[Check]:
    """The value, both ends and the quotas of a result for x'Ax / x'Bx."""
    settings, deadline = result.settings, time.perf_counter() + time_limit
    weight = check_metric(metric, operator, check_tolerance(settings.get("ridge", 0.0), "ridge"))
    picks, others = settings.get("cardinalities", (result.cardinality, 0))
    boundary = settings.get("boundary")
    if boundary is not None:
        first = int((result.support < boundary).sum())
        detail = f"{first} and {len(result.support) - first} non-zeros, at most {picks} and {others}"
        yield Check("cardinalities", first <= picks and len(result.support) - first <= others, detail)
    support = result.support
    if allowed is not None:
        operator, weight = operator.restricted(allowed), weight.restricted(allowed)
        support = np.searchsorted(allowed, support)
    sign = 1.0 if settings.get("which", "largest") == "largest" else -1.0
    pencil = Pencil(operator, weight, Quota(picks, others, boundary), unit=sign)
    value, reached = (
        number / pencil.unit for number in pencil.measure(SparseVector(support, result.vector[result.support]))
    )
    slack = VALUE_TOLERANCE[str(operator.dtype)] * max(abs(value), abs(result.value))
    yield Check("value", abs(value - result.value) <= slack, f"{result.value!r}, recomputed {value!r}")
    certificate = result.certificate
    if certificate is None:
        return
    ends = sorted((certificate.lower_bound * sign, certificate.upper_bound * sign))
    yield Check("ordered", certificate.lower_bound <= certificate.upper_bound, str(certificate))
    tolerance = PROOF_TOLERANCE[str(operator.dtype)]
    holds = ends[0] <= sign * reached + tolerance * abs(reached)
    yield Check("attained end", holds, f"{sign * ends[0]!r}, reached {reached!r}")
    again, how = prove_again(pencil, ends[1] * abs(pencil.unit), deadline)
    proven = again / abs(pencil.unit)
    holds = proven <= ends[1] + 1e3 * tolerance * abs(ends[1])
    yield Check("proven end", holds, f"{sign * ends[1]!r}, proven again {sign * proven!r} by {how}")
    largest = 4.0 * pencil.scale / abs(pencil.unit)
    meant = certificate.tolerance <= TOLERANCE and certificate.scale <= largest
    detail = f"gap {certificate.relative_gap:.3g}, tolerance {certificate.tolerance!r}, scale {certificate.scale!r}"
    yield Check("meaning of optimal", meant or not certificate.optimal, detail)


def _check_vector(result: SparseEigResult, operator: Operator, allowed: Any) -> Iterator[Check]:
    vector = result.vector
    fits = vector.shape == (operator.size,) and bool(np.isfinite(vector).all())
    yield Check("length", fits, f"{vector.shape} for {operator.size} variables")
    count = int(np.count_nonzero(vector))
    most = min(result.cardinality, operator.size if allowed is None else len(allowed))
    yield Check("cardinality", 0 < count <= result.cardinality == most, f"{count} non-zeros, at most {most}")
    length = float(np.linalg.norm(vector))
    yield Check("unit norm", abs(length - 1.0) <= 1e-9, f"{length!r}")
    if result.names is not None and operator.names is not None:
        differing = [
            i
            for i, (stated, present) in enumerate(zip(result.names, operator.names, strict=False))
            if stated != present
        ]
        agree = not differing and len(result.names) == len(operator.names)
        detail = (
            "those of the matrix" if agree else f"not those of the matrix; they differ at variables {differing[:5]}"
        )
        yield Check("names", agree, detail)
    if allowed is not None:
        outside = np.setdiff1d(np.flatnonzero(vector), allowed)
        yield Check("candidates", not outside.size, f"{outside.size} non-zeros are no candidates")
    if result.settings.get("nonnegative"):
        negative = int((vector < 0.0).sum())
        yield Check("nonnegative", negative == 0, f"{negative} negative loadings")


def _check_value(result: SparseEigResult, operator: Operator) -> Iterator[Check]:
    support, weights = result.support, result.vector[result.support]
    block = operator.accurate_columns(support)[support]
    value = float(weights @ block @ weights)
    allowed = VALUE_TOLERANCE[str(operator.dtype)] * float(np.abs(weights) @ np.abs(block) @ np.abs(weights))
    yield Check("value", abs(value - result.value) <= allowed, f"{result.value!r}, recomputed {value!r}")


def _check_certificate(result: SparseEigResult, operator: Operator, allowed: Any, time_limit: float) -> Iterator[Check]:
    certificate = result.certificate
    if certificate is None:
        return
    yield Check("ordered", certificate.lower_bound <= certificate.upper_bound, str(certificate))
    largest = result.settings.get("which", "largest") == "largest"
    searched = scale_operator(operator, 1.0 if largest else -1.0)
    claimed_low, claimed_high = certificate.lower_bound, certificate.upper_bound
    if not largest:
        claimed_low, claimed_high = -claimed_high, -claimed_low
    vector = SparseVector(result.support, result.vector[result.support])
    reached = achieved_value(searched, vector)
    tolerance = PROOF_TOLERANCE[str(operator.dtype)]
    slack = tolerance * abs(reached)  # the same quotient, summed in another order
    yield Check("attained end", claimed_low <= reached + slack, f"{claimed_low!r}, reached {reached!r}")
    if allowed is not None:
        searched = searched.restricted(allowed)
        vector = SparseVector(np.searchsorted(allowed, vector.indices), vector.weights)
    proven, how = _prove_again(searched, result.cardinality, vector, claimed_high, time_limit)
    holds = proven <= claimed_high + tolerance * abs(claimed_high)
    yield Check("proven end", holds, f"{claimed_high!r}, proven again {proven!r} by {how}")
    # What "proven optimal" means: both numbers below decide it, and neither is the caller's to choose.
    cheap = certify(searched, result.cardinality, vector, effort="cheap")
    meant = certificate.tolerance <= cheap.tolerance and certificate.scale <= 4.0 * cheap.scale
    detail = f"gap {certificate.relative_gap:.3g}, tolerance {certificate.tolerance!r}, scale {certificate.scale!r}"
    yield Check("meaning of optimal", meant or not certificate.optimal, detail)


def _prove_again(
    operator: Operator, cardinality: int, vector: SparseVector, claimed: float, time_limit: float
) -> tuple[float, str]:
    best, how = np.inf, "nothing"
    reached = achieved_value(operator, vector)
    gap = (claimed - reached) / max(abs(claimed), np.finfo(float).tiny)
    # First only as far as the claim goes; a bound that leapt below it, as an exact search does, is then carried on.
    for effort, target in ((QUICK, gap), ("default", gap), ("default", TARGET_GAP), ("tight", gap)):
        found = certify(operator, cardinality, vector, effort=effort, target_gap=target)
        if found.upper_bound < best:
            best, how = found.upper_bound, found.method
        if best <= claimed * (1.0 + 1e-12):
            return best, how
    gap = max(1e-9, (claimed - reached) / max(abs(reached), np.finfo(float).tiny))
    extra = {"time_limit": time_limit, "gap": gap}
    options = SolverOptions(progress=Progress(operator.size), extra=extra)
    proven = branch_and_bound(operator, cardinality, options).proven
    if proven is not None and proven.upper_bound < best:
        best, how = proven.upper_bound, proven.method
    return best, how
