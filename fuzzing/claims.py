"""Everything in sparseigen that hands out a proven bracket, asked about one matrix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import sparseigen as se
from fuzzing.truth import Truth
from sparseigen.certificates import EFFORTS, UPPER_BOUNDS, certify
from sparseigen.certificates.paths import certify_path, certify_streamed_path
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector

SECONDS = 0.02
"""What the tight bounds may take: their proofs hold whenever they are stopped."""
OTHER_METHODS = ("backward", "dspca", "gpower-l0", "gpower-l1", "pathspca", "pca", "rsvd", "spca", "threshold")


class Claim(NamedTuple):
    """One proven bracket: "the k-sparse eigenvalue at this end of the spectrum is between low and high"."""

    method: str
    cardinality: int
    low: float
    high: float
    which: str = "largest"
    vector: Any = None
    value: float | None = None
    candidates: Any = None


class Question(NamedTuple):
    """What is given to sparseigen, with the truth for choosing vectors to start bounds from."""

    given: Any
    truth: Truth
    rng: np.random.Generator

    @property
    def size(self) -> int:
        return self.truth.size

    def cardinality(self) -> int:
        return int(self.rng.integers(1, self.size + 1))

    def vector(self, cardinality: int) -> SparseVector:
        """The best vector on some support: bounds must hold from any start."""
        matrix, rng = self.truth._scaled[0], self.rng
        order = np.argsort(-matrix.diagonal(), kind="stable") if rng.random() < 0.7 else rng.permutation(self.size)
        chosen = np.sort(order[:cardinality]).astype(np.int64)
        return SparseVector(chosen, np.linalg.eigh(matrix[np.ix_(chosen, chosen)])[1][:, -1])


def _bracket(method: str, cardinality: int, certificate: Any, **more: Any) -> Claim:
    return Claim(method, cardinality, certificate.lower_bound, certificate.upper_bound, **more)


def _of_result(method: str, result: Any, **more: Any) -> Claim:
    found = result.certificate
    return _bracket(method, result.cardinality, found, vector=result.vector, value=result.value, **more)


def solved(question: Question) -> Iterator[Claim]:
    """`sparse_eigenvector` with its defaults and with options."""
    rng, k = question.rng, question.cardinality()
    which = "largest" if rng.random() < 0.5 else "smallest"
    options: dict[str, Any] = {"which": which}
    name = f"sparse_eigenvector {which}"
    if rng.random() < 0.3:
        options |= {"start": "max-variance", "polish": None, "max_iterations": int(rng.choice([1, 1000]))}
    elif rng.random() < 0.1:
        options |= {"nonnegative": True}
    elif rng.random() < 0.1:
        kept = np.sort(rng.permutation(question.size)[: int(rng.integers(k, question.size + 1))])
        if not question.truth.restricted(kept.tolist()).is_zero:
            options |= {"candidates": kept}
    result = se.sparse_eigenvector(question.given, k, **options)
    yield _of_result(name, result, which=which, candidates=options.get("candidates"))


def other_methods(question: Question) -> Iterator[Claim]:
    """The solvers that the paper compares with, certified by the same bounds."""
    method = str(question.rng.choice(OTHER_METHODS))
    yield _of_result("other solvers", se.sparse_eigenvector(question.given, question.cardinality(), method=method))


def bounded(question: Question) -> Iterator[Claim]:
    """`upper_bound` of every effort."""
    effort, k = str(question.rng.choice(EFFORTS, p=[0.45, 0.45, 0.1])), question.cardinality()
    yield _bracket(f"upper_bound {effort}", k, se.upper_bound(question.given, k, effort=effort))


def exactly(question: Question) -> Iterator[Claim]:
    """`solve_exact`, finished or stopped early."""
    limit = 5.0 if question.rng.random() < 0.7 else 1e-4
    gap = float(question.rng.choice([1e-6, 1e-12, 0.1]))
    k = question.cardinality()
    yield _of_result("solve_exact", se.solve_exact(question.given, k, time_limit=limit, gap=gap))


def along_path(question: Question) -> Iterator[Claim]:
    """`cardinality_path` over all cardinalities."""
    for result in se.cardinality_path(question.given, range(1, question.size + 1)):
        yield _of_result("cardinality_path", result)


def components(question: Question) -> Iterator[Claim]:
    """The first component of `sparse_components`; those after it are the carriers "deflated"."""
    k = question.cardinality()
    yield _of_result("sparse_components", se.sparse_components(question.given, [k])[0])


def certified(question: Question) -> Iterator[Claim]:
    """The bracket that every solver's answer gets, here from arbitrary vectors."""
    operator = as_operator(question.given)
    dear = {question.cardinality() for _ in range(3)}
    for k in range(1, question.size + 1):
        vector = question.vector(k)
        for effort in EFFORTS if k in dear else ("cheap",):
            found = certify(operator, k, vector, effort=effort, seconds=SECONDS / 4)
            yield _bracket(f"certify {effort}", k, found, vector=vector.spread(question.size))


def alone(question: Question) -> Iterator[Claim]:
    """Every bound of the table by itself: in a portfolio a wrong one can hide behind a tight one."""
    operator, k = as_operator(question.given), question.cardinality()
    vector = question.vector(k)
    low = achieved_value(operator, vector)
    in_blocks = question.rng.random() < 0.3
    for name, spec in UPPER_BOUNDS.items():
        deadline = time.perf_counter() + SECONDS
        problem = BoundProblem(operator, k, vector, achieved=low, deadline=deadline)
        if in_blocks:  # as for matrices that are too large to be held
            problem.dense, name = None, f"{name}, in blocks"
        high = problem.unscale_bound(spec.bound(problem))
        if np.isfinite(high):
            yield Claim(f"bound: {name}", k, min(low, high), high)


def shared(question: Question) -> Iterator[Claim]:
    """The bounds that a long path shares between its points."""
    operator, ks = as_operator(question.given), list(range(1, question.size + 1))
    vectors = [question.vector(k) for k in ks]
    streamed = question.rng.random() < 0.2
    makes = certify_streamed_path if streamed else certify_path
    for k, vector, found in zip(ks, vectors, makes(operator, ks, vectors), strict=True):
        name = "streamed path bounds" if streamed else "shared path bounds"
        if np.isfinite(found.upper_bound):
            yield _bracket(name, k, found, vector=vector.spread(question.size))


CHEAP: tuple[Callable[[Question], Iterator[Claim]], ...] = (certified, alone, shared)
"""Asked of every matrix."""
PUBLIC: dict[Callable[[Question], Iterator[Claim]], float] = {
    solved: 0.4,
    bounded: 0.2,
    exactly: 0.15,
    along_path: 0.1,
    components: 0.05,
    other_methods: 0.1,
}
"""One of these is asked of every matrix; how often."""


def asked(rng: np.random.Generator) -> list[Callable[[Question], Iterator[Claim]]]:
    """The functions to ask about one matrix."""
    weights = np.array(list(PUBLIC.values()))
    return [*CHEAP, list(PUBLIC)[int(rng.choice(len(weights), p=weights / weights.sum()))]]
