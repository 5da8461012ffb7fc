"""A million variants: simulated genotypes as PLINK's .bed and as int8 zarr, three certified components of 100.

Three populations, and linkage: every block of 25 to 75 neighbouring variants has a few founder haplotypes, and each
population its own shares of them. Half a percent of the calls is missing.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sparseigen as se

SAMPLES, VARIANTS, FOUNDERS, POPULATIONS = 2504, 1_000_000, 10, 3
MISSING = 0.005
CARDINALITY, COMPONENTS = 100, 3
CODES = np.array([0b11, 0b10, 0b00, 0b01], dtype=np.uint8)
"""Count of the first allele, or 3 for a missing call -> its two bits."""


def draw_blocks(samples: int, variants: int, seed: int = 0) -> Iterator[NDArray[np.int8]]:
    """Counts of alleles (3: missing), variants x samples, a linkage block at a time."""
    rng = np.random.default_rng(seed)
    group = np.arange(samples) * POPULATIONS // samples
    done = 0
    while done < variants:
        length = min(int(rng.integers(25, 76)), variants - done)
        founders = (rng.random((length, FOUNDERS)) < rng.beta(0.5, 1.0, (length, 1))).astype(np.int8)
        carrier = rng.integers(0, FOUNDERS, length)  # every variant varies
        founders[np.arange(length), carrier], founders[np.arange(length), carrier - 1] = 1, 0
        shares = rng.dirichlet(np.full(FOUNDERS, 1.5))
        own = np.array([rng.dirichlet(12.0 * shares + 0.05) for _ in range(POPULATIONS)]).cumsum(axis=1)
        drawn = [(rng.random(samples)[:, None] > own[group]).sum(axis=1).clip(0, FOUNDERS - 1) for _ in range(2)]
        calls = founders[:, drawn[0]] + founders[:, drawn[1]]
        calls[rng.random(calls.shape, dtype=np.float32) < MISSING] = 3
        done += length
        yield calls


def write_bed(path: Path, samples: int, variants: int) -> None:
    """The .bed, .bim and .fam of the simulated calls."""
    padded = -(-samples // 4) * 4
    with path.with_suffix(".part").open("wb") as file:
        file.write(b"\x6c\x1b\x01")
        for calls in draw_blocks(samples, variants):
            bits = np.zeros((len(calls), padded), dtype=np.uint8)
            bits[:, :samples] = CODES[calls]
            quads = bits.reshape(len(calls), -1, 4)
            file.write((quads[..., 0] | quads[..., 1] << 2 | quads[..., 2] << 4 | quads[..., 3] << 6).tobytes())
    path.with_suffix(".bim").write_text("".join(f"1 rs{i} 0 {i + 1} A G\n" for i in range(variants)))
    path.with_suffix(".fam").write_text("".join(f"f{i} s{i} 0 0 0 -9\n" for i in range(samples)))
    path.with_suffix(".part").rename(path)


def write_zarr(path: Path, samples: int, variants: int) -> None:
    """The same calls as int8 in chunks of all samples; a missing call is the reference."""
    import zarr

    array = zarr.open(str(path), mode="w", shape=(samples, variants), chunks=(samples, 2000), dtype="int8")
    waiting: list[NDArray[np.int8]] = []
    done = 0
    for calls in draw_blocks(samples, variants):
        waiting.append(np.where(calls == 3, 0, calls))
        if sum(map(len, waiting)) >= 20_000 or done + sum(map(len, waiting)) == variants:
            whole = np.concatenate(waiting)
            array[:, done : done + len(whole)] = whole.T
            done, waiting = done + len(whole), []


def separate(scores: NDArray[np.float64]) -> float:
    """The share of samples that are nearest to the centre of their own population."""
    group = np.arange(len(scores)) * POPULATIONS // len(scores)
    centres = np.array([scores[group == g].mean(axis=0) for g in range(POPULATIONS)])
    distances = ((scores[:, None] - centres) ** 2).sum(axis=2)
    return float((distances.argmin(axis=1) == group).mean())


def measure(path: Path, **options: Any) -> None:
    """Solve, and print seconds, passes, memory, gaps and how well the populations are apart."""
    began, cpu = time.perf_counter(), time.process_time()
    operator: Any = se.covariance(path, missing="mean", **options)
    opened = time.perf_counter() - began
    found = se.sparse_components(operator, [CARDINALITY] * COMPONENTS)
    seconds, passes = time.perf_counter() - began, operator.passes_made
    gaps = ", ".join(f"{100 * result.certificate.relative_gap:.1f} %" for result in found)
    values = ", ".join(f"{result.value:.2f}" for result in found)
    rows = [operator.genotypes.take(result.support).astype(np.float64) for result in found]
    for row, result in zip(rows, found, strict=True):
        np.subtract(row, operator.means[result.support, None], out=row, where=row != operator.genotypes.gap)
        row[row == operator.genotypes.gap] = 0.0
        row *= result.vector[result.support, None] / operator.deviations[result.support, None]
    apart = separate(np.column_stack([row.sum(axis=0) for row in rows]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{path.name:16s} {options.get('scale', False)!s:10s} first pass {opened:6.1f} s, all {seconds:6.1f} s "
        f"({time.process_time() - cpu:.1f} s of processor), "
        f"{passes} passes, peak {peak:.2f} GB, values {values}, gaps {gaps}, populations {100 * apart:.1f} %",
        flush=True,
    )


def show_genotypes(samples: int = SAMPLES, variants: int = VARIANTS) -> None:
    """Three components of 100 variants, from both files."""
    folder = Path(os.environ.get("SPARSEIGEN_SCRATCH", "build/scratch"))
    folder.mkdir(parents=True, exist_ok=True)
    bed, store = folder / f"g{variants}.bed", folder / f"g{variants}.zarr"
    if not bed.exists():
        write_bed(bed, samples, variants)
    print(f"genotypes {samples:,} x {variants:,}, k = {CARDINALITY}, {COMPONENTS} components with certificates")
    for scale in ("patterson", False):
        measure(bed, scale=scale)
    if not store.exists():
        write_zarr(store, samples, variants)
    measure(store, scale=False)
