"""Partitions of data and graphs, one at a time as a worker loads them: what is taken, and what is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparseigen import errors
from sparseigen.rows.partitions import (
    BlockFacts,
    Partition,
    check_alike,
    edge_partitions,
    is_partitioned,
    load_partition,
)

ENDS = np.array([[0, 1], [1, 2], [2, 0]])


def loaded(given: Any, columns: Any = None) -> Any:
    return load_partition(3, Partition("part", loader=lambda: given), columns)


@pytest.mark.parametrize("weight", [None, np.array([1, 2, 3], dtype=np.int8), np.array([0.5, 0.0, 2.0])])
def test_columns_arrays_and_frames_are_alike(weight: np.ndarray | None) -> None:
    pandas = pytest.importorskip("pandas")
    columns = [ENDS[:, 0], ENDS[:, 1], *([] if weight is None else [weight])]
    frame = pandas.DataFrame(dict(zip(("source", "target", "weight"), columns, strict=False)))
    for given in (tuple(columns), np.column_stack(columns), frame):
        edges = loaded(given)
        np.testing.assert_array_equal(edges.source, ENDS[:, 0])
        np.testing.assert_array_equal(edges.target, ENDS[:, 1])
        assert edges.source.dtype == np.int64
        if weight is None:
            assert edges.weight is None
        else:
            np.testing.assert_array_equal(edges.weight, weight)
            assert edges.weight.dtype in (np.int64, np.float64)


def test_a_partition_without_arcs() -> None:
    assert loaded((np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0))).weight.size == 0


def _fails() -> None:
    raise RuntimeError("the store is gone")


REFUSED = {
    "three dimensions": (np.zeros((2, 2, 2)), errors.PartitionError, r"is a ndarray of shape \(2, 2, 2\); it must be"),
    "one column": (np.zeros((5, 1)), errors.PartitionError, r"is a ndarray of shape \(5, 1\)"),
    "text": ("edges", errors.PartitionError, "is a str; it must be a frame, two or three columns"),
    "lengths": (([1, 2], [3]), errors.PartitionError, r"edge columns of shapes \[\(2,\), \(1,\)\]"),
    "table": ((ENDS, ENDS), errors.PartitionError, "they must be one-dimensional and equally long"),
    "names": ((["a"], ["b"]), errors.DtypeError, "names vertices by dtype <U1; a graph on a cluster needs whole"),
    "halves": (([0.5], [1.0]), errors.PartitionError, "holds 0.5 as a vertex; vertex numbers must be whole"),
    "gap": (([1.0], [np.nan]), errors.PartitionError, "holds nan as a vertex"),
    "too large": (
        (np.array([2**63], dtype=np.uint64), np.array([1])),
        errors.PartitionError,
        "vertex number 9223372036854775808 beyond 2\\^63 - 1. Number the vertices first",
    ),
    "rounded": (
        (np.array([2.0**53]), np.array([1])),
        errors.PartitionError,
        "vertex number 9007199254740992, beyond 2\\*\\*53: read as floating point it could be another one",
    ),
    "rounded below": ((np.array([-1e300]), np.array([1])), errors.PartitionError, "beyond 2\\*\\*53"),
    "words": (([0], [1], ["heavy"]), errors.DtypeError, "edge weights of dtype <U5; they must be real numbers"),
    "negative": (([0, 4], [1, 5], [1, -2]), errors.NegativeWeightError, r"edge \(4, 5\) has weight -2; weights must"),
    "infinite": (([0], [1], [np.inf]), errors.PartitionError, r"edge \(0, 1\) has weight inf; weights must be finite"),
    "not a number": (([0], [1], [np.nan]), errors.PartitionError, r"edge \(0, 1\) has weight nan"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_the_partition(case: str) -> None:
    given, error, message = REFUSED[case]
    with pytest.raises(error, match=f"partition 3 \\(part\\).*{message}"):
        loaded(given)


def test_a_loader_that_fails_and_columns_that_are_not_there(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with pytest.raises(
        errors.PartitionError, match=r"partition 0 \(_fails\) cannot be loaded: RuntimeError: the store"
    ):
        load_partition(0, edge_partitions([_fails])[0], None)
    frame = pandas.DataFrame({"from_city": [0, 1], "to_city": [1, 2], "n": [3, 4]})
    frame.to_parquet(tmp_path / "e.parquet")
    (part,) = edge_partitions(tmp_path / "e.parquet")
    np.testing.assert_array_equal(load_partition(0, part, ("from_city", "to_city", "n")).weight, [3, 4])
    with pytest.raises(errors.PartitionError, match=r"has columns .*; \['there'\] not found. Set columns="):
        load_partition(0, part, ("from_city", "there"))
    frame[["n"]].to_parquet(tmp_path / "e.parquet")
    with pytest.raises(errors.PartitionError, match=r"two for the ends of an edge not found. Set columns="):
        load_partition(0, part, None)


def test_which_sources_are_partitions(tmp_path: Path) -> None:
    assert is_partitioned(tmp_path)
    assert is_partitioned("edges-*.parquet")
    assert is_partitioned([_fails])
    assert not is_partitioned([])
    assert not is_partitioned("edges.csv")
    with pytest.raises(errors.GraphFileError, match=r"\*\.parquet: no file matches. Check the folder and the pattern"):
        edge_partitions(tmp_path)
    (tmp_path / "a.csv").touch()
    with pytest.raises(errors.GraphFileError, match=r"a\.csv: partitions of a graph must be parquet files"):
        edge_partitions(tmp_path / "*")
    for source in (7, []):
        with pytest.raises(errors.OptionError, match=r"the edges are of type .*; give a pattern or folder of parquet"):
            edge_partitions(source)
    with pytest.raises(errors.OptionError, match="partition 1 is of type int; it must be a path, a callable or"):
        edge_partitions([_fails, 7])
    dask = pytest.importorskip("dask")
    delayed = dask.delayed(_fails)()
    (part,) = edge_partitions(delayed)
    assert part.lazy is delayed
    assert part.name == delayed.key


FACTS = BlockFacts(5, 3, "float64", False, None, "digest")


@pytest.mark.parametrize(
    ("facts", "expected", "message"),
    [
        (FACTS._replace(n_columns=4), FACTS, r"has shape \(5, 4\); the first has 5 rows and 3 columns"),
        (FACTS._replace(n_columns=4), FACTS._replace(n_rows=-1), "the first has any number of rows and 3 columns"),
        (FACTS._replace(n_rows=6), FACTS, r"has shape \(6, 3\); the first has 5 rows"),
        (FACTS._replace(digest="other"), FACTS, "was loaded again and holds other values than before"),
        (FACTS._replace(dtype="float32"), FACTS, "has dtype='float32'; the first has 'float64'. Make them all alike"),
        (FACTS._replace(sparse=True), FACTS, "has sparse=True; the first has False"),
        (FACTS._replace(names=("a",)), FACTS, r"has names=\('a',\); the first has None"),
    ],
)
def test_partitions_that_are_not_alike(facts: BlockFacts, expected: BlockFacts, message: str) -> None:
    with pytest.raises(errors.PartitionError, match=f"partition 2.*{message}"):
        check_alike(2, Partition("part"), facts, expected, "the first")
    check_alike(2, Partition("part"), FACTS._replace(n_rows=9), FACTS._replace(n_rows=-1), "the first")
