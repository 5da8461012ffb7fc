"""What supports can reach that hold variables of small variance: the bound that lets a solve look at the others alone.

Let the variables be divided into those inside and those outside, and let A + d I be positive semidefinite (d = 0 for
data). For a support S with j variables outside, the block A_SS + d I is semidefinite, so its largest eigenvalue is at
most the sum of those of its two diagonal blocks, and that of the outer block at most its trace:

    lambda(A_SS) <= U(k - j) + t_1 + ... + t_j + j d,

with U(i) a bound on what any i variables inside reach, U(0) = 0, and t the variances outside in falling order. Where
this is below the answer for every j >= 1, no variable outside is in any better support: the bound U(k) of the variables
inside is a bound for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparseigen.certificates.problem import Numbers
from sparseigen.certificates.rounding import UNIT, raised_sum

Inside = Callable[[int, float], float]
"""Cardinality and what would do -> a proven bound on what so many variables inside reach."""


def list_groups(cardinality: int) -> Iterator[tuple[int, int]]:
    """Numbers of variables outside, 1 to k, in groups (fewest, most) that double: few bounds inside serve them all.

    Examples
    --------
    >>> list(list_groups(10))
    [(1, 1), (2, 2), (3, 4), (5, 8), (9, 10)]
    """
    fewest, most = 1, 1
    while fewest <= cardinality:
        yield fewest, min(most, cardinality)
        fewest, most = most + 1, 2 * most


def sum_outside(variances: Numbers, cardinality: int) -> Numbers:
    """The sums t_1 + ... + t_j for j = 0..k of the largest variances, never too small; negative ones count as zero."""
    count, variances = min(cardinality, len(variances)), np.maximum(variances, 0.0)
    largest: Numbers = np.zeros(0)
    if count:
        largest = np.sort(np.partition(variances, len(variances) - count)[len(variances) - count :])[::-1]
    sums = np.concatenate([[0.0], np.cumsum(largest), np.zeros(cardinality - count)])
    sums[count + 1 :] = sums[count]
    return np.array([raised_sum(float(total), cardinality) for total in sums])


def bound_outside(
    inside: Inside, variances: Numbers, cardinality: int, *, negative_part: float, cutoff: float, hopeless: float
) -> float:
    """A bound on every support with at least one variable outside; infinite as soon as it is above ``hopeless``.

    Parameters
    ----------
    inside
        The bound U(i), asked for only where it is needed; a bound below its second argument need not be any lower.
    variances
        Those of the variables outside, with what rounding can have taken from them added.
    negative_part
        The d above.
    cutoff
        Bounds below this need not be any lower.
    """
    sums = sum_outside(variances, cardinality)
    room = cutoff - sums - np.arange(cardinality + 1) * negative_part - 16.0 * UNIT * abs(cutoff)
    whole = _add_up(inside(cardinality - 1, room[-1]), sums[-1], cardinality * negative_part)
    if whole <= cutoff:
        return whole
    worst = -np.inf
    for fewest, most in list_groups(cardinality):
        worst = max(worst, _add_up(inside(cardinality - fewest, room[most]), sums[most], most * negative_part))
        if worst > hopeless:
            return np.inf
    return min(worst, whole)


def _add_up(inside: float, outside: float, shift: float) -> float:
    """The sum of three numbers, never too small: two additions and a product, one rounding of the result each."""
    total = inside + outside + shift
    return total + 8.0 * UNIT * (abs(inside) + outside + shift)
