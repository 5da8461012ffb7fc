"""Brackets on x'Ax / x'Bx checked without rounding: whole numbers, every support, one or two cardinalities.

No vector on S exceeds u exactly when u B_SS - A_SS is positive semidefinite, which elimination without fractions
decides (`fuzzing.truth`). The end that is reached is checked on the vector itself, in fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

import sparseigen as se
from fuzzing.families import MATRICES
from fuzzing.truth import is_semidefinite, whole_numbers
from sparseigen.errors import NotDefiniteError, RangeError, ZeroMatrixError
from sparseigen.solve.generalised import PencilRequest

LARGEST = 7
CONDITIONS = ("plain", "nearly singular", "scaled", "integers")


def draw_metric(rng: np.random.Generator, size: int, condition: str) -> np.ndarray:
    """A matrix that is positive definite, or so nearly not that it may be refused."""
    factor = rng.standard_normal((size + 2, size))
    if condition == "integers":
        factor = np.round(2.0 * factor)
    matrix = factor.T @ factor + (1.0 if condition == "integers" else 0.0) * np.eye(size)
    if condition == "nearly singular":
        values, vectors = np.linalg.eigh(matrix)
        values[0] *= 10.0 ** rng.uniform(-12.0, -3.0)
        matrix = vectors @ np.diag(values) @ vectors.T
    elif condition == "scaled":
        scales = 10.0 ** rng.uniform(-6.0, 6.0, size)
        matrix = matrix * scales * scales[:, None]
    return np.asarray(np.tril(matrix) + np.tril(matrix, -1).T)


class PencilQuestion:
    """One pair of matrices and the sets of variables allowed."""

    def __init__(self, rng: np.random.Generator, family: str) -> None:
        self.size = int(rng.integers(2, LARGEST + 1))
        self.condition = str(rng.choice(CONDITIONS))
        form = np.asarray(MATRICES[family](rng, self.size), dtype=np.float64)
        self.form = np.tril(form) + np.tril(form, -1).T
        self.metric = draw_metric(rng, self.size, self.condition)
        self.boundary = int(rng.integers(1, self.size)) if rng.random() < 0.4 else None
        first = self.size if self.boundary is None else self.boundary
        self.picks = int(rng.integers(1, first + 1))
        self.others = 0 if self.boundary is None else int(rng.integers(1, self.size - first + 1))
        self.which = "largest" if rng.random() < 0.7 else "smallest"
        self.method = str(rng.choice(["tpower", "exact"]))

    def supports(self) -> Iterator[tuple[int, ...]]:
        """Every set of variables allowed."""
        first = range(self.size if self.boundary is None else self.boundary)
        for own in combinations(first, self.picks):
            for other in combinations(range(len(first), self.size), self.others):
                yield own + other

    def solve(self) -> se.results.SparseEigResult:
        """The answer of the package, certified."""
        request = PencilRequest(self.form, self.metric, boundary=self.boundary, which=self.which, method=self.method)
        return request.answer(self.picks, others=self.others)

    def is_bound(self, bound: float) -> bool:
        """Whether no support allowed exceeds a number (at the other end: falls below it), without rounding."""
        sign = 1 if self.which == "largest" else -1
        both, _ = whole_numbers(np.vstack([self.form, self.metric]))  # over one denominator
        form, metric = both[: self.size], both[self.size :]
        top, bottom = float(bound).as_integer_ratio()
        rest = [[sign * (top * metric[i][j] - bottom * form[i][j]) for j in range(self.size)] for i in range(self.size)]
        return all(is_semidefinite([[rest[i][j] for j in s] for i in s]) for s in self.supports())

    def reaches(self, vector: np.ndarray, bound: float) -> bool:
        """Whether the vector's own quotient is at least (at the other end: at most) a number, without rounding."""
        exact = [Fraction(float(weight)) for weight in vector]
        chosen = [i for i in range(self.size) if exact[i]]
        forms = [
            sum(exact[i] * exact[j] * Fraction(float(matrix[i, j])) for i in chosen for j in chosen)
            for matrix in (self.form, self.metric)
        ]
        quotient = Fraction(forms[0]) / Fraction(forms[1])
        return quotient >= Fraction(bound) if self.which == "largest" else quotient <= Fraction(bound)


def problems_of(question: PencilQuestion) -> Iterator[tuple[str, list[str]]]:
    """The name of each certificate and what is wrong with it; nothing where the metric is refused."""
    try:
        result = question.solve()
    except NotDefiniteError:
        if question.condition != "nearly singular":
            yield "metric refused", [f"a {question.condition} metric was refused"]
        return
    except (RangeError, ZeroMatrixError):  # A of zeros; quotients beyond float64
        return
    proof, wrong = result.certificate, []
    assert proof is not None
    ends = (proof.lower_bound, proof.upper_bound)
    proven, attained = (ends[1], ends[0]) if question.which == "largest" else (ends[0], ends[1])
    if not np.isfinite(ends).all():
        wrong.append(f"bracket {ends!r} is not finite")
    else:
        if not question.is_bound(proven):
            wrong.append(f"the bound {proven!r} is exceeded")
        if not question.reaches(result.vector, attained):
            wrong.append(f"the vector does not reach {attained!r}")
    yield f"x'Ax / x'Bx {question.method}", wrong
