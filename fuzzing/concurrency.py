"""Many threads and processes at once: no deadlock, no crash, and every answer the same bits as from one thread.

``python -m fuzzing concurrency --runs 200`` runs every scenario so many times. A scenario that finishes no run within
``--limit`` seconds counts as a deadlock: it shows the stacks of all its threads, and is ended.
"""

from __future__ import annotations

import argparse
import time

from fuzzing.children import watched


def main(arguments: list[str]) -> int:
    from fuzzing.concurrent_work import SCENARIOS

    parser = argparse.ArgumentParser(prog="python -m fuzzing concurrency", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="runs of each scenario")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that one run may take")
    parser.add_argument("--only", default="", help="scenarios whose names contain this")
    options = parser.parse_args(arguments)
    began, done, violations = time.monotonic(), 0, 0
    for name in SCENARIOS:
        if options.only not in name:
            continue
        started = time.monotonic()
        ended = watched("fuzzing.concurrent_work", [name, str(options.runs)], options.limit)
        finished = sum(line.startswith("run ") for line in ended.lines)
        well = ended.status == 0 and ended.lines[-1:] == ["ok"]
        done, violations = done + finished, violations + (not well)
        seconds = time.monotonic() - started
        print(f"{name:<34} {finished:>4} runs {seconds:>7.1f} s  {'ok' if well else 'VIOLATION'}", flush=True)
        if not well:
            how = "deadlock" if ended.status is None else f"exit status {ended.status}"
            print(f"  {how} in run {finished}:\n{ended.complaint[-6000:]}", flush=True)
    print(f"{done} runs, {violations} violations, {time.monotonic() - began:.0f} s")
    return 1 if violations else 0
