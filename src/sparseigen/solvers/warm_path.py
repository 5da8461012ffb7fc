"""The whole path of cardinalities, each point started from its neighbours.

The paper's second starting scheme (a larger k warms a smaller one) and PathSPCA's forward step (a smaller k warms a
larger one), taken in turn: sweeps up and down the path until no point improves. A support that was solved once is
never solved again, so later sweeps cost little more than the comparisons.

X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from sparseigen import kernels
from sparseigen.kernels.eigen import warm_eigenpair
from sparseigen.operators.contract import (
    LARGEST_MATERIALISED,
    Indices,
    Operator,
    SparseVector,
    Vector,
    Weights,
)
from sparseigen.solvers.eigenpairs import LARGEST_DENSE_PROBLEM, SupportBlock, best_on_support, lower_end
from sparseigen.solvers.interface import KeepWhenInterrupted, Progress, SolverOptions
from sparseigen.solvers.starts import find_strong_columns
from sparseigen.solvers.truncated_power import PowerSearch, iterate_many, solve_truncated_power

PRODUCTS_PER_POINT = 4
"""Products per point, on average, for the decision whether forming the Gram matrix pays."""
SHORT = 8
"""Paths of at most this many points are solved point by point from many starts first; of longer ones two points are,
so that the path does not hang on its first variable."""
FEW_POINTS, WIDE_STEP_OF_FEW, WIDE_STEP = 32, 1.2, 1.5
"""Ratio of neighbouring cardinalities from which the larger one is solved from many starts, for paths of few and of
many points."""
JUMP, JUMPS_EVERY = 16, 2
"""Besides neighbours, points this far apart start each other, taken every few points: what one of them finds spreads
to its neighbours."""
JUMP_SWEEPS = 3
"""They do so in one sweep of so many."""
PLAIN_STEPS = 2
"""Power steps from a distant point before its support is looked up or solved: most of them lead to a known one."""
SURVEYED, SURVEYS, SURVEY_WORK = 64, 3, 2e9
"""Up to which cardinality all columns are looked at for starts, at how many of them, and multiplications for that:
groups of few variables are missed by starts that a whole matrix suggests."""
RACED, SMALL = 3, 1024
"""Of the points that many starts are wanted for, one in so many has them, and the others have exchanges in what their
neighbours found (on noise one in five ended up to 2 % lower); up to this size, where starts cost little, all have."""
MAX_SWEEPS = 8
BLOCK_RTOL, BLOCK_ITERATIONS = 1e-6, 200
"""Where a block of runs ends: its supports are solved exactly and climbed from anyway."""


def warm_path(
    operator: Operator, cardinalities: Sequence[int], options: SolverOptions
) -> list[tuple[SparseVector, float]]:
    """The best vector found for each cardinality (ascending), and its value; values never fall with k.

    On Ctrl-C raises SolveInterrupted whose ``result`` maps the cardinalities reached to such pairs.

    Examples
    --------
    >>> import sparseigen as se
    >>> from sparseigen.solvers.interface import SolverOptions
    >>> from sparseigen.solvers.warm_path import warm_path
    >>> operator = se.operators.as_operator(se.datasets.load_pitprops().matrix)
    >>> [round(value, 4) for _, value in warm_path(operator, [1, 5, 10], SolverOptions())]
    [1.0, 3.4062, 4.1726]
    """
    operator = operator.prepared_for(PRODUCTS_PER_POINT * len(cardinalities))
    shift = max(0.0, -lower_end(operator)) if operator.positive_semidefinite is False else 0.0
    climber = _Climber(operator, list(cardinalities), shift)
    polished = replace(options, start="auto", polish="swap" if len(cardinalities) <= FEW_POINTS else "solve")
    with KeepWhenInterrupted(lambda inner: {k: (vector, value - shift) for k, (vector, value) in climber.best.items()}):
        anchors = [] if options.effort == "quick" else _choose_anchors(cardinalities)
        raced = _thin_out(anchors) if len(cardinalities) > SHORT and operator.size > SMALL else anchors
        climber.race(raced, polished)
        for cardinality, vector in _solve_in_block(climber.operator, cardinalities, options):
            climber.climb(cardinality, vector.indices, vector.weights)
        climber.sweep(options)
        # Where most points are far from their neighbours, the few others are not worth a look at all columns.
        wanted = cardinalities if 2 * len(anchors) >= len(cardinalities) else anchors
        spread = [k for k in wanted if k not in raced] if polished.polish == "swap" else []
        climber.spread(spread, polished)
        others = [k for k in cardinalities if k not in raced and k not in spread]
        if options.effort != "quick" and climber.start_from(_survey_columns(climber.operator, others)):
            climber.sweep(options)
    if shift:  # a large shift leaves few digits of a value: each support is solved once more without it
        return [best_on_support(operator, vector) for vector, _ in climber.points()]
    return climber.points()


def _survey_columns(operator: Operator, cardinalities: Sequence[int]) -> dict[int, Indices]:
    """For each small cardinality the columns of largest top-k energy, where looking at all of them is affordable."""
    small = [k for k in cardinalities if 1 < k <= SURVEYED]
    costs = operator.costs
    affordable = operator.size <= LARGEST_MATERIALISED and costs.affordable_columns >= operator.size
    if not (small and affordable and costs.step(1) * operator.size <= SURVEY_WORK):
        return {}
    looked_at = sorted({small[round(place)] for place in np.linspace(0, len(small) - 1, SURVEYS)})
    strongest = dict(zip(looked_at, find_strong_columns(operator, looked_at), strict=True))
    return {k: strongest[min(looked_at, key=lambda other: abs(np.log(other / k)))] for k in small}


def _solve_in_block(
    operator: Operator, cardinalities: Sequence[int], options: SolverOptions
) -> list[tuple[int, SparseVector]]:
    """Rough answers for all cardinalities from runs that step together, where such runs share passes."""
    if len(cardinalities) <= SHORT or operator.costs.runs_per_pass == 1:
        return []
    rough = replace(
        options,
        nonnegative=False,
        rtol=max(options.rtol, BLOCK_RTOL),
        max_iterations=min(options.max_iterations, BLOCK_ITERATIONS),
        progress=Progress(operator.size),
    )
    leading = np.array([int(operator.diagonal().argmax())], dtype=np.int64)
    runs = iterate_many(operator, cardinalities, ("max-variance", SparseVector(leading, np.ones(1))), rough)
    return [(k, run.vector) for k, run in zip(cardinalities, runs, strict=True)]


def _choose_anchors(cardinalities: Sequence[int]) -> list[int]:
    """Short paths whole; of longer ones the points at a fiftieth and a tenth of the way, and those after a wide step.

    A point far from its neighbour learns little from it: on log expression data a geometric grid that hung on its
    neighbours alone ended up to 30 % below single solves.
    """
    if len(cardinalities) <= SHORT:
        return list(cardinalities)
    wide = WIDE_STEP if len(cardinalities) > FEW_POINTS else WIDE_STEP_OF_FEW
    after_wide_steps = [k for before, k in pairwise(cardinalities) if k > wide * before]
    along = {cardinalities[len(cardinalities) // 50], cardinalities[len(cardinalities) // 10]}
    return sorted(along | set(after_wide_steps[:FEW_POINTS]))


def _thin_out(anchors: Sequence[int]) -> list[int]:
    """Every third of the anchors, both ends included."""
    return [k for place, k in enumerate(anchors) if place % RACED == 0 or place == len(anchors) - 1]


def _round_guess(weights: Weights) -> Weights:
    """Weights without their last digits, which depend on where arrays lie in memory: what follows is then the same."""
    return weights.astype(np.float32).astype(np.float64)


Point = tuple[SparseVector, float]


class _Climber:
    """The best point of each cardinality so far, and where the climb from each support ended."""

    def __init__(self, operator: Operator, cardinalities: list[int], shift: float = 0.0) -> None:
        self.unshifted, self.cardinalities = operator, cardinalities
        self.operator = operator = operator.shifted(shift) if shift else operator
        self.best: dict[int, Point] = {}
        self.reached: dict[int, dict[bytes, Point]] = {cardinality: {} for cardinality in cardinalities}
        self.block = SupportBlock(operator, min(cardinalities[-1], LARGEST_DENSE_PROBLEM))
        self.extended: set[tuple[bytes, int]] = set()
        self.last_product: tuple[SparseVector | None, Vector] = (None, np.zeros(0))

    def points(self) -> list[Point]:
        return [self.best[cardinality] for cardinality in self.cardinalities]

    def sweep(self, options: SolverOptions) -> None:
        """Two chains of their own, up and down; then neighbours' best points until nothing changes."""
        leading = np.array([int(self.operator.diagonal().argmax())], dtype=np.int64)
        point = self.climb(
            self.cardinalities[0], *self._extend_support(SparseVector(leading, np.ones(1)), self.cardinalities[0])
        )
        for cardinality in self.cardinalities[1:]:
            point = self.climb(cardinality, *self._extend_support(point[0], cardinality))
        for cardinality in self.cardinalities[-2::-1]:
            start = point[0].truncated(cardinality)
            point = self.climb(cardinality, start.indices, start.weights)
        stepped = True
        for done in range(MAX_SWEEPS):
            if options.out_of_time:
                break
            jumps, jumped = done % JUMP_SWEEPS == 0 or not stepped, False
            if jumps:  # few lead anywhere while neighbours improve each other
                jumped = self._sweep_up(JUMP, JUMPS_EVERY) | self._sweep_down(JUMP, JUMPS_EVERY)
            stepped = self._sweep_up(1) | self._sweep_down(1)
            if jumps and not (jumped or stepped):
                break
        self._sweep_up(1)

    def race(self, cardinalities: Sequence[int], options: SolverOptions) -> None:
        """Solve from many starts at each cardinality."""
        for cardinality in cardinalities:
            if options.out_of_time:
                break
            found = solve_truncated_power(self.unshifted, cardinality, options).vector
            self.climb(cardinality, found.indices, _round_guess(found.weights))

    def spread(self, cardinalities: Sequence[int], options: SolverOptions) -> None:
        """Exchange variables at each cardinality in its best point and its neighbours'; sweep if any is better."""
        before = dict(self.best)
        for cardinality in cardinalities:
            if options.out_of_time:
                break
            search = PowerSearch(self.unshifted, cardinality, options)
            search.run(self._list_neighbours(cardinality))
            search.swap()
            found = search.best.vector
            self.climb(cardinality, found.indices, _round_guess(found.weights))
        if any(self.best[k] is not before[k] for k in cardinalities):
            self.sweep(options)

    def _list_neighbours(self, cardinality: int) -> list[tuple[str, SparseVector]]:
        """The best point of a cardinality, and what its neighbours become there."""
        place, starts = self.cardinalities.index(cardinality), [("path", self.best[cardinality][0])]
        if place > 0:
            smaller = self.best[self.cardinalities[place - 1]][0]
            indices, weights = self._extend_support(smaller, cardinality)
            length = float(np.linalg.norm(weights))
            if length > 0.0:  # a product that is zero leads nowhere
                starts.append(("path, from below", SparseVector(indices, weights / length)))
        if place + 1 < len(self.cardinalities):
            starts.append(("path, from above", self.best[self.cardinalities[place + 1]][0].truncated(cardinality)))
        return starts

    def start_from(self, columns: dict[int, Indices]) -> bool:
        """Climb at each cardinality from some columns of the matrix; whether any point is better for it."""
        before = dict(self.best)
        numbers = np.unique(np.concatenate([*columns.values()])) if columns else np.zeros(0, dtype=np.int64)
        formed = dict(zip(numbers.tolist(), self.operator.columns(numbers).T, strict=True)) if len(numbers) else {}
        for cardinality, chosen in columns.items():
            for column in chosen.tolist():
                indices = kernels.largest_magnitudes(np.ascontiguousarray(formed[column]), cardinality)
                start = self._step_plainly(cardinality, indices, formed[column][indices], steps=PLAIN_STEPS)
                self.climb(cardinality, *start)
        return any(self.best[k] is not before[k] for k in columns)

    def _sweep_up(self, stride: int, interval: int = 1) -> bool:
        """Extend points to larger cardinalities; with stride 1 no value then lies below its left neighbour's."""
        improved = [self._extend(i, i + stride) for i in range(0, len(self.cardinalities), interval)]
        return any(improved)

    def _sweep_down(self, stride: int, interval: int = 1) -> bool:
        """Cut points down to smaller cardinalities."""
        improved = [self._cut(i, i - stride) for i in range(len(self.cardinalities) - 1, 0, -interval)]
        return any(improved)

    def _extend(self, position: int, target: int) -> bool:
        if target >= len(self.cardinalities):
            return False
        smaller, larger = self.cardinalities[position], self.cardinalities[target]
        point, before = self.best[smaller], self.best[larger]
        if (point[0].indices.tobytes(), larger) in self.extended:
            return False
        start = self._extend_support(point[0], larger)
        self.climb(larger, *self._step_plainly(larger, *start, steps=0 if target - position == 1 else PLAIN_STEPS))
        return self.best[larger] is not before

    def _cut(self, position: int, target: int) -> bool:
        if target < 0:
            return False
        larger, smaller = self.cardinalities[position], self.cardinalities[target]
        before = self.best[smaller]
        start = self.best[larger][0].truncated(smaller)
        steps = 0 if position - target == 1 else PLAIN_STEPS
        self.climb(smaller, *self._step_plainly(smaller, start.indices, start.weights, steps=steps))
        return self.best[smaller] is not before

    def _step_plainly(
        self, cardinality: int, indices: Indices, weights: Weights, *, steps: int
    ) -> tuple[Indices, Weights]:
        """The support after a few plain power steps, or an earlier one that was already solved."""
        for _ in range(steps):
            if indices.tobytes() in self.reached[cardinality]:
                break
            # Scaled, or the lengths of several products in a row leave the range of float32.
            scaled = weights / max(float(np.abs(weights).max()), np.finfo(np.float64).tiny)
            product = np.asarray(self.operator.apply_support(indices, scaled), dtype=np.float64)
            indices = kernels.largest_magnitudes(product, cardinality)
            weights = product[indices]
        return indices, weights

    def climb(self, cardinality: int, indices: Indices, weights: Weights) -> Point:
        """From a support to a fixed point of the truncated power method, which is kept if it is the best so far."""
        known = self.reached[cardinality]
        begun, point = [], None
        while True:
            key = indices.tobytes()
            if key in known:
                end = known[key]
                break
            begun.append(key)
            end = self._solve(indices, weights)
            if point is not None and end[1] <= point[1]:
                end = point
                break
            point = end
            product = self._product(point[0])
            following = kernels.largest_magnitudes(product, cardinality)
            if np.array_equal(following, indices):
                break
            indices, weights = following, product[following]
        end = point if point is not None and point[1] >= end[1] else end
        known.update(dict.fromkeys(begun, end))
        best = self.best.get(cardinality)
        if best is None or end[1] > best[1] + 1e-14 * abs(best[1]):
            self.best[cardinality] = end
        return end

    def _solve(self, indices: Indices, guess: Weights) -> Point:
        if len(indices) > LARGEST_DENSE_PROBLEM:
            start = guess if guess.any() else np.ones_like(guess)  # a product can be zero
            return best_on_support(self.operator, SparseVector(indices, start / np.linalg.norm(start)))
        self.block.move_to(indices)
        places = np.searchsorted(indices, self.block.order)
        weights, value = warm_eigenpair(self.block.matrix, guess[places])
        ordered = np.empty_like(weights)
        ordered[places] = weights
        return SparseVector(indices, ordered), value

    def _product(self, vector: SparseVector) -> Vector:
        """A x, remembered for the extension that usually follows."""
        if self.last_product[0] is not vector:
            product = np.asarray(self.operator.apply_support(vector.indices, vector.weights), dtype=np.float64)
            self.last_product = vector, product
        return self.last_product[1]

    def _extend_support(self, vector: SparseVector, cardinality: int) -> tuple[Indices, Weights]:
        """The support and the outside variables whose addition raises the value fastest: PathSPCA's step."""
        self.extended.add((vector.indices.tobytes(), cardinality))
        product = self._product(vector)
        outside = np.abs(product)
        outside[vector.indices] = np.inf
        indices = kernels.largest_magnitudes(outside, cardinality)
        return indices, product[indices]
