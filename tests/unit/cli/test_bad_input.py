"""Every class of bad input of the library, in files, through the command line: exit code 3 and one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.unit.checks.test_arrays import BAD_DATA, BAD_MATRICES, GOOD
from tests.unit.cli.running import check_refused, run

NOT_FILES = {"a path", "a function"}
"""Rows of the table that have no file: a path is what the command line takes."""
OTHER_WORDS = {"text column": "column 'b': 'x' is not a number", "polars text": "column 'b': 'x' is not a number"}
"""Where the file shows more than the array did."""


def written(value: Any, folder: Path) -> Path:
    """The value in a file of the format that fits it."""
    if sp.issparse(value):
        sp.save_npz(folder / "bad.npz", value)
        return folder / "bad.npz"
    if hasattr(value, "write_parquet"):
        value.write_parquet(folder / "bad.parquet")
        return folder / "bad.parquet"
    if hasattr(value, "to_csv"):
        value.to_csv(folder / "bad.csv", index=False)
        return folder / "bad.csv"
    np.save(folder / "bad.npy", value, allow_pickle=True)
    return folder / "bad.npy"


MATRICES = [row for row in BAD_MATRICES if row[0] not in NOT_FILES]


@pytest.mark.parametrize(("what", "matrix", "error", "message"), MATRICES, ids=[row[0] for row in MATRICES])
def test_bad_matrix(what: str, matrix: Any, error: Any, message: str, tmp_path: Path) -> None:
    result = run("pca", written(matrix, tmp_path), "--covariance", "-k", "1")
    check_refused(result, 3, message)


TABLES = [row for row in BAD_DATA if set(row[2]) <= {"scale"}]  # ddof and center are not offered as options


@pytest.mark.parametrize(("what", "data", "options", "error", "message"), TABLES, ids=[row[0] for row in TABLES])
def test_bad_data(what: str, data: Any, options: dict[str, Any], error: Any, message: str, tmp_path: Path) -> None:
    flags = ["--scale"] if options.get("scale") else []
    result = run("pca", written(data, tmp_path), "-k", "1", *flags)
    check_refused(result, 3, OTHER_WORDS.get(what, message))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    np.save(tmp_path / "good.npy", GOOD)
    return tmp_path / "good.npy"


@pytest.mark.parametrize(
    ("cardinality", "message"),
    [
        ("0", "cardinality=0 must be between 1 and the number of variables (3)"),
        ("-1", "cardinality=-1 must be between"),
        ("4", "cardinality=4 must be between 1"),
        ("2.0", "cardinality='2.0' must be a whole number"),
        ("True", "cardinality='True' must be a whole number"),
        ("two", "cardinality='two' must be a whole number"),
        ("1:999999999", "over at most 1000000 numbers"),
        ("3:1", "must go up"),
        ("1:2:0", "with a step of at least 1"),
        ("", "cardinality='' must be a whole number"),
    ],
)
@pytest.mark.parametrize("command", ["pca"])
def test_bad_cardinality(command: str, cardinality: str, message: str, good: Path) -> None:
    check_refused(run(command, good, "--covariance", "-k", cardinality), 3, message)


@pytest.mark.parametrize("command", ["certify", "exact"])
@pytest.mark.parametrize("cardinality", ["0", "4", "2.0", "True", "1,2"])
def test_bad_cardinality_of_other_commands(command: str, cardinality: str, good: Path) -> None:
    check_refused(run(command, good, "--covariance", "-k", cardinality), 3, "cardinality=")


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.array([1.0, 2.0]), "shape (2,); it must be a vector of length 3"),
        (np.zeros(3), "start is the zero vector"),
        (np.array([1.0, np.nan, 0.0]), "start has 1 NaN"),
        (np.array(["a", "b", "c"]), "start has dtype <U1"),
    ],
)
def test_bad_start(start: np.ndarray, message: str, good: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "start.npy", start)
    check_refused(run("pca", good, "--covariance", "-k", "1", "--start", tmp_path / "start.npy"), 3, message)


@pytest.mark.parametrize("command", ["path", "certify", "exact"])
def test_every_command_on_data_refuses_bad_data(command: str, tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", np.array([[1.0, np.nan], [2.0, 3.0], [1.0, 1.0]]))
    result = run(command, tmp_path / "bad.npy", "-k", "1")
    check_refused(result, 3, "1 NaN or infinite value, the first at row 0, column 1")


@pytest.mark.parametrize("command", ["dks", "curve"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1,-1\n1,2,1\n2,0,1\n", "weights must be >= 0"),
        ("0,1,nan\n1,2,1\n2,0,1\n", "must be finite"),
        ("0,1\n1,2\n", "k=3"),
        ("0\n1\n", "columns"),
        ("from,to\n", "the only line"),
        ("", "no columns"),
        ("from,to,a,b\n1,2,3,4\n", "which of them is the weight? Name it (--weight NAME)"),
    ],
)
def test_bad_graphs(command: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(text)
    if "k=3" in message:
        check_refused(run(command, path, "-k", "4"), 3, "k=4 must be between 1 and the number of vertices (3)")
    else:
        check_refused(run(command, path, "-k", "2"), 3, message)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(("dks", "-", "-k", 2), "1 2 -3\n"), (("dks", "-", "-k", 2), "x\n"), (("pca", "-", "-k", 1), "a,b\n1,x\n")],
)
def test_errors_about_standard_input_do_not_name_the_temporary_file(arguments, text):
    result = run(*arguments, input=text)
    check_refused(result, 3, "standard input")
    assert "stdin." not in result.stderr
    assert "tmp" not in result.stderr
