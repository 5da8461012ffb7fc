"""Processes that try faults. Not in ``__main__``: a spawned process does not import that again."""

from __future__ import annotations

import multiprocessing
import queue as queues
import sys
import time
from pathlib import Path
from typing import Any

from tools.mutation import outcomes, trial
from tools.mutation.faults import Fault
from tools.mutation.which_tests import Reach

ROOT = Path(__file__).resolve().parents[2]
SOURCE, WORK = ROOT / "src", ROOT / "build" / "mutants"
SLOWER = 5
"""A fault that makes its tests take this many times longer is noticed."""


def attempt(fault: Fault, reach: Reach | None, most_seconds: float, given: list[str]) -> dict[str, Any]:
    """One fault against the tests given, or those that reach its line in their order for so many seconds of them."""
    tests, seconds = list(given), most_seconds if given else 0.0
    if reach is not None:
        for name in reach.tests(fault.module, fault.line, fault.statement):
            seconds += reach.seconds[name] + 0.01
            if seconds > most_seconds and tests:
                break
            tests.append(name)
    outcome, took = trial.attempt(SOURCE, fault, tests, 10 + SLOWER * seconds) if tests else ("unreached", 0.0)
    return outcomes.record(fault, outcome, len(tests), took)


def _work(mine: list[Fault], most_seconds: float, given: list[str], until: float, results: Any) -> None:
    reach = None if given else Reach(WORK)
    trial.load_everything_else()
    seconds = {} if reach is None else reach.seconds
    fast = given or sorted(seconds, key=lambda name: seconds[name])[:200]
    if trial.attempt(SOURCE, None, fast, 300)[0] != "survived":
        results.put("broken")  # tests that fail on the unchanged source would notice every fault
        return
    for fault in mine:
        if time.time() > until:
            break
        results.put(attempt(fault, reach, most_seconds, given))
    results.put("done")


def try_all(chosen: list[Fault], processes: int, most_seconds: float, minutes: float, given: list[str]) -> None:
    """Every fault in a process forked for it; each outcome is printed and kept as soon as it is known."""
    context = multiprocessing.get_context("spawn")
    queue, until = context.Queue(), time.time() + 60.0 * minutes
    shares = [chosen[i::processes] for i in range(processes) if chosen[i::processes]]
    arguments = [(share, most_seconds, given, until, queue) for share in shares]
    workers = [context.Process(target=_work, args=each, daemon=True) for each in arguments]
    for worker in workers:
        worker.start()
    number, working = 0, len(workers)
    while working:
        try:
            result = queue.get(timeout=10.0)
        except queues.Empty:
            if not all(worker.is_alive() or worker.exitcode == 0 for worker in workers):
                sys.exit("mutants: a process that tries faults has died; the same command continues")
            continue
        if result == "broken":
            sys.exit("mutants: the tests do not pass on the unchanged source")
        if result == "done":
            working -= 1
            continue
        number += 1
        outcomes.keep(result)
        print(
            f"{number}/{len(chosen)} {result['outcome']:<9} {result['seconds']:>6} s {result['key'][:140]}", flush=True
        )
    for worker in workers:
        worker.join()
