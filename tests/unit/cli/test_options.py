"""Lists of k, and options that do not go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.running import check_refused, run


@pytest.mark.parametrize(
    ("cardinality", "message"),
    [
        ("0", "cardinality=0 must be between 1 and the number of variables (3). See -k, --cardinality K."),
        ("-1", "cardinality=-1 must be between"),
        ("4", "cardinality=4 must be between 1"),
        ("2.0", "cardinality='2.0' must be a whole number"),
        ("True", "cardinality='True' must be a whole number"),
        ("two", "cardinality='two' must be a whole number"),
        ("1:999999999", "over at most 1000000 numbers"),
        ("3:1", "must go up"),
        ("1:2:0", "with a step of at least 1"),
        ("", "cardinality='' must be a whole number"),
    ],
)
@pytest.mark.parametrize("command", ["pca"])
def test_bad_cardinality(command: str, cardinality: str, message: str, good: Path) -> None:
    result = run(command, good, "--covariance", "-k", cardinality)
    check_refused(result, 2, message)
    assert result.stderr.endswith("See -k, --cardinality K.\n")


@pytest.mark.parametrize("command", ["certify", "exact"])
@pytest.mark.parametrize("cardinality", ["0", "4", "2.0", "True", "1,2"])
def test_bad_cardinality_of_other_commands(command: str, cardinality: str, good: Path) -> None:
    result = run(command, good, "--covariance", "-k", cardinality)
    check_refused(result, 2, "cardinality=")
    assert result.stderr.endswith("See -k, --cardinality K.\n")


def test_options_that_do_not_go_together(table: Path, numbered_graph: Path, tmp_path: Path) -> None:
    check_refused(run("dks", numbered_graph, "-k", "3", "--format", "csv"), 2, "--format is for standard input")
    check_refused(
        run("dks", numbered_graph, "-k", "3", "--count", "2", "--include", "1"), 2, "--include is for a single set"
    )
    check_refused(run("certify", table), 2, "give -k, the number of variables, or --support, their names")
    page = tmp_path / "x.html"
    check_refused(run("certify", table, "-k", "2", "--report", page), 2, "--report is for answers with loadings")
