"""What the catalogue says of data sets, their sources and their folder."""

from __future__ import annotations

from pathlib import Path

import pooch
import pytest

from sparseigen.datasets import catalogue, data_folder
from sparseigen.datasets.catalogue import CATALOGUE, SOURCES
from sparseigen.errors import MissingDataError


def test_every_source_is_in_the_catalogue() -> None:
    assert set(SOURCES) <= set(CATALOGUE)


@pytest.mark.needs_data
def test_known_checksum_is_that_of_the_real_file(real_data: Path) -> None:
    graph = SOURCES["cnr-2000"].files[1]
    assert pooch.file_hash(real_data / "cnr-2000" / graph.name) == graph.sha256
    lines = (real_data / "cnr-2000" / "cnr-2000.properties").read_text().split()
    assert set(SOURCES["cnr-2000"].files[0].must_say) <= set(lines)


def test_archives_are_known_by_their_checksum() -> None:
    """What is unpacked is what was looked at: no other archive gets that far."""
    assert all(file.sha256 for source in SOURCES.values() if source.unpacked is not None for file in source.files)


def test_folder_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path / "none"))
    with pytest.raises(MissingDataError, match=r"none does not exist; set SPARSEIGEN_DATA to the folder with the data"):
        data_folder()


@pytest.mark.parametrize("named", [None, ""])
def test_folder_of_the_user_is_the_default(named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never one beside the working directory."""
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    monkeypatch.delenv("SPARSEIGEN_DATA")
    if named is not None:
        monkeypatch.setenv("SPARSEIGEN_DATA", named)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    with pytest.raises(MissingDataError, match=r"cache/sparseigen does not exist; set SPARSEIGEN_DATA"):
        data_folder()
    (tmp_path / "cache" / "sparseigen").mkdir(parents=True)
    assert data_folder() == tmp_path / "cache" / "sparseigen"
    monkeypatch.setattr(catalogue, "is_installed", lambda package: False)
    with pytest.raises(MissingDataError, match="the data folder does not exist; set SPARSEIGEN_DATA"):
        data_folder()
