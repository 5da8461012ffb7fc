"""Ctrl-C at random moments of long kernels and solves: how long until the exception is there, and what is left.

``python -m fuzzing signals --runs 20`` prints a table of latencies. A violation is a process that does not end, that
ends otherwise than by KeyboardInterrupt, or that gives another answer afterwards; a latency above ``--limit`` is one
too.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

HARD_LIMIT = 60.0
"""Seconds after which an interrupted process counts as hanging."""


@dataclass
class Measured:
    """The interruptions of one piece of work."""

    latencies: list[float] = field(default_factory=list)
    slowest_place: str = ""
    violations: list[str] = field(default_factory=list)

    def add(self, latency: float, place: str) -> None:
        """Note one interruption."""
        if latency >= max(self.latencies, default=0.0):
            self.slowest_place = place
        self.latencies.append(latency)


def interrupt(name: str, delays: list[float], limit: float) -> Measured:
    """Start the work, send Ctrl-C after each delay, and note what comes of it; the work begins anew after each."""
    found = Measured()
    process = subprocess.Popen(
        [sys.executable, "-m", "fuzzing.signal_work", name, str(len(delays))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    hung = threading.Event()
    try:
        for delay in delays:
            if not _once(process, delay, limit, found, hung):
                break
        else:
            process.wait(HARD_LIMIT)
    finally:
        process.kill()
        complaint = process.communicate()[1]
    if hung.is_set():
        found.violations.append(f"did not end: {complaint[-4000:]}")
    elif len(found.latencies) < len(delays):
        found.violations.append(f"exit status {process.returncode}: {complaint[-2000:]}")
    return found


def _once(process: subprocess.Popen[str], delay: float, limit: float, found: Measured, hung: threading.Event) -> bool:
    """One interruption; whether there can be another."""
    assert process.stdout is not None
    if process.stdout.readline().strip() != "ready":
        return False
    time.sleep(delay)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)

    def end() -> None:
        hung.set()
        process.send_signal(signal.SIGUSR1)  # shows where it is
        time.sleep(1.0)
        process.kill()

    watch = threading.Timer(HARD_LIMIT, end)
    watch.start()
    said = process.stdout.readline()
    watch.cancel()
    if not said.startswith("{"):
        return False
    answer = json.loads(said)
    latency = answer["caught"] - sent
    found.add(latency, f"{answer['place']} (kept: {answer['kept']})")
    if not answer["same"]:
        found.violations.append("another answer after the interruption")
    if latency > limit:
        found.violations.append(f"{latency:.2f} s until KeyboardInterrupt in {answer['place']}")
    return True


def main(arguments: list[str]) -> int:
    from fuzzing.signal_work import WORK

    parser = argparse.ArgumentParser(prog="python -m fuzzing signals", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="interruptions of each piece of work")
    parser.add_argument("--limit", type=float, default=0.5, help="seconds allowed until the exception")
    parser.add_argument("--only", default="", help="pieces of work whose names contain this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest-delay", type=float, default=2.0, help="seconds of work before the signal, at most")
    options = parser.parse_args(arguments)
    moments = random.Random(options.seed)
    began, tried, violations = time.monotonic(), 0, []
    print(f"{'work':<36} {'runs':>4} {'median s':>9} {'largest s':>9}  where it took longest")
    for name in WORK:
        if options.only not in name:
            continue
        delays = [moments.uniform(0.02, options.longest_delay) for _ in range(options.runs)]
        found = interrupt(name, delays, options.limit)
        tried += options.runs
        violations += [f"{name}: {text}" for text in found.violations]
        ordered = sorted(found.latencies) or [float("nan")]
        middle, largest = ordered[len(ordered) // 2], ordered[-1]
        print(f"{name:<36} {len(ordered):>4} {middle:>9.3f} {largest:>9.3f}  {found.slowest_place}", flush=True)
    for text in violations:
        print(f"VIOLATION {text}")
    seconds = time.monotonic() - began
    print(f"{tried} interruptions, {len(violations)} violations, {seconds:.0f} s")
    return 1 if violations else 0
