"""From the sets a search found to their proofs: the dual bound on the dense part, for one k or a whole curve.

Every proof of a dual point bounds the sets of every size, so that the points of a curve share it; and every point of
the relaxation is a start for the search, so that a set may become better here too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.branching import NEVER, Bracket, SetSearch
from sparseigen.graphs.dense_part import IMPOSSIBLE, DensePart, find_dense_part
from sparseigen.graphs.dual_bound import DualProof
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.kernels.graph import Integers

TOLERANCES = (0.01, 0.0, -0.02)
"""What leaving the part may seem to gain: larger parts are made only where a proof shows it does."""
PART_WORK = 60.0
"""Nanoseconds per arc that finding a part takes."""
MOST_HELD = 1 << 23
"""Entries of the matrices of all sizes that are searched at the same time."""
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
        known: Integers,
        effort: ProofEffort,
        *,
        deadline: float = np.inf,
        on_bracket: Callable[[Bracket], None] | None = None,
    ) -> None:
        """``known``: entry i bounds the sets of i + 1 vertices."""
        self.facts, self.effort, self.deadline, self.on_bracket = facts, effort, deadline, on_bracket
        self.known = known
        self.brackets = {bracket.count: bracket for bracket in brackets}
        self.step = facts.weight_step
        self.spent = 0.0
        self._earlier: SetSearch | None = None

    def run(self) -> None:
        """Work on the widest gap until all are closed or the work is done."""
        left = set(self.brackets)
        with one_blas_thread():
            while not self._is_over():
                left = {count for count in left if self.brackets[count].gap > self.effort.gap}
                if not left:
                    return
                widest = max(left, key=lambda count: (self.brackets[count].gap, -count))
                self._close(self.brackets[widest], share=len(left))
                left.remove(widest)

    def _is_over(self) -> bool:
        return self.spent >= self.effort.work or time.perf_counter() > self.deadline

    def _close(self, bracket: Bracket, share: int) -> None:
        if bracket.count < 2 or bracket.gap <= self.effort.gap or bracket.value <= 0 or not len(bracket.vertices):
            return
        limit = self.spent + (self.effort.work - self.spent) / share

        def spend(work: float) -> bool:
            self.spent += work
            return self.spent >= limit or time.perf_counter() > self.deadline

        smallest = 0
        for tolerance in TOLERANCES:
            if self.spent >= limit:
                return
            part = find_dense_part(self.facts, bracket.vertices, self.effort.largest_part, tolerance)
            if len(part.vertices) < self.facts.graph.size:
                self.spent += PART_WORK * len(self.facts.load_graph.rows.neighbours)
            if bracket.count > len(part.vertices) or len(part.vertices) <= smallest:
                continue
            if part.estimate_reach() >= bracket.bound:
                continue
            smallest = len(part.vertices)
            table = PartBounds(part, self.facts.largest_k, self.known)
            if self._search_part(table, bracket, spend) or table.leaving(bracket) <= bracket.value:
                return  # a larger part would not help

    def _search_part(self, table: PartBounds, bracket: Bracket, spend: Callable[[float], bool]) -> bool:
        """Work on the size inside the part that is bounded worst, in turn; whether nothing is left to be done."""
        pieces: dict[int, SetSearch] = {}
        while True:
            size, until = table.find_weakest(bracket.count, first=not pieces)
            if size not in pieces:
                target = bracket if size == bracket.count else table.ask(bracket, size)
                if target is None or len(pieces) * len(table.part.vertices) ** 2 > MOST_HELD:
                    return False
                pieces[size] = piece = SetSearch(
                    table.part,
                    target,
                    step=self.step,
                    gap=self.effort.gap if target is bracket else 0.0,
                    spend=spend,
                    report=lambda: self._report(bracket),
                    earlier=self._find_earlier(table.part),
                )
                self._earlier = piece
                table.enter(piece.bound_root(), piece.exponent)
                table.inner[size] = min(int(table.inner[size]), piece.bound)
                self._share(table, METHOD)
            else:
                piece = pieces[size]
                if size < bracket.count:
                    piece.bracket.value = max(piece.bracket.value, table.find_limit(bracket, size))
                again = piece.advance(until, branch=self.effort.branch)
                table.inner[size] = min(int(table.inner[size]), piece.bound)
                self._share(table, SEARCHED)
                if not again and table.weigh(size, bracket.count) > bracket.value:
                    return piece.stopped or bracket.gap <= self.effort.gap
            self._report(bracket)
            if piece.stopped or bracket.value >= bracket.bound or bracket.gap <= self.effort.gap:
                return True

    def _find_earlier(self, part: DensePart) -> SetSearch | None:
        """The last search, if it was in the same part."""
        earlier = self._earlier
        same = earlier is not None and np.array_equal(earlier.part.vertices, part.vertices)
        return earlier if same else None

    def _share(self, table: PartBounds, method: str = METHOD) -> None:
        """Let every bracket of the curve have what is known of the part."""
        for bracket in self.brackets.values():
            bound = table.bound(bracket.count, self.step)
            if bound < bracket.bound:
                bracket.bound, bracket.method = max(bound, bracket.value), method

    def _report(self, bracket: Bracket) -> None:
        if self.on_bracket is not None:
            self.on_bracket(bracket)


class PartBounds:
    """Bounds on the sets of every size inside a part, and what they say of the sets of the whole graph."""

    def __init__(self, part: DensePart, largest: int, known: Integers) -> None:
        self.part = part
        self.inner: Integers = np.full(largest + 1, IMPOSSIBLE)  # a part has no sets larger than itself
        held = min(largest, len(part.vertices))
        self.inner[: held + 1] = np.concatenate([[0], known[:held]])
        self.outside = part.outside(largest)

    def enter(self, proof: DualProof, exponent: int) -> None:
        """Take the bounds of a proof where they are better."""
        held = min(len(self.inner) - 1, len(self.part.vertices))
        bounds = np.ldexp(proof.bounds(np.arange(1, held + 1)), exponent)
        better = np.flatnonzero(bounds < self.inner[1 : held + 1]) + 1
        self.inner[better] = np.floor(bounds[better - 1]).astype(np.int64)  # weights are whole numbers

    def bound(self, count: int, step: int) -> int:
        """No set of the whole graph weighs more."""
        highest = int(self._both(count).max())
        return highest - highest % step

    def leaving(self, bracket: Bracket) -> int:
        """No set that leaves the part weighs more."""
        return max(0, int(self._both(bracket.count)[:-1].max()))

    def weigh(self, size: int, count: int) -> int:
        """No set of ``count`` vertices, so many of them inside, weighs more."""
        return int(self._both(count)[size])

    def find_weakest(self, count: int, *, first: bool) -> tuple[int, int]:
        """How many vertices inside the part leave most room, and when others leave more; ``first``: all of them."""
        both = self._both(count)
        size = count if first else int(both.argmax())
        return size, int(np.delete(both, size).max()) - int(self.outside[count - size])

    def ask(self, bracket: Bracket, size: int) -> Bracket | None:
        """The question about sets with so many vertices inside; its value is what they must not exceed."""
        limit = self.find_limit(bracket, size)
        if size < 2 or limit <= 0:
            return None
        return Bracket(size, np.intersect1d(bracket.vertices, self.part.vertices)[:size], limit, NEVER, METHOD)

    def find_limit(self, bracket: Bracket, size: int) -> int:
        """What sets with so many vertices inside may weigh there without being better than the set known."""
        return bracket.value - int(self.outside[bracket.count - size])

    def _both(self, count: int) -> Integers:
        """By the number of vertices inside, the most that sets of this size weigh."""
        both: Integers = self.inner[: count + 1] + self.outside[: count + 1][::-1]
        return both
