"""Air travel: 456 cities, inverse mean travel times between them, and the authors' own results."""

from __future__ import annotations

import csv

import numpy as np
import scipy.sparse as sp

from sparseigen.datasets import data_folder

FOLDER = "airline"
FILES = tuple(f"{FOLDER}/{name}" for name in ("weights.csv.gz", "cities.csv"))
AUTHORS = tuple(f"{FOLDER}/{name}" for name in ("authors_curve.csv", "authors_subgraphs.csv"))
SIZES = tuple(range(10, 301, 10))
"""The k of Figure 3."""
N_CITIES = 456


def load() -> sp.csr_array:
    """The directed weights, w_ij the inverse of the mean time from city i to city j."""
    table = np.loadtxt(data_folder() / FILES[0], delimiter=",", skiprows=1)
    ends = table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)
    return sp.csr_array((table[:, 2], ends), shape=(N_CITIES, N_CITIES))


def cities() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, latitudes and longitudes."""
    with open(data_folder() / FILES[1]) as file:
        rows = list(csv.DictReader(file))
    place = np.array([[float(row["latitude"]), float(row["longitude"])] for row in rows])
    return [row["city"] for row in rows], place[:, 0], place[:, 1]


def authors_curves() -> dict[str, list[float]]:
    """Algorithm -> density for each k of `SIZES`."""
    table = np.loadtxt(data_folder() / AUTHORS[0], delimiter=",", skiprows=1)
    if tuple(table[:, 0].astype(int)) != SIZES:
        raise ValueError(f"{AUTHORS[0]} has other k than {SIZES[0]}, {SIZES[1]}, ..., {SIZES[-1]}.")
    return {name: table[:, i].tolist() for i, name in enumerate(("tpower", "greedy_ravi", "greedy_feige"), start=1)}


def authors_subgraphs() -> dict[str, list[list[int]]]:
    """Algorithm -> the six sets in order."""
    found: dict[str, dict[int, list[int]]] = {}
    with open(data_folder() / AUTHORS[1]) as file:
        for row in csv.DictReader(file):
            chosen = sorted(map(int, row["city_indices"].split()))
            found.setdefault(row["algorithm"], {})[int(row["order"])] = chosen
    return {algorithm: [sets[i] for i in sorted(sets)] for algorithm, sets in found.items()}
