"""``python -m tools.mutation --sample 250 --seed 0``: try a sample of faults and write docs/mutants.md.

Outcomes are kept in outcomes.jsonl as they come, with a digest of the function the fault was put into. What is known
of a function that has not changed since is not tried again. So a run that was stopped is continued by the same command,
and a larger sample tries only what the smaller one did not: the samples of one seed contain each other. ``--fresh``
tries everything anew, which is what changes to the tests call for.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tools.mutation import outcomes
from tools.mutation.page import page
from tools.mutation.sample import everything, sample
from tools.mutation.which_tests import measure
from tools.mutation.workers import SOURCE, WORK, try_all

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mutants.md"


def main() -> None:
    """Measure, sample, try, report; fail where a survivor has no explanation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=250)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600.0, help="start no new fault after that time")
    parser.add_argument("--most-seconds", type=float, default=40.0, help="of tests for one fault (processor time)")
    parser.add_argument("--again", action="store_true", help="only what has neither test nor explanation, on new tests")
    parser.add_argument("--tests", nargs="+", default=[], help="run these alone: new ones that are to notice the rest")
    parser.add_argument("--fresh", action="store_true", help="whatever is known already")
    parser.add_argument("--keep", action="store_true", help="use the lines and seconds measured last time")
    parser.add_argument("--page", action="store_true", help="write the page from what is known, and try nothing")
    options = parser.parse_args()
    chosen = sample(everything(SOURCE), options.sample, options.seed)
    if not options.page:
        known, explained = outcomes.known(chosen), outcomes.explanations()
        missed = {key for key, one in known.items() if not outcomes.noticed(one)} - explained.keys()
        wanted = (
            missed if options.again else {fault.key for fault in chosen} - (set() if options.fresh else known.keys())
        )
        left = [fault for fault in chosen if fault.key in wanted]
        if left and not options.tests and not (options.keep and (WORK / "seconds.json").exists()):
            measure(WORK, options.processes)
        try_all(left, options.processes, options.most_seconds, options.minutes, options.tests)
    found, explained = outcomes.known(chosen), outcomes.explanations()
    text, unexplained = page(chosen, found, explained, options.seed)
    PAGE.write_text(text, encoding="utf-8")
    survivors = [key for key, one in found.items() if not outcomes.noticed(one)]
    kinds = Counter(explained[key][0] for key in survivors if key in explained)
    print(
        f"mutants: {len(found)} of {len(chosen)} faults tried, {len(found) - len(survivors)} noticed, "
        f"{sum(kinds.values())} explained ({', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}), "
        f"{len(unexplained)} neither; docs/mutants.md written"
    )
    if unexplained:
        sys.exit("mutants: neither a test nor an explanation for\n" + "\n".join(unexplained))


if __name__ == "__main__":
    main()
