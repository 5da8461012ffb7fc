"""Print every table, or the ones named: `python -m benchmarks.scale chunked`; files go to SPARSEIGEN_SCRATCH."""

import sys

from benchmarks.scale.chunked import show_chunked
from benchmarks.scale.single_cell import show_single_cell
from benchmarks.timing import machine

TABLES = {"chunked": show_chunked, "single-cell": show_single_cell}

if __name__ == "__main__":
    print(machine(), "\n", flush=True)
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
        print(flush=True)
