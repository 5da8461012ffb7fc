"""``python -m tools.mutation --sample 400 --seed 0``: try a sample of faults and write docs/mutants.md."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tools.mutation import trial
from tools.mutation.faults import Fault, faults
from tools.mutation.which_tests import Reach, measure

ROOT = Path(__file__).resolve().parents[2]
SOURCE, WORK, PAGE = ROOT / "src", ROOT / "build" / "mutants", ROOT / "docs" / "mutants.md"
EXPLAINED = Path(__file__).with_name("survivors.toml")
PACKAGES = ("solvers", "certificates")
# Tests of one fault are run until they have taken this long without it; a fault that slows them tenfold is noticed.
MOST_SECONDS, SLOWER = 40.0, 10


def sample(count: int, seed: int) -> list[Fault]:
    """From every module its share, five at least."""
    rng = np.random.default_rng(seed)
    modules = [
        path.relative_to(SOURCE).as_posix()
        for part in PACKAGES
        for path in sorted((SOURCE / "sparseigen" / part).glob("*.py"))
    ]
    possible = {module: faults(SOURCE, module) for module in modules}
    total = sum(map(len, possible.values()))
    chosen: list[Fault] = []
    for every in possible.values():
        share = min(len(every), max(5, round(count * len(every) / total)))
        chosen += [every[i] for i in sorted(rng.choice(len(every), share, replace=False))] if every else []
    return chosen


def attempt(fault: Fault, reach: Reach) -> dict[str, Any]:
    """One fault against the tests that reach its line."""
    tests, seconds = [], 0.0
    for name in reach.tests(fault.module, fault.line):
        seconds += reach.seconds[name] + 0.01
        if seconds > MOST_SECONDS and tests:
            break
        tests.append(name)
    outcome, took = trial.attempt(SOURCE, fault, tests, 10 + SLOWER * seconds) if tests else ("unreached", 0.0)
    return {"key": fault.key, "module": fault.module, "line": fault.line, "outcome": outcome, "tests": len(tests),
            "seconds": round(took, 2)}  # fmt: skip


def _work(mine: list[Fault], results: Any) -> None:
    reach = Reach(WORK)
    trial.load_everything_else()
    fast = sorted(reach.seconds, key=lambda name: reach.seconds[name])[:200]
    if trial.attempt(SOURCE, None, fast, 300)[0] != "survived":
        results.put(None)  # tests that fail on the unchanged source would notice every fault
        return
    for fault in mine:
        results.put(attempt(fault, reach))


def try_all(chosen: list[Fault], processes: int) -> list[dict[str, Any]]:
    """All faults, in two processes that fork for every one; printed as they end."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=_work, args=(chosen[i::processes], queue)) for i in range(processes)]
    for worker in workers:
        worker.start()
    results = []
    for number in range(1, len(chosen) + 1):
        if (result := queue.get()) is None:
            sys.exit("mutants: the tests do not pass on the unchanged source")
        results.append(result)
        print(f"{number}/{len(chosen)} {results[-1]['outcome']:<9} {results[-1]['key'][:150]}", flush=True)
    for worker in workers:
        worker.join()
    return sorted(results, key=lambda one: (one["module"], one["line"], one["key"]))


def page(results: list[dict[str, Any]], explained: dict[str, str], seed: int) -> str:
    """The table by module, and every survivor with its explanation."""
    caught = ("killed", "timeout")
    total, found = len(results), sum(one["outcome"] in caught for one in results)
    lines = [
        "# Faults that the tests notice", "",
        "<!-- Made by `make mutants`; explanations are in tools/mutation/survivors.toml. -->", "",
        f"`make mutants` puts small faults into `solvers` and `certificates`, one at a time (`<` for `<=`, `+` for "
        f"`-`, `max` for `min`, a constant changed, a condition turned round), and runs the tests that reach it. Of a "
        f"sample of {total} (seed {seed}, every module in proportion, five at least) the tests notice {found} "
        f"({100 * found / total:.1f} %). The rest is below, each with the reason.", "",
        "| module | tried | noticed | of these by time | not noticed |", "| --- | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    by_module: dict[str, Counter[str]] = {}
    for one in results:
        by_module.setdefault(one["module"].removeprefix("sparseigen/"), Counter())[one["outcome"]] += 1
    for module, counts in by_module.items():
        noticed = sum(counts[name] for name in caught)
        lines.append(f"| {module} | {counts.total()} | {noticed} | {counts['timeout']} | {counts.total() - noticed} |")
    lines += [
        "",
        "## Not noticed, and why",
        "",
        "| where | change | why no test can or should notice |",
        "| --- | --- | --- |",
    ]
    for one in results:
        if one["outcome"] not in caught:
            where, change = one["key"].split(": ", 1)
            why = explained.get(one["key"], "NOT EXPLAINED")
            cells = (cell.replace("|", "\\|") for cell in (where.removeprefix("sparseigen/"), f"`{change}`", why))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, sample, try, report; fail where a survivor has no explanation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--again", action="store_true", help="only what was not noticed last time, on newly measured tests"
    )
    parser.add_argument("--keep", action="store_true", help="use the lines and seconds measured last time")
    options = parser.parse_args()
    if not (options.keep and (WORK / "seconds.json").exists()):
        measure(WORK)
    chosen, before = sample(options.sample, options.seed), []
    if options.again:
        before = json.loads((WORK / "results.json").read_text())
        done = {one["key"] for one in before if one["outcome"] in ("killed", "timeout")}
        before = [one for one in before if one["key"] in done]
        chosen = [fault for fault in chosen if fault.key not in done]
    results = sorted(
        before + try_all(chosen, options.processes), key=lambda one: (one["module"], one["line"], one["key"])
    )
    (WORK / "results.json").write_text(json.dumps(results, indent=1))
    explained = tomllib.loads(EXPLAINED.read_text(encoding="utf-8")) if EXPLAINED.exists() else {}
    text = page(results, explained, options.seed)
    PAGE.write_text(text, encoding="utf-8")
    outcomes = Counter(one["outcome"] for one in results)
    print(f"mutants: {len(results)} tried, {dict(outcomes)}; docs/mutants.md written")
    if "NOT EXPLAINED" in text:
        sys.exit(f"mutants: {text.count('NOT EXPLAINED')} survivors have neither a test nor an explanation")


if __name__ == "__main__":
    main()
