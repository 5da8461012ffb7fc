"""From the sets a search found to their proofs: the dual bound on the dense part, for one k or a whole curve.

Every proof of a dual point bounds the sets of every size, so that the points of a curve share it; and every point of the
relaxation is a start for the search, so that a set may become better here too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.branching import NEVER, Bracket, SetSearch, round_to_step
from sparseigen.graphs.dense_part import DensePart, find_dense_part
from sparseigen.graphs.dual_bound import DualProof
from sparseigen.kernels.eigen import one_blas_thread

TOLERANCES = (0.01, 0.0, -0.02)
"""What leaving the part may seem to gain: larger parts are made only where a proof shows it does."""
METHOD, SEARCHED = "dual of the relaxation", "branch and bound"


@dataclass(frozen=True)
class ProofEffort:
    """How long proofs go on."""

    gap: float
    """Enough."""
    work: float
    """Nanoseconds of work for all k together, as `branching.estimate_work` counts them."""
    largest_part: int
    branch: bool = False


class Prover:
    """Closes the brackets of a graph, one dense part at a time."""

    def __init__(
        self,
        facts: GraphFacts,
        brackets: Iterable[Bracket],
        effort: ProofEffort,
        *,
        deadline: float = np.inf,
        on_bracket: Callable[[Bracket], None] | None = None,
    ) -> None:
        self.facts, self.effort, self.deadline, self.on_bracket = facts, effort, deadline, on_bracket
        self.brackets = {bracket.count: bracket for bracket in brackets}
        self.step = facts.weight_step
        self.spent = 0.0

    def run(self) -> None:
        """Work on the widest gap until all are closed or the work is done."""
        left = set(self.brackets)
        with one_blas_thread():
            while left and not self._is_over():
                widest = max(left, key=lambda count: (self.brackets[count].gap, -count))
                left.remove(widest)
                self._close(self.brackets[widest], share=len(left) + 1)

    def _is_over(self) -> bool:
        return self.spent >= self.effort.work or time.perf_counter() > self.deadline

    def _close(self, bracket: Bracket, share: int) -> None:
        if bracket.count < 2 or bracket.gap <= self.effort.gap or bracket.value <= 0:
            return
        limit = self.spent + (self.effort.work - self.spent) / share

        def spend(work: float) -> bool:
            self.spent += work
            return self.spent >= limit or time.perf_counter() > self.deadline

        smallest = 0
        for tolerance in TOLERANCES:
            part = find_dense_part(self.facts, bracket.vertices, self.effort.largest_part, tolerance)
            if bracket.count > len(part.vertices) or len(part.vertices) <= smallest:
                continue
            smallest = len(part.vertices)
            search = SetSearch(
                part, bracket, step=self.step, gap=self.effort.gap, spend=spend, report=lambda: self._report(bracket)
            )
            proof, multipliers = search.bound_root()
            outer = self._share_proof(part, proof, search.exponent, bracket)
            self._report(bracket)
            if bracket.gap <= self.effort.gap or search.stopped:
                return
            if outer < bracket.bound:
                before = bracket.bound
                search.run(proof, multipliers, outer, branch=self.effort.branch)
                if bracket.bound < before:
                    bracket.method = SEARCHED if bracket.nodes else METHOD
            if search.stopped or bracket.bound > max(outer, bracket.value):
                return  # a larger part would not help

    def _report(self, bracket: Bracket) -> None:
        if self.on_bracket is not None:
            self.on_bracket(bracket)

    def _share_proof(self, part: DensePart, proof: DualProof, exponent: int, own: Bracket) -> int:
        """Let every bracket of the curve have what a proof says of it; what it says of sets that leave the part."""
        counts = [count for count in self.brackets if count <= len(part.vertices)]
        inner = np.concatenate([[0.0], np.ldexp(proof.bounds(np.arange(1, max(counts) + 1)), exponent)])
        leaving = NEVER
        for count in counts:
            bracket = self.brackets[count]
            both = np.nextafter(inner[: count + 1] + part.outside(count)[::-1], np.inf)
            bound = round_to_step(float(both.max()), self.step)
            if bound < bracket.bound:
                bracket.bound, bracket.method = max(bound, bracket.value), METHOD
            if bracket is own:
                outside = float(both[:count].max())
                leaving = round_to_step(outside, self.step) if np.isfinite(outside) and outside > 0 else 0
        return leaving
