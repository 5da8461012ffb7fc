"""``pca``, ``path`` and ``demo``: what they answer, and that an early end keeps the answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparseigen.datasets import load_pitprops
from sparseigen.errors import SolveInterrupted
from tests.unit.cli.running import check_refused, run, start_process


def test_demo_prints_the_papers_table() -> None:
    answer = start_process("demo")
    assert answer.returncode == 0
    lines = answer.stdout.splitlines()
    loadings = {line.split()[0]: line.split()[1] for line in lines if line.startswith(("topdiam", "whorls", "moist"))}
    assert loadings == {"topdiam": "0.4235", "whorls": "0.3994", "moist": "0.7071"}
    assert [line.split()[1:] for line in lines if line.startswith("non-zeros")] == [["7", "2", "1", "1", "1", "1"]]
    assert any(line.split() == ["plain", "0.7599"] for line in lines)
    assert any(line.split() == ["adjusted", "0.7346"] for line in lines)
    assert "certificate" in answer.stdout


def test_demo_writes_its_report(tmp_path: Path) -> None:
    result = run("demo", "--report", tmp_path / "demo.html")
    assert result.exit_code == 0
    assert f"report: {tmp_path / 'demo.html'}" in result.stderr
    assert "topdiam" in (tmp_path / "demo.html").read_text()


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((30, 4)) * [1.0, 4.0, 1.0, 3.0]
    path = tmp_path / "table.csv"
    rows = ["id,age,height,shoe,weight", *(f"r{i}," + ",".join(map(repr, row.tolist())) for i, row in enumerate(data))]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_pca_of_a_csv(people: Path) -> None:
    answer = start_process("pca", str(people), "-k", "2", "-n", "2")
    assert answer.returncode == 0
    assert "height" in answer.stdout
    assert "PC2" in answer.stdout
    as_json = json.loads(start_process("pca", str(people), "-k", "2", "--json").stdout)
    assert set(as_json[0]["names"]) == {"height", "weight"}


def test_pca_of_a_covariance_matrix(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npy"
    np.save(path, load_pitprops().matrix)
    answer = json.loads(start_process("pca", str(path), "-k", "5", "--covariance", "--json").stdout)
    assert answer[0]["value"] == pytest.approx(3.406154946789761)


def test_pca_with_a_list(pitprops: Path) -> None:
    answer = json.loads(run("pca", pitprops, "--covariance", "-k", "7,2,1,1,1,1", "--json").stdout)
    assert [len(result["support"]) for result in answer] == [7, 2, 1, 1, 1, 1]
    assert sum(result["plain_share"] for result in answer) == pytest.approx(0.7598, abs=1e-4)
    added = [result["adjusted_share"] for result in answer]
    assert sum(added) == pytest.approx(0.7347, abs=1e-4)
    assert [result["value"] / 13.0 for result in answer] == pytest.approx(added)  # on what those before it leave
    assert [result["most_correlated_with"] for result in answer[:3]] == [None, 1, 1]
    paper = run("pca", pitprops, "--covariance", "-k", "7,2,1,1,1,1", "--json", "--deflation", "projection")
    assert sum(result["value"] for result in json.loads(paper.stdout)) / 13.0 == pytest.approx(0.7599, abs=1e-4)


def test_pca_says_what_each_component_adds_and_which_one_it_repeats(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    strong, weak = 3.0 * rng.standard_normal((100, 1)), rng.standard_normal((100, 1))
    data = np.hstack([strong.repeat(40, axis=1), weak.repeat(20, axis=1)]) + 0.3 * rng.standard_normal((100, 60))
    np.save(tmp_path / "x.npy", data)
    asked = ("pca", tmp_path / "x.npy", "-k", "10", "-n", "2", "--no-certify")
    table = run(*asked, "--out", tmp_path / "out")
    lines = {" ".join(line.split()[:2]): line.split()[2:] for line in table.stdout.splitlines()}
    plain, added = (float(lines[name][1].rstrip("%")) for name in ("variance share", "adjusted share"))
    assert 0.9 * plain < added <= plain
    assert lines["correlated with"][0] == "PC1"
    assert "adds" not in table.stderr
    header, _, second = (tmp_path / "out" / "components.csv").read_text().splitlines()
    row = dict(zip(header.split(","), second.split(","), strict=True))
    assert row["bounded"] == "what component 1 leaves (Schur complement)"
    assert (row["component"], row["most_correlated_with"], row["upper_bound"]) == ("2", "1", "")
    repeated = run(*asked, "--deflation", "projection")
    assert "component 2 adds 0." in repeated.stderr
    assert "with those of component 1): use deflation='schur'" in repeated.stderr


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
    result = run("pca", good, "--covariance", "-k", "1", "--start", tmp_path / "start.npy")
    check_refused(result, 3, message)
    assert result.stderr.endswith("See --start NAME|FILE.\n")


def test_a_start_in_a_file_that_is_no_vector(good: Path, tmp_path: Path) -> None:
    """The options that mend DATA do not hold for this file: they are not shown."""
    (tmp_path / "start.csv").write_text("a\n1\nx\n3\n")
    result = run("pca", good, "--covariance", "-k", "1", "--start", tmp_path / "start.csv")
    check_refused(result, 3, "start.csv, line 3, column 'a': 'x' is not a number")
    assert result.stderr.endswith("See --start NAME|FILE.\n")


def test_path(pitprops: Path) -> None:
    text = run("path", pitprops, "--covariance", "--k", "1:13").stdout
    assert "suggested k: 6 (elbow)" in text
    assert text.count("optimal") >= 3
    answer = json.loads(run("path", pitprops, "--covariance", "--k", "5,10", "--json", "--choose", "share").stdout)
    assert [result["value"] for result in answer["results"]] == pytest.approx([3.406155, 4.172638], abs=1e-5)
    assert answer["suggested"] == {"rule": "share", "cardinality": 10}
    rows = run("path", pitprops, "--covariance", "--k", "1:3", "--csv").stdout.splitlines()
    assert rows[0].startswith("cardinality,value,share")
    assert rows[2].endswith("topdiam;length")


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
    from sparseigen.components import automatic as components
    from sparseigen.solve import path

    def stopped(*given: Any, **named: Any) -> None:
        raise SolveInterrupted(None)

    monkeypatch.setattr(components, "sparse_components", stopped)
    monkeypatch.setattr(path, "cardinality_path", stopped)
    check_refused(run("pca", table, "-k", "1"), 130, "stopped before there was an answer")
    check_refused(run("path", table, "-k", "1:2"), 130, "stopped before there was an answer")


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a child process")
def test_ctrl_c_prints_the_best_answer_so_far(tmp_path: Path) -> None:
    path = tmp_path / "large.npy"
    np.save(path, np.random.default_rng(0).standard_normal((300, 6000)).astype(np.float32))
    for delay in (2.0, 4.0, 8.0):  # long enough for a first iterate, short enough for the solve not to be done
        command = [sys.executable, "-m", "sparseigen", "pca", str(path), "-k", "300", "-n", "40"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors
        if process.returncode == 4:
            assert "variance share" in output
            assert "stopped early" in errors
            return
    pytest.fail(f"never stopped with an answer: code {process.returncode}, {errors!r}")


def test_effort_and_time_limit_of_commands(pitprops: Path) -> None:
    answer = json.loads(run("pca", pitprops, "--covariance", "-k", "9", "--effort", "quick", "--json").stdout)
    assert [stage["name"] for stage in answer[0]["stages"]] == ["plain run", "bound"]
    hurried = run("pca", pitprops, "--covariance", "-k", "9", "--time-limit", "1e-9", "--json")
    assert hurried.exit_code == 4
    assert json.loads(hurried.stdout)[0]["stop_reason"] == "time_limit"
    assert run("path", pitprops, "--covariance", "--k", "1:5", "--effort", "thorough").stdout


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    data = rng.standard_normal((120, 40))
    data[:, :8] += 1.5 * rng.standard_normal((120, 1))
    data[:, 8:14] += rng.standard_normal((120, 1))
    rows = [",".join(f"g{j}" for j in range(40)), *(",".join(map(repr, row.tolist())) for row in data)]
    (tmp_path / "planted.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "planted.csv"


def test_without_numbers_the_components_are_found(planted: Path, tmp_path: Path) -> None:
    result = run("pca", planted, "--out", tmp_path / "out", "--report", tmp_path / "page.html", "--stability", "5")
    assert result.exit_code == 0
    footer = {line[:14].strip(): line[14:].split() for line in result.stdout.splitlines()}
    assert 7 <= int(footer["take part"][0]) <= 9
    assert len(footer["take part"]) == 2
    rows = (tmp_path / "out" / "significance.csv").read_text().splitlines()
    assert rows[0] == "component,variable,loading,p_value,adjusted,takes_part,frequency"
    assert all(0.0 <= float(row.split(",")[-1]) <= 1.0 for row in rows[1:])
    answer = json.loads((tmp_path / "out" / "result.json").read_text())["answer"]
    assert [entry["significance"]["significant"] for entry in answer] == [True, True]
    page = (tmp_path / "page.html").read_text()
    assert "variables take part (FDR 1%)" in page
    assert "Which variables take part?" in page


def test_at_most_so_many_and_a_number_of_components(planted: Path) -> None:
    answer = json.loads(run("pca", planted, "--max-cardinality", "3", "--json").stdout)
    assert [len(entry["support"]) for entry in answer] == [3, 3]
    result = run("pca", planted, "-n", "3", "--json")
    assert len(json.loads(result.stdout)) == 3
    assert "2 of the 3 components asked for stand out from noise; component 3 does not" in result.stderr
    assert len(json.loads(run("pca", planted, "-n", "auto", "-k", "6", "--json").stdout)) == 2


def test_noise_gives_one_sentence(tmp_path: Path) -> None:
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((80, 30)))
    result = run("pca", tmp_path / "noise.npy", "--report", tmp_path / "page.html", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "No component stands out from noise." in result.stdout
    assert "no report" in result.stderr
    assert not (tmp_path / "page.html").exists()
    assert run("pca", tmp_path / "noise.npy", "--json").stdout.strip() == "[]"


def test_samples_behind_a_covariance_matrix(pitprops: Path, planted: Path) -> None:
    answer = json.loads(run("pca", pitprops, "--covariance", "--samples", "180", "--json").stdout)
    assert not answer[0]["significance"]["robust"]
    check_refused(run("pca", pitprops, "--covariance"), 2, "See -n")
    check_refused(run("pca", planted, "--samples", "5"), 2, "--samples is for a --covariance matrix")
    check_refused(run("pca", planted, "-n", "some"), 2, "whole number of at least 1, or auto")


def test_stability_is_told_without_a_report(planted: Path, pitprops: Path, tmp_path: Path) -> None:
    told = run("pca", planted, "-k", "5", "--stability", "4", "--out", tmp_path / "out")
    assert "chosen in 80%" in told.stdout
    rows = (tmp_path / "out" / "stability.csv").read_text().splitlines()
    assert rows[0] == "component,variable,frequency,chosen"
    assert len(rows) >= 6
    answer = json.loads(run("pca", planted, "-k", "5", "--stability", "4", "--json").stdout)
    assert answer[0]["stability"]["resamples"] == 4
    assert max(answer[0]["stability"]["frequencies"].values()) == 1.0
    assert "no stability" in run("pca", pitprops, "--covariance", "-k", "3", "--stability", "4").stderr


@pytest.mark.parametrize("arguments", [("path", "-k", "auto"), ("pca", "-k", "5000"), ("exact", "-k", "many")])
def test_a_wrong_k_is_bad_usage(arguments: tuple[str, ...], planted: Path) -> None:
    check_refused(run(arguments[0], planted, *arguments[1:]), 2)


def test_one_is_singular(tmp_path: Path, table: Path) -> None:
    assert "1 nodes" not in run("exact", table, "-k", "2").stdout
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n3,NA\n5,1\n2,2\n")
    assert "1 gap filled with" in run("pca", tmp_path / "gap.csv", "-k", "1", "--missing", "mean").stdout
