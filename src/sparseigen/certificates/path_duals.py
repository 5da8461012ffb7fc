"""Dual points for a whole path: the ascent at one cardinality goes on from that of its neighbour.

Dual points prove a bound for every k by one sort, but lose by the distance to the k they were made for. Neighbouring
cardinalities have neighbouring points: log X and the penalty at which one ascent ended are where the next begins, and
a few steps do what many would from the answer alone. Between points that were left out for their cost, mixtures of the
dual points on both sides are tried (`mix_parts`): what a mixture proves,

    lambda_max((1 - t) G + t G') + the sum of the k largest (1 - t) rho_i + t rho_i',

is convex in the share t. Its slope comes with its value, from the leading eigenvector and the k largest remainders; the
share is found where the tangents from both sides meet, a few r x r decompositions per point and no look at the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sparseigen.certificates.dual_bundle import DualBundle
from sparseigen.certificates.dual_points import (
    ClosedForm,
    DualParts,
    Mixture,
    energies_along,
    measure,
    mix_parts,
    prove,
)
from sparseigen.certificates.factor import Factor
from sparseigen.certificates.penalised_dual import (
    EXACT,
    NEARLY_EXACT,
    OUT_OF_REACH,
    PATIENCE,
    WIDE,
    count_ascent,
    find_direction,
    find_points,
    has_ended,
)
from sparseigen.certificates.problem import BoundProblem

WORK = 3.2e10
"""Operations of ascents for a whole path; they begin at as many of its points as that pays."""
FIRST_STEPS, NEXT_STEPS = 12, 7
"""Steps of an ascent from an answer alone, and of one that goes on from a neighbour's."""
FAR = 0.02
"""Where an ascent leaves this relative gap, no other follows at a smaller k."""
MIXTURES = 5
"""Shares that are tried for each point."""
FLAT = 1e-5
"""Tangents that promise less than this share of the bound end the search."""


@dataclass(frozen=True)
class MadePoints:
    """Dual points made for one cardinality."""

    cardinality: int
    parts: DualParts


class DualFollower:
    """Makes dual points from the largest cardinality of a path to the smallest."""

    def __init__(self, factor: Factor, affordable: int, count: int) -> None:
        """``affordable``: steps that a single bound of `default` affords; ``count``: the points of the path."""
        self.factor = factor
        steps = WORK / max(count_ascent(factor, 1) - count_ascent(factor, 0), 1.0)
        ascents = 1 + int(max(steps - FIRST_STEPS, 0.0) / NEXT_STEPS)
        self.last_place, self.stride = count - 1, -(-count // ascents)
        self.given_up = affordable < FIRST_STEPS
        self.last: DualBundle | None = None
        self.middle = 0.0

    def make(self, question: BoundProblem, place: int, *, closed_form: bool) -> MadePoints | None:
        """The dual points with the best promise below the best bound so far; None where none has one.

        Points of the path are asked about from the last place down.
        """
        found: Mixture | ClosedForm | None = None
        best = question.best
        if closed_form:
            found = find_points(question, self.factor, -1)
            if isinstance(found, ClosedForm):
                best = min(best, found.promise)
        ascends = (self.last_place - place) % self.stride == 0 and not self.given_up
        if ascends and best - question.achieved > EXACT * abs(best):
            points = self._ascend(question, best)
            found = found if points is None else points
        return None if found is None else MadePoints(question.cardinality, measure(self.factor.rows, found))

    def _ascend(self, question: BoundProblem, best: float) -> Mixture | None:
        """The best mixture of a few steps, if it promises less than the best bound."""
        rows, cardinality = self.factor.rows, question.cardinality
        direction = find_direction(rows, question.vector)
        if direction is None or (self.last is None and question.best - question.achieved > WIDE * question.best):
            return None
        energies = np.sort(energies_along(rows, direction))[::-1]
        middle = max(0.5 * float(energies[cardinality - 1] + energies[cardinality]), 1e-9)
        penalty, steps, begun = middle, FIRST_STEPS, None
        if self.last is not None:
            steps, begun = NEXT_STEPS, self.last.center
            penalty = self.last.penalty * float(np.clip(middle / self.middle, 0.5, 2.0))
        self.middle = middle
        bundle = DualBundle(rows, cardinality, direction, penalty, begun=begun)
        out_of_reach = OUT_OF_REACH * (question.best - question.achieved)
        while bundle.advance(question.achieved):
            lost = bundle.steps > 2 and bundle.bound - question.achieved > out_of_reach
            nearly = bundle.bound - question.achieved <= NEARLY_EXACT * abs(bundle.bound)
            if bundle.steps >= (PATIENCE * steps if nearly else steps) or lost or has_ended(question, bundle):
                break
        bundle.finish(question.achieved)
        # Dual points lose as k falls; split rows will prove more, here and at smaller k.
        self.given_up = bundle.bound - question.achieved > FAR * abs(bundle.bound)
        self.last = bundle
        return bundle.mixture() if bundle.bound < best else None


@dataclass(frozen=True)
class _Trial:
    """A share with what it proves up to rounding, and the slope there."""

    share: float
    value: float
    slope: float


def mixed_values(
    made: Sequence[MadePoints], questions: Sequence[BoundProblem], rest: float
) -> Iterator[tuple[int, float, str]]:
    """Proven bounds for the points between two that have dual points.

    ``made`` ascends in k; ``rest`` is what the factor leaves out.
    """
    for lower, upper in pairwise(made):
        for question in questions:
            between = lower.cardinality < question.cardinality < upper.cardinality
            if not between or question.closed or question.out_of_time:
                continue
            share = find_share(lower.parts, upper.parts, question.cardinality)
            parts = mix_parts([lower.parts, upper.parts], np.array([1.0 - share, share]))
            value = prove(parts, rest, question.cardinality, hopeless_above=question.best)
            yield question.cardinality, value, "penalised dual"


def find_share(first: DualParts, second: DualParts, cardinality: int) -> float:
    """The share of the second dual points in the mixture that proves the least, up to rounding."""
    left, right = (_try_share(first, second, cardinality, share) for share in (0.0, 1.0))
    best = min(left, right, key=lambda trial: trial.value)
    for _ in range(MIXTURES):
        if left.slope >= 0.0 or right.slope <= 0.0 or not np.isfinite(left.value + right.value):
            break  # the best share is an end
        share = left.share + _meet(left, right)
        promise = left.value + left.slope * (share - left.share)
        if best.value - promise <= FLAT * abs(best.value):
            break
        trial = _try_share(first, second, cardinality, share)
        best = min(best, trial, key=lambda one: one.value)
        left, right = (trial, right) if trial.slope < 0.0 else (left, trial)
    return best.share


def _meet(left: _Trial, right: _Trial) -> float:
    """How far right of the left trial the two tangents meet."""
    width = right.share - left.share
    gap = right.value - left.value - right.slope * width
    return float(np.clip(gap / (left.slope - right.slope), 0.02 * width, 0.98 * width))


def _try_share(first: DualParts, second: DualParts, cardinality: int, share: float) -> _Trial:
    values, vectors = np.linalg.eigh((1.0 - share) * first.gram + share * second.gram)
    top = vectors[:, -1]
    mixed = (1.0 - share) * first.remainders + share * second.remainders
    largest = np.argpartition(mixed, len(mixed) - cardinality)[len(mixed) - cardinality :]
    slope = float(top @ (second.gram @ top) - top @ (first.gram @ top))
    slope += float((second.remainders[largest] - first.remainders[largest]).sum())
    return _Trial(share, float(values[-1]) + float(mixed[largest].sum()), slope)
