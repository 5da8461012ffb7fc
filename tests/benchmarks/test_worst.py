"""The list of worst cases: what is above the budget, and that a case runs."""

from __future__ import annotations

import pytest

from benchmarks import worst

WITHIN = {"seconds": 10.0, "input": 1e6, "extra": 1e8, "low": 1.0, "high": 2.0}


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, ""),
        ({"seconds": 61.0}, "TIME"),
        ({"extra": 2.05e8}, "MEMORY"),
        ({"extra": 2.05e8, "input": 2e6}, ""),
        ({"high": float("inf")}, "NO BRACKET"),
        ({"failed": "not ended after 600 s"}, "not ended after 600 s"),
    ],
)
def test_verdicts(changed: dict[str, object], verdict: str) -> None:
    assert worst.judge(WITHIN | changed) == verdict


def test_a_case_is_measured_in_a_process_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert worst.main(["two samples 2 x 1,000"]) == 0
    said = capsys.readouterr().out
    assert "| two samples 2 x 1,000, k = 100 | 0.0 |" in said
    assert said.endswith("0 above the budget\n")
    assert "ValueError" not in said


def test_a_case_that_fails_is_above(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(worst, "CASES", {"no such case": worst.CASES["two samples 2 x 1,000, k = 100"]})
    assert worst.main([]) == 1
    assert "KeyError: 'no such case' |" in capsys.readouterr().out
