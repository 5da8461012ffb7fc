"""Tables turned into the fast layout: same numbers, never a half-written target."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from sparseigen import errors
from sparseigen.rows import convert as module
from sparseigen.rows.convert import convert
from tests.unit.rows.sources import NAMES, N, P, _arrow, _h5, _parquet, _zarr, write_h5ad


@pytest.fixture
def data(rng):
    return rng.standard_normal((N, P)) * (rng.random((N, P)) < 0.5)


def _csv(labelled, header):
    def write(folder, table):
        lines = [",".join(([""] if labelled else []) + NAMES)] if header else []
        lines += [
            ",".join(([f"cell{i}"] if labelled else []) + [repr(float(v)) for v in row]) for i, row in enumerate(table)
        ]
        (folder / "x.csv").write_text("\n".join(lines) + "\n\n")
        return folder / "x.csv", {}

    return write


def _h5ad(kind):
    def write(folder, table):
        write_h5ad(folder / "x.h5ad", table, kind=kind)
        return folder / "x.h5ad", {}

    return write


TABLES = {
    "csv": _csv(False, True),
    "csv without header": _csv(False, False),
    "csv with labels": _csv(True, True),
    "h5ad csr": _h5ad("csr_matrix"),
    "h5ad csc": _h5ad("csc_matrix"),
    "h5ad dense": _h5ad("dense"),
    "hdf5": _h5,
    "zarr": _zarr,
    "parquet": _parquet(True),
    "parquet lists": _parquet(False),
    "arrow": _arrow(True),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("entries", [1 << 20, 7 * P])
def test_numbers_and_names_arrive(kind, entries, data, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ENTRIES", entries)
    source, _ = TABLES[kind](tmp_path, data)
    seen = []
    assert convert(source, tmp_path / "out.npy", on_rows=lambda *facts: seen.append(facts)) == (N, P)
    written = np.load(tmp_path / "out.npy")
    np.testing.assert_array_equal(written, data)
    assert written.flags.c_contiguous
    assert seen[-1][0] == N
    assert not list(tmp_path.glob("*.part"))
    names = tmp_path / "out.npy.names.txt"
    if kind in ("csv", "csv with labels", "h5ad csr", "h5ad dense", "parquet", "arrow"):
        assert names.read_text().split() == NAMES
    convert(source, tmp_path / "small.npy", dtype="float32")
    np.testing.assert_array_equal(np.load(tmp_path / "small.npy"), data.astype(np.float32))


def test_bad_requests(data, tmp_path):
    np.save(tmp_path / "x.npy", data)
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "text.csv").write_text("a,b\n1,2\n3,x\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "x.docx").write_text("")
    cases = [
        ("missing.csv", "y.npy", {}, errors.MissingDataError, "does not exist"),
        ("x.docx", "y.npy", {}, errors.InputError, "ending '.docx'"),
        ("x.npy", "y.bin", {}, errors.OptionError, "must end in .npy"),
        ("x.npy", "y.npy", {"dtype": "int8"}, errors.OptionError, "dtype='int8'"),
        ("x.npy", "x.npy", {"overwrite": True}, errors.OptionError, "exists"),
        ("ragged.csv", "y.npy", {}, errors.ShapeError, "line 3: 1 cells where the first line has 2"),
        ("text.csv", "y.npy", {}, errors.DtypeError, "text.csv, line 3, column 'b': 'x' is not a number"),
        ("empty.csv", "y.npy", {}, errors.ShapeError, "is empty"),
    ]
    for source, target, options, error, match in cases:
        with pytest.raises(error, match=match):
            convert(tmp_path / source, tmp_path / target, **options)
    assert not (tmp_path / "y.npy").exists()
    assert not list(tmp_path.glob("*.part"))


def test_command(data, tmp_path):
    source, _ = _csv(False, True)(tmp_path, data)
    command = [sys.executable, "-m", "sparseigen", "convert", str(source), str(tmp_path / "y.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{N} x {P}" in done.stdout
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "exists" in again.stderr


def test_numbers_that_do_not_fit_and_tables_without_rows(tmp_path):
    path, target = tmp_path / "x.csv", tmp_path / "x.npy"
    path.write_text("a,b\n1,1e300\n2,3\n")
    with pytest.raises(errors.NonFiniteError, match="holds a number too large for float32; leave out dtype"):
        convert(path, target, dtype="float32")
    path.write_text("a,b\n")
    with pytest.raises(errors.ShapeError, match="holds a header and no rows"):
        convert(path, target)
    path.write_text("")
    with pytest.raises(errors.ShapeError, match="is empty; it must hold at least one row"):
        convert(path, target)
    for text, message in (
        ("a,b\n1,2\n3,1_0\n", r"x.csv, line 3, column 'b': '1_0' is not a number"),
        ("1,2\n3,x\n", r"x.csv, line 2, column 2: 'x' is not a number"),
    ):
        path.write_text(text)
        with pytest.raises(errors.DtypeError, match=message):
            convert(path, target)
    assert not target.exists()
    path.write_text("a_1,b\nrow_1,2\nrow_2,3\n")
    assert convert(path, target) == (2, 1)
    np.testing.assert_array_equal(np.load(target), [[2.0], [3.0]])
