"""The public face of the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen.certificates.portfolio import EFFORTS, certify
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding_share import warn_of_rounding
from sparseigen.errors import UnsupportedOperatorError
from sparseigen.inputs.arguments import check_cardinality, check_choice
from sparseigen.operators import as_operator
from sparseigen.results import Certificate
from sparseigen.solvers.interface import Progress, SolverOptions
from sparseigen.solvers.truncated_power import solve_truncated_power


def upper_bound(A: Any, cardinality: int, *, effort: str = "default") -> Certificate:
    """Prove how large the largest k-sparse eigenvalue of A can be.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, or operator from `covariance`
        A symmetric matrix; it may be indefinite.
    cardinality : int
        Number of non-zeros allowed (*k*).
    effort : {"cheap", "default", "tight"}
        "cheap": trace of the k largest diagonal entries (Gram and other positive semidefinite matrices), largest
        eigenvalue, row sums (Gershgorin). "default": scaled row sums and the dual of the penalised problem as well.
        "tight": that dual to convergence, and a split of A into a spectral and a row part, for up to about 10 s.

    Returns
    -------
    Certificate
        ``upper_bound`` is proven; ``lower_bound`` is reached by the answer of the default solver, which the bounds
        start from.

    Raises
    ------
    UnsupportedOperatorError
        If no bound of this effort applies.

    Notes
    -----
    Everything holds in floating point. Row bounds are raised by 2 (k + 6) roundings of their terms; eigenvalues are
    proven by a Cholesky factorisation that succeeds, with Rump's margin; dual points are checked one by one; the
    rounding errors of the entries of a covariance add at most the sum of the k largest `Operator.entry_errors`.

    References
    ----------
    A. d'Aspremont, F. Bach, L. El Ghaoui, "Optimal solutions for sparse principal component analysis", JMLR 9 (2008).
    S. M. Rump, "Verification of positive definiteness", BIT 46 (2006), 433-452.

    Examples
    --------
    >>> import sparseigen as se
    >>> certificate = se.upper_bound(se.datasets.load_pitprops().matrix, 5)
    >>> bool(certificate.lower_bound <= 3.406156 and certificate.upper_bound >= 3.406154)
    True
    """
    operator = as_operator(A)
    cardinality = check_cardinality(cardinality, operator.size)
    check_choice(effort, EFFORTS, "effort")
    options = SolverOptions(progress=Progress(operator.size))
    problem = BoundProblem(operator, cardinality)
    outcome = solve_truncated_power(problem.searchable(), cardinality, options)
    certificate = certify(operator, cardinality, outcome.vector, effort=effort)
    if not np.isfinite(certificate.upper_bound):
        message = (
            f"no bound of effort={effort!r} applies to this {type(operator).__name__} of size {operator.size}. "
            "Use effort='default', or a matrix with smaller entries."
        )
        raise UnsupportedOperatorError(message)
    warn_of_rounding(operator, cardinality, certificate)
    return certificate
