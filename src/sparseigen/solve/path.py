"""`cardinality_path`: the explained variance for many k, for little more than a few of them cost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseigen.certificates import certify as certify_value
from sparseigen.certificates.paths import FEWEST_POINTS, certify_path, certify_streamed_path, shares_certificates
from sparseigen.checks.arguments import (
    check_candidates,
    check_cardinality,
    check_count,
    check_flag,
    check_many,
    check_method_options,
    check_rng,
)
from sparseigen.checks.memory import check_room
from sparseigen.errors import OptionError, SolveInterrupted
from sparseigen.operators import Operator, as_operator
from sparseigen.operators.contract import Indices, SparseVector
from sparseigen.operators.wrapped import scaled, search_unit
from sparseigen.results import Certificate, SparseEigResult, StopReason
from sparseigen.results.path import SparsePath
from sparseigen.solve.eigenvector import sparse_eigenvector, spreading
from sparseigen.solvers import SolverOptions, check_definite, check_solver
from sparseigen.solvers.eigenpairs import leading_eigenvector
from sparseigen.solvers.greedy import greedy_path
from sparseigen.solvers.interface import OnIteration, Progress
from sparseigen.solvers.warm_path import warm_path

Point = tuple[SparseVector, float]


def cardinality_path(
    A: Any,
    cardinalities: Iterable[int],
    *,
    method: str = "tpower",
    certify: bool = True,
    nonnegative: bool = False,
    candidates: Any = None,
    max_iterations: int = 1000,
    rng: Any = None,
    on_iteration: OnIteration | None = None,
    method_options: Mapping[str, Any] | None = None,
) -> SparsePath:
    """Find the best sparse vector for many cardinalities at once.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, or operator from `covariance`
        A symmetric matrix.
    cardinalities : iterable of int
        The k wanted; sorted, repeated ones dropped.
    method : str
        "tpower" warm-starts every point from its neighbours, up and down the path. "pathspca" is one greedy path.
        Any other method solves each k on its own.
    certify : bool
        Prove a bound for every point. Long paths share the expensive part of their bounds between points; for
        one k `upper_bound` proves more. A bound for a larger k also holds for a smaller one, so bounds never rise
        as k falls.
    nonnegative, candidates, max_iterations, rng, on_iteration, method_options
        As in `sparse_eigenvector`.

    Returns
    -------
    SparsePath
        Values never fall with k: a point that came out below the one before it takes that one's vector.

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
    operator = as_operator(A)
    allowed = check_candidates(candidates, operator.size, operator.names)
    problem = operator if allowed is None else operator.restricted(allowed)
    wanted = _check_cardinalities(cardinalities, problem.size, of="variables" if allowed is None else "candidates")
    spec = check_solver(method, problem, nonnegative=check_flag(nonnegative, "nonnegative"))
    check_definite(method, problem)
    unit = search_unit(problem, "largest")
    request = PathRequest(
        problem,
        unit,
        wanted,
        method,
        nonnegative,
        SolverOptions(
            max_iterations=check_count(max_iterations, "max_iterations"),
            rng=check_rng(rng),
            progress=Progress(
                problem.size, spreading(on_iteration, allowed, operator.size), lambda value: value / unit
            ),
            extra=check_method_options(method_options, spec.parameters, method),
        ),
    )
    certify = check_flag(certify, "certify")
    answers = f"a path of {len(wanted)} answers, {operator.size} numbers each,"
    check_room(8 * operator.size * len(wanted), answers, "ask for fewer cardinalities at a time")
    search = _one_by_one if nonnegative else PATHS.get(method, _one_by_one)
    began = time.perf_counter()
    # First, because Ctrl-C must not wait for it later.
    leading = leading_eigenvector(problem)
    dense = float(leading @ problem.block_apply(leading[:, None])[:, 0])
    try:
        points = search(request)
    except KeyboardInterrupt as stop:
        reached = getattr(stop, "result", None) or {}
        seconds = time.perf_counter() - began
        found = [(k, reached[k]) for k in wanted if k in reached]
        raise SolveInterrupted(_path(request, operator, allowed, found, dense, seconds) if found else None) from None
    seconds = time.perf_counter() - began
    path = _path(request, operator, allowed, list(zip(wanted, points, strict=True)), dense, seconds)
    if not certify:
        return path
    try:
        return replace(path, results=tuple(_certified(problem, list(path.results), _never_falling(points))))
    except KeyboardInterrupt:  # the answer is there; only its proofs are not
        raise SolveInterrupted(path) from None


def _path(
    request: PathRequest,
    operator: Operator,
    allowed: Indices | None,
    found: Sequence[tuple[int, Point]],
    dense: float,
    seconds: float,
) -> SparsePath:
    """The path over the cardinalities found, uncertified; fewer than asked for were interrupted."""
    points = _never_falling([point for _, point in found])
    results = [
        _result(request, operator, allowed, k, point, seconds) for (k, _), point in zip(found, points, strict=True)
    ]
    if len(found) < len(request.cardinalities):
        results = [replace(result, stop_reason=StopReason.INTERRUPTED) for result in results]
    return SparsePath(tuple(results), float(request.problem.diagonal().sum()), max(dense, results[-1].value), seconds)


@dataclass(frozen=True)
class PathRequest:
    """One call of `cardinality_path`, checked."""

    problem: Operator
    unit: float
    """What the matrix is multiplied with for a search of its own; 1 but for extreme scales."""
    cardinalities: list[int]
    method: str
    nonnegative: bool
    options: SolverOptions

    @property
    def searched(self) -> Operator:
        """The matrix times the unit."""
        return scaled(self.problem, self.unit)

    def in_callers_units(self, points: Iterable[Point]) -> list[Point]:
        """The points with the values of the matrix itself."""
        return [(vector, value / self.unit) for vector, value in points]


def _warm(request: PathRequest) -> list[Point]:
    try:
        return request.in_callers_units(warm_path(request.searched, request.cardinalities, request.options))
    except SolveInterrupted as stop:
        reached: dict[int, Point] = stop.result  # type: ignore[assignment]  # warm_path's own
        points = request.in_callers_units(reached.values())
        raise SolveInterrupted(dict(zip(reached, points, strict=True))) from None


def _greedy(request: PathRequest) -> list[Point]:
    wanted = set(request.cardinalities)
    greedy = request.options.extra.get("greedy", "approximate")
    path = greedy_path(request.searched, request.cardinalities[-1], greedy=greedy)
    return request.in_callers_units(point for point in path if len(point[0].indices) in wanted)


def _one_by_one(request: PathRequest) -> list[Point]:
    """Each k on its own, by `sparse_eigenvector`."""
    points: list[Point] = []
    for cardinality in request.cardinalities:
        try:
            result = sparse_eigenvector(
                request.problem,
                cardinality,
                method=request.method,
                nonnegative=request.nonnegative,
                max_iterations=request.options.max_iterations,
                certify=False,
                rng=request.options.rng,
                on_iteration=request.options.progress.on_iteration,
                method_options=request.options.extra,
            )
        except KeyboardInterrupt:
            raise SolveInterrupted(dict(zip(request.cardinalities, points, strict=False))) from None
        points.append((SparseVector(result.support, result.vector[result.support]), result.value))
    return points


PATHS = {"tpower": _warm, "pathspca": _greedy}
"""Methods with a path of their own; every other one solves each cardinality by itself."""


def _check_cardinalities(cardinalities: Iterable[int], size: int, *, of: str) -> list[int]:
    given = check_many(cardinalities, "cardinalities", "range(1, 21)")
    wanted = sorted({check_cardinality(k, size, what="cardinalities", of=of) for k in given})
    if not wanted:
        msg = "cardinalities is empty; give at least one, for example range(1, 21)."
        raise OptionError(msg)
    return wanted


def _never_falling(points: Sequence[Point]) -> list[Point]:
    best: list[Point] = []
    for point in points:
        best.append(best[-1] if best and best[-1][1] > point[1] else point)
    return best


def _result(
    request: PathRequest, operator: Operator, allowed: Indices | None, cardinality: int, point: Point, seconds: float
) -> SparseEigResult:
    vector = np.zeros(operator.size)
    vector[point[0].indices if allowed is None else allowed[point[0].indices]] = point[0].weights
    if vector[int(np.abs(vector).argmax())] < 0.0:
        vector = -vector
    history = np.array([point[1]])
    vector.flags.writeable = history.flags.writeable = False
    return SparseEigResult(
        vector=vector,
        value=point[1],
        cardinality=cardinality,
        stop_reason=StopReason.FIXED_POINT if request.method == "tpower" else StopReason.COMPLETED,
        n_iterations=1,
        history=history,
        certificate=None,
        solver=request.method,
        settings=request.problem.describe() | {"which": "largest", "method": request.method, "start": "path"},
        seconds=seconds / len(request.cardinalities),
        names=operator.names,
    )


def _certified(problem: Operator, results: list[SparseEigResult], points: list[Point]) -> list[SparseEigResult]:
    """Certificates from the largest k down: whatever bounds k + 1 bounds k. Long paths are certified as a whole."""
    prepared = problem.prepared_for(len(results))
    together = certify_path if shares_certificates(prepared, len(results)) else None
    if together is None and prepared.costs.transfers and len(results) >= FEWEST_POINTS:
        together = certify_streamed_path
    if together is not None:
        shared = together(prepared, [result.cardinality for result in results], [vector for vector, _ in points])
        return [replace(result, certificate=own) for result, own in zip(results, shared, strict=True)]
    certified: list[SparseEigResult] = []
    larger: Certificate | None = None
    for result, (vector, _) in zip(reversed(results), reversed(points), strict=True):
        own = certify_value(prepared, result.cardinality, vector)
        if larger is not None and larger.upper_bound < own.upper_bound:
            own = replace(own, upper_bound=max(own.lower_bound, larger.upper_bound), method=larger.method)
        certified.append(replace(result, certificate=own))
        larger = own
    return certified[::-1]
