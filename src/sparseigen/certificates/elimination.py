"""Variables that no optimal support has, proven and removed: one node of a search, and the bounds on what remains.

Supports that hold a removed variable stay below the cutoff, so the optimum is at most the larger of the cutoff and the
bound for the variables that remain. On real data a few dozen remain, and the dense duals become cheap and sharp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.certificates.penalised_dual import converged_penalised_bound
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import UNIT, ZERO
from sparseigen.certificates.scaled_rows import find_removable, improve_weights, row_values, starting_weights
from sparseigen.certificates.spectral import spectral_bound
from sparseigen.certificates.splitting import splitting_bound
from sparseigen.operators.contract import Indices, SparseVector

Numbers = NDArray[np.float64]

LONGEST_TABLE = 1 << 22
"""Entries of the table (rows above the cutoff x free variables) that one probing looks at."""


@dataclass(frozen=True)
class Tree:
    """What all nodes of a search share: the scaled matrix, and k."""

    matrix: Numbers
    diagonal: Numbers
    cardinality: int
    margin: float


@dataclass(frozen=True)
class Node:
    """A set of supports: all of ``members[:n_inside]`` and k - n_inside of the other members.

    ``weights`` are the d of the scaled bound, handed down from parent to child; ``bound`` is proven for every support
    of the node; ``rows`` are the row values it came from (in the order of members).
    """

    members: Indices
    n_inside: int
    weights: Numbers
    bound: float
    rows: Numbers

    @property
    def n_free(self) -> int:
        """How many members are not fixed in."""
        return len(self.members) - self.n_inside


def bound_node(tree: Tree, node: Node, cutoff: float, passes: int) -> Node:
    """The node after some passes of the scaled bound, with the variables that cannot beat the cutoff fixed out.

    Stops as soon as the bound falls to the cutoff. The bound is that of the variables that remain: once one was fixed
    out, all supports of the node together are bounded by the larger of it and the cutoff.
    """
    best = node.bound
    for _ in range(passes):
        picks = tree.cardinality - node.n_inside
        sums, least = kernels.node_row_sums(tree.matrix, node.members, node.n_inside, picks, node.weights)
        diagonal = tree.diagonal[node.members]
        rows = row_values(diagonal, sums, node.weights, tree.cardinality, margin=tree.margin)
        best = min(best, float(rows.max()))
        node = replace(node, rows=rows, bound=best)
        if best <= cutoff:
            break
        keep = ~_find_removable(tree, node, least, cutoff)
        weights = improve_weights(node.weights, rows)
        node = replace(node, members=node.members[keep], weights=weights[keep], rows=rows[keep])
        if node.n_free < tree.cardinality - node.n_inside:  # no support is left that could beat the cutoff
            return replace(node, bound=cutoff)
    return node


def _find_removable(tree: Tree, node: Node, least: Numbers, cutoff: float) -> NDArray[np.bool_]:
    """Free variables that no support above the cutoff can hold."""
    rows, inside = node.rows, node.n_inside
    removable = np.zeros(len(rows), dtype=bool)
    above = np.flatnonzero(rows > cutoff)
    if len(above) == 0 or len(above) * len(rows) > LONGEST_TABLE:
        return removable
    candidates = inside + np.flatnonzero(rows[inside:] <= cutoff)
    products = np.abs(tree.matrix[np.ix_(node.members[above], node.members[candidates])]) * node.weights[candidates]
    removable[candidates] = find_removable(rows[above], least[above], node.weights[above], products, cutoff)
    return removable


PASSES = 12
BOUNDS = (spectral_bound, converged_penalised_bound, splitting_bound)
"""Tried on the variables that remain."""


def reduced_bound(problem: BoundProblem) -> float:
    """The larger of the cutoff, just above the answer found, and the bounds on the variables that can beat it."""
    if problem.dense is None or not np.isfinite(problem.achieved):
        return np.inf
    cutoff = problem.achieved + problem.target_gap * max(abs(problem.achieved), ZERO)
    everything = np.arange(problem.size, dtype=np.int64)
    root = Node(everything, 0, starting_weights(problem), np.inf, np.full(problem.size, np.inf))
    tree = Tree(problem.dense, problem.diagonal, problem.cardinality, problem.margin)
    root = bound_node(tree, root, cutoff, PASSES)
    if len(root.members) == problem.size:
        return root.bound
    if root.bound <= cutoff:
        return cutoff
    rest = restrict(problem, root.members)
    rest.best = rest.scale_value(problem.unscale_bound(min(problem.best, root.bound)))
    for bound in BOUNDS:
        rest.best = min(rest.best, bound(rest))
        if rest.closed or rest.out_of_time:
            break
    remaining = problem.scale_value(rest.unscale_bound(rest.best))
    return max(cutoff, min(root.bound, remaining + 4.0 * UNIT * abs(remaining)))


def restrict(problem: BoundProblem, members: Indices) -> BoundProblem:
    """The same question about the members alone."""
    vector = problem.vector
    if vector is not None:
        inside = bool(np.isin(vector.indices, members).all())
        vector = SparseVector(np.searchsorted(members, vector.indices), vector.weights) if inside else None
    achieved = float(np.ldexp(problem.achieved, problem.exponent))
    return BoundProblem(
        problem.operator.restricted(members),
        problem.cardinality,
        vector,
        achieved=achieved,
        deadline=problem.deadline,
        target_gap=problem.target_gap,
    )
