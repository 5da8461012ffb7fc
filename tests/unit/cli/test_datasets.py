"""``datasets``: what there is, and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.running import check_refused, run


def test_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path))
    text = run("datasets").stdout
    assert str(tmp_path) in text
    assert "pitprops        no" in text
    (tmp_path / "pitprops").mkdir()
    (tmp_path / "pitprops" / "pitprops_correlation.csv").write_text("")
    assert "pitprops        yes" in run("datasets").stdout
    assert "try: sparseigen pca" in run("datasets", "pitprops").stdout
    assert json.loads(run("datasets", "--json").stdout)["datasets"]["colon"]["there"] is False
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path / "none"))
    assert "set SPARSEIGEN_DATA" in run("datasets").stdout
    check_refused(run("datasets", "moon"), 2, "'moon' is not a data set")


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
