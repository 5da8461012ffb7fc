"""Arguments that are refused, each with its sentence."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import sparseigen as se
from sparseigen import errors, sparse_eigenvector
from sparseigen.checks.arguments import check_candidates, check_rng
from sparseigen.report.page import Report
from sparseigen.rows.files import check_checkpoint


def test_arguments_of_the_wrong_shape(table) -> None:
    matrix = table.T @ table
    with pytest.raises(errors.OptionError, match="nonnegative=array"):
        se.sparse_eigenvector(matrix, 2, nonnegative=np.array([True, False]))
    with pytest.raises(errors.ShapeError, match="rows of different lengths"):
        se.sparse_eigenvector(matrix, 2, candidates=[[0], [1, 2]])
    for limit in (-1, 0, "x", None):
        with pytest.raises(errors.OptionError, match="time_limit"):
            se.sparse_eigenvector(matrix, 2, method="exact", method_options={"time_limit": limit})
    with pytest.raises(errors.OptionError, match="cardinalities=3 must be several numbers"):
        se.cardinality_path(matrix, 3)
    with pytest.raises(errors.OptionError, match="cardinalities=None must be several numbers"):
        se.sparse_components(matrix, None)
    with pytest.raises(errors.OptionError, match="ks=3 must be several numbers"):
        se.density_curve(nx.karate_club_graph(), 3)
    with pytest.raises(errors.DtypeError, match="Z has dtype"):
        se.SparsePCA(cardinality=2).fit(table).inverse_transform([["a"]])


@pytest.mark.parametrize("answer", [None, "x", 3, [1.0, 0.0]])
def test_only_answers_are_verified_and_reported(answer, table) -> None:
    with pytest.raises(errors.OptionError, match="must be a SparseEigResult"):
        se.verify(answer, table.T @ table)
    with pytest.raises(errors.OptionError, match="must be a SparseEigResult"):
        se.report.component_report([answer])
    with pytest.raises(errors.OptionError, match="results=3 must be several"):
        se.report.component_report(3)


def test_the_time_of_a_verification_is_a_time(table) -> None:
    matrix = table.T @ table
    with pytest.raises(errors.OptionError, match="time_limit"):
        se.verify(se.sparse_eigenvector(matrix, 2), matrix, time_limit=-1)


GOOD = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])


BAD_ARGUMENTS: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    (
        "zero",
        {"cardinality": 0},
        errors.CardinalityError,
        "cardinality=0 must be between 1 and the number of variables (3)",
    ),
    ("negative", {"cardinality": -1}, errors.CardinalityError, "cardinality=-1 must be between"),
    ("too many", {"cardinality": 4}, errors.CardinalityError, "cardinality=4 must be between 1"),
    (
        "float",
        {"cardinality": 2.0},
        errors.CardinalityError,
        "cardinality=2.0 must be a whole number (int), got float. Use 2",
    ),
    ("bool", {"cardinality": True}, errors.CardinalityError, "got bool"),
    ("text", {"cardinality": "2"}, errors.CardinalityError, "got str"),
    (
        "more than candidates",
        {"cardinality": 2, "candidates": [1]},
        errors.CardinalityError,
        "number of candidates (1)",
    ),
    ("which", {"which": "middle"}, errors.OptionError, "which='middle' is not known. Allowed: 'largest', 'smallest'"),
    ("method", {"method": "magic"}, errors.OptionError, "method='magic' is not known. Allowed: "),
    ("start", {"start": "nowhere"}, errors.OptionError, "start='nowhere' is not known. Allowed: 'auto', 'backward'"),
    (
        "polish",
        {"polish": "wax"},
        errors.OptionError,
        "polish='wax' is not known. Allowed: 'auto', 'solve', 'swap', None",
    ),
    ("start length", {"start": [1.0, 2.0]}, errors.StartError, "shape (2,); it must be a vector of length 3"),
    ("start zero", {"start": np.zeros(3)}, errors.StartError, "start is the zero vector"),
    ("start nan", {"start": [1.0, np.nan, 0.0]}, errors.NonFiniteError, "start has 1 NaN"),
    ("start text", {"start": ["a", "b", "c"]}, errors.DtypeError, "start has dtype <U1"),
    ("start negative", {"start": [-1.0, 0, 0], "nonnegative": True}, errors.StartError, "start has no positive entry"),
    ("start off", {"start": [1.0, 0, 0], "candidates": [1, 2]}, errors.OptionError, "start is zero on all candidates"),
    ("rtol", {"rtol": -1e-3}, errors.OptionError, "rtol=-0.001 must be a finite number >= 0"),
    ("atol", {"atol": "small"}, errors.OptionError, "atol='small' must be a number >= 0, got str"),
    ("iterations", {"max_iterations": 0}, errors.OptionError, "max_iterations=0 must be a whole number >= 1"),
    ("rng", {"rng": "lucky"}, errors.OptionError, "rng='lucky' must be None"),
    ("nonnegative", {"nonnegative": 1}, errors.OptionError, "nonnegative=1 must be True or False"),
    ("callback", {"on_iteration": 3}, errors.OptionError, "on_iteration=3 must be a function"),
    ("certify", {"certify": "yes"}, errors.OptionError, "certify='yes' must be True or False"),
    ("candidates range", {"candidates": [3]}, errors.OptionError, "candidates holds index 3; indices run from 0 to 2"),
    ("candidates empty", {"candidates": []}, errors.OptionError, "candidates is empty"),
    ("candidates mask", {"candidates": [True, False]}, errors.ShapeError, "mask of length 2"),
    ("candidates names", {"candidates": ["a"]}, errors.OptionError, "has no names"),
    ("candidates float", {"candidates": [0.5]}, errors.DtypeError, "candidates has dtype float64"),
    ("candidates shape", {"candidates": [[0, 1]]}, errors.ShapeError, "candidates has 2 dimensions"),
]


@pytest.mark.parametrize(("what", "options", "error", "message"), BAD_ARGUMENTS, ids=[row[0] for row in BAD_ARGUMENTS])
def test_bad_argument(what: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        sparse_eigenvector(GOOD, **({"cardinality": 1} | options))


def test_unknown_candidate_name() -> None:
    frame = pd.DataFrame(GOOD, columns=["a", "b", "c"])
    with pytest.raises(errors.OptionError, match="candidates names 'z', which is not a variable"):
        sparse_eigenvector(frame, 1, candidates=["z"])


def test_seeds_and_candidates() -> None:
    generator = np.random.default_rng(5)
    assert check_rng(generator) is generator
    assert check_rng(np.int64(5)).integers(1 << 30) == np.random.default_rng(5).integers(1 << 30)
    for rng in (-1, True, "5", 1.0):
        with pytest.raises(errors.OptionError, match=r"rng=.* must be None, a non-negative int seed, or a numpy"):
            check_rng(rng)
    with pytest.raises(errors.OptionError, match="candidates are given by name, but the input has no names"):
        check_candidates(["a"], 3, None)
    np.testing.assert_array_equal(check_candidates([False, True, True], 3, None), [1, 2])
    np.testing.assert_array_equal(check_candidates(["c", "a"], 3, ("a", "b", "c")), [0, 2])


@pytest.fixture
def data(rng):
    return rng.standard_normal((40, 6)) + 2.0 * rng.standard_normal((40, 1)) * (np.arange(6) < 3)


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
