"""Data in a memory-mapped file."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def map_data(data: np.ndarray, folder: Path) -> np.memmap:
    mapped = np.memmap(folder / "x.bin", dtype=data.dtype, mode="w+", shape=data.shape)
    mapped[:] = data
    return mapped
