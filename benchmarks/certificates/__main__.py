"""python -m benchmarks.certificates [efforts] [cost] [curve] [default]: all when none is named."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.certificates import cost, curve, default, efforts

PARTS = {
    "efforts": (efforts.table,),
    "cost": (cost.table,),
    "curve": (lambda: curve.table("colon"), lambda: curve.table("lymphoma")),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.certificates", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join((*PARTS, "default")))
    of_default = parser.add_argument_group("default")
    of_default.add_argument("--quick", action="store_true", help="few rows, about a minute")
    of_default.add_argument("--rows", default="", metavar="REGEX", help="only rows with this in their name")
    of_default.add_argument(
        "--before", default="", metavar="PYTHON", help="a Python with an earlier version, or the JSON of its run"
    )
    of_default.add_argument("--json", type=Path, help="where the figures go, row by row")
    of_default.add_argument("--limit", type=float, default=default.LIMIT, help="seconds for one row of one version")
    given = parser.parse_args(arguments)
    for part in given.parts:
        if part not in (*PARTS, "default"):
            parser.error(f"{part!r} is not a part; choose from {', '.join((*PARTS, 'default'))}")
    holds = True
    for part in given.parts or (*PARTS, "default"):
        if part == "default":
            holds = default.table(
                quick=given.quick, rows=given.rows, before=given.before, results=given.json, limit=given.limit
            )
        for show in PARTS.get(part, ()):
            show()
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
