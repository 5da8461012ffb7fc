"""Damaged and hostile files for every reader: a right read, or one of the package's errors that names the file.

Nothing else is allowed: no other exception, no warning, no crash, no hang, no unpickling, no memory beyond the limit.
``--replay "READER:SEED:NUMBER"`` runs one case again; the files of failing cases are kept under build/fuzz.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

CPU_SECONDS = 20.0
"""Of processor time that a case may take; the machine may be busy with other things."""
WALL_SECONDS = 240.0
"""Of waiting without work: a deadlock."""
CASES_PER_WORKER = 2000
KEPT = Path("build/fuzz")


class Worker:
    """A process that runs cases until it dies."""

    def __init__(self, names: list[str]) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "fuzzing.reader_worker", *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"},
            text=True,
        )
        self.cases = 0

    def run(self, name: str, seed: int, number: int) -> dict[str, Any]:
        """One case; a worker that died or hung says so as a violation."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.cases += 1
        try:
            self.process.stdin.write(json.dumps([name, seed, number]) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return self._dead("died between two cases")
        began, used = time.monotonic(), self._cpu()
        fresh = self.cases == 1  # imports come first
        while True:
            ready, _, _ = select.select([self.process.stdout], [], [], 0.5)
            if ready:
                line = self.process.stdout.readline()
                return json.loads(line) if line else self._dead("crashed")
            if self._cpu() - used > CPU_SECONDS * (6 if fresh else 1) or time.monotonic() - began > WALL_SECONDS:
                self.process.kill()
                return self._dead("hung")

    def _cpu(self) -> float:
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _dead(self, what: str) -> dict[str, Any]:
        status = self.process.wait()
        self.errors.seek(0)
        told = self.errors.read().decode("utf-8", "replace")[-3000:]
        self.close()
        message = f"the process {what} (status {status}) {told}"
        return {"outcome": "violation", "message": message, "what": "?", "dead": True}

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            if stream is not None:
                with suppress(OSError):  # what was still to be written to a process that is gone
                    stream.close()
        self.process.wait()


class Tally:
    """Cases and outcomes by reader."""

    def __init__(self, kept: Path = KEPT) -> None:
        self.kept = kept
        self.counts: dict[str, Counter[str]] = {}
        self.failures: list[str] = []

    def add(self, name: str, seed: int, number: int, reply: dict[str, Any]) -> None:
        self.counts.setdefault(name, Counter())[reply["outcome"]] += 1
        if reply["outcome"] == "violation":
            case = f"{name}:{seed}:{number}"
            self.failures.append(case)
            folder = self.kept / f"{name.replace(' ', '-')}-{seed}-{number}"
            folder.mkdir(parents=True, exist_ok=True)
            from fuzzing.reader_worker import generate

            generate(name, seed, number, folder)
            print(f"VIOLATION {case} ({reply['what']}): {reply['message']}\n  files: {folder}\n"
                  f"  again: python -m fuzzing readers --replay {case!r}", flush=True)  # fmt: skip

    def table(self) -> str:
        lines = [f"{'reader':<26}{'cases':>8}{'accepted':>10}{'refused':>9}{'violations':>12}"]
        total: Counter[str] = Counter()
        for name, counts in sorted(self.counts.items()):
            total += counts
            lines.append(_line(name, counts))
        return "\n".join([*lines, _line("all readers", total)])


def _line(name: str, counts: Counter[str]) -> str:
    parts = (counts["accepted"], counts["refused"], counts["violation"])
    return f"{name:<26}{sum(parts):>8}{parts[0]:>10}{parts[1]:>9}{parts[2]:>12}"


def attack(names: list[str], seed: int, *, minutes: float = 0.0, cases: int = 0, kept: Path = KEPT) -> Tally:
    """So many cases of each reader, or as many as fit into the time, each reader in its turn."""
    from fuzzing.reader_targets import target_of

    tally, worker = Tally(kept), Worker(names)
    deadline = time.monotonic() + 60.0 * minutes
    number = 0
    while number < cases or (not cases and time.monotonic() < deadline):
        for name in names:
            if number % target_of(name).every:
                continue
            reply = worker.run(name, seed, number)
            tally.add(name, seed, number, reply)
            if reply.get("dead") or worker.cases >= CASES_PER_WORKER:
                if not reply.get("dead"):
                    worker.close()
                worker = Worker(names)
        number += 1
    worker.close()
    return tally


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzzing readers", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=0, help="so many cases of each reader instead of minutes")
    parser.add_argument("--only", default="", help="readers whose name contains this")
    parser.add_argument("--replay", default="", metavar="READER:SEED:NUMBER")
    options = parser.parse_args(arguments)
    if options.replay:
        name, seed, number = options.replay.split(":")
        worker = Worker([name])
        reply = worker.run(name, int(seed), int(number))
        worker.close()
        print(json.dumps(reply, indent=2))
        return int(reply["outcome"] == "violation")
    from fuzzing.reader_targets import TARGETS

    names = [name for name in TARGETS if options.only in name]
    began = time.monotonic()
    tally = attack(names, options.seed, minutes=options.minutes, cases=options.cases)
    print(tally.table())
    tried = sum(sum(counts.values()) for counts in tally.counts.values())
    seconds = time.monotonic() - began
    print(f"readers: {tried} cases of {len(tally.counts)} readers in {seconds:.0f} s, seed {options.seed}, "
          f"violations {len(tally.failures)}")  # fmt: skip
    return int(bool(tally.failures))
