"""The correlation matrix of a covariance given as a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen.inputs.arrays import CheckedArray
from sparseigen.operators.contract import Operator
from sparseigen.operators.dense import DenseSymmetric
from sparseigen.operators.moments import scales


def correlation_of(operator: Operator) -> tuple[Operator, NDArray[np.float64]]:
    """The matrix divided by the deviations on both sides, and the deviations.

    Formed, so for sizes up to LARGEST_MATERIALISED; larger data should come as ``covariance(X, scale=True)``.
    """
    deviations = scales(operator.diagonal(), np.zeros(operator.size), operator.names)
    matrix = operator.to_dense() / np.outer(deviations, deviations)
    psd = operator.positive_semidefinite
    return DenseSymmetric(CheckedArray(matrix, "dense", operator.names), positive_semidefinite=psd), deviations
