"""Graphs from files: one file into memory, or edges in partitions, which stay where they are for Dask to work on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparseigen.checks.arguments import check_count
from sparseigen.checks.graphs import WEIGHT, Graph
from sparseigen.errors import OptionError, one_of
from sparseigen.graphs.cluster_graph import LARGEST_CORE, ClusterGraph
from sparseigen.io.formats import OnProgress
from sparseigen.io.graph_files import read_file
from sparseigen.rows.cluster import Cluster
from sparseigen.rows.partitions import edge_partitions, is_partitioned


def read_graph(
    path: Any,
    *,
    weight: str | None = WEIGHT,
    on_progress: OnProgress | None = None,
    client: Any = None,
    columns: Sequence[str] | None = None,
    shards: int | None = None,
    largest_core: int = LARGEST_CORE,
) -> Graph | ClusterGraph:
    r"""Read a graph from a file, direction kept; the format follows from the name.

    ``.txt .tsv .csv .edges .el`` (also ``.gz``): edge lists, two or three columns, with or without a header line,
    vertices numbers or names; lines starting with # or % are comments (SNAP style); ``.mtx``: Matrix Market; ``.npz``:
    scipy's, or arrays src, dst (weight, num_nodes); ``.parquet .arrow .feather``: edge tables; ``.graphml``: through
    networkx; ``.graph`` with ``.properties``: LAW's WebGraph.

    Edges in partitions stay in partitions and are worked on by Dask: a folder or pattern of parquet files
    (``"edges/*.parquet"``), a list of such files, a dask dataframe, or a list of delayed objects or callables that
    give one partition each. Vertices must then be whole numbers. The graph is peeled on the cluster and only its
    dense core is fetched; answers and bounds are those of the whole graph.

    Parameters
    ----------
    path : str or path, or edges in partitions
        The file or files.
    weight : str or None
        The column or edge attribute with the weights: of edge lists with a header, edge tables, GraphML. With None
        every edge counts 1. By default "weight", or else the third of three columns.
    on_progress : callable, optional
        Called as ``on_progress(done, total)`` while a large file is read (bytes of text, or nodes).
    client : dask.distributed.Client, optional
        The cluster; also makes Dask read a single parquet file. Without it partitions are read by dask's default
        scheduler.
    columns : sequence of two or three names, optional
        The columns of the partitions that hold the ends of an edge and its weight; found by name if not given.
    shards : int, optional
        Parts the graph is kept in on the cluster; by default one for each thread of the workers.
    largest_core : int
        The most entries (twice the edges) of a core that may be fetched into memory, about 16 bytes each.

    Returns
    -------
    Graph or ClusterGraph
        Accepted by `densest_k_subgraph`, `density_curve` and `disjoint_dense_subgraphs`.

    References
    ----------
    P. Boldi and S. Vigna, "The WebGraph framework I: compression techniques", WWW 2004.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sparseigen as se
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "triangle.txt"
    ...     _ = file.write_text("# a triangle\n0 1\n1 2\n2 0\n")
    ...     se.read_graph(file)
    Graph(3 vertices, 3 arcs, edge list)
    """
    if client is not None or is_partitioned(path):
        if weight not in (None, WEIGHT):
            message = f"weight={weight!r} is for edge lists in text; name the columns of partitions by columns=."
            raise OptionError(message, parameter="weight")
        if columns is not None and len(columns) not in (2, 3):
            message = f"columns={columns!r} must name two columns (the ends of an edge), or three with the weight."
            raise OptionError(message)
        graph = ClusterGraph(
            edge_partitions(path),
            Cluster(client),
            columns=columns,
            n_shards=None if shards is None else check_count(shards, "shards"),
            largest_core=check_count(largest_core, "largest_core"),
        )
        return graph.unweighted() if weight is None else graph
    unused = [name for name, value in (("columns", columns), ("shards", shards)) if value is not None]
    if unused:
        message = f"{one_of(unused)} is for edges in partitions (a folder, pattern or list); path={path!r} is one file."
        raise OptionError(message)
    return read_file(path, on_progress, weight)
