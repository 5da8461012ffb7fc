"""Bounds from the trace and from rows: Gershgorin's theorem for sparse vectors, with weights.

`row_values` is the one place where a row becomes a proven number; the bounds, the paths, the search and the splitting
all go through it. `improve_weights` is the one step of the iteration d <- d r(d), and `find_removable` the one rule for
variables that no better support can hold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rough_rows import RoughRows, find_rough_rows
from sparseigen.certificates.rounding import TINY, UNIT, gamma, sum_of_largest
from sparseigen.certificates.spectral import psd_shift
from sparseigen.operators.contract import Indices


def row_values(
    diagonal: Numbers,
    sums: Numbers,
    weights: Numbers,
    terms: int,
    *,
    shortfall: Numbers | float = 0.0,
    margin: float = 0.0,
) -> Numbers:
    """Proven row values r_i = A_ii + (1/d_i) * (sum of the k - 1 largest |A_ij| d_j over j != i), never too small.

    For any support S and weights d > 0 the matrix A_SS is dominated by B, which has its diagonal and |A_ij| off it, and
    lambda_max(B) <= max over i in S of (Bd)_i / d_i (Collatz and Wielandt). Row i of Bd has k - 1 terms off the
    diagonal, at most the k - 1 largest. So a support all of whose rows are below v has a value below v.

    Parameters
    ----------
    diagonal, weights
        A_ii and d_i, of a matrix scaled to entries of size about one.
    sums
        The computed sums of the largest |A_ij| d_j: every product rounded once, added up in float64 in any order.
    terms
        At least the number of roundings on the way to any of the sums; k covers k - 1 products and k - 2 additions.
    shortfall
        By how much more a sum can be too small, where entries were computed in another precision than float64.
    margin
        What the entries' own errors add to the eigenvalue of any k x k block (`BoundProblem.margin`).

    Notes
    -----
    With u the unit roundoff, the exact sum is at most the computed one / (1 - u)^terms, because each of its terms went
    through at most that many roundings. Adding the shortfall, dividing by d_i, adding A_ii, adding the slack, adding
    TINY are one rounding each: terms + 5 roundings of |A_ii| + rest, and the slack itself is off by four roundings of
    itself. 2 gamma(terms + 8) > 2 (terms + 12) u is more than twice that. Adding the margin rounds it once; it was
    raised by more than that (`raised_sum`). TINY covers products that underflow: each loses 2^-1074 at most, and no
    weight is below 1e-7 of the largest.
    """
    rest = (sums + shortfall) / weights
    values: Numbers = diagonal + rest + 2.0 * gamma(terms + 8) * (np.abs(diagonal) + rest) + TINY + margin
    return values


def find_removable(
    rows: Numbers, least: Numbers, weights: Numbers, products: Numbers, cutoff: float
) -> NDArray[np.bool_]:
    """Which candidates no support above the cutoff can hold, by what the rows above the cutoff become with them.

    ``rows``, ``least`` (the smallest free product used) and ``weights`` are those of the rows above the cutoff;
    ``products`` has one row for each of them and one column |A_ij| d_j per candidate j. Forcing j in makes row i use j
    in place of its smallest free entry. If the row of j itself is below the cutoff (the caller's part) and every row
    above it falls below with j in, the largest row of any support with j is below the cutoff.

    Subtraction, division and difference are off by three roundings of |A_ii| + rest, which is the row where A_ii is
    not negative: 16 of it are added. Where A_ii is negative, the slack of `row_values` has more than that to spare: it
    is above 2 (terms + 12) roundings of |A_ii| + rest, and terms + 9 are used. ``least`` may come from entries in
    another precision: the sum less it holds k - 2 computed products, and the shortfall in the row covers k - 1.
    """
    loss = (least[:, None] - np.minimum(products, least[:, None])) / weights[:, None]
    forced = rows[:, None] - loss + 16.0 * UNIT * np.abs(rows[:, None])
    return np.asarray((forced <= cutoff).all(axis=0))


def trace_bound(problem: BoundProblem) -> float:
    """Sum of the k largest diagonal entries: the trace of a positive semidefinite block bounds its eigenvalues.

    Holds for Gram matrices. For another matrix a Cholesky factorisation first proves A + shift I positive
    semidefinite for a shift at rounding level; then the block's trace plus (k - 1) shift is the bound.
    """
    cardinality, diagonal = problem.cardinality, problem.diagonal
    largest = sum_of_largest(diagonal, cardinality)
    if largest >= problem.best:  # not worth a proof of semidefiniteness
        return np.inf
    shift = psd_shift(problem)
    if np.isinf(shift):
        return np.inf
    slack = 2.0 * gamma(cardinality) * sum_of_largest(np.abs(diagonal), cardinality)
    return largest + slack + (cardinality - 1) * shift * (1.0 + 4.0 * UNIT) + problem.margin + TINY


def row_bound(problem: BoundProblem) -> float:
    """Gershgorin: for some row of the block, the diagonal entry plus the k - 1 largest others in magnitude."""
    return scaled_row_values(problem, np.ones(problem.size))[0]


def scaled_row_values(problem: BoundProblem, weights: Numbers) -> tuple[float, Numbers]:
    """The scaled Gershgorin bound for weights d > 0, and every row's proven value.

    Where the matrix is not in memory, rows that cannot reach the answer found are not formed: `row_ceilings`.
    """
    rows = row_ceilings(problem, weights)
    rough = find_rough_rows(problem)
    if rough is not None:
        return _lower_roughly(problem, rough, weights, rows)
    wanted = None if problem.dense is not None else np.flatnonzero(rows > problem.achieved)
    if wanted is not None and problem.operator.costs.transfers:
        wanted = _lower_ceilings(problem, weights, rows, wanted)
    if wanted is not None and not problem.affords(len(wanted), "row sums"):
        return np.inf, rows
    chosen = slice(None) if wanted is None else wanted
    rows[chosen] = np.minimum(rows[chosen], form_rows(problem, weights, wanted)[0])
    return float(rows.max()), rows


def _lower_roughly(problem: BoundProblem, rough: RoughRows, weights: Numbers, rows: Numbers) -> tuple[float, Numbers]:
    """The same from sums in float32; where those nearly meet the answer found, the rows above it are formed exactly."""
    wanted = np.arange(problem.size) if rough.held else np.flatnonzero(rows > problem.achieved)
    values = bound_rows_roughly(problem, rough, weights, wanted) + problem.margin
    rows[wanted] = np.minimum(rows[wanted], values)
    above = np.flatnonzero(rows > problem.achieved)
    near = float(rows.max()) - problem.achieved <= NEAR * abs(problem.achieved)
    if near and 0 < len(above) <= max(problem.size // FORMED_SHARE, 1) and problem.affords(len(above), "row sums"):
        rows[above] = np.minimum(rows[above], form_rows(problem, weights, above)[0])
    return float(rows.max()), rows


def bound_rows_roughly(problem: BoundProblem, rough: RoughRows, weights: Numbers, wanted: Indices) -> Numbers:
    """Proven values of some rows from sums in float32, the entries' own errors left out."""
    sums = rough.bound_sums(weights, wanted, problem.cardinality - 1)
    return row_values(problem.diagonal[wanted], sums, weights[wanted], problem.cardinality)


def _lower_ceilings(problem: BoundProblem, weights: Numbers, rows: Numbers, wanted: Indices) -> Indices:
    """Lower the ceilings ``rows`` by what a device says of them at little cost; which rows are then worth forming.

    Of many rows with such a ceiling only the largest are formed: the others are bounded already.
    """
    sums = problem.row_sum_ceilings(weights, wanted)
    terms, margin = problem.cardinality, problem.margin
    values = row_values(problem.diagonal[wanted], sums, weights[wanted], terms, margin=margin)
    rows[wanted] = np.minimum(rows[wanted], values)
    most = problem.size // FORMED_SHARE
    wanted = wanted[rows[wanted] > problem.achieved]
    if len(wanted) <= most or not np.isfinite(sums).any():
        return wanted
    return np.sort(wanted[np.argpartition(rows[wanted], len(wanted) - most)[len(wanted) - most :]])


def form_rows(problem: BoundProblem, weights: Numbers, wanted: Indices | None = None) -> tuple[Numbers, Numbers]:
    """The proven values of the rows wanted (None: of all), and the smallest product that each of them used."""
    chosen = slice(None) if wanted is None else wanted
    sums, least, shortfall = problem.row_sums(weights, wanted)
    diagonal, terms = problem.diagonal[chosen], problem.cardinality
    values = row_values(diagonal, sums, weights[chosen], terms, shortfall=shortfall, margin=problem.margin)
    return values, least


def row_ceilings(problem: BoundProblem, weights: Numbers) -> Numbers:
    """Above every r_i without a look at the matrix: |A_ij| <= sqrt(A_ii A_jj) in a Gram matrix, infinite in others."""
    if np.isinf(problem.negative_part):
        return np.full(problem.size, np.inf)
    squares = problem.diagonal + problem.entry_errors + problem.negative_part
    roots = np.sqrt(squares)
    largest = sum_of_largest(roots * weights, problem.cardinality - 1) if problem.cardinality > 1 else 0.0
    # Twice the terms: two roots, the sums under them and one more product are rounded too.
    terms = 2 * problem.cardinality + 8
    return row_values(squares, roots * largest, weights, terms, margin=problem.margin)


PASSES = 5
"""Passes over a matrix in memory. Each costs one read of it."""
PASSES_FROM_DATA = 3
"""Passes when each has to form rows again, block by block."""
WHOLE_PASSES = 2
"""Of those, how many may form more than a quarter of the rows."""
FORMED_SHARE = 32
"""Where rows have ceilings, one in so many is formed: that costs as much as the ceilings of all."""
RISES, FEW_CHANGED = 6, 8
"""Times that weights are raised where a pass over all rows costs products; one weight in so many counts as few."""
CHEAP_PASS = 1.4e11
"""Multiplications of a pass over all rows that is made a second time."""
NEAR = 1e-3
"""A gap of rough rows below which exact ones are worth forming."""
FLOOR = 1e-7
"""Smallest weight, relative to the largest."""


def scaled_row_bound(problem: BoundProblem) -> float:
    """The best value of `scaled_row_values` over the iteration d <- d r(d) from d = |A x|, x the answer found.

    With x the Perron vector of the optimal block and k = p the iteration is the power method, and the bound tends
    to the eigenvalue; any d > 0 gives a valid bound, so the best one seen is returned.
    """
    return settle_weights(problem)[0]


def settle_weights(problem: BoundProblem) -> tuple[float, Numbers, Numbers]:
    """The best bound of the iteration, the weights d that gave it, and the proven values of the rows with them.

    Weights prove a bound for every cardinality.

    The problem remembers them for other bounds from the same answer.
    """
    if problem.settled is None or problem.settled[0] is not problem.vector:
        problem.settled = problem.vector, *_settle_weights(problem)
    return problem.settled[1:]


def _settle_weights(problem: BoundProblem) -> tuple[float, Numbers, Numbers]:
    rough = find_rough_rows(problem)
    if rough is not None and not rough.held:
        return _raise_weights(problem, rough)
    held = problem.holds_matrix if rough is None else rough.held
    passes = PASSES if held else PASSES_FROM_DATA
    whole = passes if problem.operator.costs.transfers else WHOLE_PASSES  # a device forms rows faster than it waits
    weights = best_weights = starting_weights(problem)
    best, previous, best_rows = np.inf, np.inf, np.full(problem.size, np.inf)
    for done in range(passes):
        if not held and done >= whole:
            formed = int((row_ceilings(problem, weights) > problem.achieved).sum())
            if 4 * formed > problem.size:
                break
        bound, rows = scaled_row_values(problem, weights)
        if not np.isfinite(bound):
            break
        if bound < best:
            best, best_weights, best_rows = bound, weights, rows
        settled = done > 1 and bound > previous * (1.0 - 1e-5)
        if settled or best <= problem.achieved * (1.0 + problem.target_gap) or problem.out_of_time:
            break
        previous = bound
        weights = improve_weights(weights, rows)
    return best, best_weights, best_rows


def _raise_weights(problem: BoundProblem, rough: RoughRows) -> tuple[float, Numbers, Numbers]:
    """The same where every pass over all rows costs products: one, then d_i <- d_i r_i for rows above the answer alone.

    Those are few as a rule; where not, there is a second pass with other weights for all.
    """
    weights = starting_weights(problem)
    whole = WHOLE_PASSES - 1 if problem.size * problem.operator.costs.product <= CHEAP_PASS else 0
    best, rows = scaled_row_values(problem, weights)
    best_weights, best_rows = weights, rows
    for _ in range(RISES):
        above = np.flatnonzero(rows > problem.achieved)
        if len(above) == 0 or not np.isfinite(best) or problem.out_of_time:
            break
        weights = weights.copy()
        weights[above] *= np.clip(rows[above] / max(problem.achieved, TINY), 1.0, 4.0)
        changed = update_rows(problem, rough, weights)
        if changed is not None:
            bound, rows = changed
        elif whole == 0:
            break
        else:
            whole, weights = whole - 1, improve_weights(best_weights, best_rows)
            bound, rows = scaled_row_values(problem, weights)
        if bound >= best:
            break
        best, best_weights, best_rows = bound, weights, rows
    return best, best_weights, best_rows


def update_rows(problem: BoundProblem, rough: RoughRows, weights: Numbers) -> tuple[float, Numbers] | None:
    """The bound and the proven rows from the last pass where few weights changed since; None where not."""
    changed = rough.list_changes(weights, problem.cardinality - 1)
    if changed is None or FEW_CHANGED * len(changed) > problem.size:
        return None
    sums = rough.change_sums(weights, changed, problem.cardinality - 1)
    rows = row_values(problem.diagonal, sums, weights, problem.cardinality, margin=problem.margin)
    rows = np.minimum(rows, row_ceilings(problem, weights))
    return float(rows.max()), rows


def starting_weights(problem: BoundProblem) -> Numbers:
    """|A x| raised to its k-th largest entry; ones where no answer is known or it says nothing."""
    if problem.vector is None:
        return np.ones(problem.size)
    product = problem.operator.apply_support(problem.vector.indices, problem.vector.weights)
    return weights_from_product(np.asarray(product, dtype=np.float64), problem.cardinality)


def weights_from_product(product: Numbers, cardinality: int) -> Numbers:
    """|A x| raised to its k-th largest entry; ones where it says nothing."""
    sizes = np.abs(product)
    if not (np.isfinite(sizes).all() and sizes.any()):
        return np.ones(len(sizes))
    sizes /= sizes.max()
    kept = kernels.largest_magnitudes(sizes, min(cardinality, len(sizes)))
    return _floor(np.maximum(sizes, sizes[kept].min()))


def improve_weights(weights: Numbers, rows: Numbers) -> Numbers:
    """One step d <- d r(d); ones where no row is positive or one is infinite, because then the rows are no weights."""
    return _floor(weights * rows)


def _floor(weights: Numbers) -> Numbers:
    largest = float(weights.max())
    if not 0.0 < largest < np.inf:
        return np.ones(len(weights))
    return np.maximum(np.maximum(weights, 0.0) / largest, FLOOR)
