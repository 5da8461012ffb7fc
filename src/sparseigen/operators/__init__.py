"""Matrices as solvers see them. See `contract` for what an operator is and `build` for the table of them."""

from sparseigen.operators.build import as_operator, covariance
from sparseigen.operators.combined import contrast
from sparseigen.operators.contract import Operator
from sparseigen.operators.linear_operator import from_linear_operator

__all__ = ["Operator", "as_operator", "contrast", "covariance", "from_linear_operator"]
