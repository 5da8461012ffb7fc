"""Which table of an AnnData object is meant; the object is stood in for, so that the package need not be there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.checks.annotated import choose_table
from sparseigen.checks.coercion import is_annotated

pandas = pytest.importorskip("pandas")
COUNTS = np.random.default_rng(0).poisson(2.0, (30, 8)).astype(float)


class Raw:
    def __init__(self, X: Any, names: list[str]) -> None:
        self.X, self.var = X, pandas.DataFrame(index=names)
        self.var_names = self.var.index


class AnnData(Raw):
    """As much of an AnnData object as is looked at."""

    isbacked = is_view = False
    filename = None

    def __init__(self, X: Any = COUNTS) -> None:
        super().__init__(X, [f"g{i}" for i in range(8)])
        self.var["marked"] = np.arange(8) < 5
        self.obs_names = [f"c{i}" for i in range(30)]
        self.layers = {"log": np.log1p(COUNTS)}
        self.raw: Raw | None = Raw(np.hstack([COUNTS, COUNTS]), [f"r{i}" for i in range(16)])


AnnData.__module__ = "anndata._core.anndata"


def test_tables_of_an_object() -> None:
    cells = AnnData()
    assert is_annotated(cells)
    assert not is_annotated(COUNTS)
    whole = choose_table(cells)
    assert (whole.names[0], whole.row_labels[0], whole.values is COUNTS) == ("g0", "c0", True)
    marked = choose_table(cells, layer="log", mask="marked")
    np.testing.assert_array_equal(marked.values, np.log1p(COUNTS)[:, :5])
    assert marked.kept.tolist() == [True] * 5 + [False] * 3
    assert choose_table(cells, use_raw=True).names[-1] == "r15"
    assert choose_table(cells, mask=np.arange(8) == 3).names == ("g3",)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"layer": "lgo"}, errors.OptionError, "layer='lgo' is not a layer of this AnnData object; it has: 'log'."),
        ({"layer": "log", "use_raw": True}, errors.OptionError, "name two tables; give one of them"),
        ({"mask": "hvg"}, errors.OptionError, "mask='hvg' is not a column of var; it has: 'marked'."),
        ({"mask": [1, 0]}, errors.DtypeError, "mask has dtype int64; it must say True or False"),
        ({"mask": [True]}, errors.ShapeError, "mask has shape (1,); it must have one entry for each of the 8"),
        ({"mask": [False] * 8}, errors.OptionError, "mask chooses no variable"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_not_there_is_named(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        choose_table(AnnData(), **options)
    assert message in str(caught.value)


def test_objects_that_are_not_whole() -> None:
    cells = AnnData()
    cells.raw = None
    with pytest.raises(
        errors.OptionError, match=r"this AnnData object has no raw; set adata.raw, or leave use_raw out"
    ):
        choose_table(cells, use_raw=True)
    with pytest.raises(errors.OptionError, match=r"has no X; name one of its layers"):
        choose_table(AnnData(None))
    cells.var_names = pandas.Index(["g0"] * 8)
    with pytest.raises(errors.DuplicateNamesError, match=r"'g0' occurs twice .* call adata.var_names_make_unique\(\)"):
        choose_table(cells)
    on_disk = AnnData()
    on_disk.isbacked, on_disk.filename = True, "cells.h5ad"
    assert choose_table(on_disk, layer="log").dataset == "layers/log"
    with pytest.raises(
        errors.OptionError, match=r"on disk, and only a part of it is meant. Load .* adata.to_memory\(\)"
    ):
        choose_table(on_disk, mask="marked")


@pytest.mark.parametrize("X", [COUNTS, sp.csr_matrix(COUNTS)], ids=["dense", "sparse"])
def test_covariances_and_estimators_take_the_object(X: Any) -> None:
    """Both would iterate over the object as if it were a sequence."""
    cells = AnnData(X)
    operator = se.covariance(cells, mask="marked")
    np.testing.assert_allclose(operator.to_dense(), np.cov(COUNTS[:, :5].T))
    assert operator.names == ("g0", "g1", "g2", "g3", "g4")
    pca = se.SparsePCA(2, 3).fit(cells)
    assert pca.feature_names_in_.tolist() == [f"g{i}" for i in range(8)]
    np.testing.assert_allclose(pca.transform(cells), pca.transform(pandas.DataFrame(COUNTS, columns=cells.var_names)))
    turned = AnnData(X[:, ::-1])
    turned.var_names = cells.var_names[::-1]
    np.testing.assert_allclose(pca.transform(turned), pca.transform(cells))
    turned.var_names = pandas.Index([f"h{i}" for i in range(8)])
    with pytest.raises(errors.ShapeError, match="8 variables of the fit are not in X, the first is 'g0'"):
        pca.transform(turned)
    with pytest.raises(errors.OptionError, match=r"layer= is for AnnData objects; X is ndarray. Leave it out"):
        se.covariance(COUNTS, layer="log")
