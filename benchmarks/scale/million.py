"""A million variables in memory: 200 x 1,000,000 spiked float32, the certified gap and what it took."""

from __future__ import annotations

import resource
import time

import numpy as np

import sparseigen as se

SAMPLES, VARIABLES, CARDINALITY, STRENGTH = 200, 1_000_000, 20, 2.0


def show_million(samples: int = SAMPLES, variables: int = VARIABLES) -> None:
    """One component, from the array to its certificate."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((samples, variables), dtype=np.float32)
    data[:, :CARDINALITY] += (STRENGTH * rng.standard_normal((samples, 1))).astype(np.float32)
    began, cpu = time.perf_counter(), time.process_time()
    found = se.sparse_eigenvector(se.covariance(data), CARDINALITY)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{samples} x {variables:,} float32, k = {CARDINALITY}: {time.perf_counter() - began:.1f} s "
        f"({time.process_time() - cpu:.1f} s of processor), "
        f"gap {found.certificate.relative_gap:.1e}, peak {peak:.2f} GB"
    )
