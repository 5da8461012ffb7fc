"""How much variance a set of components explains: three definitions, by name.

Sparse components are neither uncorrelated nor orthogonal, so the variances x_j'Ax_j of a set overlap. The literature
answers in three ways, and prints all of them as "explained variance":

=============  ============================================================================================
``plain``      x_j'Ax_j, overlap counted twice. What Yuan and Zhang's tables hold.
``adjusted``   what component j adds in sample space: R_jj^2 of the QR of the scores, that is the squared diagonal
               of the Cholesky factor of V'AV (Zou, Hastie and Tibshirani).
``span``       what component j adds in variable space: the variance of the data projected on the components'
               span, tr(A P) with P the projection on span(V), taken one component at a time (Shen and Huang).
=============  ============================================================================================

For eigenvectors of A all three agree. What the components say again of each other is their `ComponentOverlap`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparseigen.checks.arguments import check_choice
from sparseigen.checks.coercion import component_vectors
from sparseigen.errors import RedundantComponentWarning
from sparseigen.operators import Operator, as_operator

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

NEGLIGIBLE = 1e-12
"""A component whose squared length is below this share once the others are taken out adds nothing."""
REDUNDANT = 0.01
"""A component that adds less than this share of its own variance to those before it repeats them."""


def explained_variance(A: Any, vectors: ArrayLike, *, definition: str = "adjusted") -> Vector:
    """The variance each component explains, in the definition asked for.

    Parameters
    ----------
    A : symmetric matrix or operator
        The covariance.
    vectors : array of shape (n_components, n_features)
        The components, one per row (as in ``components_``), in the order in which they are to be counted.
    definition : {"plain", "adjusted", "span"}
        See the table above. The sum over components divided by the trace of A is the explained share.

    Returns
    -------
    ndarray of shape (n_components,)

    References
    ----------
    H. Zou, T. Hastie, R. Tibshirani, "Sparse Principal Component Analysis", JCGS 15 (2006), 265-286.
    H. Shen, J. Z. Huang, "Sparse principal component analysis via regularized low rank matrix approximation",
    Journal of Multivariate Analysis 99 (2008), 1015-1034.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseigen.components.variance import explained_variance
    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> explained_variance(A, np.eye(2), definition="plain")
    array([2., 2.])
    >>> explained_variance(A, np.eye(2), definition="adjusted")
    array([2. , 1.5])
    """
    operator = as_operator(A)
    check_choice(definition, VARIANCES, "definition")
    columns = component_vectors(vectors, operator.size)
    return VARIANCES[definition](columns, products(operator, columns))


def products(operator: Operator, columns: Matrix) -> Matrix:
    """A V, one product with a sparse vector per column."""
    supports = [np.flatnonzero(column).astype(np.int64) for column in columns.T]
    filled = [j for j, support in enumerate(supports) if support.size]
    images = operator.run_together(
        [partial(operator.apply_support, supports[j], columns[supports[j], j]) for j in filled]
    )
    out = np.zeros_like(columns)
    for j, image in zip(filled, images, strict=True):
        out[:, j] = image
    return out


def plain(columns: Matrix, images: Matrix) -> Vector:
    """x_j'Ax_j, from V and A V."""
    variances: Vector = np.einsum("ij,ij->j", columns, images)
    return variances


def adjusted(columns: Matrix, images: Matrix) -> Vector:
    """Squared diagonal of the Cholesky factor of V'AV; a component the others determine counts zero."""
    rest = columns.T @ images
    total = np.abs(rest.diagonal()).copy()
    variances = np.zeros(len(rest))
    for j in range(len(rest)):
        if rest[j, j] <= NEGLIGIBLE * total[j]:
            continue
        variances[j] = rest[j, j]
        rest = rest - np.outer(rest[:, j] / rest[j, j], rest[j])  # divided first: products could overflow
    return variances


def span(columns: Matrix, images: Matrix) -> Vector:
    """q_j'Aq_j for the orthonormal basis q that Gram and Schmidt make of V; the sum is tr(A P)."""
    basis, basis_images = np.empty((len(columns), 0)), np.empty((len(columns), 0))
    variances = np.zeros(columns.shape[1])
    for j, (vector, image) in enumerate(zip(columns.T, images.T, strict=True)):
        rest, rest_image = vector, image
        for _ in range(2):  # twice is enough: the second pass removes the first one's rounding
            coefficients = basis.T @ rest
            rest, rest_image = rest - basis @ coefficients, rest_image - basis_images @ coefficients
        squared = float(rest @ rest)
        if squared <= NEGLIGIBLE * float(vector @ vector):
            continue
        variances[j] = float(rest @ rest_image) / squared
        basis = np.column_stack([basis, rest / np.sqrt(squared)])
        basis_images = np.column_stack([basis_images, rest_image / np.sqrt(squared)])
    return variances


VARIANCES: dict[str, Callable[[Matrix, Matrix], Vector]] = {"plain": plain, "adjusted": adjusted, "span": span}
"""Definitions by name. A new one is a function of V and A V here and a row in this table."""


@dataclass(frozen=True)
class ComponentOverlap:
    """How much the components of a set repeat each other, on the matrix itself whatever they were found on.

    Attributes
    ----------
    plain : ndarray of shape (n_components,)
        The variance x'Ax of each component's scores.
    adjusted : ndarray of shape (n_components,)
        What each adds to those before it: the variance that its scores have beyond theirs.
    correlations : ndarray of shape (n_components, n_components)
        Between the scores; those of a component without variance are zero.
    total : float
        The variance of all variables together.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> overlap = se.components.find_overlap(np.array([[2.0, 1.0], [1.0, 2.0]]), np.eye(2))
    >>> overlap.plain, overlap.adjusted, round(float(overlap.correlations[0, 1]), 9), overlap.redundant
    (array([2., 2.]), array([2. , 1.5]), 0.5, [])
    """

    plain: Vector
    adjusted: Vector
    correlations: Matrix
    total: float

    @property
    def redundant(self) -> list[int]:
        """The components that add less than 1 % of their own variance to those before them, counted from 0."""
        small = (self.adjusted < REDUNDANT * self.plain) & (np.arange(len(self.plain)) > 0)
        return [int(j) for j in np.flatnonzero(small)]

    def find_nearest(self, component: int) -> int | None:
        """The earlier component whose scores correlate most with this one's; None for the first."""
        return int(np.argmax(np.abs(self.correlations[component, :component]))) if component else None

    def to_dict(self, component: int) -> dict[str, Any]:
        """Plain Python values about one component, ready for JSON; components are counted from 1."""
        nearest = self.find_nearest(component)
        return {
            "plain_variance": float(self.plain[component]),
            "plain_share": float(self.plain[component] / self.total),
            "adjusted_variance": float(self.adjusted[component]),
            "adjusted_share": float(self.adjusted[component] / self.total),
            "most_correlated_with": None if nearest is None else nearest + 1,
            "score_correlation": None if nearest is None else float(self.correlations[component, nearest]),
        }


def find_overlap(A: Any, vectors: ArrayLike) -> ComponentOverlap:
    """How much components repeat each other: plain and adjusted variances, and the correlations of their scores.

    Parameters
    ----------
    A : symmetric matrix or operator
        The covariance, before any deflation.
    vectors : array of shape (n_components, n_features)
        The components, one per row, in the order in which they are to be counted.

    Returns
    -------
    ComponentOverlap

    Examples
    --------
    A programme of 40 variables, and components of 10: under projection deflation the second one is the next 10
    variables of the same programme, and adds nothing.

    >>> import numpy as np
    >>> import sparseigen as se
    >>> rng = np.random.default_rng(0)
    >>> programme = 3.0 * rng.standard_normal((100, 1)) * (np.arange(60) < 40)
    >>> another = rng.standard_normal((100, 1)) * (np.arange(60) >= 40)
    >>> A = se.covariance(programme + another + 0.3 * rng.standard_normal((100, 60)))
    >>> for deflation in ("projection", "schur"):
    ...     found = se.sparse_components(A, [10, 10], deflation=deflation, certify=False)
    ...     overlap = se.components.find_overlap(A, [result.vector for result in found])
    ...     print(deflation, round(float(overlap.correlations[0, 1]), 2), overlap.redundant)
    projection 1.0 [1]
    schur 0.04 []
    """
    operator = as_operator(A)
    columns = component_vectors(vectors, operator.size)
    return measure_overlap(columns, products(operator, columns), float(operator.diagonal().sum()))


def measure_overlap(columns: Matrix, images: Matrix, total: float) -> ComponentOverlap:
    """The same from V, A V and the trace of A."""
    covariances = columns.T @ images
    deviations = np.sqrt(np.maximum(covariances.diagonal(), 0.0))
    scales = np.where(deviations > 0.0, deviations, np.inf)
    correlations = np.clip(0.5 * (covariances + covariances.T) / np.outer(scales, scales), -1.0, 1.0)
    np.fill_diagonal(correlations, 1.0)
    return ComponentOverlap(plain(columns, images), adjusted(columns, images), correlations, total)


def word_redundancy(overlap: ComponentOverlap, deflation: str) -> str | None:
    """One sentence about components that repeat earlier ones, with the remedy; None where there are none."""
    if not overlap.redundant:
        return None
    parts = []
    for component in overlap.redundant:
        nearest = overlap.find_nearest(component)
        assert nearest is not None
        share = overlap.adjusted[component] / overlap.plain[component] if overlap.plain[component] > 0.0 else 0.0
        parts.append(
            f"component {component + 1} adds {share:.2%} of its own variance to those before it (its scores correlate "
            f"{overlap.correlations[component, nearest]:.2f} with those of component {nearest + 1})"
        )
    remedy = "ask for fewer components, or for more variables in each"
    remedy = remedy if deflation == "schur" else f"use deflation='schur', or {remedy}"
    return f"{'; '.join(parts)}: {remedy}."


def warn_of_redundancy(overlap: ComponentOverlap, deflation: str) -> None:
    """Warn of components that repeat earlier ones; shown where a method of an estimator was called."""
    message = word_redundancy(overlap, deflation)
    if message is not None:
        warnings.warn(message, RedundantComponentWarning, stacklevel=5)
