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
