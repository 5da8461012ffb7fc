"""Canonical correlations of real data in two blocks: ours, cca-zoo's sparse methods, Rifle with two cardinalities.

Every method is scored alike: the canonical correlation on the variables that it chose, at the same ridge. Peers search
a grid of penalties, and the time that counts is that of their one best fit.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn import datasets as known

import sparseigen as se
from benchmarks.certificates.targets import Target
from sparseigen.components.generalised import DataPencil, canonical_pencil
from sparseigen.solve.generalised import PencilRequest

Numbers = Any
PEER_PYTHON = Path("build/cca_zoo/bin/python")
WORKER = Path(__file__).with_name("cca_zoo_worker.py")
CARDINALITIES = (3, 5)
PROOF_SECONDS = 60.0
AGREE = 1e-9


def load_colon() -> tuple[Numbers, Numbers] | None:
    """62 tissues, 2000 genes in log2, and whether each is a tumour; None without the data."""
    folder = os.environ.get("SPARSEIGEN_DATA", "")
    path = Path(folder) / "colon" / "colon_62x2000.csv.gz"
    if not folder or not path.exists():
        return None
    import pandas as pd

    table = pd.read_csv(path)
    return np.log2(table.drop(columns=["sample", "tissue"]).to_numpy(float)), pd.factorize(table["tissue"])[0]


def list_blocks(quick: bool) -> Iterator[tuple[str, Numbers, Numbers, float]]:
    """Name, X, Y and the ridge; variables split in the middle, genes of largest variance taken in turn."""
    for name in ("wine", "breast_cancer", "digits"):
        data = getattr(known, f"load_{name}")().data
        data = data[:, data.std(axis=0) > 1e-9 * np.abs(data).max()]
        if name == "digits":
            data = data[:, (data != 0.0).mean(axis=0) > 0.05]  # pixels that are hardly ever inked
        middle = data.shape[1] // 2
        yield name, data[:, :middle], data[:, middle:], 0.0
    colon = load_colon()
    if colon is None:
        return
    genes = colon[0]
    order = np.argsort(-genes.var(axis=0))
    for count in (10, 20) if quick else (10, 20, 30, 40):
        yield (
            f"colon, {count} + {count} genes",
            genes[:, order[: 2 * count : 2]],
            genes[:, order[1 : 2 * count : 2]],
            0.0,
        )
    yield "colon, 40 + 40 genes, ridge", genes[:, order[:80:2]], genes[:, order[1:80:2]], 0.5
    if not quick:
        yield "colon, 1000 + 1000 genes, ridge", genes[:, :1000], genes[:, 1000:], 0.5


def value_of(pencil: DataPencil, support: Any, ridge: float) -> float:
    """The largest quotient on some variables."""
    places = np.ix_(support, support)
    metric = pencil.metric.matrix[places] + ridge * np.eye(len(support))
    return float(eigh(pencil.form.matrix[places], metric, eigvals_only=True)[-1])


def run_peers(X: Numbers, Y: Numbers, k: int, pencil: DataPencil, ridge: float) -> Iterator[tuple[str, float, float]]:
    """Method, value and seconds of cca-zoo's best fits on standardised data; nothing where it is not installed."""
    if not PEER_PYTHON.exists():
        print("(cca-zoo: not installed in build/cca_zoo)")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blocks.npz"
        np.savez(path, X=(X - X.mean(0)) / X.std(0), Y=(Y - Y.mean(0)) / Y.std(0))
        command = [str(PEER_PYTHON), str(WORKER), str(path), str(k), str(k)]
        try:
            output = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False).stdout
        except subprocess.TimeoutExpired as stopped:
            output = (stopped.stdout or b"").decode()
    for line in output.splitlines():
        report = json.loads(line)
        scored = [
            (value_of(pencil, [*own, *(X.shape[1] + j for j in other)], ridge), fit["seconds"])
            for fit in report["fits"]
            for own, other in [fit["support"]]
            if own and other
        ]
        if scored:
            yield report["method"], *max(scored)
        else:
            print(f"| | {report['method']} | | failed: {report['failed'] or 'no weights at any penalty'} | |")


def run_rifle(pencil: DataPencil, k: int, ridge: float) -> tuple[str, float, float]:
    """Truncated Rayleigh flow that keeps the k largest weights of each block, from the five strongest pairs."""
    began = time.process_time()
    form, metric = pencil.form.matrix, pencil.metric.matrix + ridge * np.eye(pencil.metric.size)
    first = int(pencil.boundary or 0)
    step = 0.5 / float(np.linalg.norm(metric, 2))
    order = np.argsort(-np.abs(form[:first, first:]), axis=None)[:5]
    best = -1.0
    for place in order:
        i, j = divmod(int(place), form.shape[0] - first)
        vector = np.zeros(len(form))
        vector[i], vector[first + j] = 1.0, np.sign(form[i, first + j])
        vector /= np.linalg.norm(vector)
        before = -1.0
        for _ in range(2000):
            rho = float(vector @ form @ vector) / float(vector @ metric @ vector)
            vector = vector + step / rho * (form @ vector - rho * (metric @ vector))
            for part in (slice(0, first), slice(first, None)):
                block = vector[part]
                block[np.argsort(-np.abs(block))[k:]] = 0.0
            vector /= np.linalg.norm(vector)
            if abs(rho - before) < 1e-9:
                break
            before = rho
        best = max(best, value_of(pencil, np.flatnonzero(vector), ridge))
    return "Rifle, per block", best, time.process_time() - began


def show_blocks(quick: bool, wanted: str = "") -> list[Target]:
    """Values, times and proofs, of the data whose name holds ``wanted``."""
    print("\n## Canonical correlations, k variables of each block, processor seconds of one thread\n")
    print("| data | method | k | correlation | seconds |\n| --- | --- | ---: | ---: | ---: |")
    worse, slower, unproven = [], [], []
    for name, X, Y, ridge in list_blocks(quick):
        if wanted not in name:
            continue
        pencil = canonical_pencil(X, Y)
        for k in CARDINALITIES:
            answers = {}
            for certify in (False, True):
                began = time.process_time()
                fitted = se.SparseCCA(cardinality=(k, k), ridge=ridge, certify=certify).fit(X, Y)
                answers[certify] = fitted.results_[0], time.process_time() - began
            (found, searching), (ours, seconds) = answers[False], answers[True]
            print(f"| {name} | ours, search alone | {k} | {found.value:.6f} | {searching:.3f} |")
            print(f"| {name} | ours, {ours.certificate} | {k} | {ours.value:.6f} | {seconds:.3f} |")
            for method, value, taken in [run_rifle(pencil, k, ridge), *run_peers(X, Y, k, pencil, ridge)]:
                print(f"| {name} | {method} | {k} | {value:.6f} | {taken:.3f} |")
                if value > ours.value + AGREE:
                    worse.append(f"{name}, k = {k}: {method} {value:.6f} against {ours.value:.6f}")
                if taken < searching and value >= 0.999 * ours.value:
                    slower.append(f"{name}, k = {k}: {method} {taken:.3f} s against {searching:.3f} s")
            if X.shape[1] <= 40:
                unproven += _prove(name, pencil, k, ridge)
    return [
        Target("values below a peer's", str(len(worse)), "none", not worse, worse),
        Target("peers faster at 99.9 % of the value", str(len(slower)), "none", not slower, slower),
        Target("blocks of up to 40 not proven in 60 s", str(len(unproven)), "none", not unproven, unproven),
    ]


def _prove(name: str, pencil: DataPencil, k: int, ridge: float) -> list[str]:
    limits = {"time_limit": PROOF_SECONDS}
    request = PencilRequest(
        pencil.form, pencil.metric, boundary=pencil.boundary, ridge=ridge, method="exact", method_options=limits
    )
    began = time.process_time()
    result = request.answer(k, others=k)
    seconds = time.process_time() - began
    print(f"| {name} | exact, {result.certificate} | {k} | {result.value:.6f} | {seconds:.3f} |", flush=True)
    return [] if result.certificate is not None and result.certificate.optimal else [f"{name}, k = {k}"]
