"""``python -m benchmarks.sets``: sets of components beside other packages, their gaps, the truth, adjusted variance."""

from __future__ import annotations

import argparse
import os
import sys


def main(arguments: list[str]) -> int:
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # before NumPy is loaded
    from benchmarks.sets import tables

    parts = {
        "peers": lambda given: tables.show_peers(given.quick),
        "gaps": lambda given: tables.show_gaps(given.quick),
        "enumerated": lambda given: tables.show_enumerated(given.quick, given.cases),
        "adjusted": lambda given: tables.show_adjusted(given.quick),
    }
    parser = argparse.ArgumentParser("python -m benchmarks.sets", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--quick", action="store_true", help="small matrices and few cases")
    parser.add_argument("--cases", type=int, default=2000, help="enumerated sets per constraint (default: 2000)")
    given = parser.parse_args(arguments)
    for part in given.parts:
        if part not in parts:
            parser.error(f"{part!r} is not a part; choose from {', '.join(parts)}")
    targets = [target for part in given.parts or parts for target in parts[part](given)]
    print("\n| target | reached | goal | verdict | misses |\n| --- | --- | --- | --- | --- |")
    print("\n".join(map(str, targets)))
    return int(any(target.holds is False for target in targets))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
