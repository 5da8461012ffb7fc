"""From measured values to verdicts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.paper.claims import Claim
from benchmarks.paper.pieces import Outcome
from benchmarks.paper.verdicts import BETTER, DIFFERS, NOT_RUNNABLE, REPRODUCED, counts, judge, percentage

CLAIM = Claim(
    id="X.a", table="X", place="here", setting="so", paper="0.8636", tolerance="printed", tolerance_from="digits",
    run="X/data/solver", measure="m",
)  # fmt: skip


def verdict(claim: Claim, value, **measure) -> str:
    outcome = Outcome()
    outcome.add("m", value, **measure)
    return judge(claim, {"X/data/solver": outcome}).verdict


@pytest.mark.parametrize(
    ("value", "better", "expected"),
    [
        (0.8636, "", REPRODUCED),
        (0.86365, "", REPRODUCED),
        (0.86355, "", REPRODUCED),
        (0.86366, "", DIFFERS),
        (0.86366, "higher", BETTER),
        (0.86366, "lower", DIFFERS),
        (0.86354, "lower", BETTER),
        (0.86354, "higher", DIFFERS),
        (float("nan"), "higher", DIFFERS),
    ],
)
def test_printed_digits_and_direction(value, better, expected):
    assert verdict(replace(CLAIM, better=better), value) == expected


def test_monte_carlo_error_counts_for_both_means():
    claim = replace(CLAIM, tolerance="monte-carlo")
    error = 0.001
    reach = 5e-5 + 3.0 * 2.0**0.5 * error
    assert verdict(claim, 0.8636 + 0.99 * reach, error=error) == REPRODUCED
    assert verdict(claim, 0.8636 + 1.01 * reach, error=error) == DIFFERS
    assert verdict(claim, 0.8636 + 1e-4) == DIFFERS


def test_precision_overrides_the_printed_digits():
    whole = replace(CLAIM, paper="1", better="")
    assert verdict(whole, 0.7) == REPRODUCED
    assert verdict(replace(whole, precision=0.01), 0.7) == DIFFERS
    assert verdict(replace(whole, precision=0.01), 0.996) == REPRODUCED


@pytest.mark.parametrize(
    ("relation", "below", "equal", "above"),
    [
        ("below", REPRODUCED, DIFFERS, DIFFERS),
        ("at most", REPRODUCED, REPRODUCED, DIFFERS),
        ("at least", DIFFERS, REPRODUCED, REPRODUCED),
        ("above", DIFFERS, DIFFERS, REPRODUCED),
    ],
)
def test_relations(relation, below, equal, above):
    claim = replace(CLAIM, paper="2", relation=relation, tolerance=0.0)
    assert [verdict(claim, value) for value in (1.5, 2.0, 2.5)] == [below, equal, above]


def test_curves_count_points():
    claim = replace(CLAIM, paper="500", tolerance=0.0)
    assert verdict(claim, 500, of=500) == REPRODUCED
    assert verdict(claim, 490, of=500, better=10) == BETTER
    assert verdict(claim, 490, of=500, better=9) == DIFFERS


def test_words_are_compared_as_words():
    assert verdict(replace(CLAIM, paper="religion"), "religion") == REPRODUCED
    assert verdict(replace(CLAIM, paper="religion"), "sports") == DIFFERS
    assert verdict(replace(CLAIM, paper="yes"), True) == REPRODUCED
    assert verdict(replace(CLAIM, paper="yes"), False) == DIFFERS


def test_reason_is_shown_only_where_it_is_needed():
    claim = replace(CLAIM, why="because", note="note")
    outcome = Outcome()
    outcome.add("m", 0.8636, detail="measured")
    assert judge(claim, {"X/data/solver": outcome}).reason == "measured note"
    outcome.add("m", 0.9, detail="measured")
    assert judge(claim, {"X/data/solver": outcome}).reason == "because measured note"


def test_not_runnable_and_failed():
    row = judge(CLAIM, {"X/data/solver": "file.csv is not in the data folder"})
    assert (row.verdict, row.reason, row.ours) == (NOT_RUNNABLE, "file.csv is not in the data folder", "-")
    assert judge(CLAIM, {"X/data/solver": "failed: ValueError"}).verdict == DIFFERS
    outcome = Outcome()
    outcome.add("m", 0.35)
    row = judge(replace(CLAIM, not_runnable="their matrix is lost."), {"X/data/solver": outcome})
    assert (row.verdict, row.ours, row.reason) == (NOT_RUNNABLE, "0.35", "their matrix is lost.")


def test_a_measure_that_does_not_exist_is_an_error():
    outcome = Outcome()
    outcome.add("other", 1.0)
    with pytest.raises(KeyError, match="has no measure 'm'; it has other"):
        judge(CLAIM, {"X/data/solver": outcome})


def test_other_runs_stand_beside():
    one, two = Outcome(), Outcome()
    one.add("m", 0.8636)
    two.add("m", 0.5)
    two.add("n", 3)
    claim = replace(CLAIM, also=("X/data/two", "X/data/two:n", "X/data/absent"))
    assert judge(claim, {"X/data/solver": one, "X/data/two": two}).beside == ("data/two: 0.5", "data/two: 3")


def test_percentage_counts_runnable_rows_only():
    outcome = Outcome()
    outcome.add("m", 0.8636)
    good, missing = judge(CLAIM, {"X/data/solver": outcome}), judge(CLAIM, {"X/data/solver": "no data"})
    bad = judge(replace(CLAIM, paper="0.1000"), {"X/data/solver": outcome})
    assert counts([good, good, bad, missing]) == {REPRODUCED: 2, BETTER: 0, DIFFERS: 1, NOT_RUNNABLE: 1}
    assert percentage([good, good, bad, missing]) == pytest.approx(200 / 3)
    assert percentage([missing]) == 0.0
