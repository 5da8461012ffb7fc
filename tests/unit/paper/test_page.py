"""The page has every row, and text from anywhere cannot become markup."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.paper import claims, page
from benchmarks.paper.pieces import Figure, Outcome, Settings
from benchmarks.paper.runner import Run
from benchmarks.paper.verdicts import judge

TABLES = claims.load()
EVIL = '<script>alert("x")</script> | `code` *star* [link](y)'


@pytest.fixture
def written(tmp_path):
    """The page of a run in which nothing could run, with markup in one row's texts."""
    tables = [
        replace(TABLES[0], claims=(replace(TABLES[0].claims[0], place=EVIL, setting=EVIL), *TABLES[0].claims[1:])),
        *TABLES[1:],
    ]
    outcome = Outcome()
    outcome.add("falls", 0, detail=EVIL)
    outcome.table("points", ["k", EVIL], [[1, EVIL]])
    result = Run(outcomes={"S2/random/monotone": outcome}, seconds={"S2/random/monotone": 1.5})
    rows = [judge(claim, result.outcomes) for table in tables for claim in table.claims]
    out = tmp_path / "reproduction.md"
    page.write(out, tmp_path / "points", tables, rows, result, Settings(), [], complete=True)
    return out, rows


def test_every_row_has_an_anchor_and_its_command(written):
    out, rows = written
    markdown = out.read_text()
    assert "Never edit" in markdown.splitlines()[2]
    for row in rows:
        name = row.claim.id
        assert f'<span id="{name}"></span>' in markdown
        assert f"`python -m benchmarks.paper {name}`" in markdown
    for table in TABLES:
        assert f"## {table.title}" in markdown


def test_text_is_never_markup(written):
    out, _ = written
    markdown = out.read_text()
    assert "<script>alert" not in markdown
    assert "&lt;script&gt;alert" in markdown
    assert r"\| \`code\` \*star\* \[link\]" in markdown


def test_tables_of_the_markdown_have_as_many_cells_as_columns(written):
    out, _ = written
    lines = [line.replace(r"\|", "") for line in out.read_text().splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {7}


def test_points_are_written_and_named(written, tmp_path):
    out, _ = written
    assert (tmp_path / "points" / "S2-points.csv").read_text().startswith("run,k,")
    assert "/points/S2-points.csv`" in out.read_text()


def test_anchors_of_sections_are_those_that_the_summary_links_to():
    for table in TABLES:
        anchor = page.Section(table, []).anchor
        assert anchor == anchor.lower()
        assert not set(anchor) & set(" :,.()'")


def test_figures_are_drawn_into_the_page(tmp_path):
    matplotlib = pytest.importorskip("matplotlib.figure", reason="figures need matplotlib, which `make docs` installs")

    def draw(outcomes):
        canvas = matplotlib.Figure()
        canvas.subplots().plot([1, 2], [outcomes["S2/random/monotone"].measures["falls"]["value"], 1])
        return canvas

    outcome = Outcome()
    outcome.add("falls", 0)
    result = Run(outcomes={"S2/random/monotone": outcome})
    figure = Figure("S2-test", "S2", "A caption", ("S2/random/monotone",), draw)
    rows = [judge(claim, result.outcomes) for claim in TABLES[0].claims]
    for name in ("one", "two"):
        page.write(
            tmp_path / f"{name}.md", tmp_path / "points", TABLES[:1], rows, result, Settings(), [figure], complete=False
        )
    first, second = ((tmp_path / name / "S2-test.svg").read_text() for name in ("one", "two"))
    assert first == second
    assert first.startswith("<svg")
    assert len(first.splitlines()) < 5
    assert "A page of some rows only" in (tmp_path / "one.md").read_text()


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        (["k", "tpower, ours", "authors' array"], ["k", "tpower, ours"]),
        (["k", "default, ours", "our bound", "authors' best", "PathSPCA's bound"], ["k", "default, ours", "our bound"]),
        (["component", "ours", "authors"], ["component", "ours"]),
        (["k", "Greedy-Ravi, authors' variant: density", "tpower: the authors on the real graph, 2011"],
         ["k", "Greedy-Ravi, authors' variant: density"]),
    ],
)  # fmt: skip
def test_the_authors_arrays_are_not_repeated_on_the_page(header: list[str], kept: list[str]) -> None:
    table = page._ours_alone({"header": header, "rows": [list(range(len(header)))]})
    assert table["header"] == kept
    assert table["rows"] == [[header.index(name) for name in kept]]
