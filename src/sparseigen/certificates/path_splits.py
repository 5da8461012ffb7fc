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
from sparseigen.certificates.scaled_rows import bound_rows_roughly, row_values, settle_weights
from sparseigen.certificates.split_rows import (
    FEWEST,
    HEAVY,
    MOST_STEPS,
    MOST_WORK,
    STEP_WORK,
    STEPS,
    Split,
    lower_split,
    prove_split,
    split_from_rows,
)
from sparseigen.operators.contract import Indices

RAISES = 4
"""Passes over the others' rows that raise their weights, per group."""
FIRST_SHARE, NEXT_SHARE = 0.12, 0.04
"""Work at the first point of a group and at the others, as shares of that of a single bound."""
FEWEST_FIRST, FEWEST_NEXT = 12, 5
"""Steps that are made at least there."""
BLOCK_ENTRIES = 1 << 21
"""Entries of rows that are sorted at a time."""


def split_values(questions: Sequence[BoundProblem]) -> Iterator[tuple[int, float, str]]:
    """Proven bounds for the points of one group, and their names; the row bounds, with which splits begin, first.

    The questions are those of one matrix in memory, ascending in k, each with its answer and its best bound so far.
    """
    largest = questions[-1]
    size = largest.size
    usual = max(int((MOST_WORK / STEPS / STEP_WORK) ** 0.5), FEWEST)
    count = min(size, max(FEWEST, HEAVY * largest.cardinality), usual)
    asked = [question for question in questions if 1 < question.cardinality < count]
    if not asked or largest.dense is None:
        return
    weights = settle_weights(asked[len(asked) // 2])[1]
    heavy = _choose_heavy(asked, weights, count)
    rows = _sum_rows(asked, np.arange(size, dtype=np.int64), weights)
    tops = rows.max(axis=0)
    for question, top in zip(asked, tops, strict=True):
        question.best = min(question.best, float(top) + question.margin)
        yield question.cardinality, float(top) + question.margin, "scaled rows"
    weights, outer = _raise_others(asked, heavy, weights, rows)
    split: Split | None = None
    for question, ceiling in zip(reversed(asked), reversed(outer), strict=True):
        if ceiling + question.margin >= question.best or question.closed or question.out_of_time:
            continue
        fresh = split is None
        others = _list_others(question, heavy, weights)
        if split is None:
            matrix = np.ascontiguousarray(largest.dense[np.ix_(heavy, heavy)])
            split = split_from_rows(matrix, others, weights[heavy], question.cardinality)
        split = replace(split, others=others, cardinality=question.cardinality, value=np.inf)
        level, close = _find_levels(question)
        steps = int(min((FIRST_SHARE if fresh else NEXT_SHARE) * MOST_WORK / (STEP_WORK * len(heavy) ** 2), MOST_STEPS))
        enough = max(close, ceiling)
        steps = max(steps, FEWEST_FIRST if fresh else FEWEST_NEXT)
        split = lower_split(split, level, steps, enough=enough, out_of_time=lambda: largest.out_of_time)
        value = max(prove_split(split, hopeless_above=question.best), float(ceiling)) + question.margin
        yield question.cardinality, value, "split rows"


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


def _list_others(question: BoundProblem, heavy: Indices, weights: Numbers) -> Numbers:
    """Of every heavy row the k - 1 largest |A_ij| d_j / d_i, j not heavy."""
    assert question.dense is not None
    outside = np.setdiff1d(np.arange(question.size, dtype=np.int64), heavy)
    others = np.abs(question.dense[np.ix_(heavy, outside)]) * weights[outside] / weights[heavy, None]
    count = min(question.cardinality - 1, len(outside))
    if count < len(outside):
        others = np.partition(others, len(outside) - count, axis=1)[:, len(outside) - count :]
    return np.ascontiguousarray(others)


def _raise_others(
    asked: Sequence[BoundProblem], heavy: Indices, weights: Numbers, rows: Numbers
) -> tuple[Numbers, Numbers]:
    """Weights with those of the other variables raised, and for every point a proven bound on the others' rows.

    ``rows`` are all of them with the weights as they are.
    """
    problem = asked[-1]
    outside = np.setdiff1d(np.arange(problem.size, dtype=np.int64), heavy)
    if not len(outside):
        return weights, np.full(len(asked), -np.inf)
    targets = np.array([_find_levels(question)[1] for question in asked])
    diagonal = problem.diagonal[outside, None]
    kept, best = weights, np.full(len(asked), np.inf)
    for done in range(RAISES):
        rows = _sum_rows(asked, outside, weights) if done else rows[outside]
        reached = rows.max(axis=0)
        if float((reached - targets).max()) < float((best - targets).max()):
            kept, best = weights, reached
        if (best <= targets).all() or problem.out_of_time:
            break
        # Row i less its diagonal entry falls as 1 / d_i.
        factors = np.where(diagonal < targets, (rows - diagonal) / np.maximum(targets - diagonal, 1e-9), 1.0)
        weights = weights.copy()
        weights[outside] *= np.clip(factors.max(axis=1) * (1.0 + 1e-9), 1.0, 4.0)
    return kept, best


def _sum_rows(asked: Sequence[BoundProblem], chosen: Indices, weights: Numbers) -> Numbers:
    """The proven values of the rows chosen, one column for each point, entries' errors left out."""
    problem = asked[-1]
    rough = find_rough_rows(problem)
    if rough is not None:
        columns = [bound_rows_roughly(question, rough, weights, chosen) for question in asked]
        return np.stack(columns, axis=1)
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
