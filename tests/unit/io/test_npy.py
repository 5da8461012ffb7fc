"""NumPy's files: headers that are damaged, arrays of every kind."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

from sparseigen import errors
from sparseigen.io.npy import map_array, read_archive, read_file_header
from sparseigen.io.tables import read_table
from tests.unit.rows.sources import rows_of


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<i2", "|b1"])
def test_plain_arrays_are_read_as_numpy_reads_them(order: str, dtype: str, tmp_path: Path) -> None:
    values = np.asarray(np.arange(24).reshape(6, 4) % 7, dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", values)
    np.savez_compressed(tmp_path / "x.npz", X=values, names=np.array(list("abcd")))
    np.testing.assert_array_equal(read_table(tmp_path / "x.npy").values, np.load(tmp_path / "x.npy"))
    table = read_table(tmp_path / "x.npz")
    np.testing.assert_array_equal(table.values, values)
    assert table.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(rows_of(tmp_path / "x.npy"), values.astype(float))
    assert read_archive(tmp_path / "x.npz")["X"].dtype == np.dtype(dtype)


def npy(text: str, version: int = 1, *, length: int | None = None) -> bytes:
    count = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", count) + text.encode()


DESCRIBED = "{'descr': %s, 'fortran_order': False, 'shape': %s, }"


BAD_HEADERS = {
    "long": (npy("{}", 2, length=10**6), errors.InputError, "the header is longer than 10000 bytes"),
    "escape": (npy(DESCRIBED % (r"'<f\\8'", "(2, 2)")), errors.InputError, "its header is not as NumPy writes it"),
    "old bytes": (npy(DESCRIBED % ("'|a5'", "(2, 2)")), errors.InputError, "its header is not as NumPy writes it"),
    "begins otherwise": (b"hello, world", errors.InputError, "the magic string is not correct"),
    "cut": (npy("{'descr'", length=60), errors.InputError, "its header ends after 8 of 60 bytes"),
    "no length": (b"\x93NUMPY\x02\x00\x01", errors.InputError, "its header ends after 0 of 1 bytes"),
    "version": (npy("{}", 9), errors.InputError, "its version is 9, not 1, 2 or 3"),
    "no shape": (
        npy("{'descr': '<f8', 'fortran_order': False}"),
        errors.InputError,
        r"correct keys: \['descr', 'fortran_order'\]",
    ),
    "no order": (npy("{'descr': '<f8', 'shape': (1, 2)}"), errors.InputError, r"correct keys: \['descr', 'shape'\]"),
    "no type": (
        npy("{'fortran_order': False, 'shape': (1, 2)}"),
        errors.InputError,
        r"correct keys: \['fortran_order', 'shape'\]",
    ),
    "sides": (
        npy(DESCRIBED % ("'<f8'", "(2, x)")),
        errors.InputError,
        "cannot be read as a NumPy array: malformed node",
    ),
    "huge": (npy(DESCRIBED % ("'<f8'", f"({2**63}, 1)")), errors.ShapeError, "nor beyond 2\\^62"),
    "records": (npy(DESCRIBED % ("[('a', '<f8')]", "(2,)")), errors.DtypeError, "holds records"),
    "dates": (npy(DESCRIBED % ("'<M8'", "(2, 2)")), errors.DtypeError, "has dtype '<M8'; it must hold real numbers"),
    "unknown": (npy(DESCRIBED % ("'<f5'", "(2, 2)")), errors.InputError, "not a valid dtype descriptor: '<f5'"),
    "no bytes": (npy(DESCRIBED % ("'<U0'", "(2, 2)")), errors.DtypeError, "declares 4 entries of no bytes"),
}


@pytest.mark.parametrize("case", BAD_HEADERS)
def test_headers_of_numpy_files(case: str, tmp_path: Path) -> None:
    content, error, message = BAD_HEADERS[case]
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(error, match=f"x.npy.*{message}"):
        read_table(tmp_path / "x.npy")


def test_an_array_of_no_entries_is_not_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((0, 3), dtype=np.float32))
    found = map_array(tmp_path / "x.npy", read_file_header(tmp_path / "x.npy"))
    assert (found.shape, found.dtype) == ((0, 3), np.dtype(np.float32))


def test_headers_of_python_2_and_with_blank_lines(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in ("(2L, 1 L)", "(2L,1L,)", "(2, 1)}\n\n   "):
            header = DESCRIBED.removesuffix(", }" if "}" in text else "") % ("'<f8'", text)
            (tmp_path / "x.npy").write_bytes(npy(header) + np.arange(2.0).tobytes())
            np.testing.assert_array_equal(read_table(tmp_path / "x.npy").values, [[0.0], [1.0]])
