"""Parquet and Arrow IPC files say the same of themselves, in batches and whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sparseigen.errors import NotEnoughMemoryError
from sparseigen.io.arrow import is_ipc, read_batches, read_facts, read_whole

pyarrow = pytest.importorskip("pyarrow")
ipc, parquet = pytest.importorskip("pyarrow.ipc"), pytest.importorskip("pyarrow.parquet")


@pytest.fixture(params=["table.parquet", "table.arrow"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    table = pyarrow.table({"a": np.arange(10.0), "b": np.arange(10) ** 2})
    target: Path = tmp_path / request.param
    if target.suffix == ".parquet":
        parquet.write_table(table, target)
    else:
        with ipc.new_file(target, table.schema) as file:
            for begin in (0, 7):
                file.write_table(table.slice(begin, 7))
    return target


def test_facts_batches_and_columns(path: Path) -> None:
    assert is_ipc(path) == (path.suffix == ".arrow")
    schema, rows = read_facts(path)
    assert (schema.names, rows) == (["a", "b"], 10)
    batches = list(read_batches(path, 4))
    assert max(batch.num_rows for batch in batches) == 4
    np.testing.assert_array_equal(
        np.concatenate([batch.column("b").to_numpy() for batch in batches]), np.arange(10) ** 2
    )
    assert read_whole(path).column_names == ["a", "b"]
    assert read_whole(path, ["b"]).column_names == ["b"]
    assert read_whole(path, ["b"]).column("b").to_pylist()[-1] == 81


@pytest.mark.parametrize("path", ["table.parquet"], indirect=True)
def test_a_file_that_declares_more_than_fits_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparseigen.checks.memory.available_bytes", lambda: 100)
    with pytest.raises(NotEnoughMemoryError, match=r"table\.parquet needs"):
        read_whole(path)
