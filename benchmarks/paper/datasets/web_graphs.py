"""The four web graphs, in WebGraph files, and the authors' own curves.

Only cnr-2000 is commonly at hand; `sparseigen datasets fetch NAME` gets the others where there is a network.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

import sparseigen as se
from sparseigen.datasets import data_folder
from sparseigen.errors import MissingDataError

AUTHORS_CURVES = "webgraphs/authors_curves.csv"
SIZES = (100, 500, *range(1000, 10_001, 1000))
"""The k of Figure 2."""


class Size(NamedTuple):
    nodes: int
    arcs: int


GRAPHS = {
    "cnr-2000": Size(325_557, 3_216_152),
    "amazon-2008": Size(735_323, 5_158_388),
    "ljournal-2008": Size(5_363_260, 79_023_142),
    "hollywood-2009": Size(1_139_905, 113_891_327),
}
"""Table 6. A file with other numbers is not the paper's graph, and its curves are not compared."""


def files(name: str) -> tuple[str, ...]:
    return f"{name}/{name}.graph", f"{name}/{name}.properties"


def read(name: str) -> Any:
    """The graph in the file, whatever it is."""
    path = data_folder().joinpath(*files(name)[0].split("/"))
    if not path.is_file():
        raise MissingDataError(f"{path} does not exist; 'sparseigen datasets fetch {name}' gets it.")
    return se.read_graph(path)


def load(name: str) -> Any:
    """The paper's graph.

    Raises
    ------
    MissingDataError
        When there is no file, or when its graph is another one than Table 6 describes.
    """
    graph = read(name)
    found, wanted = Size(graph.matrix.shape[0], graph.matrix.nnz), GRAPHS[name]
    if found != wanted:
        raise MissingDataError(
            f"{files(name)[0]} has {found.nodes:,} nodes and {found.arcs:,} arcs; the paper's {name} has "
            f"{wanted.nodes:,} and {wanted.arcs:,}: it is another graph, so its curves are not compared."
        )
    return graph


def authors_curves(name: str) -> dict[str, list[tuple[float, float]]]:
    """Algorithm -> density and seconds (Matlab, 2011) for each k of `SIZES`."""
    found: dict[str, dict[int, tuple[float, float]]] = {}
    with Path(data_folder(), *AUTHORS_CURVES.split("/")).open() as file:
        for row in csv.DictReader(file):
            if row["graph"] == name.replace("-", ""):
                point = float(row["density"]), float(row["seconds_matlab_2011"])
                found.setdefault(row["algorithm"], {})[int(row["cardinality"])] = point
    return {algorithm: [points[k] for k in SIZES] for algorithm, points in found.items()}
