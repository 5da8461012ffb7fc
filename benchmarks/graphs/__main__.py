"""``python -m benchmarks.graphs [airline] [web] [frank-wolfe] [scale]``: all four without arguments."""

from __future__ import annotations

import sys

from benchmarks.graphs import airline, frank_wolfe, scale, web

PARTS = {"airline": airline.main, "web": web.main, "frank-wolfe": frank_wolfe.main, "scale": scale.main}

for name in sys.argv[1:] or PARTS:
    print(f"\n== {name}", flush=True)
    PARTS[name]()
