"""``python -m benchmarks.scale [dask] [kill] [graph] [model]``: all of them without arguments."""

from __future__ import annotations

import sys

from benchmarks.scale import dask_data, dask_graph, model

PARTS = {"dask": dask_data.main, "kill": dask_data.kill, "graph": dask_graph.main, "model": model.main}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        print(f"\n== {name}", flush=True)
        PARTS[name]()
