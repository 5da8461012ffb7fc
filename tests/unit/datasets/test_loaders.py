"""PitProps, and the gene data as they are read from the data folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sparseigen.datasets import load_gene_covariance, load_gene_curve, load_pitprops
from sparseigen.errors import MissingDataError


def test_pitprops_as_an_operator_carries_its_names() -> None:
    pitprops = load_pitprops()
    assert pitprops.operator().names == pitprops.names
    np.testing.assert_array_equal(pitprops.matrix, pitprops.matrix.T)


def test_gene_data_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path))
    (tmp_path / "colon").mkdir()
    np.savez(tmp_path / "colon" / "authors_covariance_500.npz", names=np.arange(2), covariance=np.eye(2))
    (tmp_path / "colon" / "authors_curve.csv").write_text("k,share\n1,0.25\n2,0.5\n")
    np.testing.assert_array_equal(load_gene_covariance("colon"), np.eye(2))
    curve = load_gene_curve("colon")
    assert list(curve) == ["k", "share"]
    np.testing.assert_array_equal(curve["share"], [0.25, 0.5])
    with pytest.raises(
        MissingDataError, match=r"lymphoma.* does not exist; the data folder is incomplete. Check SPARSE"
    ):
        load_gene_covariance("lymphoma")
