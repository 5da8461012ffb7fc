"""Problems whose optimum is known: shared by tests and benchmarks.

A new one is a function that returns a `KnownProblem` and a row in PROBLEMS; every solver then meets it on every
operator in the common tests.
"""

from sparseigen.problems.known import PROBLEMS, KnownProblem, brute_force

__all__ = ["PROBLEMS", "KnownProblem", "brute_force"]
