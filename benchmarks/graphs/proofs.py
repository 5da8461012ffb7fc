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
        self.loads = UpperBounds(self.facts)
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


def show(name: str, graph: Any, ks: Iterable[int], **options: Any) -> list[float]:
    """One row per k, each solved alone; the gaps."""
    ks = list(ks)
    others, found = OtherBounds(graph, max(ks)), []
    for k in ks:
        began = time.process_time()
        result = se.densest_k_subgraph(graph, k, **options)
        seconds = time.process_time() - began
        proof = result.certificate
        found.append(proof.relative_gap)
        gap = "proven" if proof.optimal else f"{100.0 * proof.relative_gap:.4f} %"
        rest = " ".join(f"{value:>6.2f}" for value in others.gaps(k, result.density))
        print(f"{name:<24} {k:>4} {result.density:>9.5g} {gap:>9} {seconds:>6.2f} | {rest}", flush=True)
    return found


def real_graphs() -> None:
    """The airline graph, routes between airports, a web graph."""
    print(HEAD)
    gaps = show("airline", airline.load(), airline.SIZES, method="exact", time_limit=10.0)
    show("airline, thorough", airline.load(), (30, 100), effort="thorough")
    print(
        f"airline: largest gap {100.0 * max(gaps):.2g} %, {sum(gap < 1e-9 for gap in gaps)} of {len(gaps)} to rounding"
    )
    table = np.loadtxt(data_folder() / "air_routes" / "us2008_flight_counts.csv", delimiter=",", skiprows=1)
    gaps = show("air routes", table, range(10, 201, 10), effort="thorough")
    print(f"air routes: largest gap {100.0 * max(gaps):.3f} %")
    show("cnr-2000", data_folder() / "cnr-2000" / "cnr-2000.graph", (50, 100, 200, 300, 500), effort="thorough")


def family_graphs() -> None:
    """Five families at four sizes, thorough."""
    print(HEAD)
    gaps = []
    for name, size, graph in families.draw():
        ks = [k for k in FAMILY_KS if k < size]
        gaps += show(f"{name} {size}", graph, ks, effort="thorough")
    within = np.mean(np.array(gaps) <= 0.02)
    print(
        f"{len(gaps)} points: median gap {100.0 * np.median(gaps):.3f} %, at most 2 % in {100.0 * within:.0f} % of them"
    )


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
    print(f"{count} graphs, {certificates} certificates, {wrong} wrong")


def beyond_the_literature() -> None:
    """Proven optima with n above 160 and k above 20, where published exact methods end."""
    print(f"{'graph':<24} {'n':>6} {'k':>4} {'density':>9} {'result':>16} {'s':>6} {'nodes or bound':>22}")
    graphs: list[tuple[str, Any, tuple[int, ...]]] = [("airline", airline.load(), (30, 100, 200))]
    for name, ks in (("block model", (30, 50)), ("LFR", (30, 50)), ("planted clique", (25, 30))):
        graphs += [(f"{name} {n}", families.FAMILIES[name](n, seed=n), ks) for n in (500, 2000)]
    for name, graph, ks in graphs:
        for k in ks:
            began = time.process_time()
            result = se.densest_k_subgraph(graph, k, method="exact", time_limit=30.0)
            seconds, proof = time.process_time() - began, result.certificate
            verdict = "proven optimal" if proof.optimal else str(proof)
            size = len(result.indicator)
            print(
                f"{name:<24} {size:>6} {k:>4} {result.density:>9.5g} {verdict:>16} {seconds:>6.2f} {proof.method:>22}",
                flush=True,
            )


def default_times() -> None:
    """What a certified curve costs at the default effort, and without any proof of the dual bound."""
    print(f"{'graph':<24} {'default s':>9} {'quick bound s':>13} {'ratio':>6} {'gaps, %':>30}")
    cases = [("airline", airline.load(), airline.SIZES)]
    cases += [
        (f"{name} 2000", families.FAMILIES[name](2000, seed=1), (10, 20, 50, 100, 200)) for name in families.FAMILIES
    ]
    for name, graph, ks in cases:
        seconds, plain = [], []
        for _ in range(3):
            began = time.process_time()
            curve = se.density_curve(graph, ks)
            seconds.append(time.process_time() - began)
            began = time.process_time()
            se.density_curve(graph, ks, certify=False)
            UpperBounds(GraphFacts(OtherBounds(graph, max(ks)).graph, max(ks)))
            plain.append(time.process_time() - began)
        gaps = [100.0 * result.certificate.relative_gap for result in curve]
        shown = f"{min(gaps):.2f} / {np.median(gaps):.2f} / {max(gaps):.2f}"
        print(
            f"{name:<24} {min(seconds):>9.3f} {min(plain):>13.3f} {min(seconds) / min(plain):>6.2f} {shown:>30}",
            flush=True,
        )


def main() -> None:
    for title, part in (
        ("real graphs", real_graphs),
        ("families", family_graphs),
        ("enumerated", enumerated_graphs),
        ("beyond the exact literature", beyond_the_literature),
        ("default effort", default_times),
    ):
        print(f"\n-- {title}", flush=True)
        part()
