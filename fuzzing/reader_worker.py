"""Runs cases in a process of its own, which may crash, hang or run out of memory: one line in, one line out."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from fuzzing import reader_targets as targets
from sparseigen.errors import SparseigenError
from sparseigen.io import hdf5_probe

LIMIT = 256 << 20
"""Bytes that the readers are told to be free."""
ROOM = 2 << 30
"""Bytes of address space beyond what the process has when it starts: more ends in a MemoryError."""
ALLOWED = 3 * LIMIT
"""Bytes that a case may add to the memory in use: what fits the limit, and copies on the way."""


def generate(name: str, seed: int, number: int, folder: Path) -> tuple[Path, str]:
    """Write the files of one case; the path to open, and what the case is."""
    whole = dict(targets.whole(name))
    by_hand = targets.hostile(name)
    if number == 0:
        files, what = whole, "whole"
    elif number <= len(by_hand):
        what, listed = by_hand[number - 1]
        files = dict(listed)
    else:
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
        keys = sorted(whole)
        key = keys[int(rng.integers(len(keys)))]
        ways = targets.target_of(name).ways
        files = whole | {key: ways[int(rng.integers(len(ways)))](whole[key], rng)}
        what = f"damaged {key}"
    for file, content in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    return folder / next(iter(files)).split("/")[0], what


def run_case(name: str, seed: int, number: int, folder: Path, watch: Watch) -> dict[str, Any]:
    path, what = generate(name, seed, number, folder)
    target = targets.target_of(name)
    before = watch.begin(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = target.read(path)
            outcome, message = "accepted", ""
        except SparseigenError as error:
            outcome, message = "refused", str(error)
            if path.name not in message and path.stem not in message:
                outcome, message = "violation", f"the message does not name the file: {message}"
        except BaseException as error:
            outcome, message = "violation", f"{type(error).__name__}: {error}"
    for problem in watch.end(before):
        outcome, message = "violation", problem
    leaked = [str(one.message) for one in caught if not type(one.message).__module__.startswith("sparseigen")]
    if leaked and outcome != "violation":
        outcome, message = "violation", f"a warning leaked: {leaked[0]}"
    if outcome == "refused" and what == "whole":
        outcome, message = "violation", f"a whole file was refused: {message}"
    if outcome == "accepted" and target.right is not None and not _agrees(target, path, found):
        outcome, message = "violation", "another reader finds other numbers in the file"
    return {"outcome": outcome, "message": message[:400], "what": what}


def _agrees(target: targets.Target, path: Path, found: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return bool(target.right is None or target.right(path, found))
        except Exception:  # the other reader is less able than ours: no second opinion
            return True


class Watch:
    """What a reader must not do besides: unpickle, write outside its folder, take more memory than allowed."""

    def __init__(self) -> None:
        self.folder, self.problems, self.on = "", [], False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "pickle.find_class":
            self.problems.append(f"something was unpickled: {arguments}")
        elif event == "open" and isinstance(arguments[0], str) and isinstance(arguments[2], int):
            written = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            place = os.path.abspath(arguments[0])
            # A folder is opened so for a temporary file without a name, which ends with its process: readers may.
            allowed = place.startswith(self.folder) or place == os.devnull or "__pycache__" in place
            if written and not allowed and not os.path.isdir(place):
                self.problems.append(f"{place} was opened for writing")

    def begin(self, folder: Path) -> int:
        self.folder, self.problems = str(folder), []
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return -1
        self.on = True
        return _in_use("VmRSS")

    def end(self, before: int) -> list[str]:
        self.on = False
        if before >= 0 and _in_use("VmHWM") - before > ALLOWED:
            self.problems.append(f"{(_in_use('VmHWM') - before) >> 20} MB of memory were used")
        return self.problems


def _in_use(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0


def _tell_free_memory() -> None:
    import sparseigen.io.tables
    import sparseigen.io.text  # noqa: F401 - loaded so that the names below are found

    for module in [module for key, module in sys.modules.items() if key.startswith("sparseigen.")]:
        if hasattr(module, "available_bytes"):
            module.available_bytes = lambda: LIMIT


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    if os.environ.get("SPARSEIGEN_SANITIZED") != "1":
        os.dup2(quiet, 2)
        for name in targets.TARGETS.keys() & set(sys.argv[1:]):  # what readers load once is not a case's
            with tempfile.TemporaryDirectory() as place:
                targets.TARGETS[name].read(generate(name, 0, 0, Path(place))[0])
        resource.setrlimit(resource.RLIMIT_AS, (_in_use("VmSize") + ROOM,) * 2)
    _tell_free_memory()
    os.environ[hdf5_probe.SWITCH] = "1"
    hdf5_probe.CPU_SECONDS = 5
    watch = Watch()
    folder = Path(tempfile.mkdtemp(prefix="sparseigen-fuzz-"))
    try:
        for line in sys.stdin:
            name, seed, number = json.loads(line)
            place = folder / f"case{number}"
            place.mkdir()
            reply = run_case(name, seed, number, place, watch)
            shutil.rmtree(place, ignore_errors=True)
            replies.write(json.dumps(reply) + "\n")
            replies.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
