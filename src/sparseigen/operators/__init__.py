"""Matrices as solvers see them. See `contract` for what an operator is and `build` for the table of them."""

from sparseigen.operators.build import as_operator, covariance
from sparseigen.operators.contract import Operator, PowerStep

__all__ = ["Operator", "PowerStep", "as_operator", "covariance"]
