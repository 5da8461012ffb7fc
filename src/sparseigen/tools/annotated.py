"""Sparse components of an AnnData object, kept in it as scanpy keeps principal components."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen.checks.annotated import AnnotatedTable, choose_table
from sparseigen.checks.coercion import is_annotated
from sparseigen.components.variance import find_overlap
from sparseigen.errors import DtypeError
from sparseigen.estimators import SparsePCA
from sparseigen.operators import Operator, covariance

HIGHLY_VARIABLE = "highly_variable"
"""The column of ``var`` that scanpy marks the genes in which components are to be made of."""
KEYS = ("X_spca", "SPCs", "spca")
"""Where scores, loadings and the rest go, in ``obsm``, ``varm`` and ``uns``."""


def sparse_pca(
    adata: Any,
    n_components: int | str = "auto",
    cardinality: Any = "auto",
    *,
    layer: str | None = None,
    use_raw: bool = False,
    mask_var: Any = HIGHLY_VARIABLE,
    key_added: str | None = None,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Find sparse components of an AnnData object and keep them in it.

    Parameters
    ----------
    adata : AnnData
        Samples x variables; normalised and logarithmic, as for ``scanpy.pp.pca``.
    n_components, cardinality
        As in `SparsePCA`; by default both are found.
    layer, use_raw
        The layer to take instead of X, or ``adata.raw`` (whose variables must be those of the object).
    mask_var : str or array of bool, optional
        The variables to take. By default those that ``var["highly_variable"]`` marks, where there is such a column;
        None takes all.
    key_added : str, optional
        The key in ``obsm``, ``varm`` and ``uns`` alike; by default "X_spca", "SPCs" and "spca".
    copy : bool
        Return a copy with the answer in it, and leave the object as it is.
    **options
        Passed on to `SparsePCA`: ``scale``, ``method``, ``deflation``, ``time_limit``, ...

    Returns
    -------
    AnnData or None
        The copy, or None. Written are ``obsm["X_spca"]``, the scores of the samples; ``varm["SPCs"]``, the loadings
        (zero for variables that were not taken); and ``uns["spca"]`` with the variances (``variance``,
        ``variance_ratio`` and ``adjusted_variance_ratio``), the number of variables of each component, what is proven
        of it (``relative_gap``, ``proven_optimal``) and the parameters. Where no component stands out from noise only
        ``uns`` is written.

    Notes
    -----
    With scanpy, after normalisation and logarithms::

        se.tools.sparse_pca(cells, n_components=5, cardinality=30)
        scanpy.pp.neighbors(cells, use_rep="X_spca")
        scanpy.pl.embedding(cells, "spca", color="cell_type")

    Examples
    --------
    What ``uns`` gets, here of a plain table:

    >>> import numpy as np
    >>> import sparseigen as se
    >>> from sparseigen.tools.annotated import describe_components
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 8)) + 2.0 * rng.standard_normal((100, 1)) * (np.arange(8) < 3)
    >>> operator = se.covariance(X)
    >>> known = describe_components(se.SparsePCA(1, 3).fit(operator), operator)
    >>> known["cardinality"].tolist(), known["proven_optimal"].tolist()
    ([3], [True])
    """
    if not is_annotated(adata):
        message = f"adata is a {type(adata).__name__}; it must be an AnnData object. For other data use SparsePCA."
        raise DtypeError(message, parameter="adata")
    adata = adata.copy() if copy else adata
    if isinstance(mask_var, str) and mask_var == HIGHLY_VARIABLE and HIGHLY_VARIABLE not in adata.var:
        mask_var = None
    table = choose_table(adata, layer=layer, use_raw=use_raw, mask=mask_var)
    scale = bool(options.get("scale", False))
    operator = covariance(adata, scale=scale, layer=layer, use_raw=use_raw, mask=mask_var)
    pca = SparsePCA(n_components, cardinality, **options).fit(operator)
    scores, loadings, rest = KEYS if key_added is None else (key_added,) * 3
    asked = {"layer": layer, "use_raw": use_raw, "mask_var": mask_var if isinstance(mask_var, str) else None}
    adata.uns[rest] = describe_components(pca, operator) | {
        "params": {name: value for name, value in (asked | {"scale": scale}).items() if value is not None}
    }
    if pca.n_components_:
        adata.obsm[scores] = find_scores(pca, table)
        adata.varm[loadings] = spread_loadings(pca, table, adata.n_vars)
    return adata if copy else None


def find_scores(pca: SparsePCA, table: AnnotatedTable) -> Any:
    """The scores of the samples, in float32 where the data are."""
    values = table.values
    weights = pca.components_.T / pca.scale_[:, None]
    dtype = np.float32 if getattr(values, "dtype", None) == np.float32 else np.float64
    return np.asarray(values @ weights - pca.mean_ @ weights).astype(dtype)


def spread_loadings(pca: SparsePCA, table: AnnotatedTable, count: int) -> Any:
    """One row per variable of the object, zero for those that were not taken."""
    loadings = np.zeros((count, pca.n_components_))
    loadings[table.kept] = pca.components_.T
    return loadings


def describe_components(pca: SparsePCA, operator: Operator) -> dict[str, Any]:
    """What is known of the components, in arrays that an h5ad file holds."""
    proofs = [result.certificate for result in pca.results_]
    known: dict[str, Any] = {
        "n_components": pca.n_components_,
        "cardinality": np.array(pca.cardinality_, dtype=np.int64),
        "relative_gap": np.array([np.nan if proof is None else proof.relative_gap for proof in proofs]),
        "proven_optimal": np.array([proof is not None and proof.optimal for proof in proofs], dtype=bool),
    }
    if pca.n_components_:
        overlap = find_overlap(operator, pca.components_)
        known |= {
            "variance": overlap.plain,
            "variance_ratio": overlap.plain / overlap.total,
            "adjusted_variance_ratio": overlap.adjusted / overlap.total,
            "score_correlations": overlap.correlations,
        }
    if pca.significance_ is not None:
        known["n_taking_part"] = np.array([len(members) for members in pca.significance_.taking_part], dtype=np.int64)
    return known
