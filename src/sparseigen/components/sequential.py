"""Components one after the other, each of what deflation leaves, and the cardinalities they get."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import (
    Sparsity,
    check_cardinality,
    check_choice,
    check_flag,
    check_many,
    check_positive,
    check_sparsity,
)
from sparseigen.components.constrained import (
    CONSTRAINTS,
    build_results,
    describe_free,
    find_constrained,
)
from sparseigen.components.joint import search_jointly
from sparseigen.errors import CardinalityError, OptionError, ZeroMatrixError, one_of
from sparseigen.operators import Operator, as_operator
from sparseigen.operators.deflated import DEFLATIONS
from sparseigen.operators.gaps import find_gaps
from sparseigen.results import ComponentSet, SparseEigResult
from sparseigen.results.path import check_share
from sparseigen.solve.eigenvector import Request, sparse_eigenvector
from sparseigen.solve.path import cardinality_path
from sparseigen.solvers import SOLVERS
from sparseigen.solvers.interface import EFFORTS, KeepWhenInterrupted

GRID_POINTS = 24
"""Cardinalities tried when one is to be chosen; spread evenly on a logarithmic scale."""


def choose_cardinalities(
    operator: Operator, cardinality: Any, count: int, *, deflation: str = "schur", share: float = 0.9
) -> list[int]:
    """One cardinality per component, from an int, a fraction, a list or "auto".

    Examples
    --------
    >>> import sparseigen as se
    >>> from sparseigen.components.sequential import choose_cardinalities
    >>> operator = se.operators.as_operator(se.datasets.load_pitprops().matrix)
    >>> choose_cardinalities(operator, 0.5, 2), choose_cardinalities(operator, "auto", 1)
    ([6, 6], [7])
    """
    check_share(share)
    wanted: Sparsity = check_sparsity(cardinality, operator.size, count)
    if wanted.cardinalities is not None:
        return wanted.cardinalities
    return _choose_each(operator, count, deflation, share)


def _choose_each(operator: Operator, count: int, deflation: str, share: float) -> list[int]:
    """For each component the smallest k on a grid that explains ``share`` of its dense optimum, deflating by it."""
    if deflation not in DEFLATIONS:
        message = f"cardinality='auto' chooses component by component; with deflation={deflation!r} give numbers."
        raise OptionError(message)
    chosen: list[int] = []
    grid = cardinality_grid(operator.size)
    for _ in range(count):
        path = cardinality_path(operator, grid, certify=False)
        chosen.append(path.suggest("share", share=share))
        if len(chosen) < count:
            operator = DEFLATIONS[deflation](operator, path[chosen[-1]].vector)
    return chosen


def cardinality_grid(size: int, points: int = GRID_POINTS) -> list[int]:
    """Cardinalities from 1 to ``size``, about evenly spaced on a logarithmic scale."""
    if size < 1:
        message = f"a grid of cardinalities needs at least one variable, got {size}."
        raise CardinalityError(message)
    return sorted({int(k) for k in np.unique(np.geomspace(1, size, points).round())} | {size})


BLOCK = "block"
"""The name under `deflation` for all components at once."""

PRODUCTS_PER_COMPONENT = 200
"""What a default solve costs, for the decision whether forming the Gram matrix once pays for all components."""

SHORTEST_LIMIT = 1e-9
"""Seconds left to a component where those before it took all: a plain run and a cheap bound."""

EXHAUSTED = 1e-12
"""A deflated matrix with less than this share of the trace is rounding: there is no further component."""


def sparse_components(
    A: Any,
    cardinalities: Iterable[int],
    *,
    constraint: str | None = None,
    disjoint: bool = False,
    refine: bool = False,
    deflation: str = "schur",
    method: str = "tpower",
    effort: str = "default",
    time_limit: float | None = None,
    **options: Any,
) -> ComponentSet:
    """Find several sparse components: each on what the ones before it left over, or all jointly under a constraint.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, LinearOperator, or operator from `covariance`
        A symmetric matrix. It is never copied: each deflation is a low-rank change of the products; of dense float64
        data, whose covariance is not formed, a copy less the component where that fits in memory.
    cardinalities : sequence of int
        Number of non-zeros of each component.
    constraint : {None, "orthogonal", "uncorrelated"}
        None: a free set, one component after the other. "orthogonal": x_s'x_t = 0 for all pairs; "uncorrelated":
        x_s'Ax_t = 0, so that the scores are. Such sets are searched jointly for the largest sum of variances; they
        meet the constraint to 1e-12 and have one certificate.
    disjoint : bool
        No variable in two components; such components are orthogonal. Also searched jointly.
    refine : bool
        Of a free set: change all components together, from several deflations, while the adjusted variance rises.
    deflation : {"schur", "projection", "hotelling", "orthogonal-hotelling", "block"}
        What is taken out of A after each component. "schur" leaves the Schur complement A - (Ax)(Ax)' / x'Ax, the
        covariance given the component: each next value is what the component adds to those before it (its adjusted
        variance). "projection" is the paper's (I - xx')A(I - xx'), after which components of few variables can repeat
        each other (`components.find_overlap` tells). "block" is for methods that find all components at once
        ("gpower-l1", "gpower-l0", "spca"): nothing is taken out. Where "schur" has nothing to regress on, because
        x'Ax <= 0 or A is not positive semidefinite, that component is projected out, with an `IndefiniteWarning`.
    method : str
        The solver, a name in the table of methods.
    effort : {"quick", "default", "thorough"}
        As in `sparse_eigenvector`, for every component, and of the joint search and its certificate. A block has no
        stages.
    time_limit : float, optional
        Seconds for all components together; each gets its part of what is left.
    **options
        Passed on to `sparse_eigenvector` for every component. With a constraint only ``certify``, ``rng`` and
        ``candidates``.

    Returns
    -------
    ComponentSet
        A sequence of `SparseEigResult`. Of a free set ``value`` and ``certificate`` of each result speak of the
        deflated matrix it was found on, which ``settings`` name (``deflation``, ``components_taken_out``); of a set
        found jointly they speak of the matrix itself, the certificate of single components of that cardinality. The
        set's own ``certificate`` is about the sum of variances under a constraint, about the variance of the span of
        a free set.

    References
    ----------
    L. Mackey, "Deflation Methods for Sparse PCA", NIPS 2008.

    Examples
    --------
    >>> import sparseigen as se
    >>> pitprops = se.datasets.load_pitprops()
    >>> found = se.sparse_components(pitprops.operator(), [7, 2, 1], certify=False)
    >>> [sorted(result.loadings) for result in found[1:]], found[2].settings["deflation"]
    ([['moist', 'testsg'], ['ovensg']], 'schur')
    >>> joint = se.sparse_components(pitprops.operator(), [4, 4], constraint="uncorrelated")
    >>> joint.violation < 1e-12, joint.certificate.upper_bound >= joint.value
    (True, True)
    """
    operator = as_operator(A)
    check_choice(deflation, (*DEFLATIONS, BLOCK), "deflation")
    check_choice(constraint, (None, *CONSTRAINTS), "constraint")
    together, refine = check_flag(disjoint, "disjoint") or constraint is not None, check_flag(refine, "refine")
    several = check_many(cardinalities, "cardinalities", "[5, 5]")
    wanted = [check_cardinality(k, operator.size, subject=f"cardinalities[{i}]") for i, k in enumerate(several)]
    if not wanted:
        msg = "cardinalities is empty; give the number of non-zeros of each component, for example [5, 5]."
        raise OptionError(msg, parameter="cardinalities")
    limit = None if time_limit is None else check_positive(time_limit, "time_limit")
    check_choice(effort, EFFORTS, "effort")
    if together:
        if deflation != "schur" or method != "tpower" or refine:
            msg = "a set under a constraint is searched jointly: leave out deflation, method and refine."
            raise OptionError(msg, parameter="constraint")
        found = find_constrained(
            operator, wanted, constraint=constraint, disjoint=disjoint, effort=effort, time_limit=limit, **options
        )
        return found
    began = time.perf_counter()
    if deflation == BLOCK:
        results = find_block(operator, wanted, method=method, **options)
    else:
        plan = [Planned(cardinality) for cardinality in wanted]
        options = {"method": method, "effort": effort, **options}
        results = solve_each(operator, plan, deflation=deflation, time_limit=limit, **options)
    certify = deflation != BLOCK and bool(options.get("certify", True))
    deadline = math.inf if limit is None else began + limit
    if refine:
        starts = _list_starts(operator, results, deflation, effort, options)
        vectors = search_jointly(operator, starts, effort=effort, deadline=deadline)
        settings = {"refine": True, "effort": effort, "start": deflation, **operator.describe()}
        seconds = time.perf_counter() - began
        results = build_results(operator, vectors.T, wanted, [None] * len(wanted), settings, seconds)
    ordinary = options.get("which", "largest") == "largest"
    seconds = time.perf_counter() - began
    return describe_free(
        operator, results, certify=certify and ordinary, joint=refine, effort=effort, deadline=deadline, seconds=seconds
    )


def _list_starts(
    operator: Operator, results: Sequence[SparseEigResult], deflation: str, effort: str, options: dict[str, Any]
) -> Iterator[NDArray[np.float64]]:
    """What the joint search of a free set begins from: the components found, then those of the other deflations."""
    yield np.array([result.vector for result in results])
    if deflation == BLOCK or effort == "quick":
        return
    plan = [Planned(result.cardinality) for result in results]
    for other in DEFLATIONS:
        if other != deflation:
            found = solve_each(operator, plan, deflation=other, time_limit=None, **options | {"certify": False})
            yield np.array([result.vector for result in found])
    try:
        uncorrelated = find_constrained(
            operator,
            [planned.cardinality for planned in plan],
            constraint="uncorrelated",
            disjoint=False,
            effort="quick",
            time_limit=None,
            certify=False,
        )
    except CardinalityError:
        return
    yield uncorrelated.vectors


class Planned(NamedTuple):
    """What is asked of one component."""

    cardinality: int
    candidates: NDArray[np.int64] | None = None
    """The only variables that may be chosen."""


def solve_each(
    operator: Operator, plan: Sequence[Planned], *, deflation: str, time_limit: float | None, **options: Any
) -> list[SparseEigResult]:
    """The components of a plan, each of what those before it leave."""
    total = float(np.abs(operator.diagonal()).sum())
    remaining: Operator = operator.prepared_for(PRODUCTS_PER_COMPONENT * len(plan))
    results: list[SparseEigResult] = []
    gaps = find_gaps(operator)
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    with KeepWhenInterrupted(lambda inner: inner, completed=results):
        for step, planned in enumerate(plan):
            if step:
                remaining = DEFLATIONS[deflation](remaining, results[-1].vector)
                _check_not_exhausted(remaining, total, step)
            part = None
            if time_limit is not None:
                part = max((deadline - time.perf_counter()) / (len(plan) - step), SHORTEST_LIMIT)
            if planned.candidates is not None:
                options["candidates"] = planned.candidates
            on_part = getattr(options.get("on_iteration"), "on_part", None)
            if on_part is not None:
                on_part(f"component {step + 1} of {len(plan)}")
            found = sparse_eigenvector(remaining, planned.cardinality, time_limit=part, **options)
            if gaps is not None:  # matrices formed of the data do not know what was missing
                found = replace(found, settings={**found.settings, **gaps.tell(found.support, operator.names)})
            results.append(found)
    return results


def find_block(
    operator: Operator,
    cardinalities: list[int],
    *,
    method: str,
    rtol: float = 1e-7,
    atol: float = 0.0,
    max_iterations: int = 1000,
    certify: bool = False,
    rng: Any = None,
    method_options: Mapping[str, Any] | None = None,
) -> list[SparseEigResult]:
    """Several components at once, in the order of the cardinalities, by a method that can.

    The set as a whole has no bound, so there are no certificates.
    """
    request = Request(
        operator,
        method=method,
        rtol=rtol,
        atol=atol,
        max_iterations=max_iterations,
        rng=rng,
        method_options=method_options,
    )
    if request.spec.solve_block is None:
        able = one_of(name for name, solver in SOLVERS.items() if solver.solve_block is not None)
        message = f"method={method!r} finds one component at a time; deflation='block' needs one of: {able}."
        raise OptionError(message, parameter="method")
    if check_flag(certify, "certify"):
        msg = "certify=True: a block of components found at once has no bound; use certify=False."
        raise OptionError(msg)
    searched, began = request.searched, time.perf_counter()
    with KeepWhenInterrupted(lambda inner: None):
        outcomes = request.spec.solve_block(searched, cardinalities, request.options)
    seconds = time.perf_counter() - began
    return [request.build_result(outcome, k, seconds) for k, outcome in zip(cardinalities, outcomes, strict=True)]


def _check_not_exhausted(remaining: Operator, total: float, found: int) -> None:
    if float(np.abs(remaining.diagonal()).sum()) <= EXHAUSTED * total:
        message = (
            f"after {found} {'component' if found == 1 else 'components'} no variance is left; ask for at most {found}."
        )
        raise ZeroMatrixError(message)
