"""Split rows for a whole path: heavy variables and weights from a few cardinalities, M and e from point to point.

A split proves a bound for every k, only the number of terms in its rows changes. So neighbouring points form a group:
its heavy variables are chosen once, the others' weights are raised until their rows lie below the answers of all points
of the group, and each point begins with the M and e at which the larger one before it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rough_rows import find_rough_rows
from sparseigen.certificates.rounding import ZERO
from sparseigen.certificates.scaled_rows import bound_rows_roughly, row_values, settle_weights
from sparseigen.certificates.split_rows import (
    FEWEST,
    HEAVY,
    MOST_STEPS,
    MOST_WORK,
    OVERSHOOT,
    STEP_WORK,
    STEPS,
    Split,
    lower_split,
    prove_split,
    split_from_rows,
)
from sparseigen.operators.contract import Indices

RAISES, LOOKS = 3, 2
"""How often the rows above the answers are lowered before all of the others' rows are looked at, and how often that."""
FIRST_SHARE, NEXT_SHARE = 0.12, 0.04
"""Work at the first point of a group and at the others, as shares of that of a single bound."""
OUT_OF_REACH = 2.0
"""A first split that leaves this many times the gap of another bound is the last of its group."""
FEWEST_FIRST, FEWEST_NEXT = 12, 5
"""Steps that are made at least there."""
BLOCK_ENTRIES = 1 << 21
"""Entries of rows that are sorted at a time."""
NEARLY, FEW, HOPELESS = 1e-3, 64, 0.25
"""No steps are made where the gap is below the first and more variables are chosen than a search over supports can
decide on, nor where it is above the third: as for a single bound."""


class Group:
    """Neighbouring points of one matrix in memory, ascending in k, each with its answer and its best bound so far."""

    def __init__(self, questions: Sequence[BoundProblem]) -> None:
        largest = questions[-1]
        usual = max(int((MOST_WORK / STEPS / STEP_WORK) ** 0.5), FEWEST)
        self.count = min(largest.size, max(FEWEST, HEAVY * largest.cardinality), usual)
        self.asked = [question for question in questions if 1 < question.cardinality < self.count]
        self.weights, self.rows = np.ones(0), np.ones((0, 0))

    def bound_rows(self) -> Iterator[tuple[int, float, str]]:
        """Row bounds of all points, with the weights settled at the middle one."""
        if not self.asked or self.asked[0].out_of_time:
            return
        self.weights = settle_weights(self.asked[len(self.asked) // 2])[1]
        self.rows = _sum_rows(self.asked, np.arange(self.asked[0].size, dtype=np.int64), self.weights)
        for question, top in zip(self.asked, self.rows.max(axis=0), strict=True):
            yield question.cardinality, float(top) + question.margin, "scaled rows"

    def lower_splits(self, bounds: Numbers) -> Iterator[tuple[int, float, str]]:
        """Split rows of the points that are worth their steps; ``bounds``: the best so far, for every cardinality."""
        for question in self.asked:
            question.best = float(bounds[question.cardinality - 1])
        worth = [_is_worth_steps(question) for question in self.asked]
        asked = [question for question, steps in zip(self.asked, worth, strict=True) if steps]
        if not asked or not len(self.weights) or asked[0].out_of_time:
            return
        heavy = _choose_heavy(asked, self.weights, self.count)
        weights, outer = _raise_others(asked, heavy, self.weights, self.rows[:, worth])
        yield from _follow_splits(asked, heavy, weights, outer)

    def close_rows(self, bounds: Numbers) -> Iterator[tuple[int, float, str]]:
        """Row bounds of points whose gap is nearly closed, with weights of their own, which may close it."""
        for question in self.asked:
            question.best = float(bounds[question.cardinality - 1])
            nearly = question.best - question.achieved <= NEARLY * abs(question.best)
            if nearly and not (question.closed or question.out_of_time):
                yield question.cardinality, settle_weights(question)[0], "scaled rows"


def _is_worth_steps(question: BoundProblem) -> bool:
    """Whether a split may lower the gap: neither hopeless nor hardly worth its steps."""
    gap = (question.best - question.achieved) / max(abs(question.best), ZERO)
    return not (question.closed or gap > HOPELESS or (gap <= NEARLY and question.cardinality > FEW))


def _follow_splits(
    asked: Sequence[BoundProblem], heavy: Indices, weights: Numbers, outer: Numbers
) -> Iterator[tuple[int, float, str]]:
    """From the largest point down, each from the M, e and eigenvectors at which the one before it ended."""
    split: Split | None = None
    matrix, others = _cut_out(asked[-1], heavy, weights)
    for question, ceiling in zip(reversed(asked), reversed(outer), strict=True):
        if ceiling + question.margin >= question.best or question.out_of_time:
            continue
        fresh, others = split is None, _keep_largest(others, question.cardinality - 1)
        if split is None:
            split = split_from_rows(matrix, others, weights[heavy], question.cardinality)
        split = replace(split, others=others, cardinality=question.cardinality, value=np.inf)
        level, close = _find_levels(question)
        steps = int(min((FIRST_SHARE if fresh else NEXT_SHARE) * MOST_WORK / (STEP_WORK * len(heavy) ** 2), MOST_STEPS))
        steps = max(steps, FEWEST_FIRST if fresh else FEWEST_NEXT)
        split = lower_split(split, level, steps, enough=max(close, ceiling), out_of_time=lambda: asked[-1].out_of_time)
        value = max(prove_split(split, hopeless_above=question.best), float(ceiling)) + question.margin
        yield question.cardinality, value, "split rows"
        if fresh and split.value - level > OUT_OF_REACH * (question.best - question.margin - level):
            return


def _cut_out(problem: BoundProblem, heavy: Indices, weights: Numbers) -> tuple[Numbers, Numbers]:
    """A among the heavy variables, and of every heavy row the k - 1 largest |A_ij| d_j / d_i, j not heavy."""
    rows = np.vstack([block for _, block in problem.blocks(heavy)])
    outside = np.ones(problem.size, dtype=bool)
    outside[heavy] = False
    others = np.abs(rows[:, outside])
    others *= weights[outside]
    others /= weights[heavy, None]
    return np.ascontiguousarray(rows[:, heavy]), _keep_largest(others, problem.cardinality - 1)


def _keep_largest(others: Numbers, count: int) -> Numbers:
    """The largest numbers of every row, in any order."""
    width = others.shape[1]
    kept = np.partition(others, width - count, axis=1)[:, width - count :] if count < width else others
    return np.ascontiguousarray(kept)


def _find_levels(question: BoundProblem) -> tuple[float, float]:
    """What a bound can reach at best, and what is close enough to it."""
    level = question.achieved - question.margin
    return level, level + 0.3 * question.target_gap * abs(level)


def _choose_heavy(asked: Sequence[BoundProblem], weights: Numbers, count: int) -> Indices:
    """The variables of the answers, the larger ones first, then those of largest weight."""
    order = [question.vector.indices for question in reversed(asked) if question.vector is not None]
    order.append(np.argsort(-weights, kind="stable"))
    listed = np.concatenate(order)
    _, first = np.unique(listed, return_index=True)
    return np.sort(listed[np.sort(first)[:count]]).astype(np.int64)


def _raise_others(
    asked: Sequence[BoundProblem], heavy: Indices, weights: Numbers, rows: Numbers
) -> tuple[Numbers, Numbers]:
    """Weights with those of the other variables raised, and for every point a proven bound on the others' rows.

    ``rows`` are all of them with the weights as they are. The rows that lie above an answer are lowered by themselves
    first; raised weights raise other rows, so all of them are looked at before they count.
    """
    problem = asked[-1]
    outside = np.setdiff1d(np.arange(problem.size, dtype=np.int64), heavy)
    if not len(outside):
        return weights, np.full(len(asked), -np.inf)
    targets = np.array([_find_levels(question)[1] for question in asked])
    diagonal, rows = problem.diagonal[outside, None], rows[outside]
    kept, best = weights, rows.max(axis=0)
    for _ in range(LOOKS):
        above = np.flatnonzero((rows > targets).any(axis=1))
        for _ in range(RAISES):
            if not len(above) or problem.out_of_time:
                break
            # Row i less its diagonal entry falls as 1 / d_i.
            over, own = rows[above], diagonal[above]
            factors = np.where(own < targets, (over - own) / np.maximum(targets - own, 1e-9), 1.0).max(axis=1)
            weights = weights.copy()
            weights[outside[above]] *= np.clip(factors * (1.0 + OVERSHOOT), 1.0, 4.0)
            rows[above] = _sum_rows(asked, outside[above], weights)
            above = above[(rows[above] > targets).any(axis=1)]
        rows = _sum_rows(asked, outside, weights)
        reached = rows.max(axis=0)
        if float((reached - targets).max()) < float((best - targets).max()):
            kept, best = weights, reached
        if (best <= targets).all() or problem.out_of_time:
            break
    return kept, best


def _sum_rows(asked: Sequence[BoundProblem], chosen: Indices, weights: Numbers) -> Numbers:
    """The proven values of the rows chosen, one column for each point, entries' errors left out."""
    problem = asked[-1]
    rough = find_rough_rows(problem)
    if rough is not None:
        # Rows side by side are not copied.
        summed = np.arange(problem.size, dtype=np.int64) if 2 * len(chosen) > problem.size else chosen
        columns = np.stack([bound_rows_roughly(question, rough, weights, summed) for question in asked], axis=1)
        return columns if summed is chosen else columns[chosen]
    assert problem.dense is not None
    size, most = problem.size, problem.cardinality - 1
    terms = np.array([question.cardinality - 1 for question in asked])
    found = np.empty((len(chosen), len(asked)))
    step = max(1, BLOCK_ENTRIES // size)
    for begin in range(0, len(chosen), step):
        part = chosen[begin : begin + step]
        products = np.abs(problem.dense[part]) * weights
        products[np.arange(len(part)), part] = 0.0
        products = np.partition(products, size - most, axis=1)[:, size - most :]
        products.sort(axis=1)
        sums = np.cumsum(products[:, ::-1], axis=1)[:, terms - 1]
        values = row_values(problem.diagonal[part, None], sums, weights[part, None], problem.cardinality)
        found[begin : begin + step] = values
    return found
