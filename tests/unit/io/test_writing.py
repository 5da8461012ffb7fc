"""Files are there whole or not at all; links are replaced, never followed; names stay inside their folder."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sparseigen.io.writing import write_folder


def test_a_second_answer_replaces_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_folder(folder, {"a.csv": "1", "b.csv": "2"})
    (folder / "kept.txt").write_text("mine")
    write_folder(folder, {"a.csv": "3"})
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "a.csv": "3",
        "b.csv": "2",
        "kept.txt": "mine",
    }


@pytest.mark.parametrize("exists", [False, True])
def test_a_full_disk_leaves_nothing_partial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool) -> None:
    folder = tmp_path / "out"
    if exists:
        write_folder(folder, {"a.csv": "old", "b.csv": "old"})
    calls = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", "b.csv")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_folder(folder, {"a.csv": "new", "b.csv": "new"})
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == ({"out/a.csv", "out/b.csv"} if exists else set())
    assert folder.exists() is exists
    if exists:
        assert (folder / "a.csv").read_text() == "old"
        assert len(list(folder.iterdir())) == 2


def test_links_are_replaced_and_names_stay_inside(tmp_path: Path) -> None:
    folder, victim = tmp_path / "out", tmp_path / "victim.csv"
    folder.mkdir()
    victim.write_text("mine")
    (folder / "a.csv").symlink_to(victim)
    write_folder(folder, {"a.csv": "new"})
    assert victim.read_text() == "mine"
    assert (folder / "a.csv").read_text() == "new"
    for name in ("../victim.csv", "/etc/x", "", "..", "sub/a.csv"):
        with pytest.raises(Exception, match="cannot be a file name"):
            write_folder(folder, {name: "new"})
    assert victim.read_text() == "mine"
