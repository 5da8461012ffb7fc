"""One bound for a set of orthogonal sparse components: no choice of supports and weights explains more.

For orthonormal u_t with at most k_t non-zeros, components of equal cardinality k_g forming a group of r_g, take any

    M_g symmetric with zero diagonal,  c_g[i, j] > 0 with c_g[i, j] c_g[j, i] >= M_g[i, j]^2,  beta >= 0,  theta_g,
    row_g[i] = beta_i + the sum of the k_g - 1 largest c_g[i, j] + beta_j over j != i,
    Z >= 0 with Z >= A - M_g + Diag(row_g) - theta_g I for every g (in the order of symmetric matrices).

Then, with K the sum of all k_t,

    sum_t u_t'Au_t <= sum_g r_g theta_g + the sum of the K largest (Z_ii - beta_i)_+.

Proof: `docs/theory-sets.md`. M = 0 is Ky Fan's bound, M = A with Z = 0 the sum of single bounds. M, c
and beta are free among the *heavy* variables H; a pair with one end i in H keeps M_ij = A_ij, and c_ij may be the
smallest product that row i uses anyway, so that it costs row i nothing and row j pays A_ij^2 / c_ij. The multipliers
come from `certificates.set_relaxation`; what they prove is computed here, once more and upward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparseigen import kernels
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma, raised_sum, sum_of_largest
from sparseigen.certificates.scaled_rows import row_values
from sparseigen.certificates.set_relaxation import Group, Multipliers
from sparseigen.certificates.spectral import DIRECT, largest_eigenvalue_bound
from sparseigen.kernels.eigen import run_arpack
from sparseigen.operators.contract import Indices

GOLDEN = 0.6180339887498949
SEARCH_STEPS = 40
"""Of the golden section search for theta."""
LARGEST_RATIO = 1.0e6
EXTRA_ROUNDINGS = 12
"""Of a product on the way into a row, beyond one per term: c_ij, its reciprocal, a square, a quotient, beta twice."""


@dataclass(frozen=True)
class Surroundings:
    """The variables outside H as the bound sees them."""

    heavy: Indices
    outside: Indices
    squares: Numbers
    """A_ij^2 of j outside (rows) and i in H."""
    pairs: Numbers
    """Of each outside variable the largest |A_jl| with l outside."""
    diagonal: Numbers


@dataclass(frozen=True)
class SetSplit:
    """M, the ratios of c, and beta among the heavy variables; theta, Z = FF' and what they reach up to rounding."""

    matrix: Numbers
    groups: tuple[Group, ...]
    total: int
    """K, the most variables that the set can use."""
    part: Numbers
    ratios: Numbers
    cover: Numbers
    value: float = np.inf
    levels: tuple[float, ...] = ()
    factor: Numbers | None = None

    def rows(self, g: int) -> tuple[Numbers, Numbers]:
        """Of a group the sums over the k - 1 largest c_ij + beta_j, beta_i included, and the smallest of them."""
        size = len(self.matrix)
        products = np.abs(self.part[g])
        products *= self.ratios[g]
        products += self.cover
        places, ones = np.arange(size, dtype=np.int64), np.ones(size)
        count = min(self.groups[g].cardinality, size) - 1
        sums, least = kernels.top_row_sums(products, places, ones, count)
        return sums + self.cover, least if count < size - 1 else np.zeros(size)


def surround(problem: BoundProblem, heavy: Indices, cardinality: int) -> Surroundings:
    """The variables outside H, for components of at most ``cardinality`` non-zeros."""
    matrix = problem.dense
    assert matrix is not None
    outside = np.setdiff1d(np.arange(problem.size, dtype=np.int64), heavy)
    pairs = np.abs(matrix[np.ix_(outside, outside)])
    np.fill_diagonal(pairs, 0.0)
    count = min(cardinality - 1, pairs.shape[1])
    if count < pairs.shape[1]:
        pairs = np.partition(pairs, pairs.shape[1] - count, axis=1)[:, pairs.shape[1] - count :]
    squares: Numbers = matrix[np.ix_(outside, heavy)] ** 2
    return Surroundings(heavy, outside, squares, pairs, problem.diagonal[outside])


def outer_sums(split: SetSplit, around: Surroundings, g: int, least: Numbers) -> Numbers:
    """Of a group the sums over the largest products in the rows of outside variables."""
    if not len(around.outside):
        return np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        links = np.where(around.squares > 0.0, around.squares / least, 0.0) + split.cover
    products = np.hstack([links, around.pairs, np.zeros((len(links), 1))])
    count = min(split.groups[g].cardinality, products.shape[1]) - 1
    last = np.full(len(products), products.shape[1] - 1, dtype=np.int64)
    sums: Numbers = kernels.top_row_sums(np.ascontiguousarray(products), last, np.ones(products.shape[1]), count)[0]
    return sums


def split_from(matrix: Numbers, groups: tuple[Group, ...], total: int, found: Multipliers) -> SetSplit:
    """The split that multipliers stand for: c keeps its ratios and meets c_ij c_ji = M_ij^2."""
    floor = 1e-4 * np.abs(found.part).max(axis=(1, 2), keepdims=True) + TINY
    ratios = np.sqrt((found.costs + floor) / (found.costs.transpose(0, 2, 1) + floor))
    ratios = np.clip(ratios, 1.0 / LARGEST_RATIO, LARGEST_RATIO)
    upper = np.triu(ratios, 1)
    lower = np.where(upper > 0.0, 1.0 / np.where(upper > 0.0, upper, 1.0), 0.0).transpose(0, 2, 1)
    return SetSplit(matrix, groups, total, found.part, upper + lower, found.cover)


def empty_split(matrix: Numbers, groups: tuple[Group, ...], total: int) -> SetSplit:
    """M = 0: Ky Fan's bound, where all variables are heavy."""
    shape = (len(groups), *matrix.shape)
    return SetSplit(matrix, groups, total, np.zeros(shape), np.ones(shape), np.zeros(len(matrix)))


def ky_fan_split(matrix: Numbers, groups: tuple[Group, ...], total: int) -> SetSplit:
    """M = 0, theta the first eigenvalue that is not counted and Z the ones above it: the sum of the r largest."""
    split, count = empty_split(matrix, groups, total), sum(group.count for group in groups)
    wanted = min(count + 1, len(matrix))
    if len(matrix) > DIRECT:
        start = 1.0 + 0.1 * np.sin(np.arange(len(matrix)) + 1.0)
        values, vectors = run_arpack(matrix, wanted, start, tol=1e-10, ncv=None)
    else:
        values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(values)[::-1][:wanted]
    values, vectors = values[order], vectors[:, order]
    if len(values) < wanted:
        return split
    level = float(values[-1])
    factor = vectors * np.sqrt(np.maximum(values - level, 0.0))
    return replace(split, value=float(values[:count].sum()), levels=(level,) * len(groups), factor=factor)


def assess_split(split: SetSplit, around: Surroundings, price: Numbers | None = None) -> SetSplit:
    """The split with its best theta and Z and the value they reach, up to rounding.

    With one group Z is the positive part of C - theta I and theta is searched; ``price`` is a Z to be tried as it is,
    for which theta_g is the largest eigenvalue of C_g - Z.
    """
    at = np.diag_indices(len(split.matrix))
    shifted, outer = [], []
    for g in range(len(split.groups)):
        sums, least = split.rows(g)
        rest = split.matrix - split.part[g]
        rest[at] += sums
        shifted.append(rest)
        outer.append(around.diagonal + outer_sums(split, around, g, least))
    if not all(np.isfinite(rest).all() for rest in shifted):
        return split
    best = split
    if len(split.groups) == 1:
        best = _search_level(split, shifted[0], outer[0])
    if price is not None:
        values, vectors = np.linalg.eigh(price)
        kept = values > 1e-9 * max(float(values[-1]), TINY)
        factor = vectors[:, kept] * np.sqrt(values[kept])
        levels = tuple(float(np.linalg.eigvalsh(rest - factor @ factor.T)[-1]) for rest in shifted)
        value = _add_up(split, levels, (factor**2).sum(axis=1), outer)
        if value < best.value:
            best = replace(split, value=value, levels=levels, factor=factor)
    return best


def _add_up(split: SetSplit, levels: Sequence[float], squares: Numbers, outer: Sequence[Numbers]) -> float:
    """sum_g r_g theta_g plus the sum of the K largest (Z_ii - beta_i)_+, the outside variables included."""
    beyond = np.max([rows - level for rows, level in zip(outer, levels, strict=True)], axis=0)
    shares = np.maximum(np.concatenate([squares - split.cover, beyond]), 0.0)
    fixed = sum(group.count * level for group, level in zip(split.groups, levels, strict=True))
    return float(fixed) + sum_of_largest(shares, split.total)


def _search_level(split: SetSplit, shifted: Numbers, outer: Numbers) -> SetSplit:
    """The best theta for Z the positive part of C - theta I: the value is convex in theta."""
    values, vectors = np.linalg.eigh(shifted)
    energies = vectors**2

    def value(level: float) -> float:
        return _add_up(split, (level,), energies @ np.maximum(values - level, 0.0), (outer,))

    below = max(len(values) - 4 * split.groups[0].count - 2, 0)
    left, right = float(values[below]), max(float(values[-1]), float(outer.max(initial=-np.inf)))
    inner, farther = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_inner, at_farther = value(inner), value(farther)
    for _ in range(SEARCH_STEPS):
        if at_inner < at_farther:
            right, farther, at_farther = farther, inner, at_inner
            inner = right - GOLDEN * (right - left)
            at_inner = value(inner)
        else:
            left, inner, at_inner = inner, farther, at_farther
            farther = left + GOLDEN * (right - left)
            at_farther = value(farther)
    level = inner if at_inner < at_farther else farther
    kept = values > level
    factor = vectors[:, kept] * np.sqrt(values[kept] - level)
    return replace(split, value=min(at_inner, at_farther), levels=(level,), factor=factor)


def find_violators(split: SetSplit, around: Surroundings) -> Numbers:
    """By how much the rows of the outside variables exceed theta, where they do; what they add to the bound."""
    beyond = np.zeros(len(around.outside))
    for g, level in enumerate(split.levels):
        rows = around.diagonal + outer_sums(split, around, g, split.rows(g)[1])
        beyond = np.maximum(beyond, rows - level)
    return beyond


def prove_set(split: SetSplit, around: Surroundings) -> float:
    """The bound that M, c, beta and Z prove, rounding of A's entries left out.

    Z is exactly FF' for the numbers in F, and theta_g is proven to make Z - C_g + theta_g I positive semidefinite by
    a Cholesky factorisation. The computed FF' is off by at most gamma(q) |F|_F^2 in the spectral norm (q columns,
    sums of q products), A - M_g - FF' by two more roundings per entry. Terms that went into rows were rounded at most
    EXTRA_ROUNDINGS times beyond their sum.
    """
    if split.factor is None:
        return np.inf
    size, factor, at = len(split.matrix), split.factor, np.diag_indices(len(split.matrix))
    computed = factor @ factor.T
    computed = 0.5 * (computed + computed.T)
    squares = (factor**2).sum(axis=1)
    rank = factor.shape[1]
    slack = 2.0 * gamma(rank + 4) * float(squares.sum()) + TINY
    largest = float(np.abs(computed).max(initial=0.0))
    levels, outer = [], []
    for g, group in enumerate(split.groups):
        sums, least = split.rows(g)
        terms = group.cardinality + EXTRA_ROUNDINGS
        rest = split.matrix - split.part[g]
        rest[at] = row_values(split.matrix.diagonal(), sums, np.ones(size), terms)
        if not np.isfinite(rest).all():
            return np.inf
        rounding = 4.0 * UNIT * size * (float(np.abs(rest).max()) + largest) + TINY
        levels.append(largest_eigenvalue_bound(rest - computed) + rounding + slack)
        sums = outer_sums(split, around, g, least)
        outer.append(row_values(around.diagonal, sums, np.ones(len(sums)), terms))
    if not np.isfinite(levels).all():
        return np.inf
    beyond = np.max([rows - level for rows, level in zip(outer, levels, strict=True)], axis=0)
    beyond = beyond + 4.0 * UNIT * np.max(
        [np.abs(rows) + abs(v) for rows, v in zip(outer, levels, strict=True)], axis=0
    )
    raised = squares * (1.0 + 2.0 * gamma(rank + 4)) + TINY
    own = raised - split.cover + 2.0 * UNIT * (raised + split.cover)
    shared = raised_sum(sum_of_largest(np.maximum(np.concatenate([own, beyond]), 0.0), split.total), split.total)
    fixed = sum(group.count * level for group, level in zip(split.groups, levels, strict=True))
    magnitude = sum(group.count * abs(level) for group, level in zip(split.groups, levels, strict=True)) + shared
    return float(fixed) + shared + 2.0 * gamma(2 * len(levels) + 4) * magnitude
