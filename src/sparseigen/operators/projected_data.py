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
from sparseigen.operators.moments import gram_errors
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
    """The covariance of data less a component; ``changed`` counts the variables that are not the caller's any more.

    The matrix meant is that of the numbers stored for the variables of components, and of the exact centred and scaled
    numbers for the others.
    """

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
        means, deviations = _find_origin(base)
        self.origin = means.copy(), deviations.copy()
        self.origin[0][support], self.origin[1][support] = self._express_means(rows), 1.0
        self.components = getattr(base, "components", 0) + 1
        self.screen = Screen(self.variables, np.sqrt(self.diagonal() * self.divisor))

    def _express_means(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers whose n roundings, which `gram_errors` takes the means to be off by, are the means of these rows.

        The error of a mean does no harm to first order where the other factor of a product has mean zero. Rows as they
        are stored have nearly that; what is left of their means, times the error of another row's mean, is an error of
        the same kind as two errors of means. Where nothing was centred, no mean is off.
        """
        if not self.center:
            return np.zeros(len(rows))
        means: NDArray[np.float64] = np.abs(rows.mean(axis=1)) / (self.n_samples * 2.0**-53)
        return means

    def _diagonal(self) -> NDArray[np.float64]:
        return self._changed_diagonal

    def entry_errors(self) -> NDArray[np.float64]:
        """Those of data; stored numbers of a component's variables are exact, but for the mean they should not have."""
        return gram_errors(self.diagonal(), *self.origin, self.n_samples, self.divisor, self.dtype)

    def describe(self) -> dict[str, object]:
        """Adds how many components were taken out."""
        return super().describe() | {"components_taken_out": self.components}


def _find_origin(base: DenseData) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The means and deviations that the rounding of the rows depends on."""
    return base.origin if isinstance(base, ProjectedData) else (base.means, base.deviations)
