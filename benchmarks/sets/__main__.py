"""``python -m benchmarks.sets``: sets of components beside other packages, their gaps, the truth, adjusted variance."""

from __future__ import annotations

import argparse
import os
import sys


def main(arguments: list[str]) -> int:
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # before NumPy is loaded
    from benchmarks.certificates.targets import run_parts
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
    return run_parts(parser, given, parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
