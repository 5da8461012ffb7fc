"""Print every speed table, or the ones named: `python -m benchmarks.speed startup bandwidth`."""

import sys
import warnings

from benchmarks.speed.bandwidth import show_bandwidth
from benchmarks.speed.iterations import show_iterations
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
}

if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine(), "\n", flush=True)
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
        print(flush=True)
