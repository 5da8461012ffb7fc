"""Sparse eigenvalues of large matrices, decided without rounding where the matrix has a form that says them.

Two forms. A direct sum of small blocks: a support's largest eigenvalue is that of one of its blocks, so that k
variables reach what min(k, size) variables of some block reach, and `Truth` goes through those. And aI + b dd' for
whole numbers d: k variables reach a + b (sum of the k largest squares of d) for b >= 0; for b < 0 they reach a, by a
vector orthogonal to d, unless k = 1. Both answer what `fuzzing.certificates.checked` asks of a `Truth`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from fuzzing.truth import Truth, whole_numbers

Array = np.ndarray


class Blocks:
    """A direct sum, up to a permutation: exact blocks, and where their variables are. Equal ones may be one object."""

    def __init__(self, blocks: Sequence[tuple[Truth, Array]], size: int) -> None:
        self.blocks, self.size = list(blocks), size

    @cached_property
    def different(self) -> list[Truth]:
        return list({id(truth): truth for truth, _ in self.blocks}.values())

    def negated(self) -> Blocks:
        """The other end of the spectrum."""
        made = {id(truth): truth.negated() for truth in self.different}
        return Blocks([(made[id(truth)], places) for truth, places in self.blocks], self.size)

    def restricted(self, indices: list[int]) -> Blocks:
        """The matrix at these variables."""
        place = {variable: number for number, variable in enumerate(indices)}
        kept: list[tuple[Truth, Array]] = []
        made: dict[tuple[int, tuple[int, ...]], Truth] = {}
        for truth, places in self.blocks:
            inside = tuple(i for i, variable in enumerate(places.tolist()) if variable in place)
            if inside:
                key = id(truth), inside
                made[key] = made.get(key) or truth.restricted(list(inside))
                kept.append((made[key], np.array([place[int(places[i])] for i in inside])))
        return Blocks(kept, len(indices))

    def replaced(self, number: int, truth: Truth) -> Blocks:
        """Another matrix in the place of one block."""
        blocks = self.blocks.copy()
        blocks[number] = truth, blocks[number][1]
        return Blocks(blocks, self.size)

    @property
    def largest(self) -> float:
        return max(truth.largest for truth in self.different)

    @property
    def is_zero(self) -> bool:
        return all(truth.is_zero for truth in self.different)

    def is_upper_bound(self, bound: float, cardinality: int) -> tuple[bool, bool]:
        """Whether no support exceeds the bound, and whether that took an exact test."""
        answers = [truth.is_upper_bound(bound, min(cardinality, truth.size)) for truth in self.different]
        return all(holds for holds, _ in answers), any(exact for _, exact in answers)

    def is_reached(self, bound: float, cardinality: int) -> tuple[bool, bool]:
        """Whether some support reaches the bound, and whether that took an exact test."""
        exact = False
        for truth in self.different:
            holds, tested = truth.is_reached(bound, min(cardinality, truth.size))
            exact |= tested
            if holds:
                return True, tested
        return False, exact

    def quotient_reaches(self, vector: Array, bound: float) -> bool | None:
        """Whether x'Ax / x'x is at least the bound; None where a correlation matrix's roots would be needed."""
        touched = [(truth, vector[places]) for truth, places in self.blocks if vector[places].any()]
        if len(touched) == 1:
            return touched[0][0].quotient_reaches(touched[0][1], bound)
        if any(len(set(truth.weights)) > 1 for truth, _ in touched):
            return None
        difference = Fraction(0)
        for truth, part in touched:
            (entries,), below = whole_numbers(part[None])
            form = sum(
                a * b * truth.numbers[i][j] for i, a in enumerate(entries) if a for j, b in enumerate(entries) if b
            )
            length = sum(a * a for a in entries)
            difference += (Fraction(form, truth.weights[0]) - Fraction(bound) * length) / below**2
        return difference >= 0


class Outer:
    """aI + b dd' for fractions a, b and whole numbers d."""

    def __init__(self, d: Sequence[int], b: Fraction, a: Fraction = Fraction(0)) -> None:
        self.d, self.a, self.b, self.size = list(d), a, b, len(d)

    @cached_property
    def _squares(self) -> list[int]:
        return sorted((number * number for number in self.d), reverse=True)

    def negated(self) -> Outer:
        """The other end of the spectrum."""
        return Outer(self.d, -self.b, -self.a)

    def restricted(self, indices: list[int]) -> Outer:
        """The matrix at these variables."""
        return Outer([self.d[i] for i in indices], self.b, self.a)

    @property
    def largest(self) -> float:
        return float(abs(self.a) + abs(self.b) * self._squares[0])

    @property
    def is_zero(self) -> bool:
        return self.a == 0 and (self.b == 0 or self._squares[0] == 0)

    def optimum(self, cardinality: int) -> Fraction:
        """What k variables reach."""
        if self.b >= 0:
            return self.a + self.b * sum(self._squares[:cardinality])
        return self.a + (self.b * self._squares[-1] if cardinality == 1 else 0)

    def is_upper_bound(self, bound: float, cardinality: int) -> tuple[bool, bool]:
        """Whether no support exceeds the bound; always by an exact test."""
        return Fraction(bound) >= self.optimum(cardinality), True

    def is_reached(self, bound: float, cardinality: int) -> tuple[bool, bool]:
        """Whether some support reaches the bound; always by an exact test."""
        return Fraction(bound) <= self.optimum(cardinality), True

    def quotient_reaches(self, vector: Array, bound: float) -> bool:
        """Whether x'Ax / x'x is at least the bound."""
        inside = np.flatnonzero(vector).tolist()
        (entries,), _ = whole_numbers(vector[None, inside])
        product = sum(self.d[i] * entry for i, entry in zip(inside, entries, strict=True))
        length = sum(entry * entry for entry in entries)
        return self.b * product * product >= (Fraction(bound) - self.a) * length


Known = Blocks | Outer


def data_blocks(parts: Sequence[Array], places: Sequence[Array], samples: int, *, scale: bool, ddof: int) -> Blocks:
    """The covariance or correlation of data whose samples each touch one block, every column's sum being zero.

    Equal parts must be the same object.
    """
    made: dict[int, Truth] = {}
    for part in parts:
        if id(part) not in made:
            table, denominator = whole_numbers(part)
            columns = list(zip(*table, strict=True))
            numbers = [[sum(map(int.__mul__, a, b)) for b in columns] for a in columns]
            whole = (samples - ddof) * denominator**2
            made[id(part)] = Truth(numbers, [numbers[i][i] if scale else whole for i in range(len(columns))])
    size = sum(len(there) for there in places)
    return Blocks([(made[id(part)], there) for part, there in zip(parts, places, strict=True)], size)
