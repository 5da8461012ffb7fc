"""Dense data from which a component has been taken out: data again, with the kernels of data.

With s = D x the component's scores, both deflations that keep a covariance one are the covariance of D - s g':

* projection, (I - xx') A (I - xx'): g = x, so that only the k variables of the component change;
* Schur complement, A - (Ax)(Ax)' / x'Ax: g = Ax / x'Ax, the slopes of the regression of every variable on the scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.arrays import row_blocks
from sparseigen.checks.memory import available_bytes
from sparseigen.operators.contract import Indices, Operator, Vector
from sparseigen.operators.data import DenseData
from sparseigen.operators.deflated import find_unit_vector, project_out, regress_out
from sparseigen.operators.screening import Screen

Floats = NDArray[np.float64]

LARGEST_SHARE = 0.5
"""Of the memory that is free, what the copy may take; where it is larger, the deflation is a change of the products."""
SMALLEST_VARIANCE = 2.0**-960
"""Of scores that variables are regressed on: squares of smaller numbers are rounded like denormal ones."""
UNIT = 2.0**-53


class DeflatedData(DenseData):
    """The covariance of data less a component."""

    def __init__(
        self,
        base: DenseData,
        variables: NDArray[np.floating],
        errors: Floats,
        deflation: str,
        changed: Indices | slice = slice(None),
    ) -> None:
        self.n_samples, self.size, self.dtype, self.names = base.n_samples, base.size, base.dtype, base.names
        self.divisor, self.center, self.scale = base.divisor, base.center, base.scale
        self.variables, self._errors = variables, errors
        # Variances of rows that stay as they were are exactly what they were: rounding must not break ties.
        self._changed_diagonal = base.diagonal().copy()
        self._changed_diagonal[changed] = self._variances()[changed]
        self.taken_out = (*base.taken_out, deflation)
        self.screen = Screen(self.variables, np.sqrt(self.diagonal() * self.divisor))

    def _diagonal(self) -> Floats:
        return self._changed_diagonal

    def entry_errors(self) -> Floats:
        """Those inherited from the data before, and the rounding of the rows that changed."""
        return self._errors


def project_data(base: DenseData, vector: Vector) -> Operator:
    """(I - xx') A (I - xx') as the covariance of changed data, where these are float64 and a copy of them fits."""
    x = find_unit_vector(base, vector)
    if not _can_copy(base):
        return project_out(base, vector)
    support = np.flatnonzero(x)
    rows, variables = base.variables[support], base.variables.copy()
    variables[support] = rows - np.multiply.outer(x[support], x[support] @ rows)
    return DeflatedData(base, variables, bound_projected_errors(base, x), "projection", support)


def regress_data(base: DenseData, vector: Vector) -> Operator:
    """A - (Ax)(Ax)' / x'Ax as the covariance of the data regressed on the scores, where a copy of them fits."""
    x = find_unit_vector(base, vector)
    if not _can_copy(base):
        return regress_out(base, vector)
    support = np.flatnonzero(x)
    scores = kernels.combine_rows(base.variables, support, x[support])
    length = kernels.inner_product(scores, scores)
    if not SMALLEST_VARIANCE < length / base.divisor < np.inf:
        return regress_out(base, vector)
    slopes = kernels.row_dots(base.variables, scores) / length
    errors = bound_regressed_errors(base, x, slopes, length / base.divisor)
    if errors is None:
        return regress_out(base, vector)
    variables = np.empty_like(base.variables)
    for rows in row_blocks(base.size, base.n_samples):
        np.multiply.outer(slopes[rows], scores, out=variables[rows])
        np.subtract(base.variables[rows], variables[rows], out=variables[rows])
    return DeflatedData(base, variables, errors, "schur")


def _can_copy(base: DenseData) -> bool:
    """In float32 the changed rows would be rounded more than products are."""
    return base.dtype == np.float64 and base.variables.nbytes <= LARGEST_SHARE * available_bytes()


def bound_projected_errors(base: DenseData, x: Floats) -> Floats:
    """`Operator.entry_errors` w' of (I - xx') A (I - xx') from the w of A: an entry is off by at most sqrt(w'_i w'_j).

    With s_i = sqrt(w_i) and t = sum_l |x_l| s_l the errors of A make at most (s_i + |x_i| t)(s_j + |x_j| t). With b_i
    the square roots of the diagonal, a changed row has length at most c_i = b_i + |x_i| sum_l |x_l| b_l, and is rounded
    by e_i = gamma(k + 8) c_i at most, which changes a product with row j by e_i c_j + c_i e_j + e_i e_j; as s_j is at
    least g b_j, g = sqrt(4 n u) (`gram_errors`), that is at most what 2 e_i / g adds to s_i + |x_i| t. Dot products of
    the changed rows are rounded like those of A: twice the whole, for the rows that change.
    """
    roots, lengths, sizes = np.sqrt(base.entry_errors()), np.sqrt(base.diagonal()), np.abs(x)
    support = np.flatnonzero(sizes)
    inherited = roots[support] + sizes[support] * float(sizes @ roots)
    rounded = (lengths[support] + sizes[support] * float(sizes @ lengths)) * (1.02 * (len(support) + 12.0) * UNIT)
    changed = roots.copy()
    changed[support] = 2.0 * (inherited + 2.0 * rounded / np.sqrt(4.0 * base.n_samples * UNIT))
    errors: Floats = changed**2 * (1.0 + 1e-9)
    return errors


def bound_regressed_errors(base: DenseData, x: Floats, slopes: Floats, variance: float) -> Floats | None:
    """`Operator.entry_errors` w' of A - (Ax)(Ax)' / x'Ax from the w of A; None if the scores' variance is rounding.

    The matrix meant is the Schur complement S of the exact A, with x as it is. Let g be the slopes as stored, v the
    variance of the scores as computed, P = I - x g', r_i = sqrt(w_i), t = sum_l |x_l| r_l, b_i the square roots of the
    diagonal and c = sum_l |x_l| b_l. Every row changes, so what is added here is added, not multiplied:

    1. For every g, P'AP = S + a (g - g*)(g - g*)' with a = x'Ax and g* = Ax / a (S x = 0, and P'Ax = a (g* - g)). The
       stored products are off by at most h_i = r_i t + gamma(n + k + 8) b_i c, the variance by H = t^2 +
       gamma(n + 2k + 8) c^2, so g_i by (h_i + |g_i| (H + 4 u v)) / a, and a >= v - H >= v / 2.
    2. The errors of A make at most r'_i r'_j in P'AP, r'_i = r_i + |g_i| t.
    3. A row of P'D has length at most d_i = b_i + |g_i| c and is rounded by gamma(k + 6) d_i; that changes products by
       2.1 (k + 6) u d_i d_j, and they are rounded themselves, by gamma(n + 4) d_i d_j.

    Errors of the form sqrt(p_i p_j) and sqrt(q_i q_j) sum to at most sqrt((p_i + q_i)(p_j + q_j)).
    """
    roots, lengths, sizes = np.sqrt(base.entry_errors()), np.sqrt(base.diagonal()), np.abs(x)
    n, k, steepness = float(base.n_samples), float(np.count_nonzero(x)), np.abs(slopes)
    inherited, spread = float(sizes @ roots), float(sizes @ lengths)
    apart = 1.01 * inherited**2 + 1.05 * (n + 2.0 * k + 8.0) * UNIT * spread**2
    if not 2.0 * apart <= variance:
        return None
    away = roots * inherited + 1.05 * (n + k + 8.0) * UNIT * lengths * spread
    slanted = (away + steepness * (apart + 4.0 * UNIT * variance)) * np.sqrt(2.0 / variance)
    rounding = (1.05 * (n + 8.0) + 2.1 * (k + 12.0)) * UNIT
    errors: Floats = slanted**2 + (roots + steepness * inherited) ** 2 + rounding * (lengths + steepness * spread) ** 2
    return errors * (1.0 + 1e-9)
