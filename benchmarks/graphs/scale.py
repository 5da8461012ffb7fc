"""A synthetic power-law graph of a million vertices and about 100 million arcs.

Incremental products against full sparse products in the same run, then the certified curve and one thorough proof. The
graph is made in one process and searched in others, so that the peak of memory is that of the search.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from sparseigen.checks.graph_objects import check_graph
from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.methods import Problem, solve_tpower
from sparseigen.graphs.model import build_graph

SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)
PROVEN_SIZE = 500
EXPONENT = 2.5
"""Degrees follow a power law with this exponent, as in the social and web graphs the paper uses."""


def make_graph(n_vertices: int, n_edges: int, folder: Path) -> None:
    """Chung-Lu: both ends of an edge are drawn in proportion to a power-law weight; numbers are shuffled."""
    rng = np.random.default_rng(7)
    names = rng.permutation(n_vertices)
    keys = np.zeros(0, dtype=np.int64)
    while len(keys) < n_edges:
        wanted = int(1.2 * (n_edges - len(keys))) + 1000
        first, second = (names[power_law_ranks(rng, n_vertices, wanted)] for _ in range(2))
        low, high = np.minimum(first, second), np.maximum(first, second)
        keys = np.concatenate([keys, (low * n_vertices + high)[low != high]])
        keys.sort()
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    keys = keys[rng.random(len(keys)) < n_edges / len(keys)]
    low, high = (keys // n_vertices).astype(np.int32), (keys % n_vertices).astype(np.int32)
    upper = sp.coo_array((np.ones(len(low), dtype=np.int8), (low, high)), shape=(n_vertices, n_vertices)).tocsr()
    matrix = (upper + upper.T).tocsr()
    matrix.sort_indices()
    np.save(folder / "starts.npy", matrix.indptr)
    np.save(folder / "columns.npy", matrix.indices)


def power_law_ranks(rng: np.random.Generator, n_vertices: int, count: int) -> np.ndarray:
    """Ranks drawn in proportion to (rank + 10)^(-1 / (exponent - 1)), by the inverse of the distribution."""
    power = 1.0 - 1.0 / (EXPONENT - 1.0)
    low, high = 10.0**power, (n_vertices + 10.0) ** power
    ranks = (low + (high - low) * rng.random(count)) ** (1.0 / power) - 10.0
    return np.minimum(ranks.astype(np.int64), n_vertices - 1)


def full_product_run(matrix: sp.csr_array, degrees: np.ndarray, k: int) -> tuple[float, int]:
    """Algorithm 2 with a full sparse product at every step: density and number of products."""
    scores = degrees
    chosen, value, products = None, -1.0, 0
    while True:
        shift = 0.0
        while True:
            shifted = scores if chosen is None else scores + shift * chosen
            floor = np.partition(shifted, len(shifted) - k)[len(shifted) - k]
            above, ties = np.flatnonzero(shifted > floor), np.flatnonzero(shifted == floor)
            following = np.zeros(len(scores))
            following[above] = 1.0
            following[ties[: k - len(above)]] = 1.0
            if chosen is not None and np.array_equal(following, chosen):
                return value / k, products
            product = matrix @ following
            products += 1
            reached = float(following @ product)
            if reached >= value:
                break
            shift = 10.0 * shift if shift else 0.01
        if reached == value:
            return value / k, products
        chosen, value, scores = following, reached, product


def load(folder: Path) -> sp.csr_array:
    starts, columns = np.load(folder / "starts.npy"), np.load(folder / "columns.npy")
    n_vertices = len(starts) - 1
    return sp.csr_array((np.ones(len(columns)), columns, starts), shape=(n_vertices, n_vertices))


def compare(folder: Path) -> None:
    matrix = load(folder)
    graph, _ = build_graph(check_graph(matrix), directed="average", self_loops="drop")
    graph.degree_order  # noqa: B018 - computed here: degrees are given to both sides
    degrees = graph.degrees.astype(float)
    print("Algorithm 2 from the k largest degrees; incremental: shortest of three runs")
    print(f"{'k':>6} {'density':>10} {'full s':>9} {'products':>9} {'incremental s':>14} {'ratio':>7}")
    full_sum = incremental_sum = 0.0
    for k in SIZES:
        began = time.perf_counter()
        density, products = full_product_run(matrix, degrees, k)
        full = time.perf_counter() - began
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            problem = Problem(GraphFacts(graph, k), graph.no_flags(), "degree", None)
            outcome = solve_tpower(problem, [k])[k]
            seconds.append(time.perf_counter() - began)
        same = "" if abs(outcome.value * graph.unit / k - density) < 1e-9 else "  DIFFERENT DENSITY"
        ratio = full / min(seconds)
        full_sum, incremental_sum = full_sum + full, incremental_sum + min(seconds)
        print(
            f"{k:>6} {density:>10.4f} {full:>9.3f} {products:>9} {min(seconds):>14.4f} {ratio:>7.1f}{same}", flush=True
        )
    print(f"all k: {full_sum:.2f} s against {incremental_sum:.2f} s, ratio {full_sum / incremental_sum:.1f}")
    together = []
    for _ in range(3):
        began = time.perf_counter()
        solve_tpower(Problem(GraphFacts(graph, max(SIZES)), graph.no_flags(), "degree", None), list(SIZES))
        together.append(time.perf_counter() - began)
    print(f"all k as one curve (nested starts share products): {min(together):.2f} s, {full_sum / min(together):.1f}")


def curve(folder: Path) -> None:
    matrix = load(folder)
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    size = (matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes) / 2**30
    began, busy = time.perf_counter(), time.process_time()
    found = se.density_curve(matrix, SIZES)
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"certified 7-point curve: {seconds:.1f} s after loading ({busy:.1f} s of processor time)")
    print(f"memory: CSR {size:.2f} GiB, loaded {loaded:.2f}, peak {peak:.2f} GiB = {peak / size:.2f} x the CSR")
    for result in found:
        proof = result.certificate
        used = result.settings["start_used"]
        print(f"{result.k:>6} {result.density:>10.4f} <= {proof.upper_bound:.4f}  {proof}  ({used})")


def prove(folder: Path) -> None:
    """One size with a thorough proof: the dense part first, then its bound."""
    matrix = load(folder)
    began, busy = time.perf_counter(), time.process_time()
    result = se.densest_k_subgraph(matrix, PROVEN_SIZE, effort="thorough")
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    proof, stages = result.certificate, [f"{stage.name} {stage.seconds:.1f} s" for stage in result.stages]
    print(f"thorough: {seconds:.1f} s ({busy:.1f} s of processor time), peak {peak:.2f} GiB, {stages}")
    print(f"{result.k:>6} {result.density:>10.4f} <= {proof.upper_bound:.4f}  {proof}  ({proof.method})")


def main(n_vertices: int = 1_000_000, n_edges: int = 50_000_000) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for step in ("make", "compare", "curve", "prove"):
            command = [sys.executable, "-m", "benchmarks.graphs.scale", step, name, str(n_vertices), str(n_edges)]
            began = time.perf_counter()
            subprocess.run(command, check=True, env=os.environ)
            if step == "make":
                print(
                    f"made {n_vertices} vertices, {2 * n_edges} arcs in {time.perf_counter() - began:.0f} s", flush=True
                )
        del folder


if __name__ == "__main__":
    step, place = sys.argv[1], Path(sys.argv[2])
    if step == "make":
        make_graph(int(sys.argv[3]), int(sys.argv[4]), place)
    else:
        {"compare": compare, "curve": curve, "prove": prove}[step](place)
