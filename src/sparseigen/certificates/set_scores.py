"""A bound for sets with uncorrelated scores: the scores together explain no variable, and no combination, twice.

Let A be positive semidefinite, u_t unit vectors with at most k_t non-zeros, u_s'Au_t = 0, lambda_t = u_t'Au_t <= h.
For every matrix G

    sum over lambda_t > 0 of |G'Au_t|^2 / lambda_t <= trace(G'AG)

(what uncorrelated scores explain of the combinations G adds up to no more than their variance). With lambda_t <= h it
follows that, for Z = A G G' A / h,

    sum_t lambda_t <= trace(G'AG) + sum_t max(0, lambda_{k_t}(A - Z)),

lambda_k the largest k-sparse eigenvalue: single bounds of A - Z prove the right-hand side. Good G come from the
relaxation of `certificates.set_relaxation` with h A^-1 in place of Diag(w). Proof: `docs/theory-bounds.md`, section
7.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from sparseigen.certificates.portfolio import smallest_bound
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma, raised_sum
from sparseigen.certificates.set_relaxation import Group, SetRelaxation
from sparseigen.certificates.spectral import cholesky_defect
from sparseigen.operators.build import as_operator
from sparseigen.operators.contract import SparseVector

if TYPE_CHECKING:
    from sparseigen.certificates.set_certificate import SetQuestion

SCALES = (0.85, 1.0, 1.15)
"""Multiples of the relaxation's Z that are tried."""
SMALLEST = 1e-9
"""Eigenvalues of A below this share of the largest count as that: Z then needs no large G."""
STEPS = 300
LOOK_EVERY = 20


def is_semidefinite(problem: BoundProblem) -> bool:
    """Whether A is proven to be positive semidefinite: a Gram matrix, or by a Cholesky factorisation of A - delta I."""
    if problem.negative_part == 0.0:
        return True
    if problem.dense is None or problem.operator.positive_semidefinite is False:
        return False
    delta = 4.0 * gamma(problem.size + 4) * float(np.abs(problem.diagonal).sum()) + TINY
    shifted = problem.dense.copy()
    shifted[np.diag_indices(problem.size)] -= delta
    rounding = 4.0 * UNIT * float(np.abs(shifted.diagonal()).max())
    errors = raised_sum(float(problem.entry_errors.sum()), problem.size)
    return bool(cholesky_defect(shifted) + rounding + errors <= delta)


def price_scores(problem: BoundProblem, question: SetQuestion, most: float) -> float:
    """The smallest bound of some G and the level ``most`` for all, of the scaled matrix, errors of entries included."""
    groups, members = question.groups()
    matrix = problem.dense
    assert matrix is not None
    if not most > 0.0 or not np.isfinite(most):
        return np.inf
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, SMALLEST * max(float(values[-1]), TINY))
    count = len(question.cardinalities)
    ceiling = (vectors * np.minimum(most / values, float(count))) @ vectors.T
    price = _relax(matrix, groups, ceiling, question)
    weights, basis = np.linalg.eigh(price)
    kept = weights > 1e-6 * max(float(weights[-1]), TINY)
    root = basis[:, kept] * np.sqrt(weights[kept])
    inverse = (vectors / values) @ (vectors.T @ root)
    bounds = [
        prove_scores(problem, groups, members, question, np.sqrt(scale * most) * inverse, most) for scale in SCALES
    ]
    return min(bounds)


def _relax(matrix: Numbers, groups: tuple[Group, ...], ceiling: Numbers, question: SetQuestion) -> Numbers:
    """The price of the ceiling, averaged over the last steps."""
    state = SetRelaxation(matrix, groups, ceiling)
    steps = min(STEPS, question.effort.steps)
    price, counted = np.zeros_like(matrix), 0
    for step in range(1, steps + 1):
        state.step()
        late = time.perf_counter() > question.deadline
        if step > steps - 2 * LOOK_EVERY or late:
            price += state.multipliers().price
            counted += 1
        if late:
            break
        if step % LOOK_EVERY == 0 and step < 0.75 * steps:
            state.balance()
    return price / max(counted, 1)


def prove_scores(
    problem: BoundProblem,
    groups: tuple[Group, ...],
    members: list[Numbers],
    question: SetQuestion,
    combined: Numbers,
    most: float,
) -> float:
    """The bound of one G and one level for all components, rounding included."""
    if combined.shape[1] == 0:
        return np.inf
    explained = Combined(problem, combined)
    rest, slack = explained.leave(most)
    value, operator = explained.cost, as_operator(rest)
    for group, columns in zip(groups, members, strict=True):
        reached = np.einsum("ij,ij->j", columns, rest @ columns)
        vector = SparseVector.from_dense(columns[:, int(reached.argmax())])
        bound = BoundProblem(operator, group.cardinality, vector, float(reached.max()), deadline=question.deadline)
        single = smallest_bound(bound, question.effort.bounds)[0] + slack + problem.margins[group.cardinality - 1]
        value += group.count * max(single, 0.0)
    return value + 4.0 * gamma(len(groups) + 4) * abs(value)


class Combined:
    """What a matrix G explains: at least trace(G'AG), and of every level A - AGG'A / h, with all errors known.

    trace(G'AG) is a sum of p^2 q products, each rounded three times at most, and the entries of A are off by sqrt(w_i
    w_j). The computed AG is off by gamma(p) |A||G| and by sqrt(w_i) sum_j sqrt(w_j) |g_j|; so F = AG / sqrt(h) is off
    by E with |E|_F known, and Z by at most 2 |F| |E| + |E|^2 in the spectral norm.
    """

    def __init__(self, problem: BoundProblem, combined: Numbers) -> None:
        matrix, size = problem.dense, problem.size
        assert matrix is not None
        self.matrix, self.images = matrix, matrix @ combined
        roots = np.sqrt(problem.entry_errors)
        reach = np.abs(matrix) @ np.abs(combined)
        spread = roots @ np.abs(combined)
        magnitude = float((np.abs(combined) * reach).sum())
        cost = float((combined * self.images).sum()) + 4.0 * gamma(2 * size + combined.size) * magnitude
        self.cost = cost + float((spread**2).sum()) * (1.0 + 4.0 * gamma(size)) + TINY
        self.error = 2.0 * gamma(size + 8) * reach + np.outer(roots, spread) * (1.0 + 4.0 * gamma(size))

    def leave(self, most: float) -> tuple[Numbers, float]:
        """A - Z at the level h, and how far off it is in the spectral norm."""
        size, factor, error = len(self.matrix), self.images / np.sqrt(most), self.error / np.sqrt(most)
        lengths = float(np.linalg.norm(factor)), float(np.linalg.norm(error)) * (1.0 + 2.0 * gamma(error.size))
        priced = factor @ factor.T
        rest = self.matrix - 0.5 * (priced + priced.T)
        slack = 2.0 * lengths[0] * lengths[1] * (1.0 + 1e-9) + lengths[1] ** 2 + 2.0 * gamma(size + 8) * lengths[0] ** 2
        return rest, slack + 4.0 * UNIT * size * float(np.abs(rest).max()) + TINY
