"""Sets under a constraint: from request to a `ComponentSet` with one certificate.

The search (`components.set_search`) works on a matrix in memory: all variables of a small problem, else the *heavy*
ones, most related to the components found one after the other; variables outside that would improve a component join
them until none does. The certificate (`certificates.set_certificate`) is about all variables.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from sparseigen.certificates.set_levels import can_level
from sparseigen.checks.arguments import check_candidates, check_flag, check_rng
from sparseigen.components.set_climb import violation
from sparseigen.components.set_search import SEARCHES, SetProblem, improve_set, search_set
from sparseigen.components.variance import VARIANCES, products
from sparseigen.errors import CardinalityError, OptionError
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators import Operator
from sparseigen.operators.contract import Indices
from sparseigen.operators.deflated import DEFLATIONS
from sparseigen.results import Certificate, ComponentSet, SparseEigResult, StopReason
from sparseigen.solve.eigenvector import sparse_eigenvector
from sparseigen.solvers.interface import KeepWhenInterrupted

Matrix = NDArray[np.float64]

CONSTRAINTS = ("orthogonal", "uncorrelated")
MOST_SEARCHED = 240
"""Variables that are searched at a time."""
MOST_JOINING, MOST_ROUNDS = 24, 3
"""Outside variables that join at a time, and how often."""
SEARCH_SHARE = 0.5
"""Of a time limit, for the search."""
FREE_SIZE = 512
"""Variables up to which a free set gets a bound without being asked for a joint search."""
TAKEN = ("certify", "rng", "candidates")
"""Options that a joint search understands, beside effort and time_limit."""


def find_constrained(
    operator: Operator,
    cardinalities: Sequence[int],
    *,
    constraint: str | None,
    disjoint: bool,
    effort: str,
    time_limit: float | None,
    certify: bool = True,
    rng: Any = None,
    candidates: Any = None,
    **options: Any,
) -> ComponentSet:
    """The best set found under a constraint, its results in the order of the cardinalities, and its certificate."""
    asked = f"constraint={constraint!r}" if constraint is not None else "disjoint=True"
    _check_options(options, asked)
    certify = check_flag(certify, "certify")
    allowed = check_candidates(candidates, operator.size, operator.names)
    searched = operator if allowed is None else operator.restricted(allowed)
    _check_room(searched.size, cardinalities, asked)
    began = time.perf_counter()
    deadline = np.inf if time_limit is None else began + time_limit
    with KeepWhenInterrupted(lambda inner: None), one_blas_thread():
        columns = _search(
            searched,
            tuple(cardinalities),
            uncorrelated=constraint == "uncorrelated",
            disjoint=disjoint,
            effort=effort,
            deadline=np.inf if time_limit is None else began + SEARCH_SHARE * time_limit,
            rng=check_rng(rng),
        )
    if columns is None:
        message = (
            f"no set of {len(cardinalities)} components with {constraint} scores was found: each pair is one condition "
            "on the weights, and few non-zeros leave few weights to choose. Ask for fewer components or more non-zeros."
        )
        raise CardinalityError(message)
    seconds = time.perf_counter() - began
    question = SetQuestion(tuple(cardinalities), columns, SET_EFFORTS[effort], deadline=deadline, disjoint=disjoint)
    certificate: Certificate | None = None
    singles: list[Certificate | None] = [None] * len(cardinalities)
    if certify:
        with KeepWhenInterrupted(lambda inner: None):
            if constraint == "uncorrelated":
                question = replace(question, pair=_find_pair(searched, question))
            certificate, singles = _certify(searched, question, constraint)
    if allowed is not None:
        columns = _spread(columns, allowed, operator.size)
    settings = {"constraint": constraint, "disjoint": disjoint, "effort": effort, **operator.describe()}
    if allowed is not None:
        settings["candidates"] = len(allowed)
    results = build_results(operator, columns, cardinalities, singles, settings, seconds)
    return assemble(
        operator,
        results,
        constraint=constraint,
        disjoint=disjoint,
        certificate=certificate,
        reason="" if certify else "certify=False",
        seconds=seconds,
    )


def _check_options(options: dict[str, Any], asked: str) -> None:
    unknown = sorted(name for name, value in options.items() if value is not None)
    if unknown:
        message = (
            f"{asked} is searched jointly and takes effort, time_limit, {', '.join(TAKEN)}, not {', '.join(unknown)}; "
            "leave that out."
        )
        raise OptionError(message, parameter=unknown[0])


def _check_room(size: int, cardinalities: Sequence[int], asked: str) -> None:
    if len(cardinalities) > size:
        message = f"{len(cardinalities)} components of {size} variables: {asked} allows at most {size}; ask for fewer."
        raise OptionError(message, parameter="cardinalities")


def _search(
    operator: Operator,
    cardinalities: tuple[int, ...],
    *,
    uncorrelated: bool,
    disjoint: bool,
    effort: str,
    deadline: float,
    rng: np.random.Generator,
) -> Matrix | None:
    """The best set, one component per column; those of one cardinality come by variance."""
    scale = max(float(np.abs(operator.diagonal()).max()), np.finfo(float).tiny)
    unit = float(np.ldexp(1.0, -int(np.frexp(scale)[1])))
    heavy = np.arange(operator.size, dtype=np.int64)
    if operator.size > MOST_SEARCHED:
        heavy = _choose_heavy(operator, cardinalities, uncorrelated)
    problem = SetProblem(operator.submatrix(heavy) * unit, cardinalities, uncorrelated, disjoint, deadline)
    best = search_set(problem, SEARCHES[effort], rng)
    if best is None:
        return None
    columns = _spread(best, heavy, operator.size)
    for _ in range(MOST_ROUNDS if operator.size > len(heavy) else 0):
        heavy = np.sort(np.concatenate([heavy, _find_joining(operator, columns, heavy)]))
        problem = SetProblem(operator.submatrix(heavy) * unit, cardinalities, uncorrelated, disjoint, deadline)
        improved, value = improve_set(problem, columns[heavy])
        if problem.late or not value > problem.measure(columns[heavy]) * (1.0 + 1e-9):
            break
        columns = _spread(improved, heavy, operator.size)
    return _arrange(columns, operator, cardinalities)


def _find_pair(operator: Operator, question: SetQuestion) -> float:
    """What a pair of components explains, which the bound of a larger uncorrelated set begins with; zero for none."""
    largest = max(question.cardinalities)
    if len(question.cardinalities) < 3 or not can_level(operator.size, largest):
        return 0.0
    with one_blas_thread():
        columns = _search(
            operator,
            (largest, largest),
            uncorrelated=True,
            disjoint=question.disjoint,
            effort="quick",
            deadline=question.deadline,
            rng=check_rng(0),
        )
    return 0.0 if columns is None else reach_set(operator, columns)[0]


def _choose_heavy(operator: Operator, cardinalities: tuple[int, ...], uncorrelated: bool) -> Indices:
    """The variables that components found one after the other use or are related to."""
    remaining, related, used = operator, np.zeros(operator.size), np.zeros(operator.size, dtype=bool)
    vector = np.zeros(operator.size)
    for t, k in enumerate(sorted(cardinalities, reverse=True)):
        if t:
            remaining = DEFLATIONS["schur" if uncorrelated else "projection"](remaining, vector)
        vector = sparse_eigenvector(remaining, k, certify=False, effort="quick").vector
        support = np.flatnonzero(vector).astype(np.int64)
        used[support] = True
        for matrix in (operator, remaining):
            image = np.abs(np.asarray(matrix.apply_support(support, vector[support]), dtype=np.float64))
            related = np.maximum(related, image / max(float(image.max()), np.finfo(float).tiny))
    count = max(MOST_SEARCHED, min(operator.size, 2 * sum(cardinalities)))
    return np.sort(np.argsort(-(related + used), kind="stable")[:count]).astype(np.int64)


def _find_joining(operator: Operator, columns: Matrix, heavy: Indices) -> Indices:
    """Outside variables with the largest products with a component."""
    images = np.abs(products(operator, columns))
    images /= np.maximum(images.max(axis=0), np.finfo(float).tiny)
    outside = np.setdiff1d(np.arange(operator.size), heavy)
    order = np.argsort(-images[outside].max(axis=1), kind="stable")[:MOST_JOINING]
    return outside[order].astype(np.int64)


def _spread(columns: Matrix, places: Indices, size: int) -> Matrix:
    full = np.zeros((size, columns.shape[1]))
    full[places] = columns
    return full


def _arrange(columns: Matrix, operator: Operator, cardinalities: tuple[int, ...]) -> Matrix:
    """Of equal cardinalities the component of larger variance first; loadings of largest magnitude positive."""
    variances = np.einsum("ij,ij->j", columns, products(operator, columns))
    order = np.arange(len(cardinalities))
    for k in set(cardinalities):
        places = np.flatnonzero(np.array(cardinalities) == k)
        order[places] = places[np.argsort(-variances[places], kind="stable")]
    arranged = columns[:, order]
    leading = np.take_along_axis(arranged, np.abs(arranged).argmax(axis=0)[None, :], axis=0)
    return np.where(leading < 0.0, -arranged, arranged)


def _certify(
    operator: Operator, question: SetQuestion, constraint: str | None
) -> tuple[Certificate | None, list[Certificate | None]]:
    """The bracket of the set, and of every component that of a single component of its cardinality."""
    lower, reached = reach_set(operator, question.columns)
    singles = add_single_bounds(operator, question)
    bound = bound_uncorrelated if constraint == "uncorrelated" else bound_orthogonal
    upper, method = bound(operator, question, singles, lower)
    scale = operator.magnitude
    brackets: list[Certificate | None] = [
        Certificate(low, max(low, singles.of[k][0]), singles.of[k][1], scale=scale)
        for low, k in zip(reached, question.cardinalities, strict=True)
    ]
    if not np.isfinite(upper):
        return None, brackets
    return Certificate(lower, max(lower, upper), method, scale=scale), brackets


def build_results(
    operator: Operator,
    columns: Matrix,
    cardinalities: Sequence[int],
    certificates: Sequence[Certificate | None],
    settings: dict[str, Any],
    seconds: float,
) -> list[SparseEigResult]:
    """The components of a set as results; each certificate is about single components of that cardinality."""
    values = np.einsum("ij,ij->j", columns, products(operator, columns))
    results = []
    for column, value, k, proof in zip(columns.T, values, cardinalities, certificates, strict=True):
        vector = np.ascontiguousarray(column)
        vector.flags.writeable = False
        history = np.array([float(value)])
        history.flags.writeable = False
        results.append(
            SparseEigResult(
                vector=vector,
                value=float(value),
                cardinality=k,
                stop_reason=StopReason.COMPLETED,
                n_iterations=1,
                history=history,
                certificate=proof,
                solver="joint search",
                settings=settings,
                seconds=seconds / len(cardinalities),
                names=operator.names,
            )
        )
    return results


def assemble(
    operator: Operator,
    results: Sequence[SparseEigResult],
    *,
    constraint: str | None = None,
    disjoint: bool = False,
    certificate: Certificate | None = None,
    reason: str = "",
    seconds: float = 0.0,
) -> ComponentSet:
    """A set from its results, with its variances of the matrix itself."""
    columns = np.array([result.vector for result in results]).T
    images = products(operator, columns)
    variances = {name: explain(columns, images) for name, explain in VARIANCES.items()}
    for values in variances.values():
        values.flags.writeable = False
    used = np.flatnonzero(columns.any(axis=1))
    if constraint == "uncorrelated":
        broken = violation(operator.submatrix(used), columns[used], uncorrelated=True)
    else:
        broken = violation(np.zeros((0, 0)), columns, uncorrelated=False)
    return ComponentSet(
        tuple(results),
        constraint,
        disjoint,
        variances,
        float(operator.diagonal().sum()),
        broken,
        certificate,
        reason,
        seconds,
    )


def describe_free(
    operator: Operator,
    results: Sequence[SparseEigResult],
    *,
    certify: bool,
    joint: bool,
    effort: str,
    deadline: float,
    seconds: float,
) -> ComponentSet:
    """A set without constraint, with a bound on what the span of any such set explains, or the reason why not.

    Components found one after the other get the bound that costs least; a joint search gets that of its effort.
    """
    found = assemble(operator, results, seconds=seconds)
    if not certify:
        return replace(found, reason="no bound was asked for")
    if len(results) == 1 and results[0].certificate is not None:
        return replace(found, certificate=results[0].certificate)
    if not joint and (operator.size > FREE_SIZE or operator.costs.columns_per_pass is not None):
        reason = (
            f"components one after the other of more than {FREE_SIZE} variables have certificates of their own only"
        )
        return replace(found, reason=f"{reason}; refine=True proves a bound for the set")
    question = SetQuestion(
        tuple(found.cardinalities), found.vectors.T, SET_EFFORTS[effort if joint else "cheap"], deadline=deadline
    )
    upper, method = bound_free(operator, question, found.value)
    if not np.isfinite(upper):
        return replace(found, reason=method)
    lower = reach_span(operator, question.columns)
    return replace(found, certificate=Certificate(lower, max(lower, upper), method, scale=operator.magnitude))
