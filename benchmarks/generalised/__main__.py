"""``python -m benchmarks.generalised``: sparse x'Ax / x'Bx beside brute force, other packages and other classifiers."""

from __future__ import annotations

import argparse
import os
import sys


def main(arguments: list[str]) -> int:
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # before NumPy is loaded
    from benchmarks.certificates.targets import run_parts
    from benchmarks.generalised import blocks, discriminants, slow_modes, truth

    parts = {
        "truth": lambda given: truth.show_truth(given.cases),
        "blocks": lambda given: blocks.show_blocks(given.quick, given.data),
        "discriminants": lambda given: discriminants.show_discriminants(given.quick, given.data),
        "slow-modes": lambda given: slow_modes.show_slow_modes(1000 if given.quick else 3500),
    }
    parser = argparse.ArgumentParser("python -m benchmarks.generalised", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--quick", action="store_true", help="smaller problems")
    parser.add_argument("--cases", type=int, default=500, help="enumerated instances (default: 500)")
    parser.add_argument("--data", default="", help="blocks, discriminants: only data whose name holds this")
    given = parser.parse_args(arguments)
    return run_parts(parser, given, parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
