"""The cheap tables of the paper for real, through the runner: every row of Tables 3 and 4."""

from __future__ import annotations

import pytest

from benchmarks.paper import claims, runner
from benchmarks.paper.command import needed
from benchmarks.paper.pieces import Settings
from benchmarks.paper.verdicts import REPRODUCED, judge


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    tables = claims.select(claims.load(), ["T3", "T4"])
    pieces = needed(tables, ["T4", "T3.tpower"])
    result = runner.run(pieces, Settings(), folder=tmp_path_factory.mktemp("reproduce"), processes=1)
    return [judge(claim, result.outcomes) for table in tables for claim in table.claims]


def test_every_row_of_tables_3_and_4_is_reproduced(rows):
    assert len(rows) == 39
    assert {row.claim.id: row.verdict for row in rows if row.verdict != REPRODUCED} == {}


def test_the_block_version_of_gpower_is_not_what_the_paper_ran(rows):
    by_name = {row.claim.id: row for row in rows}
    assert by_name["T3.gpower-l1.26.share"].beside == ("pitprops/gpower-l1-block: 0.949624",)
