"""PitProps: 13 measurements on 180 pit props, as correlations. Ships with the package."""

from __future__ import annotations

import csv

import numpy as np

from sparseigen.datasets import Dataset, data_folder, load_pitprops

AUTHORS_LOADINGS = "pitprops/authors_loadings_7-2-1-1-1-1.csv"


def load() -> Dataset:
    return load_pitprops()


def authors_loadings(method: str) -> np.ndarray:
    """The authors' own six loading vectors for 7-2-1-1-1-1, as rows; method is "tpower" or "gpower"."""
    with open(data_folder() / AUTHORS_LOADINGS) as file:
        rows = list(csv.DictReader(file))
    return np.array([[float(row[f"{method}_pc{j}"]) for row in rows] for j in range(1, 7)])
