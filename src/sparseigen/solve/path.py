"""`cardinality_path`: the explained variance for many k, for little more than a few of them cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sparseigen.certificates.paths import FEWEST_POINTS, certifies_whole_path, certify_path, certify_streamed_path
from sparseigen.certificates.portfolio import TIGHT_SECONDS
from sparseigen.certificates.portfolio import certify as certify_value
from sparseigen.checks.arguments import check_flag, check_many
from sparseigen.checks.memory import check_room
from sparseigen.errors import OptionError
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators.contract import SparseVector
from sparseigen.results import Certificate, SparsePath, StopReason
from sparseigen.solve.eigenvector import Request, attach_proof
from sparseigen.solvers.eigenpairs import leading_eigenvector
from sparseigen.solvers.greedy import greedy_path
from sparseigen.solvers.interface import KeepWhenInterrupted, OnIteration, SolverOutcome
from sparseigen.solvers.steered import BOUND_EFFORTS
from sparseigen.solvers.warm_path import warm_path

Points = dict[int, tuple[SparseVector, float]]
Outcomes = dict[int, SolverOutcome]
"""By cardinality, ascending."""


def cardinality_path(
    A: Any,
    cardinalities: Iterable[int],
    *,
    which: str = "largest",
    method: str = "tpower",
    certify: bool = True,
    nonnegative: bool = False,
    candidates: Any = None,
    max_iterations: int = 1000,
    effort: str = "default",
    time_limit: float | None = None,
    rng: Any = None,
    on_iteration: OnIteration | None = None,
    method_options: Mapping[str, Any] | None = None,
) -> SparsePath:
    """Find the best sparse vector for many cardinalities at once.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, LinearOperator, or operator from `covariance`
        A symmetric matrix.
    cardinalities : iterable of int
        The k wanted, in any order.
    which : {"largest", "smallest"}
        Which end of the spectrum.
    method : str
        "tpower" warm-starts every point from its neighbours, up and down the path. "pathspca" is one greedy path.
        Any other method solves each k on its own.
    certify : bool
        Prove a bound for every point. Long paths share the expensive part of their bounds between points; for
        one k `upper_bound` proves more. A bound for a larger k also holds for a smaller one, so bounds never rise
        as k falls.
    effort : {"quick", "default", "thorough"}
        "quick" follows the path from its ends alone and shares the bounds of a few points; "default" solves some of
        its points from many starts as well, and goes on with every bound from the one of its neighbour; "thorough" then
        bounds every point whose gap is open by itself, for up to about 20 s.
    time_limit : float, optional
        Seconds after which no more is improved: every cardinality has an answer then, and a bound that may be weak.
    nonnegative, candidates, max_iterations, rng, on_iteration, method_options
        As in `sparse_eigenvector`.

    Returns
    -------
    SparsePath
        Iterates over the results in the order of ``cardinalities``; ``path[k]`` is the one for k. Values never fall
        with k (with ``which="smallest"`` never rise): a point that came out worse than the one before it takes that
        one's vector.

    Raises
    ------
    SolveInterrupted
        On Ctrl-C; its ``result`` is the path over the cardinalities reached until then, uncertified, or None.

    References
    ----------
    X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.

    Examples
    --------
    >>> import sparseigen as se
    >>> path = se.cardinality_path(se.datasets.load_pitprops().matrix, range(1, 14), certify=False)
    >>> [round(float(share), 3) for share in path.shares[:5]]
    [0.077, 0.15, 0.19, 0.226, 0.262]
    >>> path.suggest("share", share=0.9)
    7
    """
    request = Request(
        A,
        which=which,
        method=method,
        nonnegative=nonnegative,
        candidates=candidates,
        max_iterations=max_iterations,
        effort=effort,
        time_limit=time_limit,
        rng=rng,
        on_iteration=on_iteration,
        method_options=method_options,
    )
    order = _check_cardinalities(cardinalities, request)
    wanted = sorted(set(order))
    certify = check_flag(certify, "certify")
    answers = f"a path of {len(wanted)} answers, {request.operator.size} numbers each,"
    check_room(8 * request.operator.size * len(wanted), answers, "ask for fewer cardinalities at a time")
    searched, began = request.searched, time.perf_counter()
    request.begin()
    # First, because Ctrl-C must not wait for it later.
    leading = leading_eigenvector(searched)
    dense = float(leading @ searched.block_apply(leading[:, None])[:, 0])
    path: SparsePath | None = None
    found: Outcomes = {}

    def find_best(inner: object) -> SparsePath | None:
        """The path before its proofs, or over the cardinalities reached until Ctrl-C came."""
        if path is not None:
            return _in_order(path, order)
        reached = found | (_as_outcomes(inner, method) if isinstance(inner, dict) else {})
        if not reached:
            return None
        stopped = {k: replace(reached[k], stop_reason=StopReason.INTERRUPTED) for k in sorted(reached)}
        return _in_order(_build_path(request, _never_fall(stopped), dense, time.perf_counter() - began), order)

    with KeepWhenInterrupted(find_best), one_blas_thread():
        _search(request, wanted, found)
        outcomes = _never_fall(found)
        path = _build_path(request, outcomes, dense, time.perf_counter() - began)
        if not certify:
            return _in_order(path, order)
        request.options.progress.begin_stage(f"proving {len(outcomes)} bounds")
        certificates = _prove_path(request, outcomes)
    results = zip(path, certificates, strict=True)
    proven = replace(path, results=tuple(attach_proof(result, proof) for result, proof in results))
    return _in_order(proven, order)


def _in_order(path: SparsePath, order: list[int]) -> SparsePath:
    """The results for these cardinalities in this order, those that were not reached left out."""
    by_cardinality = {result.cardinality: result for result in path}
    return replace(path, results=tuple(by_cardinality[k] for k in order if k in by_cardinality))


def _check_cardinalities(cardinalities: Iterable[int], request: Request) -> list[int]:
    several = check_many(cardinalities, "cardinalities", "range(1, 21)")
    wanted = [request.check_cardinality(k, subject="cardinalities") for k in several]
    if not wanted:
        msg = "cardinalities is empty; give at least one, for example range(1, 21)."
        raise OptionError(msg, parameter="cardinalities")
    return wanted


def _search(request: Request, cardinalities: list[int], found: Outcomes) -> None:
    """Fill in the outcome of every cardinality, by the method's own path or one by one."""
    follow = None if request.options.nonnegative else PATHS.get(request.method)
    if follow is not None:
        found.update(_as_outcomes(follow(request, cardinalities), request.method))
        if request.options.out_of_time:
            for k, outcome in found.items():
                found[k] = replace(outcome, stop_reason=StopReason.TIME_LIMIT)
        return
    for k in cardinalities:
        progress = replace(request.options.progress, iterations=0, best=None, best_value=-np.inf)
        # Proofs of single points would not be shared: bounds come when all of the path is there.
        options = replace(request.options, progress=progress, certify=False)
        found[k] = request.solve(request.searched, k, options)
    if any(outcome.stop_reason is StopReason.ITERATION_LIMIT for outcome in found.values()):
        request.warn_of_limit()


def _follow_warm_path(request: Request, cardinalities: list[int]) -> Points:
    return dict(zip(cardinalities, warm_path(request.searched, cardinalities, request.options), strict=True))


def _follow_greedy_path(request: Request, cardinalities: list[int]) -> Points:
    greedy = request.options.extra.get("greedy", "approximate")
    path = greedy_path(request.searched, cardinalities[-1], greedy=greedy)
    points = {len(vector.indices): (vector, value) for vector, value in path}
    return {k: points[k] for k in cardinalities}


PATHS: dict[str, Callable[[Request, list[int]], Points]] = {
    "tpower": _follow_warm_path,
    "pathspca": _follow_greedy_path,
}
"""Methods with a path of their own; every other one solves each cardinality by itself."""


def _as_outcomes(points: Points, method: str) -> Outcomes:
    """Points of a path, each solved exactly on its support."""
    reason = StopReason.FIXED_POINT if method == "tpower" else StopReason.COMPLETED
    settings = {"start": "path", "polish": "solve"}
    return {k: SolverOutcome(vector, value, reason, 1, [value], settings) for k, (vector, value) in points.items()}


def _never_fall(outcomes: Outcomes) -> Outcomes:
    """A point below the one before it takes that one's vector; what was proven of it is not proven for more."""
    risen: Outcomes = {}
    best: SolverOutcome | None = None
    for k, outcome in outcomes.items():
        best = replace(best, proven=None) if best is not None and best.value > outcome.value else outcome
        risen[k] = best
    return risen


def _build_path(request: Request, outcomes: Outcomes, dense: float, seconds: float) -> SparsePath:
    """The uncertified path. ``dense``: the leading eigenvalue of the matrix searched."""
    results = tuple(request.build_result(outcome, k, seconds / len(outcomes)) for k, outcome in outcomes.items())
    largest = max(dense, *(outcome.value for outcome in outcomes.values()))
    return SparsePath(results, float(request.problem.diagonal().sum()), largest / request.unit, seconds)


def _prove_path(request: Request, outcomes: Outcomes) -> list[Certificate]:
    """Certificates from the largest k down: whatever bounds k + 1 bounds k. Long paths are certified as a whole."""
    prepared = request.searched.prepared_for(len(outcomes))
    options = request.options
    shared: dict[int, Certificate] = {}
    if all(outcome.proven is None for outcome in outcomes.values()):
        together: Callable[..., list[Certificate]] | None = None
        if certifies_whole_path(prepared, len(outcomes)):
            quick, say = options.effort == "quick", options.progress.begin_stage
            together = partial(certify_path, deadline=options.deadline, quick=quick, say=say)
        elif prepared.costs.transfers and len(outcomes) >= FEWEST_POINTS:
            together = certify_streamed_path
        if together is not None:
            vectors = [outcome.vector for outcome in outcomes.values()]
            shared = dict(zip(outcomes, together(prepared, list(outcomes), vectors), strict=True))
            if options.effort != "thorough":
                return [request.restate(found) for found in shared.values()]
    proofs: list[Certificate] = []
    larger: Certificate | None = None
    for place, (k, outcome) in enumerate(reversed(outcomes.items()), 1):
        options.progress.begin_stage(f"proving the bound of k = {k}, {place} of {len(outcomes)}")
        proof = shared.get(k)
        if proof is None or not (proof.optimal or options.out_of_time):
            proof = certify_value(
                prepared,
                k,
                outcome.vector,
                effort=BOUND_EFFORTS[options.effort],
                seconds=2.0 * TIGHT_SECONDS / len(outcomes),
                deadline=options.deadline,
                proven=outcome.proven,
            )
            if k in shared and shared[k].upper_bound < proof.upper_bound:
                proof = shared[k]
        if larger is not None and larger.upper_bound < proof.upper_bound:
            proof = replace(proof, upper_bound=max(proof.lower_bound, larger.upper_bound), method=larger.method)
        proofs.append(request.restate(proof))
        larger = proof
    return proofs[::-1]
