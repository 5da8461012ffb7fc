"""`python -m benchmarks.speed quick`, `full`, or the printed tables named: `startup bandwidth iterations ...`."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from benchmarks.speed.bandwidth import show_bandwidth
from benchmarks.speed.busy import show_busy
from benchmarks.speed.iterations import show_iterations
from benchmarks.speed.measuring import Places, measure
from benchmarks.speed.path import show_path
from benchmarks.speed.screening import show_screening
from benchmarks.speed.sparse import show_sparse
from benchmarks.speed.startup import show_startup
from benchmarks.timing import machine
from sparseigen.errors import ConvergenceWarning

TABLES = {
    "startup": show_startup,
    "bandwidth": show_bandwidth,
    "iterations": show_iterations,
    "screening": show_screening,
    "sparse": show_sparse,
    "path": show_path,
    "busy": show_busy,
}
MODES = ("quick", "full")


def main(arguments: list[str]) -> int:
    choices = ", ".join((*MODES, *TABLES))
    parser = argparse.ArgumentParser("python -m benchmarks.speed", description=__doc__)
    parser.add_argument("parts", nargs="*", default=["full"], metavar="PART", help=f"any of {choices}; full without")
    parser.add_argument("--results", type=Path, default=Places.results, help="folder of the JSON lines")
    parser.add_argument("--markdown", type=Path, default=Places.markdown, help="the tables of a whole run")
    parser.add_argument("--only", default="", help="only cells and axes with this in their name; no verdicts")
    given = parser.parse_args(arguments)
    unknown = [part for part in given.parts if part not in (*MODES, *TABLES)]
    if unknown:
        parser.error(f"{unknown[0]!r} is not a part; choose from {choices}")
    modes = [part for part in given.parts if part in MODES]
    if modes:
        if len(given.parts) > 1:
            parser.error(f"{modes[0]!r} is a whole run; name it alone")
        tables = TABLES if modes == ["full"] and not given.only else {}
        return measure(modes[0], Places(given.results, given.markdown), tables, only=given.only)
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine(), "\n", flush=True)
    for name in given.parts:
        TABLES[name]()
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
