"""Ends of commands that are rarely met: the exit code, the sentence, and what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparseigen.cli import output as output_module
from sparseigen.cli.failures import explain
from sparseigen.cli.output import as_csv, as_json
from sparseigen.cli.plain_values import _flag
from sparseigen.errors import SolveInterrupted
from tests.unit.cli.running import check_refused, run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    values = np.random.default_rng(3).standard_normal((12, 4)).round(3)
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,d\n" + "".join(",".join(map(str, row)) + "\n" for row in values.tolist()))
    return path


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.csv"
    clique = [(a, b) for a in range(5) for b in range(5) if a < b]
    path.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in [*clique, (4, 5), (5, 6)]))
    return path


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (MemoryError(), 3, "there is not enough memory for these data; use fewer rows or columns."),
        (OSError(28, "No space left on device", "/tmp/x"), 2, "/tmp/x: No space left on device. Choose another place"),
        (OSError("odd"), 2, "error: odd. Choose another place to write to, or make room."),
        (ZeroDivisionError("by zero"), 1, "unexpected ZeroDivisionError: by zero. This is a defect; --debug shows"),
        (KeyboardInterrupt(), 130, "stopped before there was an answer."),
    ],
)
def test_every_failure_has_a_sentence(
    error: BaseException, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(error, debug=False) == code
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_traceback_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(ValueError("why"), debug=True) == 1
    assert "ValueError: why\nerror: unexpected ValueError: why" in capsys.readouterr().err


def test_a_pipe_that_closes_is_not_explained() -> None:
    with pytest.raises(BrokenPipeError):
        explain(BrokenPipeError(), debug=False)


def test_numpy_objects_in_answers() -> None:
    assert json.loads(as_json({"a": np.float64(1.5), "b": np.array([1, 2]), "c": Path("x"), 3: np.nan})) == {
        "a": 1.5,
        "b": [1, 2],
        "c": "x",
        "3": None,
    }
    assert as_csv(["a"], [[np.int64(7)], [np.str_("=x")], [None]]) == 'a\n7\n\'=x\n""\n'


def test_flags() -> None:
    assert _flag(True) is True
    with pytest.raises(ValueError, match="'yes' is not a flag"):
        _flag("yes")


# ---- options that do not go together ----


def test_options_that_do_not_go_together(table: Path, graph: Path, tmp_path: Path) -> None:
    check_refused(run("dks", graph, "-k", "3", "--format", "csv"), 2, "--format is for standard input")
    check_refused(run("dks", graph, "-k", "3", "--count", "2", "--include", "1"), 2, "--include is for a single set")
    check_refused(run("certify", table), 2, "give -k, the number of variables, or --support, their names")
    page = tmp_path / "x.html"
    check_refused(run("certify", table, "-k", "2", "--report", page), 2, "--report is for answers with loadings")


def test_folders_that_may_not_be_written(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module.os, "access", lambda path, mode: False)
    for option in ("--out", "--report"):
        answer = run("pca", table, "-k", "2", option, tmp_path / "x")
        check_refused(answer, 2, f"{option} {tmp_path / 'x'}: no permission to write there")


def test_a_terminal_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.cli import loading

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(loading, "sys", type("sys", (), {"stdin": Terminal()}))
    check_refused(run("pca", "-", "-k", "1"), 2, "'-' reads standard input, which is a terminal")


# ---- names ----


def test_names_from_a_file(table: Path, tmp_path: Path) -> None:
    listed = tmp_path / "names.csv"
    listed.write_text("n,short,long\n1,u,uu\n2,v,vv\n3,w,ww\n4,x,xx\n")
    found = run("pca", table, "-k", "4", "--no-certify", "--names", f"{listed}:long", "--csv")
    assert sorted(line.split(",")[0] for line in found.stdout.splitlines()[1:]) == ["uu", "vv", "ww", "xx"]
    check_refused(run("pca", table, "-k", "1", "--names", f"{listed}:none"), 2, "'none' is not a column of")
    check_refused(run("pca", table, "-k", "1", "--names", listed), 2, "has 2 columns of text; say which")
    listed.write_text("u\nv\n")
    check_refused(run("pca", table, "-k", "1", "--names", listed), 3, "has 2 names for 4 variables")


def test_vertex_tables(graph: Path, tmp_path: Path) -> None:
    places = tmp_path / "places.csv"
    for text, code, message in (
        ("1,a\n2,b\n", 3, "places.csv needs a header line and at least two columns"),
        ("vertex,name\n0,a\n", 3, "vertex 1 is not in the vertex table (6 of 7 are not)"),
        ("vertex,name,lat,lon\n0,a,1,400\n", 3, "places.csv: '400' is not a latitude or longitude in degrees"),
        ("vertex,name,lat,lon\n0,a,north,4\n", 3, "'north' is not a latitude or longitude"),
    ):
        places.write_text(text)
        check_refused(run("dks", graph, "-k", "3", "--vertices", places), code, message)
    places.write_text("vertex,called\n" + "".join(f"{i},city {'abcdefg'[i]}\n" for i in range(7)))
    found = run("dks", graph, "-k", "5", "--vertices", places, "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["nodes"] == [0, 1, 2, 3, 4]
    assert "city c" in run("dks", graph, "-k", "5", "--vertices", places).stdout


@pytest.mark.parametrize("same", [False, True], ids=["distinct", "repeated"])
def test_names_of_vertices_in_reports(same: bool, graph: Path, tmp_path: Path) -> None:
    """Vertices of the same name keep their numbers: a report must not show two as one."""
    pytest.importorskip("plotly")
    places, page = tmp_path / "places.csv", tmp_path / "page.html"
    places.write_text("vertex,name\n" + "".join(f"{i},city{'abcdefg'[0 if same else i]}\n" for i in range(7)))
    for command in (("dks", "-k", "5"), ("dks", "-k", "2", "--count", "2"), ("curve", "-k", "2:5")):
        answer = run(command[0], graph, *command[1:], "--vertices", places, "--report", page)
        assert answer.exit_code == 0, answer.stderr
        assert ("cityb" in page.read_text()) is not same


# ---- what --out writes ----


@pytest.mark.parametrize("command", [("pca", "-k", "2"), ("path", "-k", "1:3"), ("exact", "-k", "2")])
def test_folders_of_answers(command: tuple[str, ...], table: Path, tmp_path: Path) -> None:
    """Data have scores; a covariance matrix has none."""
    assert run(command[0], table, *command[1:], "--out", tmp_path / "data").exit_code == 0
    scores = (tmp_path / "data" / "scores.csv").read_text().splitlines()
    assert scores[0] == "sample,PC1"
    assert len(scores) == 13
    matrix = tmp_path / "matrix.csv"
    values = np.cov(np.loadtxt(table, delimiter=",", skiprows=1).T)
    np.savetxt(matrix, (values + values.T) / 2, delimiter=",")
    assert run(command[0], matrix, *command[1:], "--covariance", "--out", tmp_path / "matrix").exit_code == 0
    written = json.loads((tmp_path / "matrix" / "result.json").read_text())
    assert "loadings.csv" in written["files"]
    assert "scores.csv" not in written["files"]
    assert not (tmp_path / "matrix" / "scores.csv").exists()


def test_stopped_before_the_first_component(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.components import sequential as components
    from sparseigen.solve import path

    def stopped(*given: Any, **named: Any) -> None:
        raise SolveInterrupted(None)

    monkeypatch.setattr(components, "sparse_components", stopped)
    monkeypatch.setattr(path, "cardinality_path", stopped)
    check_refused(run("pca", table, "-k", "1"), 130, "stopped before there was an answer")
    check_refused(run("path", table, "-k", "1:2"), 130, "stopped before there was an answer")


# ---- data sets ----


def test_data_sets_that_are_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path))
    assert "get it: sparseigen datasets fetch cnr-2000" in run("datasets", "cnr-2000").stdout
    assert "(missing)" in run("datasets", "cnr-2000").stdout
    answer = run("datasets", "colon")
    assert "(missing)" in answer.stdout
    assert "get it" not in answer.stdout
    assert "try:" not in answer.stdout
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path / "none"))
    assert "not found: set SPARSEIGEN_DATA" in run("datasets", "colon").stdout


def test_a_benchmark_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its exit code is passed on; a signal is a failure like any other."""
    from sparseigen.cli import checkout

    monkeypatch.setattr(checkout, "checkout", lambda: tmp_path)
    folder = tmp_path / "benchmarks" / "paper"
    folder.mkdir(parents=True)
    for text, code in (("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 1)):
        (folder / "__main__.py").write_text(text)
        answer = run("reproduce", "T1")
        assert answer.exit_code == code
        assert "error: benchmarks.paper ended with code" in answer.stderr
