"""Questions nobody should ask: each is refused in one sentence, and none gets an answer to another question."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sparseigen as se
from sparseigen import errors
from sparseigen.io.columns import Table
from sparseigen.report.page import Report
from sparseigen.rows.files import check_checkpoint

MATRIX = se.datasets.load_pitprops().matrix
NAMES = list(se.datasets.load_pitprops().names)


@pytest.fixture
def data(rng):
    return rng.standard_normal((40, 6)) + 2.0 * rng.standard_normal((40, 1)) * (np.arange(6) < 3)


def test_rows_named_like_the_columns_in_another_order_are_refused():
    """All off-diagonal entries are equal, so that every order of the rows leaves a symmetric matrix."""
    frame = pd.DataFrame([[2.0, 2.0, 2.0], [2.0, 1.0, 2.0], [2.0, 2.0, 0.5]], index=list("abc"), columns=list("cba"))
    calls = [lambda a: se.sparse_eigenvector(a, 2), lambda a: se.solve_exact(a, 2), lambda a: se.upper_bound(a, 2)]
    for call in calls:
        with pytest.raises(errors.InputError, match="in another order: row 0 is 'a', column 0 is 'c'"):
            call(frame)
    with pytest.raises(errors.InputError, match="in another order"):
        se.sparse_eigenvector(Table(frame.to_numpy(), tuple("abc"), tuple("cab")), 2)
    for rows in (list("cba"), [0, 1, 2], list("xyz")):
        assert se.sparse_eigenvector(frame.set_axis(rows), 2).names == ("c", "b", "a")


def test_an_adjacency_frame_with_rows_in_another_order_is_no_list_of_edges():
    weights = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    frame = pd.DataFrame(weights, index=list("abc"), columns=list("abc"))
    with pytest.raises(errors.ShapeError, match="an adjacency matrix"):
        se.densest_k_subgraph(frame.loc[list("bca")], 2)


@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "", 5, None, b"x"])
def test_names_that_no_file_can_have(name, tmp_path, data):
    np.save(tmp_path / "x.npy", data)
    page = Report("title", "<!doctype html>")
    calls = [page.save, lambda name: check_checkpoint(5 if name is None else name)]
    if isinstance(name, str):
        calls += [se.read_graph, lambda name: se.densest_k_subgraph(name, 2), se.covariance]
    for call in calls:
        with pytest.raises(errors.InputError):
            call(str(tmp_path / name) if isinstance(name, str) and len(name) > 2 else name)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.npy"]
