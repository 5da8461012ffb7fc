"""PLINK data sets written without bed-reader, so that reading is not tested by what it is made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np

CODES = {0: 0b11, 1: 0b10, 2: 0b00}


def write_plink(path: Path, calls: np.ndarray, names: list[str] | None = None) -> Path:
    """.bed, .bim and .fam of counts (NaN: missing), samples x variants."""
    samples, variants = calls.shape
    body = bytearray(b"\x6c\x1b\x01")
    for column in calls.T:
        bits = [CODES.get(value, 0b01) for value in column.tolist()] + [0] * (-samples % 4)
        body += bytes(sum(bits[i + j] << 2 * j for j in range(4)) for i in range(0, len(bits), 4))
    path.write_bytes(bytes(body))
    names = names or [f"rs{i}" for i in range(variants)]
    path.with_suffix(".bim").write_text("".join(f"1 {name} 0 {i + 1} A G\n" for i, name in enumerate(names)))
    path.with_suffix(".fam").write_text("".join(f"f s{i} 0 0 0 -9\n" for i in range(samples)))
    return path


def draw_calls(samples: int, variants: int, *, missing: float = 0.0, seed: int = 0) -> np.ndarray:
    """Counts of alleles; the first twenty variants follow a population."""
    rng = np.random.default_rng(seed)
    shift = 0.35 * (np.arange(samples) % 2)[:, None] * (np.arange(variants) < 20)
    calls = rng.binomial(2, rng.uniform(0.1, 0.5, variants) + shift).astype(float)
    calls[rng.random(calls.shape) < missing] = np.nan
    return calls
