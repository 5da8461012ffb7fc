"""Sparse components kept in an AnnData object, and used by scanpy from there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import DtypeError, NotSignificantWarning

anndata = pytest.importorskip("anndata", reason="`make test-ecosystem` installs anndata and runs these")
pandas = pytest.importorskip("pandas")


@pytest.fixture
def cells(rng: np.random.Generator) -> Any:
    counts = rng.poisson(1.0, (90, 40)) + rng.poisson(3.0, (90, 1)) * (np.arange(40) < 6)
    obs = pandas.DataFrame({"type": pandas.Categorical(["a", "b", "c"] * 30)}, index=[f"cell{i}" for i in range(90)])
    var = pandas.DataFrame({"highly_variable": np.arange(40) % 8 < 7}, index=[f"gene{i}" for i in range(40)])
    found = anndata.AnnData(sp.csr_matrix(counts.astype(np.float32)), obs=obs, var=var)
    found.layers["log"] = np.log1p(counts)
    return found


def test_the_answer_is_kept_where_scanpy_looks_for_it(cells: Any, tmp_path: Any) -> None:
    assert se.tools.sparse_pca(cells, 2, 5) is None
    kept = cells.var["highly_variable"].to_numpy()
    operator = se.covariance(cells, mask="highly_variable")
    first = se.sparse_components(operator, [5, 5])[0]
    np.testing.assert_allclose(cells.varm["SPCs"][kept, 0], first.vector, atol=1e-6)
    assert not cells.varm["SPCs"][~kept].any()
    scores = cells.obsm["X_spca"]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), cells.uns["spca"]["variance"], rtol=1e-4)
    assert cells.uns["spca"]["params"] == {"use_raw": False, "mask_var": "highly_variable", "scale": False}
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.uns["spca"]["proven_optimal"].tolist() == cells.uns["spca"]["proven_optimal"].tolist()


def test_layers_keys_and_copies(cells: Any) -> None:
    found = se.tools.sparse_pca(cells, 2, 4, layer="log", mask_var=None, key_added="mine", copy=True, scale=True)
    assert found.obsm["mine"].shape == (90, 2)
    assert (found.varm["mine"] != 0).sum(axis=0).tolist() == [4, 4]
    assert "mine" not in cells.uns
    assert found.uns["mine"]["variance_ratio"].shape == (2,)


def test_noise_and_other_objects(rng: np.random.Generator) -> None:
    noise = anndata.AnnData(rng.standard_normal((60, 30)))
    with pytest.warns(NotSignificantWarning):
        se.tools.sparse_pca(noise)
    assert noise.uns["spca"]["n_components"] == 0
    assert "X_spca" not in noise.obsm
    with pytest.raises(DtypeError, match="adata is a ndarray; it must be an AnnData object"):
        se.tools.sparse_pca(np.eye(3))


@pytest.mark.filterwarnings("ignore")  # scanpy's own, and those of what it draws with
def test_scanpy_goes_on_from_there(cells: Any) -> None:
    scanpy = pytest.importorskip("scanpy")
    pytest.importorskip("matplotlib").use("agg")
    se.tools.sparse_pca(cells, 3, 5)
    scanpy.pp.neighbors(cells, n_neighbors=5, use_rep="X_spca")
    assert cells.obsp["connectivities"].shape == (90, 90)
    scanpy.pl.embedding(cells, "spca", color="type", show=False)
    scanpy.pl.ranking(cells, "varm", "SPCs", indices=[0, 1], n_points=5, show=False)
