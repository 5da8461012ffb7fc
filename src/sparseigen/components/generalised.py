"""Several sparse vectors of a generalised problem, one after the other, and the two problems made of data.

`generalised_components` finds the vector of the largest x'Ax / x'Bx, takes it out of A and goes on. What is taken out
is t (Bx)(Bx)' / x'Bx, after which x has the quotient zero and every other generalised eigenvector keeps its own, if x
is one; B stays as it is, so that every quotient is measured alike. With two groups of variables only the part between
them is taken out.

`canonical_pencil` and `discriminant_pencil` make A and B of data. Variables are divided by their standard deviations
(within the classes, for discriminants), so that a ridge means the same for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import CheckedArray
from sparseigen.errors import ConstantColumnError, ShapeError
from sparseigen.operators import Operator, covariance
from sparseigen.operators.combined import form as hold
from sparseigen.operators.contract import LARGEST_MATERIALISED
from sparseigen.operators.matrix import DenseSymmetric
from sparseigen.results import SparseEigResult
from sparseigen.solve.generalised import PencilRequest

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class DataPencil:
    """A and B of data, and what their variables were divided by."""

    form: DenseSymmetric
    metric: DenseSymmetric
    means: Numbers
    scales: Numbers
    boundary: int | None = None


def generalised_components(
    pencil: DataPencil,
    count: int,
    cardinality: tuple[int, int],
    *,
    ridge: float = 0.0,
    certify: bool = True,
    **options: Any,
) -> list[SparseEigResult]:
    """So many vectors, each with the certificate of what the ones before it left.

    Parameters
    ----------
    pencil : DataPencil
        From `canonical_pencil` or `discriminant_pencil`.
    count : int
        How many vectors.
    cardinality : (int, int)
        Variables of the first and of the second group; without groups (k, 0).
    ridge : float
        Added to the diagonal of the metric.
    certify : bool
        Prove a bound for each.
    **options
        ``method``, ``effort``, ``time_limit``, ``rng`` and the like, of `sparse_eigenvector`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 5))
    >>> Y = np.column_stack([X[:, 0] - X[:, 1], X[:, 2]]) + 0.3 * rng.standard_normal((200, 2))
    >>> found = generalised_components(canonical_pencil(X, Y), 2, (2, 1))
    >>> [result.support.tolist() for result in found]
    [[0, 1, 5], [0, 2, 6]]
    """
    results: list[SparseEigResult] = []
    form: Operator = pencil.form
    metric = pencil.metric.matrix + ridge * np.eye(pencil.metric.size)
    left = pencil.form.matrix.copy()
    for number in range(count):
        request = PencilRequest(form, pencil.metric, ridge=ridge, boundary=pencil.boundary, **options)
        result = request.answer(cardinality[0], certify=certify, others=cardinality[1])
        results.append(result)
        if number + 1 == count:
            break
        weighted = metric @ result.vector
        taken = (result.value / float(result.vector @ weighted)) * np.outer(weighted, weighted)
        if pencil.boundary is not None:
            taken *= 2.0  # x'Ax is twice the part between the groups
            taken[: pencil.boundary, : pencil.boundary] = taken[pencil.boundary :, pencil.boundary :] = 0.0
        left -= taken
        form = _hold(0.5 * (left + left.T), pencil.form.names)
    return results


def _hold(matrix: Numbers, names: tuple[str, ...] | None, errors: Numbers | None = None) -> DenseSymmetric:
    checked = CheckedArray(np.ascontiguousarray(matrix), "dense", names, magnitude=float(np.abs(matrix).max()))
    return DenseSymmetric(checked, entry_errors=errors)


def canonical_pencil(X: Numbers, Y: Numbers, names: tuple[str, ...] | None = None) -> DataPencil:
    """Of paired data the matrices whose largest quotient, k_x variables of X and k_y of Y, is a correlation.

    A is the correlation between the blocks, [[0, R_xy], [R_yx, 0]], and B that within them. For x = (u, v) the quotient
    2 u'R_xy v / (u'R_xx u + v'R_yy v) is largest where both terms below are alike: then it is the correlation of the
    scores Xu and Yv.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> pencil = canonical_pencil(X, X[:, :1])
    >>> round(float(pencil.form.matrix[0, 3]), 9), pencil.boundary
    (1.0, 3)
    """
    both = np.hstack([X, Y])
    boundary = X.shape[1]
    _check_room(both.shape[1])
    operator: Any = covariance(both - both.mean(axis=0), scale=True)
    constant = ~(operator.deviations > 0.0) | ~np.isfinite(operator.deviations)
    if constant.any():
        place = int(np.flatnonzero(constant)[0])
        where = f"X[:, {place}]" if place < boundary else f"Y[:, {place - boundary}]"
        message = f"{where} is constant, so that it has no correlation with anything. Leave the column out."
        raise ConstantColumnError(message)
    held = hold(operator)
    within = held.matrix.copy()
    within[:boundary, boundary:] = within[boundary:, :boundary] = 0.0
    metric = _hold(within, names, held.entry_errors())
    metric.negative_part, metric.positive_semidefinite = 0.0, True
    across = _hold(held.matrix - within, names, held.entry_errors())
    return DataPencil(across, metric, both.mean(axis=0), operator.deviations, boundary)


def discriminant_pencil(
    X: Numbers, classes: NDArray[np.int64], count: int, names: tuple[str, ...] | None = None
) -> DataPencil:
    """Of data in classes the scatter between the classes (A) and that within them (B), both divided by n - classes.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [2.0, -1.0], [5.0, 1.0], [7.0, -1.0]])
    >>> discriminant_pencil(X, np.array([0, 0, 1, 1]), 2).form.matrix.round(6).tolist()
    [[6.25, 0.0], [0.0, 0.0]]
    """
    _check_room(X.shape[1])
    sizes = np.bincount(classes, minlength=count).astype(np.float64)
    means = np.array([X[classes == number].mean(axis=0) for number in range(count)])
    rest, freedom = X - means[classes], max(len(X) - count, 1)
    scales = np.sqrt((rest**2).sum(axis=0) / freedom)
    largest = np.abs(X).max(axis=0)
    if not (scales > 1e-14 * largest).all():
        place = int(np.flatnonzero(~(scales > 1e-14 * largest))[0])
        message = f"X[:, {place}] is constant within every class, so that nothing is to be divided by. Leave it out."
        raise ConstantColumnError(message)
    overall = X.mean(axis=0)
    spread = np.sqrt(sizes / freedom)[:, None] * (means - overall) / scales
    within: Any = hold(covariance(rest / scales, center=False, ddof=len(X) - freedom, names=names))
    between = hold(covariance(spread, center=False, ddof=count - 1, names=names))
    return DataPencil(between, within, overall, scales)


def _check_room(size: int) -> None:
    if size > LARGEST_MATERIALISED:
        message = (
            f"{size} variables in all; canonical correlations and discriminants are found among up to "
            f"{LARGEST_MATERIALISED}. Choose some first, for example those of largest variance."
        )
        raise ShapeError(message)
