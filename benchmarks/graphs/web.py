"""cnr-2000, from the compressed file to the certified curve, beside the authors' three curves."""

from __future__ import annotations

import csv
import time

import sparseigen as se
from sparseigen.datasets import data_folder

SIZES = (100, 500, *range(1000, 10_001, 1000))


def authors() -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    with (data_folder() / "webgraphs" / "authors_curves.csv").open() as file:
        for row in csv.reader(file):
            if row[0] == "cnr2000":
                found.setdefault(row[1], {})[int(row[2])] = float(row[3])
    return found


def main() -> None:
    began = time.perf_counter()
    graph = se.read_graph(data_folder() / "cnr-2000" / "cnr-2000.graph")
    read = time.perf_counter() - began
    default = se.density_curve(graph, SIZES, self_loops="keep")
    whole = time.perf_counter() - began
    theirs = authors()
    plain = se.density_curve(graph, SIZES, start="degree", polish=None, self_loops="keep", certify=False)
    feige = se.density_curve(graph, SIZES, method="greedy-feige", self_loops="keep", certify=False)
    ravi = se.density_curve(graph, SIZES, method="greedy-ravi", self_loops="keep", certify=False)
    print("cnr-2000, W = (A + A')/2, self-loops kept: density pi'W pi / k, ours (authors')")
    print(f"{'k':>6} {'tpower':>17} {'feige':>17} {'ravi':>17} | {'default':>8} {'bound':>8} {'gap':>9}  proved by")
    for i, k in enumerate(SIZES):
        cells = [
            f"{curve[i].density:.3f} ({theirs[name][k]:.3f})"
            for curve, name in ((plain, "tpower"), (feige, "greedy_feige"), (ravi, "greedy_ravi"))
        ]
        proof = default[i].certificate
        gap = "optimal" if proof.optimal else f"{100 * proof.relative_gap:.4f} %"
        row = " ".join(f"{cell:>17}" for cell in cells)
        print(f"{k:>6} {row} | {default[i].density:>8.4f} {proof.upper_bound:>8.4f} {gap:>9}  {proof.method}")
    print(f"file to certified 12-point curve: {whole:.2f} s (reading {read:.2f} s)")


if __name__ == "__main__":
    main()
