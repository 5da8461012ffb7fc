"""Print every table, or the ones named: `python -m benchmarks.scale chunked dask`; files go to SPARSEIGEN_SCRATCH.

Beyond memory: chunked, single-cell, genotypes, words, million, killed. Beyond one machine: dask, kill, graph, model.
"""

import sys

from benchmarks.scale import dask_data, dask_graph, model
from benchmarks.scale.chunked import show_chunked
from benchmarks.scale.genotypes import show_genotypes
from benchmarks.scale.killed import show_killed
from benchmarks.scale.million import show_million
from benchmarks.scale.single_cell import show_single_cell
from benchmarks.scale.words import show_words
from benchmarks.timing import machine

TABLES = {
    "chunked": show_chunked,
    "single-cell": show_single_cell,
    "genotypes": show_genotypes,
    "words": show_words,
    "million": show_million,
    "killed": show_killed,
    "dask": dask_data.show_dask,
    "kill": dask_data.show_kill,
    "graph": dask_graph.show_graph,
    "model": model.show_model,
}

if __name__ == "__main__":
    print(machine(), "\n", flush=True)
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
        print(flush=True)
