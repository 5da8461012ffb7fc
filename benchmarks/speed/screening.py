"""Screening against our own plain kernel, end to end, on structured data; supports compared."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from benchmarks.timing import best_of
from sparseigen import covariance, sparse_eigenvector
from sparseigen.datasets import data_folder
from sparseigen.errors import MissingDataError
from sparseigen.operators import screening

SIZE, SAMPLES = 32000, 500


def spiked(rng: np.random.Generator) -> np.ndarray:
    """Noise with ten spikes on 100 variables each, of falling strength."""
    data = rng.standard_normal((SAMPLES, SIZE))
    for spike in range(10):
        block = slice(spike * 100, spike * 100 + 100)
        data[:, block] += (2.0 - 0.1 * spike) * rng.standard_normal((SAMPLES, 1))
    return data


def colon(rng: np.random.Generator) -> np.ndarray:
    """log2 colon expression, tiled to 32000 variables with a little noise so that copies differ."""
    path = data_folder() / "colon" / "colon_62x2000.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = [line.rstrip("\n").split(",")[2:] for line in file][1:]
    values = np.log2(np.array(rows, dtype=float))
    return np.tile(values, (1, SIZE // values.shape[1])) + 0.01 * rng.standard_normal((len(values), SIZE))


def show_screening() -> None:
    """Milliseconds per solve, with and without; what was read; the one-time cost of the shadow."""
    print(
        f"{'screening, p = 32000':<26}{'plain ms':>10}{'screened ms':>13}{'ratio':>7}{'read':>7}{'shadow ms':>11}  same"
    )
    for name, make in (("spiked", spiked), ("colon log2, tiled", colon)):
        try:
            data = make(np.random.default_rng(0))
        except MissingDataError as error:
            print(f"{name}: not run ({error})")
            continue
        for share in (0.01, 0.05):
            _show(name, data, int(share * SIZE))


def _show(name: str, data: np.ndarray, cardinality: int) -> None:
    options: dict[str, Any] = {"start": "max-variance", "polish": None, "certify": False, "max_iterations": 5000}
    plain, screened = covariance(data), covariance(data)
    limit = screening.SMALLEST_DATA
    label = f"{name}, k = {cardinality}"

    def run_plain() -> Any:
        screening.SMALLEST_DATA = 1 << 62
        try:
            return sparse_eigenvector(plain, cardinality, **options)
        finally:
            screening.SMALLEST_DATA = limit

    runs = {"plain": run_plain, "screened": lambda: sparse_eigenvector(screened, cardinality, **options)}
    seconds = best_of(runs, label=label)
    shadow = best_of({"shadow": lambda: screening.Screen(plain.variables, plain.screen.norms).shadow}, repeats=2)
    before, after = run_plain(), sparse_eigenvector(screened, cardinality, **options)
    same = "yes" if np.array_equal(before.support, after.support) else "NO"
    read = after.settings["screening"]["share_of_variables_read"]
    print(
        f"{label:<26}{seconds['plain'] * 1e3:>10.1f}{seconds['screened'] * 1e3:>13.1f}"
        f"{seconds['plain'] / seconds['screened']:>7.1f}{read:>7.1%}{shadow['shadow'] * 1e3:>11.1f}  {same}",
        flush=True,
    )
