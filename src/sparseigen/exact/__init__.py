"""Exact solutions by branch and bound, and the check of every claim a result makes."""

from sparseigen.exact.answer import solve_exact
from sparseigen.exact.method import EXACT_SOLVER
from sparseigen.exact.verification import verify

__all__ = ["EXACT_SOLVER", "solve_exact", "verify"]
