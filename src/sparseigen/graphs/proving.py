"""From the sets a search found to their proofs: the dual bound on the dense part, for one k or a whole curve.

Every proof of a dual point bounds the sets of every size, so that the points of a curve share it; and every point of the
relaxation is a start for the search, so that a set may become better here too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.dense_part import DensePart, find_dense_part
from sparseigen.graphs.dual_bound import DualPoint, DualProof
from sparseigen.graphs.relaxation import Relaxation
from sparseigen.graphs.search import POLISHES
from sparseigen.graphs.vertex_sets import VertexSet, truncated_power
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.kernels.graph import Integers

METHOD = "dual of the relaxation"
LOOKS = (10, 10, 20, 20, 40, 50, 50, 100)
"""Steps before each look at the bound; the last number repeats."""


@dataclass
class Bracket:
    """What is known of one k, in units: a set, its value, and a bound with its method."""

    count: int
    vertices: Integers
    value: int
    bound: int
    method: str
    improved: bool = False

    @property
    def gap(self) -> float:
        """How far the value can be below the best, as a share of the bound."""
        return (self.bound - self.value) / self.bound if self.bound > 0 else 0.0


@dataclass(frozen=True)
class ProofEffort:
    """How long a proof goes on: to what gap, with how much work, on how large a part."""

    gap: float
    most_work: float
    largest_part: int


class Prover:
    """Closes the brackets of a graph, one dense part at a time."""

    def __init__(self, facts: GraphFacts, brackets: Iterable[Bracket], effort: ProofEffort, deadline: float) -> None:
        self.facts, self.effort, self.deadline = facts, effort, deadline
        self.brackets = {bracket.count: bracket for bracket in brackets}
        even = facts.is_whole and not (facts.graph.loops % 2).any()
        self.step = 2 if even else 1
        self.part: DensePart | None = None
        self.work = 0.0

    def run(self, order: Iterable[int]) -> None:
        with one_blas_thread():
            for count in order:
                bracket = self.brackets[count]
                if count < 2 or bracket.gap <= self.effort.gap or bracket.value <= 0:
                    continue
                self._close(bracket)

    def _close(self, bracket: Bracket) -> None:
        facts, count = self.facts, bracket.count
        part = find_dense_part(facts, count, bracket.value / count, self.effort.largest_part)
        if count > len(part.vertices):
            return
        self.part = part
        exponent = round(math.log2(bracket.value / (count * (count - 1))))
        weights = np.ldexp(part.matrix(), -exponent)
        start = np.searchsorted(part.vertices, np.intersect1d(bracket.vertices, part.vertices))
        relaxation = Relaxation(weights.astype(np.float32), count, start)
        best: DualPoint | None = None
        level = np.inf
        looks = list(LOOKS)
        while True:
            steps = looks.pop(0) if len(looks) > 1 else looks[0]
            multipliers = relaxation.advance(steps)
            self.work += steps
            point = DualPoint.at(weights, multipliers, relaxation)
            estimate = point.estimate()
            if estimate < level:
                best, level = point, estimate
            self._try_set(part, relaxation, bracket)
            reached = self._floor(np.ldexp(level, exponent))
            if VERBOSE: print(f'   n {len(weights)} it {relaxation.iterations} est {np.ldexp(level,exponent)-bracket.value:.4f} gap {100*(1-bracket.value/np.ldexp(level,exponent)):.4f}% rank {relaxation.factor.shape[1]}', flush=True)
            if reached <= bracket.value or (reached - bracket.value) / reached <= self.effort.gap:
                break
            if relaxation.iterations >= self.effort.most_work or time.perf_counter() > self.deadline:
                break
        assert best is not None
        t=time.perf_counter()
        proof = best.prove()
        self._enter(part, proof, exponent)
        if VERBOSE: print('   proof', time.perf_counter()-t, proof.eigenvalue, best.level, 'bound', bracket.bound-bracket.value, f'{100*bracket.gap:.4f}%')

    def _floor(self, bound: float) -> int:
        if not math.isfinite(bound):
            return 1 << 62
        whole = math.floor(bound)
        return whole - whole % self.step

    def _enter(self, part: DensePart, proof: DualProof, exponent: int) -> None:
        """Let every bracket of the curve have what a proof says of it."""
        open_brackets = [b for b in self.brackets.values() if b.value < b.bound and b.count <= len(part.vertices)]
        most = max((b.count for b in open_brackets), default=0)
        if most == 0:
            return
        sizes = np.arange(1, most + 1)
        inner = np.concatenate([[0.0], np.ldexp(proof.bounds(sizes), exponent)])
        for bracket in open_brackets:
            outer = part.outside(bracket.count)
            both = inner[: bracket.count + 1] + outer[::-1]
            if VERBOSE and bracket.count==proof.point.count: print('    outside binding j', int(np.argmax(both)), both.max()-inner[bracket.count])
            bound = self._floor(float(np.nextafter(both.max(), np.inf)))
            if bound < bracket.bound:
                bracket.bound, bracket.method = max(bound, bracket.value), METHOD

    def _try_set(self, part: DensePart, relaxation: Relaxation, bracket: Bracket) -> None:
        """Search from the vertices that the relaxed set holds most of."""
        order = np.argsort(-relaxation.vertex_weights(), kind="stable")[: bracket.count]
        chosen = VertexSet.of(part.graph, np.sort(order).astype(np.int64))
        fixed = part.graph.no_flags()
        truncated_power(chosen, bracket.count, fixed)
        spec = POLISHES["swap"]
        assert spec is not None
        chosen.polish(fixed, patience=spec.patience, max_steps=spec.max_steps, width=spec.width, seed=0)
        if chosen.value > bracket.value:
            if VERBOSE: print('   BETTER', bracket.value, chosen.value)
            bracket.value, bracket.vertices = chosen.value, part.vertices[chosen.vertices]
            bracket.improved = True

VERBOSE=1
