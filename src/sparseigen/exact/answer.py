"""The public face of the exact method."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sparseigen.certificates import certify
from sparseigen.certificates.rounding_share import warn_of_rounding
from sparseigen.errors import SolveInterrupted
from sparseigen.exact.method import branch_and_bound
from sparseigen.inputs.arguments import check_cardinality, check_positive, check_start_vector, check_tolerance
from sparseigen.operators import Operator, as_operator
from sparseigen.results import SparseEigResult
from sparseigen.solvers.interface import OnIteration, Progress, SolverOptions, SolverOutcome


def solve_exact(
    A: Any,
    cardinality: int,
    *,
    time_limit: float = 60.0,
    gap: float = 1e-6,
    warm_start: Any = None,
    on_iteration: OnIteration | None = None,
) -> SparseEigResult:
    """Find the k-sparse unit vector with the largest x'Ax and prove that it is.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, or operator from `covariance`
        A symmetric matrix; it may be indefinite.
    cardinality : int
        Number of non-zeros allowed (*k*).
    time_limit : float
        Seconds after which the bracket reached so far is returned.
    gap : float
        Stop when the relative gap is proven to be at most this.
    warm_start : array of shape (n_features,), optional
        A vector to start the search for good answers from, instead of the default solver's own starts.
    on_iteration : callable, optional
        Called as ``on_iteration(iteration, vector, value)`` at iterations and nodes; if it has a method
        ``on_bracket``, that is called as ``on_bracket(iteration, low, high)`` at every node.

    Returns
    -------
    SparseEigResult
        ``certificate`` is the bracket; ``stop_reason`` is "optimal", "gap" or "time_limit"; ``settings`` holds the
        number of ``nodes`` and ``presolved_size``, the number of variables that probing left.

    Raises
    ------
    SolveInterrupted
        On Ctrl-C; a KeyboardInterrupt whose ``result`` has the bracket reached.

    References
    ----------
    B. Moghaddam, Y. Weiss, S. Avidan, "Spectral bounds for sparse PCA: exact and greedy algorithms", NIPS 2006.

    Examples
    --------
    >>> import sparseigen as se
    >>> result = se.solve_exact(se.datasets.load_pitprops().matrix, 5)
    >>> round(result.value, 6), result.stop_reason.value, result.certificate.optimal
    (3.406155, 'optimal', True)
    """
    operator = as_operator(A)
    cardinality = check_cardinality(cardinality, operator.size)
    extra = {"time_limit": check_positive(time_limit, "time_limit"), "gap": check_tolerance(gap, "gap")}
    start = "auto" if warm_start is None else check_start_vector(warm_start, operator.size)
    progress = Progress(operator.size, on_iteration)
    options = SolverOptions(start=start, progress=progress, extra=extra)
    began = time.perf_counter()
    try:
        outcome = branch_and_bound(operator, cardinality, options)
    except SolveInterrupted as stop:
        outcome = stop.result  # type: ignore[assignment]  # branch_and_bound's own, a SolverOutcome
        raise SolveInterrupted(_result(operator, cardinality, outcome, extra, began)) from None
    result = _result(operator, cardinality, outcome, extra, began)
    if result.certificate is not None:
        warn_of_rounding(operator, cardinality, result.certificate)
    return result


def _result(
    operator: Operator, cardinality: int, outcome: SolverOutcome, extra: dict[str, float], began: float
) -> SparseEigResult:
    vector = outcome.vector.spread(operator.size)
    if vector[int(np.abs(vector).argmax())] < 0.0:
        vector = -vector
    history = np.asarray(outcome.history, dtype=np.float64)
    vector.flags.writeable = history.flags.writeable = False
    return SparseEigResult(
        vector=vector,
        value=outcome.value,
        cardinality=cardinality,
        stop_reason=outcome.stop_reason,
        n_iterations=outcome.n_iterations,
        history=history,
        certificate=certify(operator, cardinality, outcome.vector, proven=outcome.proven),
        solver="exact",
        settings=operator.describe() | {"which": "largest", "method": "exact"} | extra | outcome.settings,
        seconds=time.perf_counter() - began,
        names=operator.names,
    )
