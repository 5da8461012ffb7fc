"""Answers: tables, JSON, CSV, folders and pages, whole or not at all, and never over what is read."""

from __future__ import annotations

import csv
import errno
import html
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from sparseigen.cli import output as output_module
from sparseigen.cli.output import as_csv, as_json
from sparseigen.errors import OptionError
from sparseigen.io.writing import check_target, write_whole
from sparseigen.report.page import unpack
from tests.unit.cli.running import check_refused, run

OUT_OF_PCA = {"loadings.csv", "scores.csv", "components.csv", "significance.csv"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    data = np.random.default_rng(0).standard_normal((30, 4)) * [1.0, 4.0, 1.0, 3.0]
    path = tmp_path / "table.csv"
    rows = [f"r{i}," + ",".join(map(repr, row)) for i, row in enumerate(data.tolist())]
    path.write_text("\n".join(["id,age,=HYPERLINK(1),shoe,-weight", *rows]) + "\n")
    return path


def parsed(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_json_is_what_the_library_says(table: Path) -> None:
    answer = json.loads(run("pca", table, "-k", "2", "-n", "2", "--json").stdout)
    assert len(answer) == 2
    assert set(answer[0]["names"]) == {"=HYPERLINK(1)", "-weight"}
    assert answer[0]["certificate"]["upper_bound"] >= answer[0]["value"] - 1e-12


def test_csv_guards_against_formulas(table: Path) -> None:
    rows = parsed(run("pca", table, "-k", "2", "--csv").stdout)
    assert rows[0] == ["variable", "PC1"]
    assert {row[0] for row in rows[1:]} == {"'=HYPERLINK(1)", "'-weight"}
    assert all(float(row[1]) for row in rows[1:])
    assert as_csv(["a"], [["@x"], ["\tx"], ["plain"], [-1.5], [None]]) == "a\n'@x\n'\tx\nplain\n-1.5\n\n".replace(
        "\n\n", '\n""\n'
    )


def test_folder(table: Path, tmp_path: Path) -> None:
    result = run("pca", table, "-k", "2", "-n", "2", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "wrote" in result.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == OUT_OF_PCA | {"result.json"}
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert document["command"] == "pca"
    assert document["input"]["rows"] == 30
    assert len(document["answer"]) == 2
    scores = parsed((tmp_path / "out" / "scores.csv").read_text())
    assert scores[0] == ["sample", "PC1", "PC2"]
    assert scores[1][0] == "r0"
    values = np.array([[float(cell) for cell in row[1:]] for row in scores[1:]])
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-12)
    assert values[:, 0].var(ddof=1) == pytest.approx(document["answer"][0]["value"])


def test_scaled_scores(table: Path, tmp_path: Path) -> None:
    run("pca", table, "-k", "2", "--scale", "--out", tmp_path / "out")
    scores = parsed((tmp_path / "out" / "scores.csv").read_text())
    value = json.loads((tmp_path / "out" / "result.json").read_text())["answer"][0]["value"]
    assert np.var([float(row[1]) for row in scores[1:]], ddof=1) == pytest.approx(value)


def test_quiet_and_silent_where_nobody_watches(table: Path, tmp_path: Path) -> None:
    assert run("pca", table, "-k", "2").stderr == ""
    assert run("pca", table, "-k", "2", "--out", tmp_path / "out", "--quiet").stderr == ""


def test_report(table: Path, tmp_path: Path) -> None:
    for command, more in (("pca", ["-k", "2", "--stability", "3"]), ("path", ["--k", "1:4"]), ("exact", ["-k", "2"])):
        page = tmp_path / f"{command}.html"
        result = run(command, table, *more, "--report", page)
        assert result.exit_code == 0, result.stderr
        assert str(page) in result.stderr
        assert "=HYPERLINK(1)" in page.read_text()


def test_mistakes_in_the_places_are_seen_first(table: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for more, message in (
        (["--json", "--csv"], "choose one"),
        (["--out", tmp_path / "none" / "out"], "does not exist"),
        (["--out", tmp_path / "file"], "is a file"),
        (["--report", tmp_path], "is a folder"),
        (["--report", tmp_path / "none" / "page.html"], "does not exist"),
        (["-k", "1,2", "-n", "3"], "leave out -n"),
        (["--covariance", "--scale"], "--scale is for data"),
        (["--method", "magic"], "method='magic' is not known"),
        (["--start", "nowhere"], "start='nowhere' is not known"),
        (["--missing", "maybe"], "maybe"),
        (["-n", "0"], "-n"),
        (["--nonsense"], "--nonsense"),
    ):
        check_refused(run("pca", table, "-k", "1", *more), 2, message)
    assert (tmp_path / "file").read_text() == "mine"
    check_refused(run("exact", table), 2, "-k")
    check_refused(run("pac", table), 2, "pac")


def test_a_full_disk_is_one_sentence(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "b.csv")

    monkeypatch.setattr(os, "fsync", full)
    result = run("pca", table, "-k", "1", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert not (tmp_path / "out").exists()


def test_missing_packages_are_named(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "plotly", None)
    result = run("pca", table, "-k", "1", "--report", tmp_path / "page.html")
    check_refused(result, 2, "pip install 'sparseigen[report]'")


def test_folders_that_may_not_be_written(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module.os, "access", lambda path, mode: False)
    for option in ("--out", "--report"):
        answer = run("pca", table, "-k", "2", option, tmp_path / "x")
        check_refused(answer, 2, f"{option} {tmp_path / 'x'}: no permission to write there")


def test_numpy_objects_in_answers() -> None:
    assert json.loads(as_json({"a": np.float64(1.5), "b": np.array([1, 2]), "c": Path("x"), 3: np.nan})) == {
        "a": 1.5,
        "b": [1, 2],
        "c": "x",
        "3": None,
    }
    assert as_csv(["a"], [[np.int64(7)], [np.str_("=x")], [None]]) == 'a\n7\n\'=x\n""\n'


TABLE = "a,b,c\n1,2,3\n4,5,7\n2,1,9\n8,8,1\n"
EDGES = "source,target,weight\n1,2,1\n2,3,0.5\n1,3,2\n3,4,1\n"
COMMANDS = {
    "pca": ("pca", "-k", 2, "--report"),
    "path": ("path", "--report"),
    "exact": ("exact", "-k", 2, "--report"),
    "dks": ("dks", "-k", 2, "--report"),
    "curve": ("curve", "--k", "2:3", "--report"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("data.csv", "loadings.csv", "certificate.csv"):
        (tmp_path / name).write_text(TABLE)
    for name in ("graph.csv", "members.csv"):
        (tmp_path / name).write_text(EDGES)
    (tmp_path / "names.csv").write_text("n1\nn2\nn3\n")
    (tmp_path / "start.csv").write_text("1\n1\n1\n")
    (tmp_path / "vertices.csv").write_text("number,name\n1,a\n2,b\n3,c\n4,d\n")
    (tmp_path / "link.csv").symlink_to("data.csv")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_does_not_replace_the_data(command: str, folder: Path) -> None:
    data = "graph.csv" if command in ("dks", "curve") else "data.csv"
    before = contents(folder)
    name, *rest = COMMANDS[command]
    check_refused(run(name, data, *rest, data), 2, "which is read")
    assert contents(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("pca", "link.csv", "-k", 2, "--report", "data.csv"),
        ("pca", "data.csv", "-k", 2, "--report", "link.csv"),
        ("pca", "data.csv", "-k", 2, "--names", "names.csv", "--report", "names.csv"),
        ("pca", "data.csv", "-k", 2, "--names", "names.csv:n", "--report", "names.csv"),
        ("pca", "data.csv", "-k", 2, "--start", "start.csv", "--report", "start.csv"),
        ("dks", "graph.csv", "-k", 2, "--vertices", "vertices.csv", "--report", "vertices.csv"),
        ("pca", "loadings.csv", "-k", 2, "--out", "."),
        ("certify", "certificate.csv", "-k", 2, "--out", "."),
        ("dks", "members.csv", "-k", 2, "--out", "."),
        ("curve", "members.csv", "--k", "2:3", "--out", "."),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_no_file_that_is_read_is_replaced(arguments, folder: Path) -> None:
    before = contents(folder)
    check_refused(run(*arguments), 2, "which is read; choose another place")
    assert contents(folder) == before


def test_page_and_folder_keep_apart(folder: Path) -> None:
    check_refused(run("pca", "data.csv", "-k", 2, "--out", "new", "--report", "new"), 2, "also written by --out")
    (folder / "old").mkdir()
    refused = run("pca", "data.csv", "-k", 2, "--out", "old", "--report", "old/loadings.csv")
    check_refused(refused, 2, "also written by --out")
    assert not (folder / "new").exists()
    assert not list((folder / "old").iterdir())


def test_a_folder_of_results_may_hold_the_data(folder: Path) -> None:
    (folder / "loadings.csv").unlink()
    assert run("pca", "data.csv", "-k", 2, "-q", "--out", ".").exit_code == 0
    assert (folder / "data.csv").read_text() == TABLE


def test_a_link_to_nothing_is_refused_before_the_work(folder: Path) -> None:
    (folder / "gone").symlink_to("nowhere")
    check_refused(run("pca", "data.csv", "-k", 2, "--out", "gone"), 2, "give a folder")


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="needs the devices of POSIX")
@pytest.mark.parametrize("device", ["/dev/null", "/proc/self/fd/1", "/dev/fd/1"])
def test_links_to_devices_stay_links(device: str, folder: Path) -> None:
    link = folder / "stdout"
    link.symlink_to(device)
    with pytest.raises(OptionError, match="not a plain file"):
        write_whole(link, "page")
    check_refused(run("pca", "data.csv", "-k", 2, "--report", "stdout"), 2, "not a plain file")
    assert os.readlink(link) == device


def test_links_to_files_are_replaced(folder: Path) -> None:
    check_target(folder / "link.csv")
    write_whole(folder / "link.csv", "page")
    assert not (folder / "link.csv").is_symlink()
    assert (folder / "data.csv").read_text() == TABLE


NAMES = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror='alert(2)'>",
    '=HYPERLINK("http://x")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\u202etxt.exe",
    "{{ 7 * 7 }}",
    "../../etc/passwd",
    "a\u2066b\u2069&amp;<b>",
    "\uff1d1+1",
    "'=1",
    "]]>-->",
    "%{x}<br>${1}",
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    data = np.random.default_rng(0).standard_normal((40, len(NAMES))) * np.arange(3, 3 + len(NAMES))
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["id", *NAMES])
    rows.writerows([f"={i}+1", *map(repr, row)] for i, row in enumerate(data.tolist()))
    (folder / "x.csv").write_text(text.getvalue(), encoding="utf-8")
    size = str(len(NAMES))
    for command in (("pca", "-k", size), ("path", "--k", f"1,{size}")):
        done = run(*command[:1], folder / "x.csv", *command[1:], "--out", folder / command[0], "--report",
                   folder / f"{command[0]}.html")  # fmt: skip
        assert done.exit_code == 0, done.stderr
    return folder


@pytest.mark.parametrize("command", ["pca", "path"])
def test_pages(written: Path, command: str) -> None:
    page = (written / f"{command}.html").read_text(encoding="utf-8")
    words = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)
    for text in ("<script>alert", "<img src", "<b>", "\u202e", "\u2066"):
        assert text not in words
    assert page.count("</script>") == 3
    if command == "pca":  # all names are in its table
        for name in (NAMES[0], NAMES[1], NAMES[7], NAMES[9].replace("\u2066", "\\u2066").replace("\u2069", "\\u2069")):
            assert f'<th scope="row">{name}</th>' in html.unescape(words)
    packed = re.search(r'id="payload">([^<]*)<', page)
    assert packed is not None
    assert set(unpack(packed.group(1))["variables"]) <= set(NAMES)


def test_files_stay_inside_and_their_names_are_fixed(written: Path) -> None:
    found = {path.relative_to(written).as_posix() for path in written.rglob("*") if path.is_file()}
    assert found == {
        "x.csv", "pca.html", "path.html", "pca/loadings.csv", "pca/scores.csv", "pca/components.csv",
        "pca/significance.csv", "pca/result.json",
        "path/loadings.csv", "path/path.csv", "path/scores.csv", "path/result.json",
    }  # fmt: skip
    assert not (written.parent / "etc").exists()


def test_tables_run_no_formula_and_give_the_names_back(written: Path) -> None:
    for file in ("pca/loadings.csv", "pca/scores.csv", "pca/components.csv", "pca/significance.csv"):
        for row in csv.reader(io.StringIO((written / file).read_text(encoding="utf-8"), newline="")):
            for cell in row:
                assert not cell.lstrip().startswith(("=", "+", "@", "\t", "\r", "\n", "\uff1d"))
                if cell.lstrip().startswith("-"):
                    float(cell)
    rows = list(csv.reader(io.StringIO((written / "pca/loadings.csv").read_text(encoding="utf-8"), newline="")))
    guard = re.compile("'['  ]*[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")
    names = {row[0][1:] if guard.match(row[0]) else row[0] for row in rows[1:]}
    assert names == set(NAMES)
    answer = json.loads((written / "pca/result.json").read_text(encoding="utf-8"))
    assert set(answer["answer"][0]["names"]) == set(NAMES)
    assert set(answer["files"]) == OUT_OF_PCA


def test_guarded_cells() -> None:
    cells = ["=1", " =1", "'=1", "''+x", "\n=1", "a=1", "'a", "-5", -5, -5.5, "\uff0b1", ""]
    found = [row[0] for row in csv.reader(io.StringIO(as_csv(["x"], [[cell, 0] for cell in cells]), newline=""))][1:]
    assert found == ["'=1", "' =1", "''=1", "'''+x", "'\n=1", "a=1", "'a", "'-5", "-5", "-5.5", "'\uff0b1", ""]
