"""Vertices that a proof decides: no better set holds them, or every better set does.

Let Q = s I - M with s above the proven largest eigenvalue of the slack matrix M of a dual point, so that Q is at least
eps I, eps = s - that eigenvalue. A set of k vertices weighs at most k s - x'Qx + the rest of the bound, x its
indicator, and 1'x = k with x_v = 1 (or 0) makes x'Qx at least

    2 (a k + b x_v) - (a 1 + b e_v)' Q^-1 (a 1 + b e_v)        for any a, b.

With an approximate inverse G and R = I - QG, z'Q^-1 z is at most z'Gz + |z| |Rz| / eps: every number is computable with
its error, whatever G is. Where the bound with v falls to the value known, v is out; where that without v does, v is in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseigen.certificates.rounding import UNIT, gamma
from sparseigen.graphs.dual_bound import DualProof, find_reach
from sparseigen.kernels.graph import Integers
from sparseigen.kernels.set_cone import Numbers

SHIFTS = (0.1, 0.5)
"""eps as shares of the gap per vertex; each decides other vertices."""


@dataclass(frozen=True, eq=False)
class SetProblem:
    """The densest sets that hold some vertices of a part and choose the others from some: a node of a search."""

    weights: Numbers
    """Weights among the vertices to choose from; on the diagonal the loop and twice the weight to those taken."""
    kept: Integers
    """The vertices to choose from, as positions in the part."""
    taken: Integers
    count: int
    """How many are to be chosen."""

    def restrict(self, dropped: np.ndarray, fixed: np.ndarray) -> tuple[SetProblem, Integers]:
        """The problem without some of the vertices, and with others taken in; and the positions that are left."""
        left, held = np.flatnonzero(~dropped & ~fixed), np.flatnonzero(fixed)
        weights = self.weights[np.ix_(left, left)]
        weights[np.diag_indices(len(left))] += 2.0 * self.weights[np.ix_(left, held)].sum(axis=1)
        taken = np.union1d(self.taken, self.kept[held]).astype(np.int64)
        return SetProblem(weights, self.kept[left], taken, self.count - len(held)), left


def bound_choices(proof: DualProof, gap: float) -> tuple[Numbers, Numbers]:
    """For every vertex a proven bound on the sets of the proof's own size that hold it, and on those that do not.

    ``gap``: how far the bound is above the value known; it decides where the bounds are best.
    """
    count, size = proof.point.count, len(proof.slack)
    total = float(proof.bounds(np.array([count]))[0])
    falls = [_find_falls(proof, max(share * gap, 1e-9 * abs(total)) / count) for share in SHIFTS]
    fall_in = np.maximum.reduce([fall[0] for fall in falls])
    fall_out = np.maximum.reduce([fall[1] for fall in falls])
    reach = find_reach(proof.point.multipliers, count)
    largest = float(np.abs(proof.point.multipliers).max())
    margin = 4.0 * gamma(2 * count + 8) * count * largest + 1e-14 * abs(total)
    ordered = np.sort(reach)[::-1]
    fall_in += np.maximum(ordered[count - 1] - reach, 0.0)
    if size > count:
        fall_out += np.maximum(reach - ordered[count], 0.0)
    return total + margin - fall_in, total + margin - fall_out


def _find_falls(proof: DualProof, shift: float) -> tuple[Numbers, Numbers]:
    """By how much the bound certainly falls with each vertex in, and out."""
    count, size = proof.point.count, len(proof.slack)
    nothing = np.full(size, -np.inf)
    slack = -proof.slack
    slack[np.diag_indices(size)] += proof.raw_eigenvalue + shift
    rounded = 4.0 * UNIT * (float(np.abs(slack.diagonal()).max()) + abs(proof.raw_eigenvalue))
    if not rounded < 0.005 * shift:  # the stored matrix would not be sure to be positive definite
        return nothing, nothing
    try:
        inverse = np.linalg.inv(slack)
    except np.linalg.LinAlgError:
        return nothing, nothing
    inverse = (inverse + inverse.T) / 2.0
    rest = -(slack @ inverse)
    rest[np.diag_indices(size)] += 1.0
    lengths = np.linalg.norm(inverse, axis=0)
    norm = float(np.linalg.norm(slack))
    errors = np.linalg.norm(rest, axis=0) * (1.0 + gamma(size)) + gamma(size + 8) * (1.0 + norm * lengths)
    sums, own = inverse.sum(axis=1), inverse.diagonal()
    whole = float(sums.sum())
    # |R 1| is at most the sum of the columns' lengths; rounding in sums, own and whole is at most gamma times these.
    whole_error = float(errors.sum())
    rounding = gamma(2 * size + 8) * float(np.abs(inverse).sum())
    spread = own - sums * sums / whole
    expected = count * sums / whole
    falls = []
    for value in (1.0, 0.0):
        second = (value - expected) / np.where(spread > 0.0, spread, np.inf)
        first = (count - second * sums) / whole
        quadratic = first * first * whole + 2.0 * first * second * sums + second * second * own
        sizes = np.abs(first) + np.abs(second)
        quadratic += sizes * sizes * rounding
        length = np.abs(first) * size**0.5 + np.abs(second)
        quadratic += length * (np.abs(first) * whole_error + np.abs(second) * errors) * (1.0 + 1e-12) / (0.99 * shift)
        fall = 2.0 * (first * count + second * value) - quadratic - count * shift
        fall -= count * rounded + 1e-14 * (np.abs(quadratic) + np.abs(first) * count + np.abs(second) + count * shift)
        falls.append(np.where(np.isfinite(fall), fall, -np.inf))
    return falls[0], falls[1]
