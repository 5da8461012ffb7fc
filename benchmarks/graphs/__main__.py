"""``python -m benchmarks.graphs [PART ...] [--before PYTHON]``: all parts without arguments.

``--before`` is the interpreter of an earlier tree, for the times of the default effort. The paper's own graphs are in
`benchmarks.paper`: ``python -m benchmarks.paper T6 F2 F3``.
"""

from __future__ import annotations

import argparse

from benchmarks.graphs import default_effort, frank_wolfe, proofs, scale

PARTS = {
    "real": proofs.real_graphs,
    "families": proofs.family_graphs,
    "enumerated": proofs.enumerated_graphs,
    "beyond": proofs.beyond_the_literature,
    "default": default_effort.main,
    "frank-wolfe": frank_wolfe.main,
    "scale": scale.main,
}

parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs")
parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}; all by default")
parser.add_argument("--before", metavar="PYTHON", help="the interpreter of an earlier tree")
arguments = parser.parse_args()
for name in arguments.parts or PARTS:
    print(f"\n== {name}", flush=True)
    if name == "default":
        default_effort.main(arguments.before)
    else:
        PARTS[name]()
