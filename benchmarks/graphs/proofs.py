"""What is proven: real graphs, five families, enumerated graphs, and instances beyond the exact literature.

Every row shows the certificate without the dual bound ("loads": the smallest of pairs, cores, contributions and fair
loads), the one at the effort named, the sum of the k largest degrees, k times the largest eigenvalue, and Turan's bound
with the clique number bounded by the degeneracy (Lovasz' theta lies between the two and is not computed).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

import sparseigen as se
from benchmarks.graphs import families
from benchmarks.paper.datasets import airline
from fuzzing.graphs import WEIGHTS, GraphQuestion, problems_of
from sparseigen.datasets import data_folder
from sparseigen.graphs.bounds import GraphFacts, UpperBounds
from sparseigen.graphs.model import IntegerGraph, build_graph
from sparseigen.graphs.task import load_graph

HEAD = (
    f"{'graph':<24} {'k':>4} {'density':>9} {'gap':>9} {'s':>6} | {'loads':>6} {'degree':>6} {'spectr':>6} {'Turan':>6}"
)
FAMILY_KS = (10, 20, 50, 100, 200, 500)


class OtherBounds:
    """The bounds that a graph had before, as gaps to a density, in per cent of the bound."""

    def __init__(self, graph: Any, largest_k: int) -> None:
        built, _ = build_graph(load_graph(graph, "weight"), directed="average", self_loops="drop")
        self.graph: IntegerGraph = built
        self.facts = GraphFacts(built, largest_k)
        self.loads = UpperBounds(self.facts)  # the certificate before the dual bound and the local search
        rows = built.rows
        matrix = sp.csr_array((rows.all_weights().astype(float), rows.neighbours, rows.starts), shape=(built.size,) * 2)
        self.largest = float(eigsh(matrix, k=1, which="LA", return_eigenvectors=False, tol=1e-6)[0])
        self.degrees = np.sort(built.degrees)[::-1]

    def gaps(self, k: int, density: float) -> list[float]:
        """Loads, degrees, eigenvalue, Turan."""
        unit, clique = self.graph.unit, int(self.facts.core_values.max()) // (2 * max(1, self.graph.heaviest)) + 1
        bounds = [
            unit * self.loads.best(k)[0] / k,
            unit * float(self.degrees[:k].sum()) / k,
            unit * self.largest,
            unit * self.graph.heaviest * k * (1.0 - 1.0 / max(1, clique)),
        ]
        return [100.0 * max(0.0, bound - density) / max(bound, density, 1e-300) for bound in bounds]


def judge(claim: str, holds: bool) -> None:
    """Print what was asked and whether it is so."""
    print(f"{'ok    ' if holds else 'MISSED'} {claim}", flush=True)


def show(name: str, graph: Any, ks: Iterable[int], **options: Any) -> tuple[list[float], float]:
    """One row per k, each solved alone; the gaps, and the longest processor time."""
    ks = list(ks)
    others, found, longest = OtherBounds(graph, max(ks)), [], 0.0
    for k in ks:
        began = time.process_time()
        result = se.densest_k_subgraph(graph, k, **options)
        seconds = time.process_time() - began
        proof, longest = result.certificate, max(longest, seconds)
        found.append(proof.relative_gap)
        gap = "proven" if proof.optimal else f"{100.0 * proof.relative_gap:.4f} %"
        rest = " ".join(f"{value:>6.2f}" for value in others.gaps(k, result.density))
        print(f"{name:<24} {k:>4} {result.density:>9.5g} {gap:>9} {seconds:>6.2f} | {rest}", flush=True)
    return found, longest


def real_graphs() -> None:
    """The airline graph, routes between airports, a web graph."""
    print(HEAD)
    gaps, _ = show("airline", airline.load(), airline.SIZES, method="exact", time_limit=10.0)
    proven = sum(gap < 1e-9 for gap in gaps)
    judge(f"airline: {len(gaps)} k, largest gap {100.0 * max(gaps):.2g} % (0.1)", max(gaps) <= 1e-3)
    judge(f"airline: {proven} proven to rounding (20)", proven >= 20)
    table = np.loadtxt(data_folder() / "air_routes" / "us2008_flight_counts.csv", delimiter=",", skiprows=1)
    gaps, _ = show("air routes", table, range(10, 201, 10), effort="thorough")
    judge(f"air routes: largest gap {100.0 * max(gaps):.3f} % (0.5)", max(gaps) <= 5e-3)
    gaps, _ = show("cnr-2000", data_folder() / "cnr-2000" / "cnr-2000.graph", (100, 300), effort="thorough")
    judge(f"cnr-2000: gap at k = 100 {100.0 * gaps[0]:.2f} % (1)", gaps[0] <= 1e-2)


def family_graphs(sizes: tuple[int, ...] = families.SIZES) -> None:
    """Five families at four sizes, thorough; the points that miss are counted by family, size and k."""
    print(HEAD)
    gaps: list[float] = []
    slowest, missed = 0.0, []
    for name, size, graph in families.draw(sizes):
        ks = [k for k in FAMILY_KS if k < size]
        found, longest = show(f"{name} {size}", graph, ks, effort="thorough")
        gaps, slowest = gaps + found, max(slowest, longest)
        missed += [f"{name} {size} k={k}" for k, gap in zip(ks, found, strict=True) if gap > 0.02]
    median, within = 100.0 * float(np.median(gaps)), 100.0 * float(np.mean(np.array(gaps) <= 0.02))
    judge(f"families: {len(gaps)} points, median gap {median:.3f} % (0.3)", median <= 0.3)
    judge(f"families: at most 2 % in {within:.0f} % of the points (90)", within >= 90.0)
    judge(f"families: slowest point {slowest:.1f} s of processor time (10)", slowest <= 10.0)
    print("above 2 %:", "; ".join(missed) or "none")


def enumerated_graphs(count: int = 3000) -> None:
    """Every certificate of small graphs against enumeration in whole numbers."""
    kinds, certificates, wrong = sorted(WEIGHTS), 0, 0
    for seed in range(count):
        question = GraphQuestion(np.random.default_rng(seed), kinds[seed % len(kinds)], largest=12)
        for call, problems in problems_of(question):
            certificates += 1
            if problems:
                wrong += 1
                print(f"seed {seed}, {call}: {problems}")
    judge(f"enumerated: {count} graphs, {certificates} certificates, {wrong} wrong (0)", wrong == 0)


def beyond_the_literature() -> None:
    """Optima of instances beyond published exact methods, which end at n about 160 or k about 20."""
    print(f"{'graph':<24} {'n':>6} {'k':>4} {'density':>9} {'result':>16} {'s':>6} {'by':>22}")
    graphs: list[tuple[str, Any, tuple[int, ...]]] = [("airline", airline.load(), (30, 100, 200))]
    plan = {
        "LFR": ((500, 2000, 10_000), (20, 30, 50)),
        "geometric": ((2000, 10_000), (20, 30, 50)),
        "planted clique": ((500, 2000), (30, 50)),
        "block model": ((500, 2000), (10, 50)),
        "power-law cluster": ((2000,), (10, 30)),
    }
    for name, (sizes, ks) in plan.items():
        graphs += [(f"{name} {n}", families.FAMILIES[name](n, seed=n), ks) for n in sizes]
    proven = tried = 0
    for name, graph, ks in graphs:
        for k in ks:
            began = time.process_time()
            result = se.densest_k_subgraph(graph, k, method="exact", time_limit=20.0)
            seconds, proof = time.process_time() - began, result.certificate
            verdict = "proven optimal" if proof.optimal else str(proof)
            size = len(result.indicator)
            tried, proven = tried + 1, proven + proof.optimal
            print(
                f"{name:<24} {size:>6} {k:>4} {result.density:>9.5g} {verdict:>16} {seconds:>6.2f} {proof.method:>22}",
                flush=True,
            )
    print(f"{proven} of {tried} proven optimal")
