"""Small problems proven exactly: every k x k block lies below the answer found, by a bounded search.

`search_small` asks the kernel `search_blocks` whether all k x k principal blocks of B = sI - A are positive
semidefinite, for a threshold s just above the answer. If so, no support reaches more than s; if a block is not, its
leading eigenvector is a better answer, and the search begins again above it.

Rounding. The search runs L D L' on the blocks, without roots and without pivoting, by the recursion
``l = fl(w_b / d), s'_bc = fl(s_bc - fl(l w_c))`` with d = s_aa > 0 the pivot, w its column and u the unit roundoff.
Read backwards, s_bc = s'_bc + w_b w_c / d + e with |e| <= u |s'_bc| + (2 + u) u |w_b w_c| / d; row and column of the
pivot itself are exact. Summed over the i variables taken in, B_SS + E is (sum of ww'/d) plus what remains, which the
search shows to be positive semidefinite as it stands: by dominant rows, by pairs, or by more steps of the same
recursion. Along the diagonal numbers only fall and end at or above zero; so no s_bb exceeds b_bb, the w_b^2 / d add up
to b_bb within a factor 1 + (i + 3) u, and as a positive semidefinite matrix up to E, every |s_bc| is at most
1.01 sqrt(b_bb b_cc). So |E_bc| <= 1.02 (i + 3) u sqrt(b_bb b_cc), and its spectral norm is at most
1.02 (i + 3) u trace(B_SS): lambda_max(A_SS) <= s + gamma(i) trace(B_SS), where i is at most the number of variables and
the trace at most that of the positive diagonal entries of B. `search_small` takes twice that, four roundings for
forming s - A_ii, and TINY for underflow: entries and weights lie within sizes where a product loses 2^-1074 at most,
and the thousand millions of products that any budget allows lose less than 2^-960 together.

A row is dominant if its computed product s_aa d_a (one rounding) is at least the computed sum (k roundings at most in
each term) times 1 + 4 (k + 8) u: more than covers both. If every row of a block of the remainder is, the comparison
matrix M (|s_aa| on the diagonal, -|s_ab| off it) has M d >= 0, hence is positive semidefinite (a symmetric M-matrix),
and x'Sx >= |x|'M|x| >= 0.
"""

from __future__ import annotations

import numpy as np

from sparseigen import kernels
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, ZERO, achieved_value, gamma
from sparseigen.certificates.scaled_rows import starting_weights
from sparseigen.kernels.block_search import FOUND, MOST_HELD, PROVEN
from sparseigen.kernels.eigen import leading_eigenpair
from sparseigen.operators.contract import Indices, SparseVector

SMALL_WORK, WORK_PER_ENTRY = 2.0e6, 40.0
"""Operations of a proof within a default certificate: some milliseconds, and ten passes of the scaled rows, which is
what it takes to see whether a search is worth its while."""
GENEROSITY, QUARTER_SECOND = 5.0, 1.0e8
"""How many times more a matrix gets for each entry: the duals that follow cost p times an entry. Never more than about
the second, and nothing where that would not do to see whether a search is worth its while."""
STEP = 0.1
"""How far above the answer the threshold lies, as a share of the gap that counts as closed."""


def small_bound(problem: BoundProblem) -> float:
    """The threshold just above the answer found, where a short search proves that no support reaches more."""
    seen = WORK_PER_ENTRY * problem.size**2
    if seen > QUARTER_SECOND:
        return np.inf
    return search_small(problem, SMALL_WORK + min(GENEROSITY * seen, QUARTER_SECOND))[0]


def search_small(
    problem: BoundProblem,
    most_work: float,
    *,
    members: Indices | None = None,
    gap: float = 0.0,
    most_held: int = MOST_HELD,
) -> tuple[float, SparseVector | None]:
    """A bracket closed by a search over supports, or infinity after about ``most_work`` elementary operations.

    Parameters
    ----------
    problem : BoundProblem
        With an answer found, and the matrix in memory unless ``members`` are given; others are not searched.
    most_work : float
        Operations, not seconds: the same question has the same answer everywhere. A million take about 2 ms.
    members : array of int, optional
        The variables that supports are made of, ascending; what is proven says nothing of supports with another one.
    gap : float
        How far above the answer the bound may lie, relative to it: a wider one takes less work. It is at least a tenth
        of the problem's ``target_gap``.
    most_held : int
        Entries of blocks that may be held beside the matrix and a copy of it.

    Returns
    -------
    upper : float
        A proven upper bound, scaled as the problem's numbers are; infinity where the work did not suffice.
    better : SparseVector or None
        An answer above the problem's own that the search came across; ``upper`` then belongs to this one. It may have
        loadings of both signs.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseigen.operators import as_operator
    >>> from sparseigen.operators.contract import SparseVector
    >>> operator = as_operator(np.diag([3.0, 1.0, 1.0]) + 1.0)
    >>> poor = SparseVector(np.array([1, 2]), np.full(2, 0.5**0.5))
    >>> upper, better = search_small(BoundProblem(operator, 2, poor, achieved=3.0), 1e6)
    >>> better.indices
    array([0, 1])
    """
    better: SparseVector | None = None
    lower, margin = problem.achieved, problem.margin
    known = bool(np.isfinite([lower, margin]).all()) and (members is not None or problem.dense is not None)
    if not known or most_work <= 0.0:
        return np.inf, None
    everything = np.arange(problem.size, dtype=np.int64) if members is None else members
    if len(everything) < problem.cardinality:
        return lower, None
    weights, diagonal = starting_weights(problem)[everything], problem.diagonal[everything]
    matrix = problem.dense if members is None and problem.dense is not None else problem.block(everything)
    while most_work > 0.0:
        rounding = 8.0 * gamma(len(matrix) + 2) * len(matrix) * (2.0 + abs(lower) + 2.0 * margin)
        threshold = lower + 2.0 * margin + max(max(STEP * problem.target_gap, gap) * max(abs(lower), ZERO), rounding)
        shifted, defect = _shift(matrix, diagonal, threshold)
        report = kernels.search_blocks(shifted, problem.cardinality, most_work, weights, most_held=most_held)
        if report.verdict == PROVEN:
            return threshold + defect + margin + 4.0 * UNIT * (abs(threshold) + defect + margin), better
        if report.verdict != FOUND:
            break
        most_work -= report.work
        block = matrix[np.ix_(report.support, report.support)]
        vector = SparseVector(everything[report.support], leading_eigenpair(block)[0])
        reached = problem.scale_value(achieved_value(problem.operator, vector))
        if not reached > lower:  # rounding as large as the values
            break
        better, lower = vector, reached
    return np.inf, better


def _shift(matrix: Numbers, diagonal: Numbers, threshold: float) -> tuple[Numbers, float]:
    """sI - A as computed, and by how much an eigenvalue of A can exceed s when the search finds nothing."""
    shifted = -matrix
    held = threshold - diagonal
    shifted[np.diag_indices(len(matrix))] = held
    positive = float(np.maximum(held, 0.0).sum())
    largest = float(np.abs(held).max())
    return shifted, 2.0 * gamma(len(matrix) + 2) * positive * (
        1.0 + 2.0 * gamma(len(matrix))
    ) + 4.0 * UNIT * largest + TINY
