"""Several sparse components, one after the other, by deflation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sparseigen.errors import OptionError, SolveInterrupted, ZeroMatrixError
from sparseigen.inputs.arguments import check_cardinality, check_choice, check_many
from sparseigen.operators import Operator, as_operator
from sparseigen.operators.deflated import DEFLATIONS
from sparseigen.results import SparseEigResult
from sparseigen.solve import sparse_eigenvector, sparse_eigenvector_block

BLOCK = "block"
"""The name under `deflation` for all components at once."""

PRODUCTS_A_COMPONENT = 600
"""What a default solve costs, for the decision whether forming the Gram matrix once pays for all components."""

EXHAUSTED = 1e-12
"""A deflated matrix with less than this share of the trace is rounding: there is no further component."""


def sparse_components(
    A: Any, cardinalities: Iterable[int], *, deflation: str = "projection", method: str = "tpower", **options: Any
) -> list[SparseEigResult]:
    """Find several sparse components, each on what the ones before it left over.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, or operator from `covariance`
        A symmetric matrix. It is never copied: each deflation is a low-rank change of the products.
    cardinalities : sequence of int
        Number of non-zeros of each component.
    deflation : {"projection", "hotelling", "orthogonal-hotelling", "schur", "block"}
        What is taken out of A after each component; "projection" is the paper's. "block" is for methods that find
        all components at once ("gpower-l1", "gpower-l0", "spca"): nothing is taken out.
    method : str
        The solver, a name in the table of methods.
    **options
        Passed on to `sparse_eigenvector` for every component.

    Returns
    -------
    list of SparseEigResult
        ``value`` and ``certificate`` of each speak of the deflated matrix it was found on. For the variance that
        the set explains see `explained_variance`.

    References
    ----------
    L. Mackey, "Deflation Methods for Sparse PCA", NIPS 2008.

    Examples
    --------
    >>> import sparseigen as se
    >>> pitprops = se.datasets.load_pitprops()
    >>> found = se.sparse_components(pitprops.matrix, [7, 2, 1, 1, 1, 1], certify=False)
    >>> [len(result.support) for result in found]
    [7, 2, 1, 1, 1, 1]
    """
    operator = as_operator(A)
    check_choice(deflation, (*DEFLATIONS, BLOCK), "deflation")
    given = check_many(cardinalities, "cardinalities", "[5, 5]")
    wanted = [check_cardinality(k, operator.size, what=f"cardinalities[{i}]") for i, k in enumerate(given)]
    if not wanted:
        msg = "cardinalities is empty; give the number of non-zeros of each component, for example [5, 5]."
        raise OptionError(msg, parameter="cardinalities")
    if deflation == BLOCK:
        return sparse_eigenvector_block(operator, wanted, method=method, **options)
    deflate = DEFLATIONS[deflation]
    total = float(np.abs(operator.diagonal()).sum())
    remaining: Operator = operator.prepared_for(PRODUCTS_A_COMPONENT * len(wanted))
    results: list[SparseEigResult] = []
    for cardinality in wanted:
        try:
            if results:
                remaining = deflate(remaining, results[-1].vector)
                _check_not_exhausted(remaining, total, len(results))
            results.append(sparse_eigenvector(remaining, cardinality, method=method, **options))
        except KeyboardInterrupt as stop:
            raise SolveInterrupted(getattr(stop, "result", None), tuple(results)) from None
    return results


def _check_not_exhausted(remaining: Operator, total: float, found: int) -> None:
    if float(np.abs(remaining.diagonal()).sum()) <= EXHAUSTED * total:
        message = (
            f"after {found} {'component' if found == 1 else 'components'} no variance is left; ask for at most {found}."
        )
        raise ZeroMatrixError(message)
