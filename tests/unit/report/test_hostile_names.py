"""Names that want to be script, formulas, paths or terminal commands stay names, in pages, files and tables."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from sparseigen.cli.output import as_csv
from sparseigen.report.page import unpack
from tests.unit.cli.running import run

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
        "x.csv", "pca.html", "path.html", "pca/loadings.csv", "pca/scores.csv", "pca/result.json", "path/loadings.csv",
        "path/path.csv", "path/scores.csv", "path/result.json",
    }  # fmt: skip
    assert not (written.parent / "etc").exists()


def test_tables_run_no_formula_and_give_the_names_back(written: Path) -> None:
    for file in ("pca/loadings.csv", "pca/scores.csv"):
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
    assert set(answer["files"]) == {"loadings.csv", "scores.csv"}


def test_guarded_cells() -> None:
    cells = ["=1", " =1", "'=1", "''+x", "\n=1", "a=1", "'a", "-5", -5, -5.5, "\uff0b1", ""]
    found = [row[0] for row in csv.reader(io.StringIO(as_csv(["x"], [[cell, 0] for cell in cells]), newline=""))][1:]
    assert found == ["'=1", "' =1", "''=1", "'''+x", "'\n=1", "a=1", "'a", "'-5", "-5", "-5.5", "'\uff0b1", ""]


def test_the_page_guards_its_downloads_alike() -> None:
    import sparseigen.report.page as module

    script = (module.TEMPLATES / "common.js").read_text(encoding="utf-8")
    assert r"/^[' ]*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/" in script
    for name in ("common.js", "components.js", "graph.js"):
        text = (module.TEMPLATES / name).read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
