"""A convex relaxation of sets of orthogonal sparse components, solved by the alternating direction method.

Let u_1, ..., u_r be orthonormal, u_t with at most k_t non-zeros on S_t. Components of equal cardinality form a group
g of r_g components. With X_g = sum of u_t u_t' over the group, T_g[j, i] = sum of u_tj^2 over those t of the group
whose support holds i (i != j), and w_i = 1 where any support holds i and 0 elsewhere,

    X_g >= 0,  trace X_g = r_g,  Diag(w) - sum_g X_g >= 0  (a projection on the variables in use),
    X_g[i, j]^2 <= T_g[i, j] T_g[j, i],  T_g[j, i] <= X_g[j, j],  sum_i T_g[j, i] <= (k_g - 1) X_g[j, j],
    w_i <= sum_g (X_g[i, i] + sum_j T_g[j, i]),  0 <= w_i <= 1,

and the relaxation maximises sum_g <A, X_g>. Every constraint gets a copy of the variables it is about; a step projects
all copies, averages them and adds what is left over to the multipliers. The multipliers of any step prove a bound
(`certificates.set_bound`), so that the method may end anywhere and a projection need not be exact.

S. Boyd, N. Parikh, E. Chu, B. Peleato, J. Eckstein, "Distributed optimization and statistical learning via the
alternating direction method of multipliers", Foundations and Trends in Machine Learning 3 (2011), 1-122.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseigen.certificates.problem import Numbers
from sparseigen.certificates.rounding import TINY
from sparseigen.operators.contract import Indices

START_PENALTY = 0.6
"""Relative to the spectral norm; balanced as the residuals tell."""
OVER_RELAXATION = 1.6
BALANCE, LOPSIDED = 1.5, 4.0
"""The penalty changes by the first factor where one residual is the second times the other."""
NEWTON_STEPS = 8
"""Of the projection on rows below a common level; it ends by itself after a few."""


@dataclass(frozen=True)
class Group:
    """Components of one cardinality."""

    count: int
    cardinality: int


def group_cardinalities(cardinalities: Sequence[int]) -> tuple[Group, ...]:
    """The groups of equal cardinality, largest first.

    Examples
    --------
    >>> group_cardinalities([4, 8, 4])
    (Group(count=1, cardinality=8), Group(count=2, cardinality=4))
    """
    return tuple(Group(list(cardinalities).count(k), k) for k in sorted(set(cardinalities), reverse=True))


@dataclass(frozen=True)
class Multipliers:
    """What a step of the method says of a bound: M and c of every group, beta, and the price Z of the common variables.

    M is symmetric with zero diagonal, c and beta are not negative; Z is symmetric and nearly positive semidefinite.
    """

    part: Numbers
    costs: Numbers
    cover: Numbers
    price: Numbers

    def averaged(self, other: Multipliers, share: float) -> Multipliers:
        """The average with another, which counts ``share``."""
        kept = 1.0 - share
        return Multipliers(
            kept * self.part + share * other.part,
            kept * self.costs + share * other.costs,
            kept * self.cover + share * other.cover,
            kept * self.price + share * other.price,
        )

    def enlarge(self, size: int, places: Indices) -> Multipliers:
        """The same among more variables, zero at the new ones."""
        among = np.ix_(places, places)
        every: Any = (slice(None), *among)
        part, costs = (np.zeros((len(self.part), size, size)) for _ in range(2))
        cover, price = np.zeros(size), np.zeros((size, size))
        part[every], costs[every], cover[places], price[among] = self.part, self.costs, self.cover, self.price
        return Multipliers(part, costs, cover, price)


class SetRelaxation:
    """The state of the method: the common variables and, per constraint, the scaled multipliers of its copies."""

    def __init__(self, matrix: Numbers, groups: Sequence[Group], ceiling: Numbers | None = None) -> None:
        """``ceiling``: a matrix that takes the place of Diag(w); there is no w then, and beta stays zero."""
        self.matrix, self.groups, self.ceiling = matrix, tuple(groups), ceiling
        size, count = len(matrix), len(groups)
        self.size = size
        self._place_diagonals()
        self.scale = max(float(np.abs(np.linalg.eigvalsh(matrix)).max()), TINY)
        self.penalty = START_PENALTY * self.scale
        shape = (count, size, size)
        self.limits = np.array([group.cardinality - 1.0 for group in groups])[:, None]
        self._begin()
        self.of_spectrum, self.of_roots = np.zeros(shape), np.zeros(shape)
        self.of_cover = np.zeros((size, size))
        self.of_cone, self.of_level, self.of_sum, self.of_use = (np.zeros(shape) for _ in range(4))
        self.of_top, self.of_total, self.of_own = (np.zeros((count, size)) for _ in range(3))
        self.of_used = np.zeros(size)
        self.moved = self.apart = np.inf

    def _begin(self) -> None:
        size, count = self.size, len(self.groups)
        self.outer, self.shared = np.zeros((count, size, size)), np.zeros((count, size, size))
        for g, group in enumerate(self.groups):
            self.outer[g][self.at] = group.count / size
            self.shared[g] = min(1.0, (group.cardinality - 1) / max(size - 1, 1)) * group.count / size
        self.shared[self.diagonals] = 0.0
        total = sum(group.count * group.cardinality for group in self.groups)
        self.used = np.full(size, min(1.0, total / size))

    def _place_diagonals(self) -> None:
        self.at = np.diag_indices(self.size)
        self.diagonals: Any = (slice(None), *self.at)

    def enlarge(self, matrix: Numbers, places: Indices) -> None:
        """Go on with more variables: the ones so far are at ``places`` of the new ones, which begin unused."""
        self.matrix, self.size = matrix, len(matrix)
        self._place_diagonals()
        for name in ("outer", "shared", "used", *MULTIPLIERS):
            old = getattr(self, name)
            square = old.ndim == 3 or name == "of_cover"
            new = np.zeros((*old.shape[: old.ndim - (2 if square else 1)], *(self.size,) * (2 if square else 1)))
            where: Any = (..., *np.ix_(places, places)) if square else (..., places)
            new[where] = old
            setattr(self, name, new)

    def step(self) -> None:
        """Project every copy, average, and move the multipliers."""
        own = self.outer[self.diagonals].copy()
        spectrum = self._project_spectrum()
        covered = -self.outer.sum(axis=0)
        if self.ceiling is None:
            covered[self.at] += self.used
        else:
            covered += self.ceiling
        cover = keep_positive(covered - self.of_cover)
        roots, cone = self._project_cones()
        top, level = project_below_level(own - self.of_top, self.shared - self.of_level, self.diagonals)
        total, summed = self._project_sums(own)
        mine, use, used = own.copy(), self.shared.copy(), self.used.copy()
        if self.ceiling is None:
            mine, use, used = self._project_use(own)
        blend = OVER_RELAXATION

        def relax(copy: Numbers, common: Numbers, multiplier: Numbers) -> Numbers:
            copy *= blend
            copy += (1.0 - blend) * common
            copy += multiplier
            return copy

        spectrum = relax(spectrum, self.outer, self.of_spectrum)
        cover = relax(cover, covered, self.of_cover)
        roots = relax(roots, self.outer, self.of_roots)
        copies = [
            relax(copy, self.shared, multiplier)
            for copy, multiplier in (
                (cone, self.of_cone),
                (level, self.of_level),
                (summed, self.of_sum),
                (use, self.of_use),
            )
        ]
        top, total = relax(top, own, self.of_top), relax(total, own, self.of_total)
        mine, used = relax(mine, own, self.of_own), relax(used, self.used, self.of_used)
        self._average(spectrum, cover, roots, copies, (top, total, mine), used)

    def _average(
        self,
        spectrum: Numbers,
        cover: Numbers,
        roots: Numbers,
        copies: list[Numbers],
        own_copies: tuple[Numbers, Numbers, Numbers],
        used: Numbers,
    ) -> None:
        """The common variables nearest to all copies, and the multipliers: what each copy is beyond them."""
        before, shared_before, count = self.outer, self.shared, len(self.groups)
        spectrum_before, cone_before = self.of_spectrum, self.of_cone
        pulled = spectrum + roots
        if self.ceiling is not None:
            cover = cover - self.ceiling
        combined = (pulled.sum(axis=0) - count * cover) / (2.0 + count)
        outer = 0.5 * (pulled - (combined + cover))
        pull = spectrum[self.diagonals] + sum(own_copies)
        if self.ceiling is None:
            slack = 0.5 * (used - cover[self.at])
            overall = (pull.sum(axis=0) + count * slack) / (4.0 + 0.5 * count)
            own = 0.25 * (pull + (slack - 0.5 * overall))
            self.used = 0.5 * (overall + cover[self.at] + used)
        else:
            overall = (pull.sum(axis=0) - count * cover[self.at]) / (4.0 + count)
            own = 0.25 * (pull - cover[self.at] - overall)
        outer[self.diagonals] = own
        self.outer = 0.5 * (outer + outer.transpose(0, 2, 1))
        self.shared = 0.25 * (copies[0] + copies[1] + copies[2] + copies[3])
        self.shared[self.diagonals] = 0.0
        spectrum -= self.outer
        cover += self.outer.sum(axis=0)
        if self.ceiling is None:
            cover[self.at] -= self.used
        roots -= self.outer
        roots[self.diagonals] = 0.0
        self.of_spectrum, self.of_cover, self.of_roots = spectrum, cover, roots
        for copy in copies:
            copy -= self.shared
            copy[self.diagonals] = 0.0
        self.of_cone, self.of_level, self.of_sum, self.of_use = copies
        self.of_top, self.of_total, self.of_own = (copy - own for copy in own_copies)
        self.of_used = used - self.used
        if self.ceiling is not None:  # nothing restricts these copies
            for multiplier in (self.of_use, self.of_own, self.of_used):
                multiplier[:] = 0.0
        self.moved = _length(self.outer - before) + _length(self.shared - shared_before)
        self.apart = _length(self.of_spectrum - spectrum_before) + _length(self.of_cone - cone_before)

    def _project_spectrum(self) -> Numbers:
        """Onto positive semidefinite matrices of the group's trace, after a step along A."""
        copies = self.outer - self.of_spectrum + self.matrix / self.penalty
        for g, group in enumerate(self.groups):
            copies[g] = keep_trace(copies[g], float(group.count))
        return copies

    def _project_cones(self) -> tuple[Numbers, Numbers]:
        """Onto X_ij^2 <= T_ij T_ji, T >= 0: a second-order cone in (T_ij + T_ji, T_ij - T_ji, 2 X_ij)."""
        wanted, shares = self.outer - self.of_roots, self.shared - self.of_cone
        half = 0.5 * (shares + shares.transpose(0, 2, 1))
        odd = shares - half
        radius = np.sqrt(odd * odd + wanted * wanted)
        level = np.where(radius <= half, half, np.where(radius <= -half, 0.0, 0.5 * (half + radius)))
        factor = np.where(radius <= half, 1.0, level / np.maximum(radius, TINY))
        cone = level + odd * factor
        cone[self.diagonals] = 0.0
        roots = wanted * factor
        roots[self.diagonals] = self.outer[self.diagonals]
        return roots, cone

    def _project_sums(self, own: Numbers) -> tuple[Numbers, Numbers]:
        """Onto sum_i T_ji <= (k - 1) X_jj."""
        shares, tops = self.shared - self.of_sum, own - self.of_total
        excess = np.maximum(shares.sum(axis=2) - self.limits * tops, 0.0) / (self.size - 1 + self.limits**2)
        shares -= excess[:, :, None]
        shares[self.diagonals] = 0.0
        return tops + self.limits * excess, shares

    def _project_use(self, own: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Onto w_i <= sum_g (X_ii + sum_j T_ji), 0 <= w_i <= 1."""
        shares, mine = self.shared - self.of_use, own - self.of_own
        wanted = self.used - self.of_used
        available = (mine + shares.sum(axis=1)).sum(axis=0)
        terms = len(self.groups) * self.size
        clipped = np.clip(wanted, 0.0, 1.0)
        spread = np.maximum(wanted - available, 0.0) / (terms + 1)
        inside = (wanted - spread >= 0.0) & (wanted - spread <= 1.0)
        short = clipped > available
        rise = np.where(short, np.where(inside, spread, (clipped - available) / terms), 0.0)
        used = np.where(short & inside, wanted - spread, clipped)
        shares += rise[None, None, :]
        shares[self.diagonals] = 0.0
        return mine + rise, shares, used

    def balance(self) -> None:
        """Change the penalty where the copies are far apart while the variables hardly move, or the other way round."""
        factor = 1.0
        if self.apart > LOPSIDED * self.moved:
            factor = BALANCE
        elif self.moved > LOPSIDED * self.apart:
            factor = 1.0 / BALANCE
        if factor == 1.0:
            return
        self.penalty *= factor
        for name in MULTIPLIERS:
            getattr(self, name).__itruediv__(factor)

    def multipliers(self) -> Multipliers:
        """M, c, beta and Z as they are now."""
        part = self.penalty * (self.of_spectrum - self.of_cover)
        part = 0.5 * (part + part.transpose(0, 2, 1))
        part[self.diagonals] = 0.0
        costs = np.maximum(self.penalty * self.of_cone, 0.0)
        cover = np.maximum(self.penalty * self.of_own.mean(axis=0), 0.0)
        price = 0.5 * self.penalty * (self.of_cover + self.of_cover.T)
        return Multipliers(part, costs, cover, price)


MULTIPLIERS = (
    "of_spectrum",
    "of_cover",
    "of_roots",
    "of_cone",
    "of_level",
    "of_sum",
    "of_use",
    "of_top",
    "of_total",
    "of_own",
    "of_used",
)


def _length(block: Numbers) -> float:
    flat = block.ravel()
    return float(np.sqrt(flat @ flat))


def keep_trace(matrix: Numbers, trace: float) -> Numbers:
    """The nearest positive semidefinite matrix of a given trace."""
    values, vectors = np.linalg.eigh(matrix)
    descending = values[::-1]
    excess = np.cumsum(descending) - trace
    count = int(np.flatnonzero(descending * np.arange(1, len(values) + 1) > excess)[-1]) + 1
    kept = np.maximum(values - excess[count - 1] / count, 0.0)
    positive = kept > 0.0
    nearest: Numbers = (vectors[:, positive] * kept[positive]) @ vectors[:, positive].T
    return nearest


def keep_positive(matrix: Numbers) -> Numbers:
    """The nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    positive = values > 0.0
    if 2 * int(positive.sum()) <= len(values):
        nearest: Numbers = (vectors[:, positive] * values[positive]) @ vectors[:, positive].T
        return nearest
    rest: Numbers = matrix - (vectors[:, ~positive] * values[~positive]) @ vectors[:, ~positive].T
    return rest


def project_below_level(tops: Numbers, shares: Numbers, diagonals: Any) -> tuple[Numbers, Numbers]:
    """The nearest (t, T) with T_ji <= t_j in every row, the diagonal left out.

    t_j solves t - tops_j = sum_i (T_ji - t)_+, which is concave and increasing in t on the left minus the right:
    Newton's method from tops_j rises to the root in finitely many steps.
    """
    shares[diagonals] = -np.inf
    level = tops.copy()
    for _ in range(NEWTON_STEPS):
        above = shares > level[:, :, None]
        count = above.sum(axis=2)
        following = (tops + np.where(above, shares, 0.0).sum(axis=2)) / (1.0 + count)
        if (following <= level + 1e-15).all():
            break
        level = np.maximum(level, following)
    kept = np.minimum(shares, level[:, :, None])
    kept[diagonals] = 0.0
    return level, kept
