"""``python -m benchmarks.graphs [proofs] [frank-wolfe] [scale]``: all without arguments.

The paper's own graphs are in `benchmarks.paper`: ``python -m benchmarks.paper T6 F2 F3``.
"""

from __future__ import annotations

import sys

from benchmarks.graphs import frank_wolfe, proofs, scale

PARTS = {"proofs": proofs.main, "frank-wolfe": frank_wolfe.main, "scale": scale.main}

for name in sys.argv[1:] or PARTS:
    print(f"\n== {name}", flush=True)
    PARTS[name]()
