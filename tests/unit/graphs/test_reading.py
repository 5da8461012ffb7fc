"""Options of read_graph that do not fit the source."""

from __future__ import annotations

from pathlib import Path

import pytest

import sparseigen as se
from sparseigen import errors
from sparseigen.errors import GraphFileError


def test_options_that_do_not_fit_the_source(tmp_path: Path) -> None:
    (tmp_path / "g.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    for given, error, message in (
        ({"weight": "w"}, GraphFileError, "weight='w' is for edge lists .*; g.mtx has weights of its own"),
        ({"columns": ("a", "b")}, errors.OptionError, "'columns' is for edges in partitions"),
        ({"shards": 3, "columns": ("a", "b")}, errors.OptionError, "'columns', 'shards' is for edges in partitions"),
    ):
        with pytest.raises(error, match=message):
            se.read_graph(tmp_path / "g.mtx", **given)
    pytest.importorskip("dask")
    for given, message in (
        ({"weight": "w"}, "weight='w' is for edge lists in text; name the columns of partitions by columns="),
        ({"columns": ("a",)}, "must name two columns .the ends of an edge., or three with the weight"),
    ):
        with pytest.raises(errors.OptionError, match=message):
            se.read_graph(tmp_path, **given)


@pytest.mark.parametrize(
    "text",
    ["0 1 5\n0 1 5\n1 2 3\n", "a b 5\na b 5\nb c 3\n", "source,target,km\n0,1,5\n0,1,5\n1,2,3\n"],
    ids=["numbers", "names", "header"],
)
def test_weight_means_the_same_as_in_densest_k_subgraph(text: str, tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text(text)
    for weight, expected in (("weight", 26.0), (None, 6.0)):  # a repeated edge counts as often as it is there
        assert se.densest_k_subgraph(se.read_graph(path, weight=weight), 3).weight == expected
        assert se.densest_k_subgraph(path, 3, weight=weight).weight == expected
    have = "the columns 'source', 'target', 'km'" if "km" in text else "no header"
    for read in (lambda: se.read_graph(path, weight="w"), lambda: se.densest_k_subgraph(path, 3, weight="w")):
        with pytest.raises(GraphFileError, match=f"weight='w' is not a column of .*; it has {have}"):
            read()


def test_no_weights_from_columns_that_could_be_any(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target,a,b\n0,1,2,3\n1,2,2,3\n")
    assert se.densest_k_subgraph(tmp_path / "edges.csv", 3, weight=None).weight == 4.0
    (tmp_path / "g.mtx").write_text("%%MatrixMarket matrix coordinate integer symmetric\n2 2 1\n2 1 7\n")
    assert se.densest_k_subgraph(se.read_graph(tmp_path / "g.mtx", weight=None), 2).weight == 2.0
