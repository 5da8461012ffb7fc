"""``python -m tools.mutation --sample 400 --seed 0``: try a sample of faults and write docs/mutants.md.

Outcomes are kept in outcomes.jsonl as they come. A run that was stopped is continued by the same command, and a larger
sample tries only what the smaller one did not: the samples of one seed contain each other.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

from tools.mutation import outcomes, trial
from tools.mutation.faults import Fault
from tools.mutation.page import page
from tools.mutation.sample import everything, sample
from tools.mutation.which_tests import Reach, measure

ROOT = Path(__file__).resolve().parents[2]
SOURCE, WORK, PAGE = ROOT / "src", ROOT / "build" / "mutants", ROOT / "docs" / "mutants.md"
SLOWER = 5
"""A fault that makes its tests take this many times longer is noticed."""


def attempt(fault: Fault, reach: Reach, most_seconds: float) -> dict[str, Any]:
    """One fault against the tests that reach its line, the fastest first, for so many seconds of them."""
    tests, seconds = [], 0.0
    for name in reach.tests(fault.module, fault.line, fault.statement):
        seconds += reach.seconds[name] + 0.01
        if seconds > most_seconds and tests:
            break
        tests.append(name)
    outcome, took = trial.attempt(SOURCE, fault, tests, 10 + SLOWER * seconds) if tests else ("unreached", 0.0)
    return outcomes.record(fault, outcome, len(tests), took)


def _work(mine: list[Fault], most_seconds: float, until: float, results: Any) -> None:
    reach = Reach(WORK)
    trial.load_everything_else()
    fast = sorted(reach.seconds, key=lambda name: reach.seconds[name])[:200]
    if trial.attempt(SOURCE, None, fast, 300)[0] != "survived":
        results.put("broken")  # tests that fail on the unchanged source would notice every fault
        return
    for fault in mine:
        if time.time() > until:
            break
        results.put(attempt(fault, reach, most_seconds))
    results.put("done")


def try_all(chosen: list[Fault], processes: int, most_seconds: float, minutes: float) -> None:
    """Every fault in a process forked for it; each outcome is printed and kept as soon as it is known."""
    context = multiprocessing.get_context("spawn")
    queue, until = context.Queue(), time.time() + 60.0 * minutes
    shares = [chosen[i::processes] for i in range(processes) if chosen[i::processes]]
    workers = [context.Process(target=_work, args=(share, most_seconds, until, queue), daemon=True) for share in shares]
    for worker in workers:
        worker.start()
    number, working = 0, len(workers)
    while working:
        result = queue.get()
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


def main() -> None:
    """Measure, sample, try, report; fail where a survivor has no explanation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600.0, help="start no new fault after that time")
    parser.add_argument("--most-seconds", type=float, default=40.0, help="of tests for one fault (processor time)")
    parser.add_argument("--again", action="store_true", help="try what was not noticed once more, on new tests")
    parser.add_argument("--keep", action="store_true", help="use the lines and seconds measured last time")
    parser.add_argument("--page", action="store_true", help="write the page from what is known, and try nothing")
    options = parser.parse_args()
    chosen = sample(everything(SOURCE), options.sample, options.seed)
    if not options.page:
        known = outcomes.known(chosen)
        left = [f for f in chosen if f.key not in known or (options.again and not outcomes.noticed(known[f.key]))]
        if left and not (options.keep and (WORK / "seconds.json").exists()):
            measure(WORK, options.processes)
        try_all(left, options.processes, options.most_seconds, options.minutes)
    found = outcomes.known(chosen)
    text, unexplained = page(chosen, found, outcomes.explanations(), options.seed)
    PAGE.write_text(text, encoding="utf-8")
    missed = sum(not outcomes.noticed(one) for one in found.values())
    print(f"mutants: {len(found)} of {len(chosen)} tried, {missed} not noticed; docs/mutants.md written")
    if unexplained:
        sys.exit("mutants: neither a test nor an explanation for\n" + "\n".join(unexplained))


if __name__ == "__main__":
    main()
