"""Killed in the middle: run as a script, it forks writers, kills them at random moments, and looks at what is left.

    python -m tests.faults.killing WRITER KILLS SEED FOLDER

One process, no threads, so that forking is safe. Prints how many kills left files whole, and the strays there were.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sparseigen.io.writing import write_folder, write_whole
from sparseigen.operators.checkpoint import PassLog
from sparseigen.report.page import Report
from sparseigen.rows.convert import convert

IDENTITY = {"data": "x"}
SIZE = 200_000


def body(version: int) -> str:
    """Text that says its own version at both ends, and its hash."""
    text = f"{version} " + "x" * (SIZE + version % 7) + f" {version}"
    return text + " " + hashlib.sha256(text.encode()).hexdigest()


def check_body(text: str) -> int:
    content, _, digest = text.rpartition(" ")
    assert hashlib.sha256(content.encode()).hexdigest() == digest, "half-written"
    return int(content.split(" ", 1)[0])


def _file(folder: Path, version: int) -> None:
    write_whole(folder / "answer.txt", body(version))


def _check_file(folder: Path) -> int:
    return check_body((folder / "answer.txt").read_text())


def _report(folder: Path, version: int) -> None:
    Report("a page", body(version)).save(folder / "page.html")


def _check_report(folder: Path) -> int:
    return check_body((folder / "page.html").read_text())


def _result(folder: Path, version: int) -> None:
    files = {"a.csv": body(version), "b.csv": body(version)}
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    write_folder(folder / "out", {**files, "result.json": json.dumps({"version": version, "files": digests})})


def _check_result(folder: Path) -> int:
    """Every file is whole; files of two runs beside each other are told apart by the hashes in result.json."""
    document = json.loads((folder / "out" / "result.json").read_text())
    versions = [check_body((folder / "out" / name).read_text()) for name in ("a.csv", "b.csv")]
    for name, version in zip(("a.csv", "b.csv"), versions, strict=True):
        found = hashlib.sha256((folder / "out" / name).read_bytes()).hexdigest()
        assert (found == document["files"][name]) is (version == document["version"])
    return int(document["version"])


def _new_result(folder: Path, version: int) -> None:
    write_folder(folder / f"out{version}", {"a.csv": body(version), "result.json": "{}"})


def _check_new_result(folder: Path) -> int:
    made = [place for place in folder.iterdir() if place.is_dir() and place.name.startswith("out")]
    for place in made:
        assert {file.name for file in place.iterdir()} == {"a.csv", "result.json"}
        check_body((place / "a.csv").read_text())
    return len(made)


def _convert(folder: Path, version: int) -> None:
    source = folder / "x.csv"
    if not source.exists():
        source.write_text("a,b\n" + "".join(f"{i},{-i}\n" for i in range(3000)))
    convert(source, folder / "x.npy", overwrite=True)


def _check_convert(folder: Path) -> int:
    values = np.load(folder / "x.npy")
    assert values.shape == (3000, 2)
    assert values[2999].tolist() == [2999.0, -2999.0]
    names = folder / "x.npy.names.txt"
    assert not names.exists() or names.read_text() == "a\nb\n"
    return 1


def _answer(number: int) -> list[Any]:
    return [np.full(2000, float(number)), np.arange(number + 1)]


def _checkpoint(folder: Path, version: int) -> None:
    log = PassLog(folder / "saved", IDENTITY)
    for number in range(40):
        log.made(f"key{number}", lambda first, total, number=number: _answer(number))


def _check_checkpoint(folder: Path) -> int:
    log = PassLog(folder / "saved", IDENTITY)
    for number in range(log.resumed):
        for found, expected in zip(log.made(f"key{number}", _never), _answer(number), strict=True):
            np.testing.assert_array_equal(found, expected)
    resumed = log.resumed
    if resumed == 40:
        for name in ("saved", "saved.data"):
            (folder / name).unlink()
    return resumed


def _never(first: int, total: Any) -> Any:
    raise AssertionError("a stored answer was computed again")


WRITERS: dict[str, tuple[Callable[[Path, int], None], Callable[[Path], int]]] = {
    "file": (_file, _check_file),
    "report": (_report, _check_report),
    "result": (_result, _check_result),
    "new result": (_new_result, _check_new_result),
    "convert": (_convert, _check_convert),
    "checkpoint": (_checkpoint, _check_checkpoint),
}


def main(writer: str, kills: int, seed: int, folder: Path) -> None:
    write, check = WRITERS[writer]
    moments = random.Random(seed)
    write(folder, 0)
    strays = 0
    for kill in range(1, kills + 1):
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write_end, b"x")
            version = kill * 1_000_000
            while True:
                version += 1
                write(folder, version)
        os.read(read_end, 1)
        time.sleep(moments.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read_end)
        os.close(write_end)
        check(folder)
        strays += sum(1 for entry in folder.rglob("*.partial"))
    left = _after_one_more(write, folder)
    told = {"writer": writer, "kills": kills, "whole": kills, "strays": strays, "left": left}
    sys.stdout.write(json.dumps(told) + "\n")


def _after_one_more(write: Callable[[Path, int], None], folder: Path) -> list[str]:
    """Strays that are left after one more write of the same name a day later (new names each time leave theirs)."""
    if write is _new_result:
        return []
    if write is _checkpoint:
        for name in ("saved", "saved.data"):
            (folder / name).unlink(missing_ok=True)
    for stray in folder.rglob("*.partial"):
        os.utime(stray, (0, 0))
    write(folder, 10**9)
    return [entry.name for entry in folder.rglob("*.partial")]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
