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

For eigenvectors of A all three agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparseigen.checks.arguments import check_choice
from sparseigen.checks.coercion import component_vectors
from sparseigen.operators import Operator, as_operator

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

NEGLIGIBLE = 1e-12
"""A component whose squared length is below this share once the others are taken out adds nothing."""


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
        rest = rest - np.outer(rest[:, j], rest[j]) / rest[j, j]
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
