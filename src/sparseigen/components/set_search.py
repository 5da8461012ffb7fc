"""Search for a set of sparse components that is orthogonal or uncorrelated, by joint changes of all of them.

The set maximises sum_t u_t'Au_t over unit vectors with at most k_t non-zeros and u_s'G u_t = 0, s != t: G = I for
orthogonal components, G = A for uncorrelated scores. On fixed supports this is a smooth problem that `climb` solves
by Newton steps on its Lagrangian; given all other components one of them is an eigenvector in the null space of its
constraints, so that many supports are tried in one batch. Supports change by truncated gradients, single exchanges,
and by letting one component take what another holds. Starts: one component after the other, disjoint supports, and a
path of penalties mu sum (u_s'G u_t)^2 that rises until the set is nearly feasible; then parts of the best set are
taken out and found anew.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparseigen.components.set_climb import climb, violation
from sparseigen.components.set_moves import (
    MOST_EXCHANGES,
    Matrix,
    Vector,
    find_component,
    list_columns,
    propose_exchanges,
    rises,
    solve_supports,
    spread,
)
from sparseigen.components.set_small import is_tiny, search_listed

CLOSE = 5e-4
"""A set this close to Ky Fan's bound, relatively, is not searched further."""
FEASIBLE = 1e-12
FEW, FEW_TIMES, FINISHING = 4, 3, 15
"""Components up to which a set gets so many times the rounds, and joint exchanges at the end of a search."""
SEEDS = 8
"""Variables near which the first component of an uncorrelated set is begun."""
ABANDON, PROMISING = 0.95, 0.985
"""A start below the first share of the best set is not improved, below the second not by pairs."""
PENALTIES = (0.05, 10.0, 8)
"""First and last penalty of a path relative to the largest eigenvalue, and how many."""


@dataclass(frozen=True)
class SearchEffort:
    """How long to search: rounds that take out a part of the best set, and those without gain after which it ends.

    ``finishing``: joint exchanges at the end, of any set. Uncorrelated sets gain most from them and sets of few
    components pay least: these get them at any effort with rounds. Others gain a third of a per cent for as much time
    as all the rest.
    """

    rounds: int
    patience: int
    finishing: bool = False


FIRST_ROUNDS = 40
"""Rounds at least, as long as no set meets the constraint."""
SEARCHES = {"quick": SearchEffort(0, 0), "default": SearchEffort(8, 3), "thorough": SearchEffort(300, 60, True)}


@dataclass
class SetProblem:
    """The matrix, what is asked, and the best set so far."""

    matrix: Matrix
    cardinalities: tuple[int, ...]
    uncorrelated: bool = False
    disjoint: bool = False
    deadline: float = np.inf
    best: Matrix | None = field(default=None, init=False)
    value: float = field(default=-np.inf, init=False)
    seen: set[tuple[bytes, ...]] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.size, self.count = len(self.matrix), len(self.cardinalities)
        values = np.linalg.eigvalsh(self.matrix)
        self.top, self.most = float(values[-1]), float(values[-self.count :].sum())

    @property
    def closed(self) -> bool:
        """Whether the best set is as good as r eigenvectors, up to a little: no search can gain more."""
        return self.value >= (1.0 - CLOSE) * self.most > 0.0

    @property
    def late(self) -> bool:
        """Whether the time allowed is over."""
        return time.perf_counter() > self.deadline

    def is_feasible(self, columns: Matrix) -> bool:
        """Whether the constraint holds to 1e-12."""
        return violation(self.matrix, columns, uncorrelated=self.uncorrelated) <= FEASIBLE

    def measure(self, columns: Matrix) -> float:
        """The variances of the components added up."""
        return float(np.einsum("ij,ij->", columns, self.matrix @ columns))

    def constrain(self, columns: Matrix, t: int | None = None, without: int | None = None) -> Matrix:
        """What component t must be orthogonal to: G times the other components that are there."""
        others = [s for s in range(columns.shape[1]) if s not in (t, without) and columns[:, s].any()]
        chosen = columns[:, others]
        return self.matrix @ chosen if self.uncorrelated else chosen

    def allow(self, columns: Matrix, t: int, without: int | None = None) -> NDArray[np.bool_]:
        """The variables that component t may use."""
        allowed: NDArray[np.bool_] = np.ones(self.size, dtype=bool)
        if self.disjoint:
            others = [s for s in range(columns.shape[1]) if s not in (t, without)]
            allowed = np.asarray(~columns[:, others].any(axis=1))
        return allowed


def improve_component(
    problem: SetProblem,
    columns: Matrix,
    t: int,
    starts: Sequence[Vector],
    *,
    without: int | None = None,
    exchanges: int = MOST_EXCHANGES,
) -> tuple[float, Vector]:
    """Component t given the others, or given all but one of them."""
    allowed, constraints = problem.allow(columns, t, without), problem.constrain(columns, t, without)
    return find_component(problem.matrix, problem.cardinalities[t], starts, allowed, constraints, exchanges=exchanges)


def improve_set(problem: SetProblem, columns: Matrix) -> tuple[Matrix, float]:
    """Change component after component, then all jointly, then pairs, while the sum of variances rises."""
    value = problem.measure(columns)
    while not problem.late:
        before = value
        for t in range(problem.count):
            held = float(columns[:, t] @ (problem.matrix @ columns[:, t]))
            reached, vector = improve_component(problem, columns, t, [columns[:, t]])
            if rises(reached, held):
                columns = _replace(columns, t, vector)
        columns = climb(problem.matrix, columns, uncorrelated=problem.uncorrelated)
        value = problem.measure(columns)
        if rises(value, before):
            continue
        if value > PROMISING * problem.value:
            columns, value = improve_pairs(problem, columns, value)
        if problem.disjoint:
            columns, value = trade_variables(problem, columns, value)
        if not rises(value, before):
            break
    return columns, value


def improve_pairs(problem: SetProblem, columns: Matrix, value: float) -> tuple[Matrix, float]:
    """Let a component take what it likes from another one, which is then found anew given all others."""
    for t in range(problem.count):
        for s in range(problem.count):
            if s == t or problem.late:
                continue
            changed = columns.copy()
            _, taken = improve_component(problem, columns, t, [columns[:, t]], without=s, exchanges=4)
            if not taken.any() or np.array_equal(taken != 0.0, columns[:, t] != 0.0):
                continue
            changed[:, t], changed[:, s] = taken, 0.0
            constraints = problem.constrain(changed, s)
            starts = [columns[:, s], project_out(problem.matrix @ columns[:, s], constraints)]
            found = improve_component(problem, changed, s, starts)
            if not np.isfinite(found[0]):
                continue
            changed[:, s] = found[1]
            reached = problem.measure(changed)
            if reached > value - 0.02 * abs(value):
                changed = climb(problem.matrix, changed, uncorrelated=problem.uncorrelated)
                reached = problem.measure(changed)
            if rises(reached, value):
                columns, value = changed, reached
    return columns, value


def exchange_jointly(problem: SetProblem, columns: Matrix, value: float) -> tuple[Matrix, float]:
    """Exchange one variable of one component, and judge it after all components have moved."""
    free = np.zeros((problem.size, 0))
    for t in range(problem.count):
        k, allowed = problem.cardinalities[t], problem.allow(columns, t)
        constraints = problem.constrain(columns, t)
        support = np.flatnonzero(columns[:, t]).astype(np.int64)
        lists = [propose_exchanges(problem.matrix, support, k, allowed, given) for given in (constraints, free)]
        for candidate in np.unique(np.vstack(lists), axis=0):
            if problem.late:
                return columns, value
            values, weights = solve_supports(problem.matrix, candidate[None, :], constraints)
            if not np.isfinite(values[0]):
                values, weights = solve_supports(problem.matrix, candidate[None, :], free)
            changed = _replace(columns, t, spread(problem.size, candidate, weights[0]))
            changed = climb(problem.matrix, changed, uncorrelated=problem.uncorrelated)
            reached = problem.measure(changed)
            if rises(reached, value) and problem.is_feasible(changed):
                return changed, reached
    return columns, value


def trade_variables(problem: SetProblem, columns: Matrix, value: float) -> tuple[Matrix, float]:
    """The best exchange of a variable of one component for one of another, where components may share none."""
    free = np.zeros((problem.size, 0))
    for t, s in itertools.combinations(range(problem.count), 2):
        mine, theirs = (np.flatnonzero(columns[:, c]).astype(np.int64) for c in (t, s))
        pairs = np.array(list(itertools.product(range(len(mine)), range(len(theirs)))))
        first, second = np.tile(mine, (len(pairs), 1)), np.tile(theirs, (len(pairs), 1))
        first[np.arange(len(pairs)), pairs[:, 0]] = theirs[pairs[:, 1]]
        second[np.arange(len(pairs)), pairs[:, 1]] = mine[pairs[:, 0]]
        values, weights = solve_supports(problem.matrix, first, free)
        others, theirs_weights = solve_supports(problem.matrix, second, free)
        held = problem.measure(columns[:, [t, s]])
        best = int((values + others).argmax())
        if not rises(float(values[best] + others[best]), held):
            continue
        changed = _replace(columns, t, spread(problem.size, first[best], weights[best]))
        changed = _replace(changed, s, spread(problem.size, second[best], theirs_weights[best]))
        if problem.uncorrelated:
            changed = climb(problem.matrix, changed, uncorrelated=True)
        reached = problem.measure(changed)
        if rises(reached, value) and (not problem.uncorrelated or problem.is_feasible(changed)):
            columns, value = changed, reached
    return columns, value


def _replace(columns: Matrix, t: int, vector: Vector) -> Matrix:
    changed = columns.copy()
    changed[:, t] = vector
    return changed


def project_out(vector: Vector, constraints: Matrix) -> Vector:
    """A vector less its part in the span of the constraints."""
    if not constraints.shape[1]:
        return vector
    basis = np.linalg.qr(constraints)[0]
    return vector - basis @ (basis.T @ vector)


# --- starts -------------------------------------------------------------------------------------------------------


def start_in_turn(problem: SetProblem, order: Sequence[int], seed: int | None = None) -> Matrix | None:
    """One component after the other, each the best that the ones before it allow; the first near a variable."""
    columns = np.zeros((problem.size, problem.count))
    for t in order:
        constraints, k = problem.constrain(columns), problem.cardinalities[t]
        left = problem.matrix
        if constraints.shape[1]:
            basis = np.linalg.qr(constraints)[0]
            left = left - basis @ (basis.T @ left)
            left = left - (left @ basis) @ basis.T
        starts = list_columns(left, k)
        if seed is not None and t == order[0]:
            value, vector = improve_component(problem, columns, t, [left[:, seed]], exchanges=0)
        else:
            value, vector = improve_component(problem, columns, t, starts)
        if not np.isfinite(value):
            return None
        columns[:, t] = vector
    return columns


def start_disjoint(problem: SetProblem, order: Sequence[int]) -> Matrix | None:
    """One component after the other, each among the variables that those before it left."""
    columns, free = np.zeros((problem.size, problem.count)), np.zeros((problem.size, 0))
    for t in order:
        allowed, k = np.asarray(~columns.any(axis=1)), problem.cardinalities[t]
        if not allowed.any():
            return None
        masked = np.where(allowed[:, None] & allowed, problem.matrix, 0.0)
        columns[:, t] = find_component(problem.matrix, k, list_columns(masked, k), allowed, free)[1]
    return columns


def start_penalised(
    problem: SetProblem, penalties: Vector, order: Sequence[int], start: Matrix | None = None
) -> Matrix | None:
    """A path of rising penalties on what components share; each is found in turn given the others."""
    columns = np.zeros((problem.size, problem.count)) if start is None else start.copy()
    free, everything = np.zeros((problem.size, 0)), np.ones(problem.size, dtype=bool)
    for penalty in penalties:
        for t in order:
            others = np.delete(columns, t, axis=1)
            others = others[:, others.any(axis=0)]
            if problem.uncorrelated:
                others = problem.matrix @ others / problem.top
            left, k = problem.matrix - (penalty * problem.top) * (others @ others.T), problem.cardinalities[t]
            starts = [columns[:, t]] if columns[:, t].any() else list_columns(left, k)
            if penalty == penalties[0] or start is not None:
                starts += list_columns(left, k, 2)
            columns[:, t] = find_component(left, k, starts, everything, free)[1]
        if problem.late:
            break
    return separate(problem, columns) if problem.disjoint else columns


def separate(problem: SetProblem, columns: Matrix) -> Matrix | None:
    """Every variable to the component in which it weighs most; then each is solved among what is left to it."""
    owner = np.abs(columns).argmax(axis=1)
    columns = np.where(owner[:, None] == np.arange(problem.count), columns, 0.0)
    for t in range(problem.count):
        start = columns[:, t] if columns[:, t].any() else np.where(problem.allow(columns, t), 1.0, 0.0)
        value, vector = improve_component(problem, columns, t, [start])
        if not np.isfinite(value):
            return None
        columns[:, t] = vector
    return columns


def repair(problem: SetProblem, columns: Matrix) -> Matrix | None:
    """A nearby set that meets the constraint: by Newton steps, else in turn on the same supports."""
    moved = climb(problem.matrix, columns, uncorrelated=problem.uncorrelated)
    if violation(problem.matrix, moved, uncorrelated=problem.uncorrelated) <= 1e-11:
        return moved
    rebuilt = np.zeros_like(columns)
    for t in range(problem.count):
        support = np.flatnonzero(columns[:, t]).astype(np.int64)
        if not len(support):
            return None
        values, weights = solve_supports(problem.matrix, support[None, :], problem.constrain(rebuilt, t))
        if not np.isfinite(values[0]):
            return None
        rebuilt[:, t] = spread(problem.size, support, weights[0])
    rebuilt = climb(problem.matrix, rebuilt, uncorrelated=problem.uncorrelated)
    return rebuilt if violation(problem.matrix, rebuilt, uncorrelated=problem.uncorrelated) <= 1e-11 else None


def search_set(problem: SetProblem, effort: SearchEffort, rng: np.random.Generator) -> Matrix | None:
    """The best set found, one component per column; None where no set met the constraint."""
    listed = False
    for columns in _list_starts(problem, effort):
        consider(problem, columns)
        if not listed and (effort.rounds or is_tiny(problem)):
            listed = True
            if search_listed(problem):
                return problem.best
        if problem.late or problem.closed:
            break
    stale, times = 0, FEW_TIMES if problem.count <= FEW else 1
    for done in range(max(times * effort.rounds, FIRST_ROUNDS)):
        if (
            problem.late
            or problem.closed
            or (problem.best is not None and (done >= times * effort.rounds or stale >= times * effort.patience))
        ):
            break
        before = problem.value
        consider(problem, _perturb(problem, rng))
        stale = 0 if rises(problem.value, before) else stale + 1
    worthwhile = problem.uncorrelated or problem.count <= FEW
    if (effort.finishing or (effort.rounds and worthwhile)) and problem.best is not None:
        finish(problem)
    return problem.best


def finish(problem: SetProblem) -> None:
    """Joint exchanges from the best set, as long as they help."""
    assert problem.best is not None
    for _ in range(0 if problem.closed else FINISHING):
        columns, value = exchange_jointly(problem, problem.best, problem.value)
        if problem.late or not rises(value, problem.value):
            break
        columns, value = improve_set(problem, columns)
        if not (rises(value, problem.value) and problem.is_feasible(columns)):
            break
        problem.best, problem.value = columns, value


def consider(problem: SetProblem, columns: Matrix | None) -> None:
    """Bring a start onto the constraint, improve it, and keep it if it is the best."""
    if columns is None or not columns.any(axis=0).all():
        return
    key = tuple(sorted(np.flatnonzero(column).tobytes() for column in columns.T))
    if key in problem.seen:
        return
    problem.seen.add(key)
    feasible = repair(problem, columns)
    if feasible is None:
        return
    value = problem.measure(feasible)
    if value > ABANDON * problem.value:
        feasible, value = improve_set(problem, feasible)
    if value > problem.value and problem.is_feasible(feasible):
        problem.best, problem.value = feasible, value


def _list_starts(problem: SetProblem, effort: SearchEffort) -> Iterator[Matrix | None]:
    """Each is computed when it is asked for."""
    ks = np.array(problem.cardinalities)
    largest_first = np.argsort(-ks, kind="stable").tolist()
    # Uncorrelated sets: each component must meet one condition per earlier one, so those with few variables come first.
    order = largest_first[::-1] if problem.uncorrelated else largest_first
    yield start_in_turn(problem, order)
    if problem.uncorrelated and (effort.rounds or problem.best is None):
        for seed in np.argsort(-problem.matrix.diagonal(), kind="stable")[:SEEDS].tolist():
            yield start_in_turn(problem, order, seed)
    if not problem.uncorrelated:
        yield start_disjoint(problem, largest_first)
    if effort.rounds and not (problem.uncorrelated or problem.disjoint):
        apart = SetProblem(problem.matrix, problem.cardinalities, disjoint=True, deadline=problem.deadline)
        yield search_set(apart, SearchEffort(1, 1), np.random.default_rng(0))
    if effort.rounds or problem.best is None:
        low, high, count = PENALTIES
        yield start_penalised(problem, np.geomspace(low, high, count), largest_first)


def _perturb(problem: SetProblem, rng: np.random.Generator) -> Matrix | None:
    """The best set without one or more components, or a new set, by penalties of random strength."""
    anew = problem.best is None or rng.random() < 0.35
    low, high = 10.0 ** rng.uniform(-1.3, 0.0), 10.0 ** rng.uniform(0.3, 1.3)
    order = rng.permutation(problem.count).tolist()
    if anew:
        return start_penalised(problem, np.geomspace(low, high, int(rng.integers(4, 9))), order)
    assert problem.best is not None
    start = problem.best.copy()
    start[:, order[: int(rng.integers(1, min(problem.count, 3) + 1))]] = 0.0
    return start_penalised(problem, np.geomspace(low, high, int(rng.integers(2, 5))), order, start)
