"""The compiled graph kernels behind the same names and signatures as `graph_reference`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import _compiled
from sparseigen.kernels.graph_reference import Flags, Integers, Rows
from sparseigen.kernels.local_sets import FOUND
from sparseigen.kernels.set_cone import Numbers, Singles


def add_rows(rows: Rows, vertices: Integers, sign: int, product: Integers) -> None:
    """``product += sign * sum of the rows of these vertices``, in place."""
    _compiled.graph_add_rows(*rows, vertices, sign, product)


def signed_weight(rows: Rows, vertices: Integers, signs: Integers) -> int:
    """``d'W d`` for the vector d that is +1 or -1 (``signs``) at these vertices and 0 elsewhere."""
    return int(_compiled.graph_signed_weight(*rows, vertices, signs))


def top_vertices(product: Integers, members: Flags, loops: Integers, fixed: Flags, shift: int, count: int) -> Integers:
    """The ``count`` vertices of largest ``2 product + member (2 loop + shift)``, ascending."""
    out = np.empty(min(count, product.size), dtype=np.int64)
    _compiled.graph_top_vertices(product, members, loops, fixed, shift, out)
    return out


def peel(rows: Rows, loops: Integers, fixed: Flags) -> tuple[Integers, Integers]:
    """Remove the vertex of least contribution until none is left: the order, and the contributions at removal."""
    order, contributions = np.empty(rows.size, dtype=np.int64), np.empty(rows.size, dtype=np.int64)
    _compiled.graph_peel(*rows, loops, fixed, order, contributions)
    return order, contributions


def grow(rows: Rows, loops: Integers, priority: Integers, seeds: Integers, count: int) -> Integers:
    """Add the vertex of largest contribution until ``count`` are chosen; ties by priority, then lowest index."""
    order = np.empty(min(count, rows.size), dtype=np.int64)
    _compiled.graph_grow(*rows, loops, priority, seeds, order)
    return order


def fair_loads(rows: Rows, loops: Integers, sweeps: int, bits: int) -> tuple[Integers, int]:
    """Divide every edge between its ends so that the loads' squares sum to little; the loads and the sweeps made."""
    loads = np.empty(rows.size, dtype=np.int64)
    made = _compiled.graph_fair_loads(*rows, loops, sweeps, bits, loads)
    return loads, int(made)


def exchange(
    rows: Rows,
    loops: Integers,
    fixed: Flags,
    members: Flags,
    product: Integers,
    *,
    patience: int,
    max_steps: int,
    width: int,
    seed: int,
) -> tuple[int, int]:
    """Exchange one member for one outsider while that gains, in place; the gain and the steps made."""
    gain, steps = _compiled.graph_exchange(*rows, loops, fixed, members, product, patience, max_steps, width, seed)
    return int(gain), int(steps)


def is_symmetric(rows: Rows) -> bool:
    """Whether a matrix in compressed rows (columns ascending) equals its transpose."""
    return bool(_compiled.graph_is_symmetric(*rows))


def induced(rows: Rows, vertices: Integers) -> Rows:
    """The rows and columns of these vertices (ascending)."""
    position = np.full(rows.size, -1, dtype=np.int32)
    position[vertices] = np.arange(len(vertices), dtype=np.int32)
    starts = np.empty(len(vertices) + 1, dtype=np.int64)
    _compiled.graph_induced_starts(*rows, vertices, position, starts)
    neighbours = np.empty(int(starts[-1]), dtype=np.int32)
    weights = np.empty(int(starts[-1]) if rows.weights.size else 0, dtype=rows.weights.dtype)
    _compiled.graph_induced_rows(*rows, vertices, position, starts, neighbours, weights)
    return Rows(starts, neighbours, weights)


def project_rows(
    point: Singles, mirror: Singles, count: int, relaxation: float, thresholds: Numbers, heights: Numbers
) -> None:
    """Project every row, in place: ``mirror = Y - D`` and ``point = D - (relaxation - 1) Y`` with D = point - Y."""
    _compiled.graph_project_rows(point, mirror, count, relaxation, thresholds, heights)


def symmetrise(matrix: Singles, added: Singles, step: float) -> None:
    """``matrix = (matrix + matrix') / 2 + step * added``, in place."""
    _compiled.graph_symmetrise(matrix, added, step)


def count_shared(starts: Integers, neighbours: NDArray[np.int32]) -> NDArray[np.int32]:
    """For every entry of the rows of a graph how many neighbours its two vertices have in common."""
    shared = np.empty(len(neighbours), dtype=np.int32)
    _compiled.graph_count_shared(starts, neighbours, shared)
    return shared


def find_local_set(
    starts: Integers,
    neighbours: NDArray[np.int32],
    count: int,
    edges: int,
    least: int,
    central: int,
    caps: Integers,
    most_work: int,
) -> tuple[int, Integers, int]:
    """A set of ``count`` vertices with ``edges`` edges, each of its vertices with ``least`` neighbours in it."""
    chosen = np.empty(count, dtype=np.int64)
    verdict, work = _compiled.graph_find_local_set(starts, neighbours, edges, least, central, caps, most_work, chosen)
    return int(verdict), chosen if verdict == FOUND else chosen[:0], int(work)
