"""Sparse eigenvalues decided without rounding: whole numbers of any length, every support.

A question about A is asked of whole numbers N and w > 0 with A = diag(w)^-1/2 N diag(w)^-1/2. For a matrix of floats
all w are the common denominator; for a correlation matrix w is the diagonal of N, so that no square root is needed:

    lambda_max(A_SS) <= u   exactly when   u diag(w_S) - N_SS is positive semidefinite,

which elimination without fractions decides. LAPACK's eigenvalues of all supports only tell which supports need that:
those whose value is within MARGIN of the bound. Nothing of sparseigen is used here.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations

import numpy as np

MARGIN = 1e-11
"""LAPACK's eigenvalues of a matrix of size 10 are off by less than 1e-14 of its norm; a thousand times that."""
ROOT_BITS = 600
"""Square roots for quotients of correlation matrices carry this many bits."""

Whole = list[list[int]]


@cache
def supports(size: int, cardinality: int) -> np.ndarray:
    return np.array(list(combinations(range(size), cardinality)))


def whole_numbers(values: np.ndarray) -> tuple[Whole, int]:
    """The floats of a table as whole numbers over one power of two."""
    ratios = [[float(value).as_integer_ratio() for value in row] for row in values]
    denominator = max((ratio[1] for row in ratios for ratio in row), default=1)
    return [[top * (denominator // bottom) for top, bottom in row] for row in ratios], denominator


def is_semidefinite(matrix: Whole, *, definite: bool = False) -> bool:
    """Whether a symmetric matrix of whole numbers is positive semidefinite, or definite: Bareiss elimination."""
    rows, before = matrix, 1
    while rows:
        pivot, first = rows[0][0], rows[0]
        if pivot < 0 or (pivot == 0 and (definite or any(first))):
            return False
        rest = [row[1:] for row in rows[1:]]
        if pivot:
            for i, row in enumerate(rest):
                left = rows[i + 1][0]
                for j in range(i, len(row)):
                    row[j] = rest[j][i] = (pivot * row[j] - left * first[j + 1]) // before
            before = pivot
        rows = rest
    return True


class Truth:
    """One symmetric matrix, exactly; ``negated`` asks about the other end of the spectrum."""

    def __init__(self, numbers: Whole, weights: list[int]) -> None:
        self.numbers, self.weights, self.size = numbers, weights, len(weights)
        self.exact_tests = 0

    def leave_out(self, indices: list[int]) -> None:
        """Make the rows and columns of these variables zero: those that scaling left out."""
        for i in indices:
            self.weights[i] = max(*self.weights, 1)
            for j in range(self.size):
                self.numbers[i][j] = self.numbers[j][i] = 0

    @classmethod
    def of_matrix(cls, matrix: np.ndarray) -> Truth:
        """(A + A')/2 of an array of floats."""
        numbers, denominator = whole_numbers(matrix)
        size = len(numbers)
        both = [[numbers[i][j] + numbers[j][i] for j in range(size)] for i in range(size)]
        return cls(both, [2 * denominator] * size)

    @classmethod
    def of_data(cls, data: np.ndarray, *, center: bool, scale: bool, ddof: int) -> Truth:
        """The covariance or correlation matrix of an array of floats, samples x variables."""
        table, denominator = whole_numbers(data)
        samples, columns = len(table), [list(column) for column in zip(*table, strict=True)]
        sums = [sum(column) if center else 0 for column in columns]
        numbers = [
            [samples * sum(map(int.__mul__, a, b)) - sa * sb for b, sb in zip(columns, sums, strict=True)]
            for a, sa in zip(columns, sums, strict=True)
        ]
        whole = samples * (samples - ddof) * denominator**2
        return cls(numbers, [numbers[i][i] if scale else whole for i in range(len(columns))])

    def updated(self, left: np.ndarray, middle: np.ndarray) -> Truth:
        """A + L M L' for arrays of floats."""
        rows, below = whole_numbers(left)
        inner, under = whole_numbers(middle)
        halves = [[sum(map(int.__mul__, x, line)) for line in inner] for x in rows]
        change = [[sum(map(int.__mul__, half, y)) for y in rows] for half in halves]
        own, added = self.weights[0], below * below * under
        if any(weight != own for weight in self.weights):
            raise ValueError("a change of low rank is only known for matrices with one denominator")
        numbers = [
            [n * added + c * own for n, c in zip(line, more, strict=True)]
            for line, more in zip(self.numbers, change, strict=True)
        ]
        return Truth(numbers, [own * added] * self.size)

    def projected(self, taken: np.ndarray, against: np.ndarray) -> Truth:
        """P'AP with P = I - X W' for arrays of floats, shape (size, components)."""
        if any(weight != self.weights[0] for weight in self.weights):
            raise ValueError("a projection is only known for matrices with one denominator")
        (x, below), (w, under) = whole_numbers(taken), whole_numbers(against)
        one, places = below * under, range(self.size)
        p = [[one * (i == j) - sum(map(int.__mul__, x[i], w[j])) for j in places] for i in places]
        by_column = list(zip(*p, strict=True))
        halves = [[sum(map(int.__mul__, line, column)) for column in by_column] for line in self.numbers]
        numbers = [[sum(map(int.__mul__, column, half)) for half in zip(*halves, strict=True)] for column in by_column]
        return Truth(numbers, [self.weights[0] * one * one] * self.size)

    def regressed(self, vector: np.ndarray) -> Truth:
        """A - (Ax)(Ax)' / x'Ax for a vector of floats with x'Ax > 0."""
        if any(weight != self.weights[0] for weight in self.weights):
            raise ValueError("a Schur complement is only known for matrices with one denominator")
        x = whole_numbers(vector[None])[0][0]
        image = [sum(map(int.__mul__, line, x)) for line in self.numbers]
        form = sum(map(int.__mul__, image, x))
        numbers = [
            [n * form - a * b for n, b in zip(line, image, strict=True)]
            for line, a in zip(self.numbers, image, strict=True)
        ]
        return Truth(numbers, [self.weights[0] * form] * self.size)

    def shifted(self, shift: float) -> Truth:
        """A + shift I."""
        return self.updated(np.eye(self.size), shift * np.eye(self.size))

    def restricted(self, indices: list[int]) -> Truth:
        return Truth([[self.numbers[i][j] for j in indices] for i in indices], [self.weights[i] for i in indices])

    def negated(self) -> Truth:
        return Truth([[-number for number in row] for row in self.numbers], self.weights)

    @property
    def largest(self) -> float:
        """The largest magnitude of an entry of A, about."""
        return float(np.abs(self._scaled[0]).max()) * float(min(self._scaled[1], Fraction(10) ** 308))

    @cached_property
    def is_zero(self) -> bool:
        return not any(any(row) for row in self.numbers)

    @cached_property
    def _scaled(self) -> tuple[np.ndarray, Fraction]:
        """Floats of size at most one, and what they have to be multiplied with: A up to a rounding of each entry."""
        if len(set(self.weights)) == 1:
            largest = max(1, max(abs(number) for row in self.numbers for number in row))
            matrix = np.array([[number / largest for number in row] for row in self.numbers])
            return matrix, Fraction(largest, self.weights[0])
        roots = [math.isqrt(weight << ROOT_BITS) for weight in self.weights]
        shifted = [
            [(number << ROOT_BITS) / (a * b) for number, b in zip(row, roots, strict=True)]
            for row, a in zip(self.numbers, roots, strict=True)
        ]
        return np.array(shifted), Fraction(1)

    def _values(self, cardinality: int) -> np.ndarray:
        """The largest eigenvalue of every support as LAPACK sees it, for the scaled matrix."""
        if cardinality not in self._known:
            chosen = supports(self.size, cardinality)
            blocks = self._scaled[0][chosen[:, :, None], chosen[:, None, :]]
            self._known[cardinality] = np.linalg.eigvalsh(blocks)[:, -1]
        return self._known[cardinality]

    @cached_property
    def _known(self) -> dict[int, np.ndarray]:
        return {}

    def _in_units(self, bound: float) -> float:
        ratio = Fraction(bound) / self._scaled[1]
        try:
            return float(ratio)
        except OverflowError:
            return math.inf if ratio > 0 else -math.inf

    def _gap_matrix(self, bound: Fraction, chosen: np.ndarray) -> Whole:
        """``bound diag(w) - N`` on a support, times a positive number."""
        top, bottom = bound.numerator, bound.denominator
        self.exact_tests += 1
        return [
            [(top * self.weights[i] if i == j else 0) - bottom * self.numbers[i][j] for j in chosen.tolist()]
            for i in chosen.tolist()
        ]

    def is_upper_bound(self, bound: float, cardinality: int) -> tuple[bool, bool]:
        """Whether no support exceeds the bound, and whether that took an exact test."""
        values, unit = self._values(cardinality), self._in_units(bound)
        near = np.flatnonzero(values > unit - MARGIN * self.size)
        exact = Fraction(bound)
        chosen = supports(self.size, cardinality)
        near = near[np.argsort(-values[near])]
        return all(is_semidefinite(self._gap_matrix(exact, chosen[place])) for place in near), bool(near.size)

    def is_reached(self, bound: float, cardinality: int) -> tuple[bool, bool]:
        """Whether some support reaches the bound, and whether that took an exact test."""
        values, unit = self._values(cardinality), self._in_units(bound)
        if values.max() >= unit + MARGIN * self.size:
            return True, False
        exact, chosen = Fraction(bound), supports(self.size, cardinality)
        near = np.flatnonzero(values > unit - MARGIN * self.size)
        order = near[np.argsort(-values[near])]
        found = any(not is_semidefinite(self._gap_matrix(exact, chosen[place]), definite=True) for place in order)
        return found, True

    def quotient_reaches(self, vector: np.ndarray, bound: float) -> bool | None:
        """Whether x'Ax / x'x is at least the bound; None where 600 bits of square roots do not decide."""
        inside = np.flatnonzero(vector).tolist()
        (entries,), _ = whole_numbers(vector[None, inside])
        exact = Fraction(bound)
        if len(set(self.weights)) == 1:
            form = sum(
                a * b * self.numbers[i][j]
                for i, a in zip(inside, entries, strict=True)
                for j, b in zip(inside, entries, strict=True)
            )
            length = sum(a * a for a in entries)
            return form * exact.denominator >= exact.numerator * length * self.weights[0]
        bits = ROOT_BITS + max(weight.bit_length() for weight in self.weights)
        roots = {i: math.isqrt(self.weights[i] << (2 * bits)) for i in inside}
        shares = [(a << (2 * bits)) // roots[i] for i, a in zip(inside, entries, strict=True)]
        terms = [
            a * b * self.numbers[i][j]
            for i, a in zip(inside, shares, strict=True)
            for j, b in zip(inside, shares, strict=True)
        ]
        # shares = entries 2^bits / sqrt(w), cut off: each is off by less than two units.
        difference = Fraction(sum(terms), 1 << (2 * bits)) - exact * sum(a * a for a in entries)
        smallest = max(1, min(abs(share) for share in shares))
        slack = Fraction(sum(map(abs, terms)), 1 << (2 * bits)) * Fraction(8, smallest)
        return None if abs(difference) <= slack else difference > 0
