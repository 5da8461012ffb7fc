"""Dual points of the penalised problem and what they prove, in one text for NumPy arrays and torch tensors.

Let A = FF' with rows f_i. For any vectors z_i let rho_i be the largest eigenvalue of f_i f_i' - z_i z_i' (at least 0).
Then (f_i'q)^2 <= (z_i'q)^2 + rho_i for every unit q, and for every support of k variables

    lambda_max(A_SS) <= lambda_max(sum_i z_i z_i') + the sum of the k largest rho_i.

Rows are asked for a block of variables at a time, in the type of array that the factor hands out, and everything is
float64. Of the p x r dual points only their r x r Gram matrix and one remainder per variable ever exist at once, and
nothing else leaves a device.

Several sets of points with weights w_j >= 0 of sum one prove more together: Y_i = sum_j w_j z_ij z_ij' has
Y_i >= f_i f_i' - (sum_j w_j rho_ij) I, so the weighted sums of their Gram matrices and of their remainders take the
places of one set's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sparseigen.certificates.factor import Array, Factor, namespace, place_like, row_dots, to_host
from sparseigen.certificates.problem import Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma, sum_of_largest
from sparseigen.certificates.spectral import estimate_largest_eigenvalue, largest_eigenvalue_bound
from sparseigen.operators.matrix import multiply_transposed

LARGEST_POINT = 2.0**200
"""Dual points beyond this prove nothing for a matrix with entries of size about one."""
UNDERFLOW = 1e-140
"""Added to every remainder: more than squares of numbers too small for float64 can add up to."""
BLOCK_ENTRIES = 1 << 22
"""Entries of the factor worked on at a time, about six copies of them."""
POWER_STEPS = 24
ROOT_STEPS = 40
GOLDEN = 0.6180339887498949
LARGEST_EXACT = 2.0e8
"""Multiplications of a Gram matrix above which penalties are compared by one in float32."""
TRIAL_WORK = 1.2e11
"""Operations that Gram matrices for comparing penalties may cost; two are made in any case."""


BuildForm = Callable[[float, int], "ClosedForm"]
Points = Any
"""Dual points one row per variable, or what makes them: a `ClosedForm`, a `Cut`, a `Mixture`."""


def support_points(rows: Array, direction: Array, penalty: float) -> Array:
    """The closed-form dual points for a unit direction q and a penalty rho.

    With c_i = (f_i'q)^2 and g_i = f_i - (f_i'q) q, the part of f_i orthogonal to q: where c_i > rho,
    z_i = (f_i (f_i'q) - rho q) / sqrt(c_i - rho) = (f_i'q) / sqrt(c_i - rho) g_i + sqrt(c_i - rho) q. Elsewhere z_i is
    a multiple of g_i with |z_i|^2 = rho (|f_i|^2 - rho) / (rho - c_i), or zero when |f_i|^2 <= rho.
    """
    xp = namespace(rows)
    along = rows @ direction
    energies, squares = along**2, row_dots(rows, rows)
    inside, across = energies > penalty, rows - along[:, None] * direction
    rise = xp.sqrt(xp.clip(energies - penalty, TINY, None))
    lengths = xp.clip(xp.sqrt(row_dots(across, across)), TINY, None)
    room = xp.clip(penalty - energies, 1e-30, None)  # an energy equal to the penalty leaves no room: a useless bound
    wanted = xp.sqrt(penalty * xp.clip(squares - penalty, 0.0, None) / room)
    across *= xp.where(inside, along / rise, wanted / lengths)[:, None]
    across += xp.where(inside, rise, 0.0)[:, None] * direction
    return across


def remainders(rows: Array, points: Array) -> Array:
    """rho_i for every variable, raised past its rounding.

    rho_i is the larger root of t^2 - (|f|^2 - |z|^2) t - |f|^2 |z_perp|^2 with z_perp the part of z orthogonal to f;
    it grows with both coefficients, so both are raised past their errors first.
    """
    xp, error = namespace(rows), 2.0 * gamma(rows.shape[1] + 8)
    squares, sizes = row_dots(rows, rows), row_dots(points, points)
    minus, plus = rows - points, rows + points
    difference = row_dots(minus, plus)
    difference += error * xp.sqrt(row_dots(minus, minus) * row_dots(plus, plus))
    coefficient = row_dots(rows, points) / xp.clip(squares, TINY, None)
    apart = points - coefficient[:, None] * rows
    across = xp.sqrt(row_dots(apart, apart))
    # A wrong coefficient only makes the computed part longer, except by its rounding: z and f times a few roundings.
    across = across * (1.0 + error) + 4.0 * UNIT * (xp.sqrt(sizes) + xp.abs(coefficient) * xp.sqrt(squares))
    product = squares * (1.0 + error) * across**2
    root = xp.sqrt(difference**2 + 4.0 * product)
    # Where the difference is negative the other form of the root does not cancel.
    below = 2.0 * product / xp.clip(root - difference, TINY, None)
    return xp.where(difference >= 0.0, 0.5 * (difference + root), below) * (1.0 + 16.0 * UNIT) + UNDERFLOW


class DualParts(NamedTuple):
    """Dual points by what a bound needs of them.

    ``gram`` is sum_i z_i z_i' as computed in float64 from p terms in any order, ``squares`` the sum of the |z_i|^2,
    ``remainders`` the rho_i, raised past their rounding.
    """

    gram: Numbers
    squares: float
    remainders: Numbers


@dataclass(frozen=True)
class ClosedForm:
    """The points of `support_points` for one direction and penalty; ``promise`` is what they prove up to rounding."""

    direction: Array
    penalty: float
    promise: float
    gram: Array = None
    """Their Gram matrix up to rounding, which proves nothing."""


@dataclass(frozen=True)
class Cut:
    """The points of `find_cut_points` for one X and penalty.

    X has ``weights`` along the orthonormal columns of ``basis``, ascending, and ``tail`` along all that is orthogonal.
    """

    basis: Numbers
    weights: Numbers
    tail: float
    penalty: float


@dataclass(frozen=True)
class Mixture:
    """Several sets of dual points and their weights; ``promise`` is what they prove up to rounding."""

    members: tuple[ClosedForm | Cut, ...]
    weights: Numbers
    promise: float


def find_cut_points(rows: Array, projected: Array, cut: Cut) -> tuple[Array, float, float]:
    """The dual points of variables with |f_i|^2 above the penalty, the sum of their t_i, and that of memberships.

    ``projected`` are the rows along the basis. With h and s the components of f_i in the eigenvectors of X and its
    eigenvalues, t_i > 0 solves sum_j h_j^2 s_j / (t + rho s_j) = 1, and z_j ~ h_j / (t + rho s_j).
    """
    xp = namespace(rows)
    weights = place_like(np.append(cut.weights, cut.tail).astype(to_host(rows[:0]).dtype), rows)
    squares = projected**2
    lengths = row_dots(rows, rows)
    mass = xp.hstack([squares, xp.clip(lengths - squares.sum(axis=1), 0.0, None)[:, None]]) * weights
    scaled = cut.penalty * weights
    found = xp.maximum(mass.sum(axis=1) - scaled.max(), 1e-12 * lengths)
    close = 1e-7 if to_host(rows[:0]).dtype == np.float64 else 1e-5
    for _ in range(ROOT_STEPS):  # Newton on 1 / f, concave and increasing in the root: monotone from the second step on
        inverse = 1.0 / (found[:, None] + scaled)
        spread = mass * inverse
        total = spread.sum(axis=1)
        spread *= inverse
        slope = spread.sum(axis=1)
        following = xp.maximum(found + (total - 1.0) * total / slope, 0.01 * found)
        converged = float(xp.abs(following / found - 1.0).max()) < close
        found = following
        if converged:
            break
    height = xp.sqrt(found / slope)
    beyond = height * inverse[:, -1]
    inside = projected * (height[:, None] * inverse[:, :-1] - beyond[:, None])
    basis = place_like(cut.basis.astype(to_host(rows[:0]).dtype), rows)
    points = beyond[:, None] * rows + inside @ basis.T
    return points, float(found.sum()), float(((spread @ weights) / slope).sum())


def blocks(rows: Array) -> Iterator[tuple[slice, Array]]:
    """The rows of a factor, a block of variables at a time."""
    size, rank = rows.shape
    step = max(1, BLOCK_ENTRIES // max(rank, 1))
    for begin in range(0, size, step):
        part = slice(begin, min(begin + step, size))
        yield part, rows[part]


def measure(rows: Array, points: Points) -> DualParts:
    """What a bound needs of dual points: given one row per variable, in closed form, at some X, or mixed.

    The Gram matrix and the remainders come from the same numbers z_i. Points made twice, once for each, would have to
    agree to the last bit: near a penalty that equals a share they jump, and no library of matrix products promises the
    same bits for another place in memory or another number of threads.
    """
    if isinstance(points, Mixture):
        return mix_parts([measure(rows, member) for member in points.members], points.weights)
    found: list[Numbers] = []

    def make_points() -> Iterator[Array]:
        for part, block in blocks(rows):
            if isinstance(points, Cut):
                yield from _make_cut_points(block, points, found)
                continue
            if isinstance(points, ClosedForm):
                made = support_points(block, points.direction, points.penalty)
            else:
                made = points[part]
            found.append(to_host(remainders(block, made)))
            yield made

    with np.errstate(over="ignore", invalid="ignore"):
        gram, squares = add_up_gram(make_points())
        gram = to_host(gram)
        gram += gram.T.copy()
        gram *= 0.5
    if not squares < LARGEST_POINT**2:
        return DualParts(gram, np.inf, np.full(rows.shape[0], np.inf))
    return DualParts(gram, squares, np.concatenate(found))


def _make_cut_points(block: Array, cut: Cut, found: list[Numbers]) -> Iterator[Array]:
    """The points of a cut for a block of variables; ``found`` gets the remainders. Short rows have the point zero."""
    xp = namespace(block)
    lengths = row_dots(block, block)
    rest = to_host(lengths * (1.0 + 2.0 * gamma(block.shape[1] + 8)) + UNDERFLOW)
    active = xp.where(lengths > cut.penalty)[0]
    chosen = block[active]
    made = chosen
    if len(active):
        made = find_cut_points(chosen, chosen @ place_like(cut.basis, block), cut)[0]
        rest[to_host(active)] = to_host(remainders(chosen, made))
    found.append(rest)
    yield made


def mix_parts(parts: Sequence[DualParts], weights: Numbers) -> DualParts:
    """What several sets of dual points prove together.

    A sum of m terms adds at most m + 2 roundings of the Gram matrices, whose magnitudes have a norm of at most the sum
    of squares: less than `_gram_slack` of (m + 4) / p times that.
    """
    count, size = len(parts), len(parts[0].remainders)
    gram, squares, rest = np.zeros_like(parts[0].gram), 0.0, np.zeros(size)
    for share, part in zip(raise_shares(weights), parts, strict=True):
        if share == 0.0:
            continue  # zero times infinity would spoil the rest
        if not np.isfinite(part.squares):
            return part
        gram += share * part.gram
        squares += share * part.squares
        rest += share * part.remainders
    rest *= 1.0 + 2.0 * gamma(count + 2)
    return DualParts(gram, squares * (1.0 + (count + 4) / size + 2.0 * gamma(count + 2)), rest)


def raise_shares(weights: Numbers) -> list[float]:
    """The weights over their sum, raised by 4 m + 8 roundings: their exact sum is at least one, and more only helps."""
    shares: list[float] = (weights / weights.sum() * (1.0 + 4.0 * (len(weights) + 2) * UNIT)).tolist()
    return shares


def add_up_gram(pieces: Iterator[Array]) -> tuple[Array, float]:
    """The Gram matrix of points that come a block at a time, and the sum of their squares."""
    gram, squares = None, 0.0
    for piece in pieces:
        if isinstance(piece, np.ndarray):
            gram = multiply_transposed(piece, piece, onto=gram)
        elif gram is None:
            gram = piece.T @ piece
        else:
            gram += piece.T @ piece
        squares += float(row_dots(piece, piece).sum())
    return gram, squares


def dual_value(factor: Factor, points: Points, cardinality: int, *, hopeless_above: float = np.inf) -> float:
    """The proven bound that the dual points give, rounding included; infinite where squares of them overflow."""
    return prove(measure(factor.rows, points), factor.rest, cardinality, hopeless_above=hopeless_above)


def prove(parts: DualParts, rest: float, cardinality: int, *, hopeless_above: float = np.inf) -> float:
    """The same from their parts; ``rest``: what the factor leaves out."""
    if not _usable(parts):
        return np.inf
    total = sum_of_largest(parts.remainders, cardinality) * (1.0 + 2.0 * gamma(cardinality))
    penalty = total + rest + _gram_slack(parts)
    top = largest_eigenvalue_bound(parts.gram, hopeless_above=hopeless_above - penalty)
    return (top + penalty) * (1.0 + 16.0 * UNIT)


def dual_values(parts: DualParts, rest: Numbers | float = 0.0) -> Numbers:
    """The same for every cardinality 1..p at once: the points do not depend on k, only the number of terms does."""
    size = len(parts.remainders)
    if not _usable(parts):
        return np.full(size, np.inf)
    totals = np.cumsum(np.sort(parts.remainders)[::-1]) * (1.0 + 2.0 * gamma(size))
    values: Numbers = largest_eigenvalue_bound(parts.gram) + (totals + rest + _gram_slack(parts))
    return values * (1.0 + 16.0 * UNIT)


def _usable(parts: DualParts) -> bool:
    """Whether no number left the range of float64."""
    finite = np.isfinite(parts.gram).all() and np.isfinite(parts.remainders).all() and np.isfinite(parts.squares)
    return bool(finite)


def _gram_slack(parts: DualParts) -> float:
    """The rounding of the points' Gram matrix: p-term sums, at most that share of its trace in the spectral norm."""
    return 2.0 * gamma(len(parts.remainders)) * parts.squares + TINY


def energies_along(rows: Array, direction: Array) -> Numbers:
    """(f_i'q)^2 for every variable, on the host."""
    return np.concatenate([to_host((block @ direction) ** 2) for _, block in blocks(rows)])


def search_penalty(
    rows: Array,
    direction: Array,
    inside: int,
    cardinality: int,
    trials: int,
    *,
    hopeless_above: float = np.inf,
    enough: float = -np.inf,
) -> ClosedForm:
    """The closed form at the best of some penalties between the last energy inside and the first outside.

    A golden section search, ended after so many trials (at least two; fewer where their work is dear), after two that
    are both hopeless, or by one that promises ``enough``.
    """
    trials = min(trials, int(TRIAL_WORK / (2.0 * float(rows.shape[0]) * float(rows.shape[1]) ** 2 + 1.0)))
    energies = energies_along(rows, direction)
    place = len(energies) - inside
    ordered = np.partition(energies, (place - 1, place))
    low, width = float(ordered[place - 1]), float(ordered[place] - ordered[place - 1])
    held = isinstance(rows, np.ndarray)
    build: BuildForm = _Trials(rows, direction).build if held else partial(_build_form, rows, direction)
    left, right = 0.0, 1.0
    inner, outer = (build(low + at * width, cardinality) for at in (1.0 - GOLDEN, GOLDEN))
    hopeless = min(inner.promise, outer.promise) > hopeless_above
    for _ in range(0 if hopeless else trials - 2):
        if min(inner.promise, outer.promise) <= enough:
            break
        if inner.promise <= outer.promise:
            right, outer = left + GOLDEN * (right - left), inner
            inner = build(low + (right - GOLDEN * (right - left)) * width, cardinality)
        else:
            left, inner = right - GOLDEN * (right - left), outer
            outer = build(low + (left + GOLDEN * (right - left)) * width, cardinality)
    return min(inner, outer, key=lambda form: form.promise)


class _Trials:
    """Closed forms of one direction at several penalties: what does not depend on the penalty is computed once.

    With z_i = a_i g_i + b_i q the Gram matrix of the points is that of the a_i g_i, and rank two more.
    """

    def __init__(self, rows: Numbers, direction: Numbers) -> None:
        self.direction = direction
        self.along = rows @ direction
        self.energies, self.squares = self.along**2, row_dots(rows, rows)
        self.across = rows - self.along[:, None] * direction
        self.lengths = np.clip(np.sqrt(row_dots(self.across, self.across)), TINY, None)
        if rows.shape[0] * rows.shape[1] ** 2 > LARGEST_EXACT:  # promises rank penalties, and prove nothing
            self.across = self.across.astype(np.float32)

    def build(self, penalty: float, cardinality: int) -> ClosedForm:
        """The form at a penalty, with its promise."""
        inside = self.energies > penalty
        with np.errstate(over="ignore", invalid="ignore"):
            rise = np.sqrt(np.clip(self.energies - penalty, TINY, None))
            room = np.clip(penalty - self.energies, 1e-30, None)
            wanted = np.sqrt(penalty * np.clip(self.squares - penalty, 0.0, None) / room)
            factors = np.where(inside, self.along / rise, wanted / self.lengths)
            active = np.flatnonzero(factors)
            points = self.across[active] * factors[active, None].astype(self.across.dtype)
            gram = multiply_transposed(points, points).astype(np.float64)
            shares = np.where(inside, rise, 0.0)
            mixed = points.T @ shares[active].astype(points.dtype)
            gram += np.outer(mixed, self.direction) + np.outer(self.direction, mixed)
            gram += float(shares @ shares) * np.outer(self.direction, self.direction)
        if not np.isfinite(gram).all() or not float(gram.trace()) < LARGEST_POINT**2:
            return ClosedForm(self.direction, penalty, np.inf)
        promise = estimate_largest_eigenvalue(gram) + cardinality * penalty
        return ClosedForm(self.direction, penalty, promise, gram)


def _build_form(rows: Array, direction: Array, penalty: float, cardinality: int) -> ClosedForm:
    with np.errstate(over="ignore", invalid="ignore"):
        gram, squares = add_up_gram(support_points(block, direction, penalty) for _, block in blocks(rows))
    if not squares < LARGEST_POINT**2:
        return ClosedForm(direction, penalty, np.inf)
    return ClosedForm(direction, penalty, _largest_eigenvalue(gram, direction) + cardinality * penalty, gram)


def _largest_eigenvalue(gram: Array, direction: Array) -> float:
    """An estimate that ranks penalties and proves nothing; on a device by power steps from a vector that is close."""
    if isinstance(gram, np.ndarray):
        return estimate_largest_eigenvalue(gram)
    vector = direction
    for _ in range(POWER_STEPS):
        vector = gram @ vector
        vector = vector / vector.norm().clip(TINY, None)
    return float(vector @ (gram @ vector))
