"""The data of the GPU checks: the paper's toy model, spiked data and gene expression."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

Data = np.ndarray[Any, Any]


def toy(seed: int) -> Data:
    """The paper's toy model: p = 500, n = 50, two sparse leading eigenvectors with eigenvalues 400 and 300."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((50, 500))
    for block, eigenvalue in ((slice(0, 10), 400.0), (slice(10, 20), 300.0)):
        direction = np.zeros(500)
        direction[block] = 10.0**-0.5
        data += np.outer(data @ direction, direction) * (eigenvalue**0.5 - 1.0)
    return data


def spiked(n_samples: int, size: int, seed: int, n_spikes: int = 10) -> Data:
    """Unit noise and ten hidden sparse directions, the strongest four times as strong as the weakest."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((n_samples, size))
    for spike in range(n_spikes):
        chosen = rng.choice(size, size // 100, replace=False)
        loads = rng.standard_normal(len(chosen))
        loads *= (20.0 - 1.5 * spike) / np.linalg.norm(loads)
        data[:, chosen] += np.outer(rng.standard_normal(n_samples), loads)
    return data


def genes(folder: Path) -> dict[str, Data]:
    """The colon intensities (log2) and the gap-free lymphoma table, if the folder has them."""
    found: dict[str, Data] = {}
    colon = folder / "colon" / "colon_62x2000.csv.gz"
    if colon.is_file():
        # A header; then a sample's number, its tissue, and 2000 intensities.
        with gzip.open(colon, "rt") as lines:
            rows = [line.strip().split(",")[2:] for line in lines][1:]
        found["colon"] = np.log2(np.maximum(np.array(rows, dtype=float), 1.0))
    lymphoma = folder / "lymphoma" / "lymphoma_62x4026_standardised.npz"
    if lymphoma.is_file():
        with np.load(lymphoma, allow_pickle=False) as archive:
            table = next(archive[key] for key in archive.files if archive[key].ndim == 2)
        found["lymphoma"] = np.asarray(table if table.shape[0] < table.shape[1] else table.T, dtype=float)
    return found
