"""Matrices with known largest sparse eigenvalues, given by a factor so that every operator can carry them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sparseigen.datasets import load_pitprops

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class KnownProblem:
    """A = factor' factor / n with n rows in the factor, a cardinality, and the optimal value for it.

    ``unique_support`` is the optimal support where only one exists, else None. ``easy`` marks problems on which a
    good method must reach the optimum; elsewhere it need only not exceed it.
    """

    name: str
    factor: Matrix
    cardinality: int
    optimum: float
    unique_support: tuple[int, ...] | None = None
    easy: bool = True

    @property
    def matrix(self) -> Matrix:
        """The symmetric positive semidefinite matrix A."""
        product: Matrix = self.factor.T @ self.factor / len(self.factor)
        return product


def pitprops(cardinality: int, optimum: float) -> Callable[[], KnownProblem]:
    """PitProps at one cardinality; the optima are by enumeration of all supports."""

    def build() -> KnownProblem:
        factor = np.linalg.cholesky(load_pitprops().matrix).T * 13.0**0.5
        return KnownProblem(f"pitprops-{cardinality}", factor, cardinality, optimum)

    return build


def rank_one() -> KnownProblem:
    """A = vv': the optimum keeps the k largest squares of v."""
    v = np.array([0.1, -3.0, 0.5, 2.0, -0.2, 1.5, 0.0, -1.0])
    factor: Matrix = np.vstack([v, np.zeros_like(v)]) * 2.0**0.5
    return KnownProblem("rank-one", factor, 3, 9.0 + 4.0 + 2.25, (1, 3, 5))


def spiked() -> KnownProblem:
    """I + 4 vv' with v on five variables: the optimum is 5, attained by v alone."""
    size = 24
    v = np.zeros(size)
    v[[2, 5, 11, 17, 20]] = np.array([1.0, -1.0, 1.0, 1.0, -1.0]) / np.sqrt(5.0)
    factor = np.linalg.cholesky(np.eye(size) + 4.0 * np.outer(v, v)).T * size**0.5
    return KnownProblem("spiked", factor, 5, 5.0, (2, 5, 11, 17, 20))


def blocks() -> KnownProblem:
    """Two correlated blocks; the smaller one is denser, so the best three variables are not in the larger one."""
    matrix = np.eye(9)
    matrix[:3, :3] += 0.9 * (1.0 - np.eye(3))
    matrix[3:, 3:] += 0.5 * (1.0 - np.eye(6))
    factor = np.asarray(3.0 * np.linalg.cholesky(matrix).T, dtype=np.float64)
    return KnownProblem("blocks", factor, 3, 1.0 + 2.0 * 0.9, (0, 1, 2))


def diagonal() -> KnownProblem:
    """A diagonal matrix: more variables than one never help."""
    factor = np.diag([1.0, 4.0, 2.0, 3.0]) * 2.0
    return KnownProblem("diagonal", factor, 2, 16.0)


def all_variables() -> KnownProblem:
    """Cardinality p: the plain leading eigenvalue."""
    factor = np.random.default_rng(7).standard_normal((12, 6))
    optimum = float(np.linalg.eigvalsh(factor.T @ factor / 12)[-1])
    return KnownProblem("all-variables", factor, 6, optimum)


def wide_noise() -> KnownProblem:
    """Fewer samples than variables, pure noise: the optimum is by enumeration; local methods may miss it."""
    factor = np.random.default_rng(11).standard_normal((6, 14))
    optimum, _ = brute_force(factor.T @ factor / 6, 4)
    return KnownProblem("wide-noise", factor, 4, optimum, easy=False)


PROBLEMS: dict[str, Callable[[], KnownProblem]] = {
    "pitprops-5": pitprops(5, 3.406154946789761),
    "pitprops-10": pitprops(10, 4.172637661588201),
    "rank-one": rank_one,
    "spiked": spiked,
    "blocks": blocks,
    "diagonal": diagonal,
    "all-variables": all_variables,
    "wide-noise": wide_noise,
}


def brute_force(matrix: Matrix, cardinality: int) -> tuple[float, tuple[int, ...]]:
    """The largest sparse eigenvalue and a support that attains it, by trying every support.

    Examples
    --------
    >>> brute_force(np.diag([1.0, 3.0, 2.0]), 2)
    (3.0, (0, 1))
    """
    supports = np.array(list(combinations(range(len(matrix)), cardinality)))
    values = np.empty(len(supports))
    for begin in range(0, len(supports), 4096):
        chunk = supports[begin : begin + 4096]
        values[begin : begin + 4096] = np.linalg.eigvalsh(matrix[chunk[:, :, None], chunk[:, None, :]])[:, -1]
    best = int(values.argmax())
    return float(values[best]), tuple(int(i) for i in supports[best])
