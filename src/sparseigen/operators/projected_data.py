"""Dense data from which a component has been taken out: data again, with the kernels of data.

(I - xx') A (I - xx') is the covariance of D (I - xx') = D - (D x) x', and x has few entries: only the k variables of
the component change, each by a multiple of the component's scores. The other rows are the base's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.memory import available_bytes
from sparseigen.operators.contract import Operator, Vector
from sparseigen.operators.data import DenseData
from sparseigen.operators.deflated import find_unit_vector, project_out
from sparseigen.operators.screening import Screen

LARGEST_SHARE = 0.5
"""Of the memory that is free, what the copy may take; where it is larger, the deflation is a change of the products."""


def project_data(base: DenseData, vector: Vector) -> Operator:
    """(I - xx') A (I - xx') as the covariance of changed data, where these are float64 and a copy of them fits."""
    x = find_unit_vector(base, vector)
    if base.dtype != np.float64 or base.variables.nbytes > LARGEST_SHARE * available_bytes():
        return project_out(base, vector)  # in float32 the changed rows would be rounded more than products are
    return ProjectedData(base, x)


class ProjectedData(DenseData):
    """The covariance of data less a component."""

    def __init__(self, base: DenseData, x: NDArray[np.float64]) -> None:
        self.n_samples, self.size, self.dtype, self.names = base.n_samples, base.size, base.dtype, base.names
        self.divisor, self.center, self.scale = base.divisor, base.center, base.scale
        support = np.flatnonzero(x)
        rows = base.variables[support].astype(np.float64, copy=False)
        rows -= np.multiply.outer(x[support], x[support] @ rows)
        self.variables = base.variables.copy()
        self.variables[support] = rows
        self._changed_diagonal = base.diagonal().copy()
        self._changed_diagonal[support] = np.einsum("ij,ij->i", rows, rows) / self.divisor
        self._errors = bound_errors(base, x)
        self.components = getattr(base, "components", 0) + 1
        self.screen = Screen(self.variables, np.sqrt(self.diagonal() * self.divisor))

    def _diagonal(self) -> NDArray[np.float64]:
        return self._changed_diagonal

    def entry_errors(self) -> NDArray[np.float64]:
        """Those inherited from the data before, and the rounding of the rows that changed."""
        return self._errors

    def describe(self) -> dict[str, object]:
        """Adds how many components were taken out."""
        return super().describe() | {"components_taken_out": self.components}


def bound_errors(base: DenseData, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """`Operator.entry_errors` w' of (I - xx') A (I - xx') from the w of A: an entry is off by at most sqrt(w'_i w'_j).

    With s_i = sqrt(w_i) and t = sum_l |x_l| s_l the errors of A make at most (s_i + |x_i| t)(s_j + |x_j| t). With b_i
    the square roots of the diagonal, a changed row has length at most c_i = b_i + |x_i| sum_l |x_l| b_l, and is rounded
    by e_i = gamma(k + 8) c_i at most, which changes a product with row j by e_i c_j + c_i e_j + e_i e_j; as s_j is at
    least g b_j, g = sqrt(4 n u) (`gram_errors`), that is at most what 2 e_i / g adds to s_i + |x_i| t. Dot products of
    the changed rows are rounded like those of A: twice the whole, for the rows that change.
    """
    unit = 2.0**-53
    roots, lengths, sizes = np.sqrt(base.entry_errors()), np.sqrt(base.diagonal()), np.abs(x)
    support = np.flatnonzero(sizes)
    inherited = roots[support] + sizes[support] * float(sizes @ roots)
    rounded = (lengths[support] + sizes[support] * float(sizes @ lengths)) * (1.02 * (len(support) + 12.0) * unit)
    changed = roots.copy()
    changed[support] = 2.0 * (inherited + 2.0 * rounded / np.sqrt(4.0 * base.n_samples * unit))
    errors: NDArray[np.float64] = changed**2 * (1.0 + 1e-9)
    return errors
