"""What a certified curve costs at the default effort, beside an earlier tree where its interpreter is given.

Both trees solve the same graphs in turn, in processes of their own; processor seconds, the shortest of the repeats.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs import families
from benchmarks.graphs.proofs import judge
from benchmarks.paper.datasets import airline
from sparseigen.datasets import data_folder

KS = (10, 20, 50, 100, 200)
SIZES = (500, 2000, 10_000)
ROUNDS = 3
RUN = """
import json, pickle, sys, time
import sparseigen as se
with open(sys.argv[1], "rb") as file:
    graph, ks = pickle.load(file)
seconds = []
for _ in range(3):
    began = time.process_time()
    curve = se.density_curve(graph, ks)
    seconds.append(time.process_time() - began)
gaps = [result.certificate.relative_gap for result in curve]
print(json.dumps({"seconds": min(seconds), "densities": [result.density for result in curve], "gaps": gaps}))
"""
"""Runs in either tree: names that both have."""


def draw() -> list[tuple[str, Any, list[int]]]:
    """The graphs and sizes of sets."""
    table = np.loadtxt(data_folder() / "air_routes" / "us2008_flight_counts.csv", delimiter=",", skiprows=1)
    cases: list[tuple[str, Any, list[int]]] = [("airline", airline.load(), list(airline.SIZES))]
    cases.append(("air routes", table, list(range(10, 201, 10))))
    cases += [(f"{name} {size}", graph, list(KS)) for name, size, graph in families.draw(SIZES)]
    return cases


def main(before: str | None = None) -> None:
    """``before``: the interpreter of an earlier tree."""
    print(
        f"{'graph':<24} {'s':>7} {'before':>7} {'ratio':>6} {'lower':>5}   largest and median gap in per cent, before"
    )
    ratios, lower = [], 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "case"
        for name, graph, ks in draw():
            place.write_bytes(pickle.dumps((graph, ks)))
            found = [_solve(sys.executable, place)]
            earlier = []
            if before is not None:
                for _ in range(ROUNDS - 1):
                    earlier.append(_solve(before, place))
                    found.append(_solve(sys.executable, place))
            seconds = min(run["seconds"] for run in found)
            shown = _describe(found[0]["gaps"])
            if not earlier:
                print(f"{name:<24} {seconds:>7.3f} {'':>7} {'':>6} {'':>5}   {shown}", flush=True)
                continue
            old = min(run["seconds"] for run in earlier)
            pairs = zip(found[0]["densities"], earlier[0]["densities"], strict=True)
            below = sum(new < past * (1.0 - 1e-12) for new, past in pairs)
            ratios.append(seconds / old)
            lower += below
            shown = f"{shown}, {_describe(earlier[0]['gaps'])}"
            print(f"{name:<24} {seconds:>7.3f} {old:>7.3f} {ratios[-1]:>6.2f} {below:>5}   {shown}", flush=True)
    if ratios:
        judge(f"default effort: largest ratio to the earlier tree {max(ratios):.2f} (2)", max(ratios) <= 2.0)
        judge(f"default effort: {lower} densities lower than in the earlier tree (0)", lower == 0)
    else:
        print("ratios need the interpreter of an earlier tree: python -m benchmarks.graphs default --before PYTHON")


def _solve(python: str, place: Path) -> dict[str, Any]:
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    # In the folder of the graph, so that each interpreter imports its own tree.
    answer = subprocess.run(
        [python, "-c", RUN, str(place)],
        check=True,
        capture_output=True,
        text=True,
        cwd=place.parent,
        env=os.environ | single,
    )
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def _describe(gaps: list[float]) -> str:
    return f"{100.0 * max(gaps):.1f} / {100.0 * float(np.median(gaps)):.1f}"
