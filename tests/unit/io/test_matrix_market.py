"""Matrix Market files, whole and damaged, beside the reader of scipy."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from fuzzing import reader_seeds
from sparseigen import errors
from sparseigen.io.matrix_market import read_matrix
from sparseigen.io.tables import read_table


def test_a_damaged_matrix_market_file(tmp_path: Path) -> None:
    """A number broken in two made another reader write behind the end of its array."""
    whole = reader_seeds.matrix_market(reader_seeds.numbers())
    first = whole.splitlines()[4]
    (tmp_path / "x.mtx").write_bytes(whole.replace(first, first[:3] + b"\x18" + first[3:], 1))
    with pytest.raises(errors.InputError, match=r"x\.mtx"):
        read_table(tmp_path / "x.mtx")
    for text, message in {
        "3 3 1\n4 1 1.0\n": "entry at 4; these are whole numbers in 1..3",
        "3 3 2\n1 1 1.0\n": "declares 2 entries and holds 1",
        "3 3 1\n1 1 1.0\n2 2 1.0\n": "more than the 1 entries",
        "3 3 1\n1 1 1.0 2.0\n": "a line of 3",
        "3 3 1\n1.5 1 1.0\n": "entry at 1.5",
        "-3 3 1\n1 1 1.0\n": "must be whole numbers",
    }.items():
        (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix coordinate real general\n" + text)
        with pytest.raises(errors.InputError, match=message.replace("(", r"\(")):
            read_table(tmp_path / "x.mtx")


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("dense", [True, False])
def test_matrix_market_against_scipy(symmetry: str, dense: bool, tmp_path: Path, rng: np.random.Generator) -> None:
    import scipy.io

    values = np.round(rng.standard_normal((6, 6)), 3) * (rng.random((6, 6)) < 0.6)
    values = {"general": values, "symmetric": values + values.T, "skew-symmetric": values - values.T}[symmetry]
    for field, factor in (("real", 1.0), ("integer", 1000)):
        array = np.rint(values * factor).astype(int) if field == "integer" else values
        scipy.io.mmwrite(tmp_path / "x.mtx", array if dense else sp.coo_array(array), field=field, symmetry=symmetry)
        (tmp_path / "x.mtx.gz").write_bytes(gzip.compress((tmp_path / "x.mtx").read_bytes()))
        for name in ("x.mtx", "x.mtx.gz"):
            found = read_matrix(tmp_path / name)
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found if dense else found.toarray(), array)


BAD_MATRICES = {
    "general\n": (errors.InputError, "it must begin with '%%MatrixMarket matrix'"),
    "%%MatrixMarket matrix array complex general\n1 1\n1 0\n": (errors.DtypeError, "holds complex numbers"),
    "%%MatrixMarket matrix list real general\n1 1\n1\n": (errors.InputError, "declares 'list'.* 'array', 'coordinate'"),
    "%%MatrixMarket matrix array half general\n1 1\n1\n": (errors.InputError, "declares 'half', which is not known"),
    "%%MatrixMarket matrix array pattern general\n1 1\n1\n": (errors.ShapeError, "general array of patterns .*no such"),
    "%%MatrixMarket matrix array real symmetric\n2 3\n1\n": (errors.ShapeError, "2 rows and 3 columns: no such matrix"),
    "%%MatrixMarket matrix array integer general\n1 2\n1\n1.5\n": (errors.InputError, "hold integers; it holds 1.5"),
    "%%MatrixMarket matrix array integer general\n1 2\n1\ninf\n": (errors.InputError, "it holds (inf|infinity)"),
    "%%MatrixMarket matrix array integer general\n1 2\n1\n9007199254740992\n": (
        errors.IntegerOverflowError,
        "beyond 2\\*\\*53: it has no exact float64 value. Divide by a common factor",
    ),
    "%%MatrixMarket matrix array real general\n900 900\n1\n": (errors.InputError, "declares 810000 entries.*truncated"),
    "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n": (errors.InputError, "is a line of 2"),
}


@pytest.mark.parametrize("number", range(len(BAD_MATRICES)))
def test_bad_matrix_market_files(number: int, tmp_path: Path) -> None:
    text, (error, message) = list(BAD_MATRICES.items())[number]
    (tmp_path / "x.mtx").write_text(text)
    with pytest.raises(error, match=f"x.mtx.*{message}"):
        read_matrix(tmp_path / "x.mtx")


def test_a_matrix_market_file_with_a_line_without_end(tmp_path: Path) -> None:
    (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix array real general\n1 1\n" + "1" * 70_000)
    with pytest.raises(errors.InputError, match="a line of more than 65536 characters; a row, an edge or an entry"):
        read_matrix(tmp_path / "x.mtx")


def test_progress_and_patterns_of_matrix_market_files(tmp_path: Path) -> None:
    text = "%%MatrixMarket matrix coordinate pattern symmetric\n% two edges\n\n3 3 2\n2 1\n3 3\n"
    (tmp_path / "x.mtx").write_text(text)
    seen = []
    found = read_matrix(tmp_path / "x.mtx", on_progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(found.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert seen
    assert all(done <= total == len(text) for done, total in seen)
