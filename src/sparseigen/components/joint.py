"""Joint refinement: change all components together while the variance of the whole set rises.

Deflation chooses one component at a time and never looks back, so the set it leaves is not the best set with those
cardinalities. The adjusted variance of a set (Zou, Hastie and Tibshirani) is

    f(V) = sum_j h_j'A h_j,    h_j = x_j less its regression on x_1, ..., x_(j-1) in the A inner product,

and its gradient in x_i is 2 (A h_i - sum over j > i of c_ji A h_j), with c_ji the regression coefficients. On fixed
supports f is raised by a quasi-Newton method; supports change by the truncated gradient (a power step on f) and by
single exchanges the gradient suggests. Nothing is accepted that does not raise f, and no cardinality grows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparseigen import kernels
from sparseigen.checks.arguments import check_count
from sparseigen.checks.coercion import component_vectors
from sparseigen.components.variance import adjusted, products
from sparseigen.errors import InputError
from sparseigen.operators import Operator, as_operator

Matrix = NDArray[np.float64]

ENTERING, LEAVING = 4, 3
"""Exchanges tried for a component: this many variables of largest gradient for this many of smallest loading."""
LEAST_GAIN = 1e-9
"""Relative gain below which a change is rounding."""


def refine_components(A: Any, vectors: ArrayLike, *, max_rounds: int = 20) -> Matrix:
    """Raise the adjusted variance of a set of components without raising any cardinality.

    Parameters
    ----------
    A : symmetric matrix or operator
        The covariance.
    vectors : array of shape (n_components, n_features)
        Unit vectors, one per row.
    max_rounds : int
        Each round tries changes of every component's support.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        Unit vectors with at most as many non-zeros as those given, in the same order; the set's adjusted variance is
        at least that of the set given.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> matrix = se.datasets.load_pitprops().matrix
    >>> found = se.sparse_components(matrix, [7, 2, 3, 1, 1, 1], certify=False)
    >>> V = np.array([result.vector for result in found])
    >>> W = se.components.refine_components(matrix, V)
    >>> before, after = (se.explained_variance(matrix, vectors).sum() for vectors in (V, W))
    >>> bool(after > before)
    True
    """
    operator = as_operator(A)
    columns = component_vectors(vectors, operator.size)
    empty = np.flatnonzero(~columns.any(axis=0))
    if empty.size:
        message = f"component {empty[0]} of vectors is the zero vector; every component needs a non-zero entry."
        raise InputError(message)
    refined, value = best_weights(operator, columns)
    for _ in range(check_count(max_rounds, "max_rounds")):
        before = value
        for i in range(columns.shape[1]):
            refined, value = _improve_support(operator, refined, value, i)
        if value <= before * (1.0 + LEAST_GAIN):
            break
    return _fix_signs(refined).T


SEARCHES = {"quick": 3, "default": 20, "thorough": 60}
"""Rounds of support changes, by effort."""


def search_jointly(operator: Operator, starts: Iterable[Matrix], *, effort: str, deadline: float) -> Matrix:
    """The set of largest adjusted variance that refinement reaches from any of the starts, one component per row.

    Starts are read one at a time, and the first one always; "quick" looks at no other.
    """
    best, most = None, -np.inf
    for vectors in starts:
        refined = refine_components(operator, vectors, max_rounds=SEARCHES[effort])
        value = float(adjusted(refined.T, products(operator, refined.T)).sum())
        if best is None or value > most:
            best, most = refined, value
        if effort == "quick" or time.perf_counter() > deadline:
            break
    assert best is not None
    return best


def adjusted_variance(matrix: Matrix, columns: Matrix) -> tuple[float, Matrix]:
    """The objective f and its gradient, one column per component, on a small dense matrix.

    A component that those before it determine adds nothing and has no gradient.
    """
    images = matrix @ columns
    return _objective(columns, images)


def _objective(columns: Matrix, images: Matrix) -> tuple[float, Matrix]:
    """The same from V and A V."""
    count = columns.shape[1]
    gram = columns.T @ images
    residual_images = np.empty_like(images)
    coefficients = np.zeros((count, count))  # row j: regression of component j on those before it
    total = 0.0
    for j in range(count):
        if j:
            coefficients[j, :j] = np.linalg.lstsq(gram[:j, :j], gram[:j, j], rcond=1e-12)[0]
        residual_images[:, j] = images[:, j] - images[:, :j] @ coefficients[j, :j]
        total += gram[j, j] - coefficients[j, :j] @ gram[:j, j]
    gradient = 2.0 * (residual_images - residual_images @ coefficients)
    return float(total), gradient


def best_weights(operator: Operator, columns: Matrix, *, max_iterations: int = 100) -> tuple[Matrix, float]:
    """The best loadings on the supports given, from those given, and f there."""
    from scipy.optimize import minimize

    used = np.flatnonzero(columns.any(axis=1)).astype(np.int64)
    matrix = operator.submatrix(used)
    small = columns[used]
    mask = small != 0.0
    scale = max(float(np.abs(matrix.diagonal()).max()), np.finfo(float).tiny)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        block = np.zeros_like(small)
        block[mask] = weights
        lengths = np.linalg.norm(block, axis=0)
        unit = block / lengths
        value, gradient = adjusted_variance(matrix / scale, unit)
        # The chain rule for unit length: only the part of the gradient across the vector counts.
        across = (gradient - unit * np.einsum("ij,ij->j", unit, gradient)) / lengths
        return -value, -across[mask]

    found = minimize(loss, small[mask], jac=True, method="L-BFGS-B", options={"maxiter": max_iterations})
    best = np.zeros_like(small)
    best[mask] = found.x
    best /= np.linalg.norm(best, axis=0)
    start_value = adjusted_variance(matrix, small)[0]
    value = adjusted_variance(matrix, best)[0]
    if not value > start_value:
        return columns, start_value
    refined = np.zeros_like(columns)
    refined[used] = best
    return refined, value


def _improve_support(operator: Operator, columns: Matrix, value: float, i: int) -> tuple[Matrix, float]:
    """The first change of component i's support that raises f, or everything as it was."""
    for candidate in _moves(operator, columns, i):
        changed = columns.copy()
        changed[:, i] = candidate
        refined, reached = best_weights(operator, changed, max_iterations=30)
        if reached > value * (1.0 + LEAST_GAIN):
            return best_weights(operator, refined)
    return columns, value


def _moves(operator: Operator, columns: Matrix, i: int) -> Iterator[NDArray[np.float64]]:
    """Component i with another support: the truncated gradient first, then single exchanges."""
    current = columns[:, i]
    support = np.flatnonzero(current)
    cardinality = len(support)
    gradient = _objective(columns, products(operator, columns))[1][:, i]
    kept = kernels.largest_magnitudes(np.ascontiguousarray(gradient), cardinality)
    if gradient[kept].all() and not np.array_equal(kept, support):
        step = np.zeros_like(current)
        step[kept] = gradient[kept]
        yield step / np.linalg.norm(step)
    outside = gradient.copy()
    outside[support] = 0.0
    entering = kernels.largest_magnitudes(outside, min(ENTERING, len(current) - cardinality))
    leaving = support[np.argsort(np.abs(current[support]))][:LEAVING]
    for j in entering[np.argsort(-np.abs(outside[entering]))]:
        for leaver in leaving:
            if outside[j] == 0.0:
                continue
            swapped = current.copy()
            swapped[leaver] = 0.0
            swapped[j] = np.sign(outside[j]) * max(abs(float(current[leaver])), cardinality**-0.5)
            yield swapped / np.linalg.norm(swapped)


def _fix_signs(columns: Matrix) -> Matrix:
    """Every component with its loading of largest magnitude positive."""
    leading = np.take_along_axis(columns, np.abs(columns).argmax(axis=0)[None, :], axis=0)
    return np.where(leading < 0.0, -columns, columns)
