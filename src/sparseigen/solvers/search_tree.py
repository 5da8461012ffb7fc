"""The tree of a best-first branch and bound search over supports.

At any moment the optimum lies between the value of the best answer and the largest of: the bounds of the open nodes,
the bound of the node in hand, and what was cut off. That bracket is what an interrupted search returns.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import replace

import numpy as np

from sparseigen.certificates.elimination import Node, Tree, bound_node
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import ZERO, achieved_value
from sparseigen.certificates.scaled_rows import weights_from_product
from sparseigen.certificates.spectral import largest_eigenvalue_bound
from sparseigen.kernels.eigen import leading_eigenpair
from sparseigen.operators.contract import Indices, SparseVector
from sparseigen.solvers.interface import Progress


def make_children(node: Node, cutoff: float) -> list[Node]:
    """Branch on the free variable of largest weight among those whose row is above the cutoff.

    Every support above the cutoff holds a variable whose row is above it, so when no inside row is and only one free
    row is, that variable is in: one child.
    """
    free_rows = node.rows[node.n_inside :]
    above = np.flatnonzero(free_rows > cutoff)
    inside_above = bool((node.rows[: node.n_inside] > cutoff).any())
    pool = above if above.size else np.arange(len(free_rows))
    chosen = node.n_inside + int(pool[node.weights[node.n_inside + pool].argmax()])
    taken = _move_inside(node, chosen)
    if not inside_above and above.size == 1:
        return [taken]
    keep = np.arange(len(node.members)) != chosen
    left = replace(node, members=node.members[keep], weights=node.weights[keep], rows=node.rows[keep])
    return [taken, left]


def _move_inside(node: Node, position: int) -> Node:
    order = np.concatenate([np.arange(node.n_inside), [position], np.arange(node.n_inside, len(node.members))])
    order = np.delete(order, position + 1)
    return replace(
        node,
        members=node.members[order],
        weights=node.weights[order],
        rows=node.rows[order],
        n_inside=node.n_inside + 1,
    )


ROOT_PASSES, NODE_PASSES = 12, 3
NODE_WORK = 2.0e5
"""Operations that a node of the smallest problem is worth."""
FEWEST_NODES = 64
"""Where the operations allowed are fewer nodes than this, there are none beyond the root."""
TRIAL_EVERY = 16
"""A support is rounded from the weights at every node of this number."""
NARROW = 24
"""Nodes with at most this many variables beyond k are also bounded by the eigenvalue of all their members."""


class Search:
    """The state of one search over the variables ``alive`` of a problem."""

    def __init__(
        self, problem: BoundProblem, alive: Indices, incumbent: SparseVector, gap: float, progress: Progress
    ) -> None:
        self.problem, self.alive, self.progress, self.gap = problem, alive, progress, gap
        held = problem.dense if len(alive) == problem.size else None
        matrix = problem.block(alive) if held is None else held
        diagonal = np.ascontiguousarray(problem.diagonal[alive])
        self.tree = Tree(np.ascontiguousarray(matrix), diagonal, problem.cardinality, problem.margin)
        self.incumbent, self.lower = incumbent, problem.achieved
        self.cut_off = -np.inf
        self.root_bound = problem.best
        self.in_hand = problem.best
        self.heap: list[tuple[float, int, Node]] = []
        self.order = itertools.count()
        self.nodes = 0

    @property
    def survivors(self) -> int:
        """How many variables the presolve left."""
        return len(self.alive)

    @property
    def cutoff(self) -> float:
        """Supports must beat this: the best answer's value plus half the gap allowed."""
        return self.lower + 0.5 * self.gap * max(abs(self.lower), ZERO)

    @property
    def upper(self) -> float:
        """The proven end of the bracket."""
        opened = -self.heap[0][0] if self.heap else -np.inf
        return min(self.root_bound, max(opened, self.in_hand, self.cut_off, self.lower))

    def run(self, deadline: float, work: float = np.inf) -> bool:
        """Search until the gap is closed (True), or the time is over or so many operations were made (False)."""
        self._expand_root()
        most_nodes = work / (NODE_WORK + NODE_PASSES * float(self.survivors) ** 2)
        most_nodes = most_nodes if most_nodes >= FEWEST_NODES else 0.0
        while self.heap:
            if -self.heap[0][0] <= self.cutoff:
                break
            if time.perf_counter() > deadline or self.nodes >= most_nodes:
                return False
            self.in_hand = -self.heap[0][0]  # before the node leaves the heap: Ctrl-C may come in between
            _, _, node = heapq.heappop(self.heap)
            self._expand(node, NODE_PASSES)
            self._finish_node()
        return True

    def _expand_root(self) -> None:
        """Presolve by probing, then make the matrix small before the first branching."""
        if len(self.alive) < self.problem.size:
            self.cut_off = max(self.cut_off, self.cutoff)
        everything = np.arange(len(self.alive), dtype=np.int64)
        root = Node(everything, 0, self._root_weights(), self.root_bound, np.full(len(everything), np.inf))
        root = bound_node(self.tree, root, self.cutoff, ROOT_PASSES)
        if len(root.members) < self.problem.size:
            self.cut_off = max(self.cut_off, self.cutoff)
        kept = root.members
        matrix = np.ascontiguousarray(self.tree.matrix[np.ix_(kept, kept)])
        self.tree = Tree(matrix, self.tree.diagonal[kept], self.tree.cardinality, self.tree.margin)
        self.alive = self.alive[kept]
        members = np.arange(len(kept), dtype=np.int64)
        self._branch(Node(members, 0, root.weights, root.bound, root.rows))
        self._finish_node()

    def _finish_node(self) -> None:
        self.in_hand = -np.inf
        self.nodes += 1
        self.progress.report_bracket(self.incumbent, self._unscale(self.lower), self._unscale(self.upper))

    def _expand(self, node: Node, passes: int) -> None:
        size = len(node.members)
        node = bound_node(self.tree, node, self.cutoff, passes)
        if len(node.members) < size:  # what was fixed out is below the cutoff, which is now part of the proof
            self.cut_off = max(self.cut_off, self.cutoff)
        self._branch(node)

    def _branch(self, node: Node) -> None:
        """Cut the node off, solve it if it is one support, or put its children into the heap."""
        if self._cut(node):
            return
        picks = self.tree.cardinality - node.n_inside
        single = picks in (0, node.n_free)
        if single or node.n_free <= NARROW:
            members = node.members[: node.n_inside] if picks == 0 else node.members
            whole = largest_eigenvalue_bound(self.tree.matrix[np.ix_(members, members)]) + self.tree.margin
            node = replace(node, bound=min(node.bound, whole))
            if single:
                self._try(members)
                self.cut_off = max(self.cut_off, node.bound)
                return
            if self._cut(node):
                return
        if self.nodes % TRIAL_EVERY == 0:
            free = node.members[node.n_inside :]
            best = np.argsort(-node.weights[node.n_inside :], kind="stable")[:picks]
            self._try(np.concatenate([node.members[: node.n_inside], free[best]]))
        following = make_children(node, self.cutoff)
        if len(following) == 1:  # supports without the variable taken in are below the cutoff
            self.cut_off = max(self.cut_off, self.cutoff)
        for child in following:
            self._push(child)

    def _cut(self, node: Node) -> bool:
        if node.bound > self.cutoff:
            return False
        self.cut_off = max(self.cut_off, node.bound)
        return True

    def _push(self, node: Node) -> None:
        heapq.heappush(self.heap, (-node.bound, next(self.order), node))

    def _try(self, members: Indices) -> None:
        """Take the best vector on these variables if it beats the answer."""
        members = np.sort(members)
        weights, value = leading_eigenpair(self.tree.matrix[np.ix_(members, members)])
        if value <= self.lower:
            return
        vector = SparseVector(self.alive[members], weights)
        reached = self.problem.scale_value(achieved_value(self.problem.operator, vector))
        if reached > self.lower:
            self.incumbent, self.lower = vector, reached

    def _root_weights(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        columns = np.isin(self.alive, self.incumbent.indices)
        spread = np.zeros(len(self.alive))
        spread[columns] = self.incumbent.weights[np.isin(self.incumbent.indices, self.alive)]
        return weights_from_product(self.tree.matrix @ spread, self.tree.cardinality)

    def _unscale(self, value: float) -> float:
        return float(np.ldexp(value, self.problem.exponent))
