"""Disk full, read-only folder, killed in the middle: the file that was there before survives, whole."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from sparseigen import errors
from sparseigen.io.writing import whole_file, write_folder, write_whole
from sparseigen.operators.checkpoint import PassLog
from tests.faults.killing import IDENTITY, WRITERS, body, check_body

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
REPLACING = ("file", "report", "result", "convert")
KILLS = 40


@pytest.mark.parametrize("writer", WRITERS)
def test_killed_in_the_middle(writer: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.killing", writer, str(KILLS), "1", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["whole"] == KILLS
    assert told["left"] == []


def _mounted(place: Path, *options: str) -> None:
    done = subprocess.run(["mount", *options, str(place)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this user may not mount a file system: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    _mounted(place, "-t", "tmpfs", "-o", "size=1m", "none")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def _fill(ballast: Path) -> None:
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)


def _store_until_full(log: PassLog) -> None:
    number = 0
    while True:
        log.made(f"key{number}", partial(_numbers, number))
        number += 1


def _numbers(number: int, *_: object) -> list[np.ndarray]:
    return [np.full(8000, float(number))]


def _half_written(target: Path) -> None:
    with whole_file(target) as file:
        file.write(b"half")
        raise ZeroDivisionError


@pytest.mark.parametrize("writer", REPLACING)
def test_a_full_disk(writer: str, small_disk: Path) -> None:
    write, check = WRITERS[writer]
    write(small_disk, 0)
    before = check(small_disk)
    ballast = small_disk / "ballast"
    _fill(ballast)
    for version in (1, 2):
        with pytest.raises(
            errors.WriteError, match=r"could not be written: No space left.*What was there before is unch"
        ):
            write(small_disk, version)
        assert check(small_disk) == before
    assert not list(small_disk.rglob("*.partial"))
    ballast.unlink()
    write(small_disk, 3)
    assert check(small_disk) in (1, 3)


def test_a_full_disk_under_a_checkpoint(small_disk: Path) -> None:
    log = PassLog(small_disk / "saved", IDENTITY)
    with pytest.raises(errors.WriteError, match="saved could not be written: No space left"):
        _store_until_full(log)
    resumed = PassLog(small_disk / "saved", IDENTITY)
    assert 5 < resumed.resumed < 20
    assert resumed.made("key0", lambda *_: pytest.fail("computed again"))[0][0] == 0.0
    assert not list(small_disk.rglob("*.partial"))


@pytest.mark.parametrize("writer", REPLACING)
def test_a_read_only_disk(writer: str, small_disk: Path) -> None:
    write, check = WRITERS[writer]
    write(small_disk, 0)
    before = check(small_disk)
    _mounted(small_disk, "-o", "remount,ro")
    with pytest.raises(errors.WriteError, match=r"could not be written: Read-only file system"):
        write(small_disk, 1)
    assert check(small_disk) == before


LIMITED = """
import resource, signal, sys
from pathlib import Path
from sparseigen.errors import WriteError
from tests.faults.killing import WRITERS
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    WRITERS[sys.argv[1]][0](Path(sys.argv[2]), 1)
except WriteError as error:
    assert "File too large" in str(error)
    sys.exit(7)
"""


@pytest.mark.parametrize("writer", REPLACING)
def test_a_limit_on_the_size_of_files(writer: str, tmp_path: Path) -> None:
    write, check = WRITERS[writer]
    write(tmp_path, 0)
    before = check(tmp_path)
    done = subprocess.run([sys.executable, "-c", LIMITED, writer, str(tmp_path)], capture_output=True, check=False)
    assert done.returncode == 7, done.stderr
    assert check(tmp_path) == before
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_every_failing_call(code: int, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "x", "old")
    write_folder(tmp_path / "out", {"a": "old", "b": "old"})

    def fail(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(errors.WriteError, match=os.strerror(code)):
        write_whole(tmp_path / "x", "new")
    with pytest.raises(errors.WriteError, match="choose another place"):
        write_folder(tmp_path / "out", {"a": "new", "b": "new"})
    monkeypatch.undo()
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {"a": "old", "b": "old"}
    assert (tmp_path / "x").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "x"]


def test_a_parent_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file" / "x", tmp_path / "none" / "x"):
        with pytest.raises(errors.WriteError, match="could not be written"):
            write_whole(target, "new")
        with pytest.raises(errors.WriteError, match="could not be written"):
            write_folder(target, {"a": "new"})
    assert (tmp_path / "file").read_text() == "mine"


def test_an_error_of_the_writer_leaves_the_old_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "x", "old")
    with pytest.raises(ZeroDivisionError):
        _half_written(tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "old"


def test_links_and_devices_are_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "link").symlink_to(victim)
    write_whole(tmp_path / "link", "new")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "link").is_symlink()
    for device in ("/dev/null", "/dev/full"):
        with pytest.raises(errors.OptionError, match="is not a plain file"):
            write_whole(device, "new")
        assert stat.S_ISCHR(os.stat(device).st_mode)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.OptionError, match="is not a plain file"):
        write_whole(tmp_path / "pipe", "new")
    with pytest.raises(errors.OptionError, match="is a folder"):
        write_whole(tmp_path, "new")
    (tmp_path / "saved.data").symlink_to(victim)
    with pytest.raises(errors.CheckpointError, match="is a link"):
        PassLog(tmp_path / "saved", IDENTITY)
    assert victim.read_text() == "mine"


def test_old_strays_go_and_what_others_write_stays(tmp_path: Path) -> None:
    (tmp_path / ".y.0123abcd.partial").write_text("of another name")
    (tmp_path / ".x.mine.partial").write_text("no name of ours")
    (tmp_path / ".x.0123abcd.partial").write_text("left by a killed process")
    folder = tmp_path / ".x.89abcdef.partial"
    folder.mkdir()
    (folder / "a").write_text("left")
    for stray in tmp_path.iterdir():
        os.utime(stray, (0, 0))
    (tmp_path / ".x.fedcba98.partial").write_text("of somebody who may still write")
    kept = {".y.0123abcd.partial", ".x.mine.partial", ".x.fedcba98.partial"}
    with whole_file(tmp_path / "x") as first:
        first.write(b"first")
        running = {path.name for path in tmp_path.iterdir()}
        write_whole(tmp_path / "x", "second")
        assert {path.name for path in tmp_path.iterdir()} == running | {"x"}
        assert (tmp_path / "x").read_text() == "second"
    assert (tmp_path / "x").read_text() == "first"
    assert {path.name for path in tmp_path.iterdir()} == kept | {"x"}


def test_two_writers_of_one_file(tmp_path: Path) -> None:
    """The last one wins, whole; no read in between finds half a file."""
    write_whole(tmp_path / "x", body(0))
    writers = [
        Thread(target=lambda first=first: [write_whole(tmp_path / "x", body(first + i)) for i in range(0, 60, 2)])
        for first in (1, 2)
    ]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(check_body((tmp_path / "x").read_text()))
    assert seen
    assert check_body((tmp_path / "x").read_text()) in (59, 60)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_files_have_the_permissions_of_files(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    write_whole(tmp_path / "x", "x")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.fixture
def table(tmp_path: Path) -> Path:
    np.savetxt(tmp_path / "x.csv", np.random.default_rng(0).standard_normal((20, 3)), delimiter=",")
    return tmp_path / "x.csv"


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_standard_output_on_a_full_disk(table: Path, form: list[str]) -> None:
    command = [sys.executable, "-m", "sparseigen", "pca", str(table), "-k", "1", *form]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_line_says_it_in_one_sentence(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.unit.cli.running import check_refused, run

    check_refused(run("pca", table, "-k", "1", "--report", "/dev/full"), 2, "is not a plain file")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EDQUOT, "Disk quota exceeded")))
    result = run("pca", table, "-k", "1", "--report", tmp_path / "page.html", "--quiet")
    assert result.exit_code == 2
    assert "page.html could not be written: Disk quota exceeded. What was there before is unchanged" in result.stderr
