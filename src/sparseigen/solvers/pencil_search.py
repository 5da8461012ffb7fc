"""Good supports for x'Ax / x'Bx: variables are added, and exchanged, while the quotient of the best vector rises.

The quotient of a support S is the largest generalised eigenvalue t of (A_SS, B_SS), with vector y. Of a variable j
outside, g = (A - tB) y tells what it would add: to first order t rises with g_j^2 / (t B_jj - A_jj). The few best are
tried in earnest, each in the place of the members whose loss costs least, found by a decomposition of the k x k block.
Of the best support all exchanges are tried where they are few: then no single one is better at the end.

Every support keeps to a `Quota`: k variables, or so many of each of two groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.pencil import Pencil
from sparseigen.operators.contract import Indices, SparseVector

Numbers = NDArray[np.float64]
Report = Callable[[SparseVector, float], None]

TRIED, REPLACED = 5, 3
"""Variables that are tried at a time, and members that each of them may replace."""
ALL_EXCHANGES = 1500
"""Up to so many exchanges all of them are tried."""
RISE = 1e-10
"""Relative rise below which an exchange is rounding."""
MOST_ROUNDS = 200
FURTHER_STARTS = 12
"""Single variables, or pairs of both groups, that a search starts from."""


class PencilSearch:
    """Supports of a pencil, in its units; ``best`` is the best so far."""

    def __init__(self, pencil: Pencil, report: Report | None = None) -> None:
        self.pencil, self.report = pencil, report
        self.value, self.support = -np.inf, np.empty(0, dtype=np.int64)
        self.rounds = 0
        self.history: list[float] = []
        self.seen: dict[bytes, tuple[float, Numbers]] = {}
        quota = pencil.quota
        boundary = pencil.size if quota.boundary is None else quota.boundary
        self.groups = (np.arange(pencil.size) >= boundary).astype(np.int64)
        self.counts = (quota.picks, quota.others)
        squares = pencil.scales**2
        self.form_diagonal = pencil.form.diagonal() * squares
        self.metric_diagonal = pencil.metric.diagonal() * squares

    def solve(self, support: Indices) -> tuple[float, Numbers]:
        """The largest quotient on a support, and its vector (of y)."""
        key = support.tobytes()
        if key not in self.seen:
            if len(self.seen) > 4096:
                self.seen.clear()
            self.seen[key] = solve_pair(*self._blocks(support))
        return self.seen[key]

    def _blocks(self, support: Indices) -> tuple[Numbers, Numbers]:
        pencil = self.pencil
        if pencil.held:
            places = np.ix_(support, support)
            return pencil.a[places], pencil.b[places]
        scales = np.outer(pencil.scales[support], pencil.scales[support])
        return pencil.form.submatrix(support) * scales, pencil.metric.submatrix(support) * scales

    def _slopes(self, support: Indices, value: float, vector: Numbers) -> Numbers:
        """(A - tB) y, of all variables."""
        pencil = self.pencil
        if pencil.held:
            slopes: Numbers = pencil.a[:, support] @ vector - value * (pencil.b[:, support] @ vector)
            return slopes
        return np.asarray(pencil.at(value).apply_support(support, vector), dtype=np.float64)

    def best_vector(self) -> SparseVector:
        """The best vector so far, of unit length in the caller's variables."""
        return self.unscale(self.support)

    def unscale(self, support: Indices) -> SparseVector:
        """The best vector on a support, of unit length in the caller's variables."""
        weights = self.solve(support)[1] * self.pencil.scales[support]
        weights = weights / np.abs(weights).max()
        return SparseVector(support, weights / np.linalg.norm(weights))

    def take(self, support: Indices) -> bool:
        """Keep a support if it is better than the best so far."""
        support = np.sort(support)
        value = self.solve(support)[0]
        if len(self.support) and not value > self.value + RISE * abs(self.value):
            return False
        self.value, self.support = value, support
        self.history.append(value)
        if self.report is not None:
            self.report(self.best_vector(), value)
        return True

    def room(self, support: Indices) -> list[int]:
        """How many variables each group may still give."""
        taken = np.bincount(self.groups[support], minlength=2)
        return [self.counts[0] - int(taken[0]), self.counts[1] - int(taken[1])]

    def fill(self, support: Indices) -> Indices:
        """Add the variable that promises most, one after the other, until the quota is met."""
        support = np.sort(support)
        while any(self.room(support)):
            room = self.room(support)
            gains = self._gains(support, *self.solve(support))
            gains[np.asarray(room)[self.groups] <= 0] = -1.0
            trial = np.argsort(-gains, kind="stable")[:TRIED]
            widened = [np.sort(np.append(support, j)) for j in trial if gains[j] >= 0.0]
            support = max(widened, key=lambda wider: self.solve(wider)[0])
        return support

    def _gains(self, support: Indices, value: float, vector: Numbers) -> Numbers:
        slopes = self._slopes(support, value, vector)
        stiffness = value * self.metric_diagonal - self.form_diagonal
        with np.errstate(all="ignore"):
            gains = np.where(stiffness > 0.0, slopes**2 / stiffness, np.inf)
        gains[support] = -1.0
        return gains

    def truncate(self, vector: Numbers) -> Indices:
        """The largest entries of a vector (of y), as many of each group as may be chosen."""
        chosen = []
        for group, count in enumerate(self.counts):
            members = np.flatnonzero(self.groups == group)
            chosen.append(members[np.argsort(-np.abs(vector[members]), kind="stable")[:count]])
        return np.sort(np.concatenate(chosen)).astype(np.int64)

    def climb(self, support: Indices, *, every: bool = False) -> None:
        """Exchange members while the quotient rises; with ``every`` all exchanges are tried, where they are few."""
        every = every and len(support) * self.pencil.size <= ALL_EXCHANGES
        support = np.sort(support)
        self.take(support)
        value = self.solve(support)[0]
        for _ in range(MOST_ROUNDS):
            self.rounds += 1
            following = self._exchange(support, value, every=every)
            if following is None:
                return
            support, value = following, self.solve(following)[0]
            self.take(support)

    def _exchange(self, support: Indices, value: float, *, every: bool) -> Indices | None:
        """The best of the exchanges tried; None where none is better."""
        least, best = value + RISE * max(abs(value), RISE), None
        for trial in self._neighbours(support, every):
            reached = self.solve(trial)[0]
            if reached > least:
                least, best = reached, trial
        return best

    def _neighbours(self, support: Indices, every: bool) -> Iterator[Indices]:
        value, vector = self.solve(support)
        gains = self._gains(support, value, vector)
        for group in (0, 1):
            own = np.flatnonzero(self.groups[support] == group)
            outside = np.flatnonzero((self.groups == group) & (gains >= 0.0))
            if not own.size or not outside.size:
                continue
            if not every:
                outside = outside[np.argsort(-gains[outside], kind="stable")[:TRIED]]
            for j in outside:
                leaving = own if every else self._least_missed(support, own, int(j))
                for i in leaving:
                    yield np.sort(np.append(np.delete(support, i), j))

    def _least_missed(self, support: Indices, own: Indices, added: int) -> Indices:
        """The members of smallest weight once a variable is added."""
        wider = np.append(support, added)
        order = np.argsort(wider, kind="stable")
        vector = np.empty(len(wider))
        vector[order] = self.solve(wider[order])[1]
        weights = np.abs(vector[own]) * np.sqrt(self.metric_diagonal[support[own]])
        chosen: Indices = own[np.argsort(weights, kind="stable")[:REPLACED]]
        return chosen

    def seeds(self) -> Iterator[Indices]:
        """What searches start from: the best single variables, or of two groups the best pairs."""
        pencil = self.pencil
        if not self.counts[1]:
            order = np.argsort(-self.form_diagonal / self.metric_diagonal, kind="stable")
            yield from (order[i : i + 1].astype(np.int64) for i in range(min(FURTHER_STARTS, pencil.size)))
            return
        first, second = (np.flatnonzero(self.groups == group) for group in (0, 1))
        cross = np.abs(pencil.a[np.ix_(first, second)])
        cross /= np.sqrt(np.outer(self.metric_diagonal[first], self.metric_diagonal[second]))
        order = np.argsort(-cross, axis=None, kind="stable")
        used: set[int] = set()
        for place in order[: 50 * FURTHER_STARTS]:
            pair = {int(first[place // len(second)]), int(second[place % len(second)])}
            if pair & used:
                continue  # other variables, so that searches begin far from each other
            used |= pair
            yield np.array(sorted(pair), dtype=np.int64)
            if len(used) >= 2 * FURTHER_STARTS:
                return


def solve_pair(form: Numbers, metric: Numbers) -> tuple[float, Numbers]:
    """The largest generalised eigenvalue of a small pair and its vector, by the Cholesky factor of the metric.

    Examples
    --------
    >>> import numpy as np
    >>> value, vector = solve_pair(np.diag([1.0, 2.0]), np.diag([0.1, 1.0]))
    >>> round(value, 9), vector.round(9).tolist()
    (10.0, [3.16227766, 0.0])
    """
    from scipy.linalg.lapack import dpotrf, dtrtri

    factor, failed = dpotrf(metric, lower=1, clean=1)
    if failed:
        return -np.inf, np.ones(len(metric))
    inverse, _ = dtrtri(factor, lower=1)
    reduced = inverse @ form @ inverse.T
    values, vectors = np.linalg.eigh(0.5 * (reduced + reduced.T))
    return float(values[-1]), inverse.T @ vectors[:, -1]
