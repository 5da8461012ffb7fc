"""Branch and bound for the sets inside a dense part: the relaxation at every node, reductions, then a vertex in or out.

A node goes on from where its parent's relaxation stands. Its bound is proven before anything is concluded from it, and
every comparison with the value known is in whole numbers.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sparseigen.graphs.dense_part import DensePart
from sparseigen.graphs.dual_bound import DualPoint, DualProof
from sparseigen.graphs.fixing import SetProblem, bound_choices
from sparseigen.graphs.relaxation import DIRECT, LARGEST_SHARE, Relaxation
from sparseigen.graphs.search import POLISHES
from sparseigen.graphs.vertex_sets import VertexSet, truncated_power
from sparseigen.kernels.graph import Integers
from sparseigen.kernels.set_cone import Singles

FIRST_LOOKS = (10, 10, 20, 20, 40, 50, 50, 100)
"""Steps of the relaxation before each look at the bound; the last number repeats."""
LATER_LOOKS = (10, 15, 25, 50)
"""The same at a node that goes on from another one."""
STALLED = 0.85
"""A relaxation has settled when a look leaves more than this share of the gap after SETTLING steps: branch."""
SETTLING = 20
WORTH_REDUCING = 0.01
"""Relative gap from which on it is tried to decide vertices."""
WORTH_RESTARTING = 0.1
"""Share of the vertices that a reduction must decide for the node to go on with the rest before it branches."""
SMALL_ENOUGH = 60
"""What is left of a node is branched on, also where no long search is wanted, up to so many vertices."""
NEVER = 1 << 62


@dataclass
class Bracket:
    """What is known of one k, in units: a set, its value, and a bound with its method."""

    count: int
    vertices: Integers
    value: int
    bound: int
    method: str
    improved: bool = False
    nodes: int = 0

    @property
    def gap(self) -> float:
        """How far the value can be below the best, as a share of the bound."""
        return (self.bound - self.value) / self.bound if self.bound > 0 else 0.0


@dataclass(order=True)
class Node:
    """A problem to be bounded; ordered for a heap: the largest bound first, then the deepest."""

    key: tuple[int, int, int]
    problem: SetProblem = field(compare=False)
    state: Relaxation = field(compare=False)

    @property
    def bound(self) -> int:
        """No set of this node weighs more, in units."""
        return -self.key[0]


class SetSearch:
    """The search for sets of one size inside one part."""

    def __init__(
        self,
        part: DensePart,
        bracket: Bracket,
        *,
        step: int,
        gap: float,
        spend: Callable[[float], bool],
        report: Callable[[], None],
        earlier: SetSearch | None = None,
    ) -> None:
        """``step``: weights of sets are multiples of it; ``spend``: told the work done, says whether to stop.

        ``earlier``: a search for sets of another size in the same part, from whose relaxation this one goes on.
        """
        self.part, self.bracket, self.step, self.gap = part, bracket, step, gap
        self.spend, self.report = spend, report
        count = bracket.count
        self.exponent = round(math.log2(bracket.value / (count * (count - 1))))
        weights = np.ldexp(part.matrix(), -self.exponent)
        every = np.arange(len(weights), dtype=np.int64)
        start = np.flatnonzero(np.isin(part.vertices, bracket.vertices))
        self.root = SetProblem(weights, every, every[:0], count)
        self.looks = FIRST_LOOKS if earlier is None or earlier.reached is None else LATER_LOOKS
        if earlier is None or earlier.reached is None:
            self.state = Relaxation(weights.astype(np.float32), count, start)
        else:
            scaled = np.ldexp(earlier.reached, earlier.exponent - self.exponent)
            self.state = Relaxation.near(earlier.state, weights.astype(np.float32), count, scaled, every)
        self.reached: Singles | None = None
        """The multipliers where the relaxation of the whole part stands."""
        self.stopped, self.stuck = False, False
        self.bound = NEVER
        """No set of the part weighs more."""
        self.heap: list[Node] = []
        self._waiting: tuple[DualProof, Singles] | None = None
        self._pushed = 0

    def bound_root(self) -> DualProof:
        """The proof where the relaxation of the whole part gets to: it also holds for sets of other sizes."""
        point, multipliers = self._relax(self.root, self.state, self.looks)
        self.reached = multipliers
        proof = point.prove()
        bound = self._round(self.root, float(proof.bounds(np.array([self.bracket.count]))[0]))
        self.bound = min(self.bound, bound)
        self._waiting = (proof, multipliers)
        return proof

    def advance(self, until: int, *, branch: bool) -> bool:
        """Reduce, and branch where allowed, until the bound is at most ``until``; whether there is more to be done."""
        bracket = self.bracket
        if self._waiting is not None:
            self.heap = self._follow(self.root, self.state, *self._waiting, self.bound, 0, branch)
            self._waiting = None
            heapq.heapify(self.heap)
        for step in itertools.count():
            self.bound = min(self.bound, max(bracket.value, self.heap[0].bound if self.heap else 0))
            self.report()
            closed = self.bound <= bracket.value or (self.bound - bracket.value) / self.bound <= self.gap
            if closed or self.stopped or self.stuck:
                return False
            if step and self.bound <= until:
                return True
            bracket.nodes += 1
            for child in self._process(heapq.heappop(self.heap), branch):
                heapq.heappush(self.heap, child)
        raise AssertionError

    def _process(self, node: Node, branch: bool) -> list[Node]:
        """Bound a node, and what it leaves."""
        problem = node.problem
        if problem.count <= 1 or problem.count == len(problem.kept):
            self._finish_leaf(problem)
            return []
        point, multipliers = self._relax(problem, node.state, LATER_LOOKS)
        proof = point.prove()
        bound = min(node.bound, self._round(problem, float(proof.bounds(np.array([problem.count]))[0])))
        if bound <= self.bracket.value:
            return []
        return self._follow(problem, node.state, proof, multipliers, bound, node.key[1], branch)

    def _relax(self, problem: SetProblem, state: Relaxation, looks: tuple[int, ...]) -> tuple[DualPoint, Singles]:
        """Run the relaxation until the node can be closed, gains little, or is worth reducing, or the work is done."""
        best: DualPoint | None = None
        level, look = np.inf, 0
        state.settled = False
        while True:
            steps = looks[min(look, len(looks) - 1)]
            multipliers = state.advance(steps)
            look += 1
            self.stopped |= self.spend(estimate_work(len(problem.kept), state, steps))
            point = DualPoint.at(problem.weights, multipliers, state)
            before, estimate = level, point.estimate()
            if best is None or estimate < level:
                best, level = point, estimate
            self._try_set(problem, state)
            reached, value = self._round(problem, level), self.bracket.value
            left, previous = reached - value, self._round(problem, before) - value
            if left <= self.gap * reached or left <= 0 or self.stopped:
                return best, multipliers
            state.settled = look > 1 and left > STALLED * previous and steps >= SETTLING
            if state.settled or (left <= WORTH_REDUCING * reached and look > 2):
                return best, multipliers

    def _follow(
        self,
        problem: SetProblem,
        state: Relaxation,
        proof: DualProof,
        multipliers: Singles,
        bound: int,
        depth: int,
        branch: bool,
    ) -> list[Node]:
        """What a bounded node leaves: nothing, itself without the vertices that are decided, or two children."""
        value, size = self.bracket.value, len(problem.kept)
        if bound <= value:
            return []
        dropped, fixed = self._decide(problem, proof, bound)
        chosen = int(fixed.sum())
        if (dropped & fixed).any() or size - int(dropped.sum()) < problem.count or chosen > problem.count:
            return []  # no set of this node is better than the one known
        decided = dropped | fixed
        if int(decided.sum()) >= max(1.0, WORTH_RESTARTING * size):
            return [self._make_node(problem, state, multipliers, dropped, fixed, bound, depth)]
        if not state.settled:
            return [self._make_node(problem, state, multipliers, dropped, fixed, bound, depth)]
        if not branch and size > SMALL_ENOUGH:
            self.stuck = True
            return [self._make_node(problem, state, multipliers, dropped, fixed, bound, depth)]
        share = np.where(decided, -1.0, state.vertex_weights())
        middle = int(np.argmin(np.abs(share - 0.5)))
        nodes = []
        for taken in (True, False):
            out, held = dropped.copy(), fixed.copy()
            (held if taken else out)[middle] = True
            if int(held.sum()) <= problem.count <= size - int(out.sum()):
                nodes.append(self._make_node(problem, state, multipliers, out, held, bound, depth + 1))
        return nodes

    def _decide(self, problem: SetProblem, proof: DualProof, bound: int) -> tuple[np.ndarray, np.ndarray]:
        """Which vertices no better set holds, and which every better set does."""
        gap = float(np.ldexp(float(bound - self.bracket.value), -self.exponent))
        with_it, without = bound_choices(proof, gap)
        value, base = self.bracket.value, self._constant(problem)
        # A bound b decides where rounding base + b down to a weight that sets can have gives at most the value.
        limit = np.ldexp(float(value - base + self.step), -self.exponent) * (1.0 - 1e-15)
        if value - base + self.step > 1 << 52:
            limit -= np.ldexp(abs(limit), -50)
        return with_it < limit, without < limit

    def _make_node(
        self,
        problem: SetProblem,
        state: Relaxation,
        multipliers: Singles,
        dropped: np.ndarray,
        fixed: np.ndarray,
        bound: int,
        depth: int,
    ) -> Node:
        self._pushed += 1
        if not (dropped.any() or fixed.any()):
            return Node((-bound, -depth, self._pushed), problem, state)
        smaller, left = problem.restrict(dropped, fixed)
        held = np.flatnonzero(fixed)
        dual = multipliers[np.ix_(left, left)]
        ties = multipliers[np.ix_(left, held)].sum(axis=1) + multipliers[np.ix_(held, left)].sum(axis=0)
        dual[np.diag_indices(len(left))] += ties
        fresh = state
        if smaller.count >= 2 and len(left) > smaller.count:
            fresh = Relaxation.near(state, smaller.weights.astype(np.float32), smaller.count, dual, left)
        return Node((-bound, -depth, self._pushed), smaller, fresh)

    def _finish_leaf(self, problem: SetProblem) -> None:
        """The best set of a node that leaves no choice, or the choice of one vertex."""
        if problem.count == len(problem.kept):
            chosen = problem.kept
        else:
            chosen = problem.kept[np.argsort(-problem.weights.diagonal(), kind="stable")[: problem.count]]
        self._enter(VertexSet.of(self.part.graph, np.union1d(problem.taken, chosen).astype(np.int64)))

    def _try_set(self, problem: SetProblem, state: Relaxation) -> None:
        """Search from the vertices that the relaxed set holds most of."""
        order = np.argsort(-state.vertex_weights(), kind="stable")[: problem.count]
        vertices = np.union1d(problem.taken, problem.kept[order]).astype(np.int64)
        chosen, fixed = VertexSet.of(self.part.graph, vertices), self.part.graph.no_flags()
        truncated_power(chosen, self.bracket.count, fixed)
        spec = POLISHES["swap"]
        if spec is not None:
            chosen.polish(fixed, patience=spec.patience, max_steps=spec.max_steps, width=spec.width, seed=0)
        self._enter(chosen)

    def _enter(self, chosen: VertexSet) -> None:
        bracket = self.bracket
        if chosen.value > bracket.value:
            bracket.value, bracket.vertices = chosen.value, self.part.vertices[chosen.vertices]
            bracket.improved = True

    def _constant(self, problem: SetProblem) -> int:
        """The weight of the vertices taken, in units."""
        return VertexSet.of(self.part.graph, problem.taken).value if problem.taken.size else 0

    def _round(self, problem: SetProblem, bound: float) -> int:
        """The largest weight that a set can have under a bound of the problem."""
        return self._constant(problem) + round_to_step(float(np.ldexp(bound, self.exponent)), self.step)


def round_to_step(bound: float, step: int) -> int:
    """The largest multiple of a step that is not above a bound."""
    if not bound < NEVER:
        return NEVER
    whole = math.floor(bound)
    return whole - whole % step


def estimate_work(size: int, state: Relaxation, steps: int) -> float:
    """About how many nanoseconds some steps take on one core, from the sizes alone: the same on every machine."""
    rank, entries = int(state.basis.shape[1]), float(size) * size
    if size <= DIRECT:
        return steps * (0.8 * size * entries + 1.5e5) + 2e6
    if rank > size // LARGEST_SHARE:  # all eigenvectors in every step
        return steps * (0.4 * size + 30.0) * entries + 2e6
    return entries * (steps * (14.0 + 0.6 * rank) + 60.0 + 0.03 * size) + steps * 1e5 + 2e6
