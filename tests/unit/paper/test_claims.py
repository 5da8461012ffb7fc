"""claims.toml: complete, well-formed, and every number of the tables in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper import claims
from benchmarks.paper.parts import all_figures, all_pieces
from benchmarks.paper.solvers.components import COMPONENTS

TABLES = claims.load()
ROWS = {claim.id: claim for table in TABLES for claim in table.claims}

# The printed tables once more, typed independently of claims.toml.
TABLE_1 = """
0 0.9998 0.9997 1      0 0.9998 0.9997 1     0 0.9997 0.9996 0.99
9.5e-5 0.9997 0.9991 0.99     2.4e-3 0.9274 0.9250 0.25     0 0.9146 0.9086 0
"""
TABLE_2 = """
0.07 0.13 0.39 0.88 2.52 7.03     0.07 0.14 0.55 1.00 3.31 20.05
0.13 0.21 0.96 2.00 7.94 21.78    0.12 0.43 2.06 5.08 19.63 25.19
"""
TABLE_3 = "0.8636 26 0.8230 15 0.7599 13 0.8615 26 0.8230 15 0.7599 13 0.8438 26 0.8230 15 0.7599 13 0.7580 18"
TABLE_4 = "0.4235 0.4302 0.2680 0.4032 0.3134 0.3787 0.3994 0.7071 0.7071 1.000 1.000 1.000 1.000"


@pytest.mark.parametrize(("name", "printed"), [("T1", TABLE_1), ("T2", TABLE_2), ("T3", TABLE_3), ("T4", TABLE_4)])
def test_every_number_of_the_tables_has_a_row(name, printed):
    found = [claim.paper for claim in ROWS.values() if claim.table == name and claim.number is not None]
    if name == "T2":
        found.remove("100")  # the sentence beside the table
    assert found == printed.split()


def test_every_table_and_figure_of_the_pca_half_is_there():
    assert {"S2", "S3", "S4", "T1", "T2", "T3", "T4", "F1", "T5"} <= {table.name for table in TABLES}
    for printed in ("18,846", "26,214", "1,000", "0.3966", "500", "2"):
        assert printed in {claim.paper for claim in ROWS.values() if claim.table in ("T5", "F1")}


def test_runs_and_measures_that_rows_name_exist():
    pieces = all_pieces()
    for claim in ROWS.values():
        assert claim.run in pieces, claim.id
        assert claim.run.split("/")[0] == claim.table or claim.table.startswith("S"), claim.id
        for other in claim.also:
            assert other.split(":")[0] in pieces, claim.id
    for figure in all_figures():
        assert set(figure.pieces) <= set(pieces)
        assert figure.table in {table.name for table in TABLES}


def test_rows_hold_no_result():
    """Our values and verdicts are computed, never stored."""
    for word in ("ours =", "verdict ="):
        assert word not in claims.FILE.read_text(encoding="utf-8")


def test_every_row_says_everything():
    for claim in ROWS.values():
        for text in (claim.place, claim.setting, claim.paper, claim.tolerance_from, claim.run, claim.measure):
            assert text.strip(), claim.id
    for solver in COMPONENTS.values():
        assert solver.label
        assert solver.settings


@pytest.mark.parametrize(
    ("printed", "unit"),
    [
        (".8636", 1e-4),
        ("0.7599", 1e-4),
        ("26", 1.0),
        ("9.5e-5", 1e-6),
        ("2.4e-3", 1e-4),
        ("18,846", 1.0),
        ("-0.5", 0.1),
    ],
)
def test_printed_digits(printed, unit):
    assert claims.printed_unit(printed) == pytest.approx(unit, rel=1e-12)


GOOD = """
[[table]]
name = "X"
title = "A table"
place = "here"
setting = "so"
tolerance = "printed"
rows = [ { id = "X.a", place = "row a", paper = "1.5", run = "X/data/solver", measure = "m" } ]
"""


def _load(tmp_path: Path, text: str) -> list[claims.Table]:
    path = tmp_path / "claims.toml"
    path.write_text(text)
    return claims.load(path)


def test_rows_inherit_from_their_table(tmp_path):
    (table,) = _load(tmp_path, GOOD)
    (claim,) = table.claims
    assert (claim.place, claim.setting, claim.number) == ("here, row a", "so", 1.5)
    assert claim.tolerance_from == claims.RULES["printed"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((', measure = "m"', ""), "X.a: the field 'measure' is missing"),
        (('id = "X.a"', 'id = "Y.a"'), "begins with 'X.'"),
        (('paper = "1.5"', "paper = 1.5"), "must be a string, as printed"),
        (('paper = "1.5"', 'paper = "about 1"'), "'about 1' is not a printed number"),
        (('tolerance = "printed"', 'tolerance = "loose"'), "'loose' is neither a number"),
        (('run = "X/data/solver"', 'run = "X"'), "must be part/dataset/solver"),
        (('measure = "m"', 'measure = "m", verdict = "good"'), "unknown field 'verdict'"),
        (('measure = "m"', 'measure = "m", relation = "near"'), "relation='near'"),
        (('measure = "m"', 'measure = "m", better = "up"'), "better='up'"),
        (("rows = [", 'rows = [ { id = "X.a", paper = "1", run = "X/d/s", measure = "m" },'), "two rows have this id"),
        (("[[table]]", '[why]\n"Z.*" = "because"\n[[table]]'), "'Z.*' matches no row"),
    ],
)
def test_bad_rows_are_named(tmp_path, change, message):
    assert change[0] in GOOD
    with pytest.raises(claims.ClaimError, match=message.replace("*", r"\*").replace("[", r"\[")):
        _load(tmp_path, GOOD.replace(*change))


def test_selection():
    assert [t.name for t in claims.select(TABLES, ["T4", "T3.spca"])] == ["T3", "T4"]
    (table,) = claims.select(TABLES, ["T1.spca.success"])
    assert [claim.id for claim in table.claims] == ["T1.spca.success"]
    assert all(c.id.endswith(".share") for t in claims.select(TABLES, ["T3.*.share"]) for c in t.claims)
    assert claims.select(TABLES, []) == TABLES
    with pytest.raises(claims.ClaimError, match="'T99' names no table and no row; tables are S2"):
        claims.select(TABLES, ["T3", "T99"])
