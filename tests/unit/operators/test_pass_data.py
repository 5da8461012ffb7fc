"""Peak memory of whole solves, measured in processes of their own, and the answers of the same data in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import NonFiniteError
from tests.unit.rows.sources import write_h5ad

LINUX = Path("/proc/self/status").exists()


RUN = """
import json, sys
import numpy as np, scipy.sparse, scipy.sparse.linalg, scipy.linalg
import sparseigen as se

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

path, limit, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
small = np.random.default_rng(0).standard_normal((40, 12))
for kind in (np.float32, np.float64):
    np.ones((800, 800), kind) @ np.ones((800, 800), kind)  # BLAS keeps its own work space
se.sparse_components(se.covariance(small), [3, 3])
se.sparse_components(se.covariance([scipy.sparse.csr_array(small)], shape=small.shape), [3, 3])
if path.endswith("h5ad"):
    import h5py
base = peak()
results = se.sparse_components(se.covariance(path, memory_limit=limit, **options), [8, 6])
print(json.dumps({"base": base, "peak": peak(), "supports": [r.support.tolist() for r in results],
                  "values": [r.value for r in results], "uppers": [r.certificate.upper_bound for r in results]}))
"""


def _measured(path, limit, **options):
    command = [sys.executable, "-c", RUN, str(path), str(limit), json.dumps(options)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _check_answers(found, expected, rel=1e-10):
    assert found["supports"] == [result.support.tolist() for result in expected]
    assert found["values"] == pytest.approx([result.value for result in expected], rel=rel)
    for upper, result in zip(found["uppers"], expected, strict=True):
        assert result.value * (1 - 1e-12) <= upper < np.inf


@pytest.mark.skipif(not LINUX, reason="peak memory is read from /proc")
def test_dense_file_three_times_the_limit(rng, tmp_path):
    data = rng.standard_normal((9000, 2500)).astype(np.float32)
    data[:, 3:60:4] += 0.8 * rng.standard_normal((9000, 1), dtype=np.float32)
    data[:, 100:120] += 0.7 * rng.standard_normal((9000, 1), dtype=np.float32)
    np.save(tmp_path / "x.npy", data)  # 90 MB
    found = _measured(tmp_path / "x.npy", 30_000_000)
    assert found["peak"] - found["base"] <= 30_000_000
    _check_answers(found, se.sparse_components(se.covariance(data), [8, 6]))


@pytest.mark.skipif(not LINUX, reason="peak memory is read from /proc")
def test_sparse_file_is_standardised_and_never_densified(rng, tmp_path):
    programmes = [sp.csr_matrix(rng.random((8000, 20)) * (rng.random((8000, 1)) < share)) for share in (0.3, 0.2)]
    rows = sp.random(8000, 2960, 0.1, format="csr", random_state=rng)
    data = sp.hstack([*programmes, rows]).tocsr().astype(np.float32)
    write_h5ad(tmp_path / "x.h5ad", data, names=[f"g{i}" for i in range(3000)])
    found = _measured(tmp_path / "x.h5ad", 20_000_000, scale=True)
    assert found["peak"] - found["base"] <= 60_000_000 < 4 * data.shape[0] * data.shape[1]
    # What is taken out of the second component are float32 products, added up in another order.
    _check_answers(found, se.sparse_components(se.covariance(data, scale=True), [8, 6]), rel=1e-8)


def test_estimator_takes_the_operator(rng, tmp_path):
    data = rng.standard_normal((80, 30)) + 3.0
    np.save(tmp_path / "x.npy", data)
    found = se.SparsePCA(2, cardinality=4).fit(se.covariance(tmp_path / "x.npy"))
    right = se.SparsePCA(2, cardinality=4).fit(data)
    np.testing.assert_allclose(found.components_, right.components_, atol=1e-10)
    np.testing.assert_allclose(found.transform(data), right.transform(data), atol=1e-9)
    assert found.n_samples_ == 80
    with pytest.raises(se.errors.OptionError, match="other options than the estimator's"):
        se.SparsePCA(1, cardinality=4, scale=True).fit(se.covariance(tmp_path / "x.npy"))


def test_blocks_whose_sums_overflow_are_refused():
    """Every entry is finite, and nothing can be computed from them."""
    block = np.full((2, 3), 1.5e308)
    for given in (block, sp.csr_array(block)):
        with pytest.raises(NonFiniteError, match=r"divide .* by a constant"):
            se.covariance([given, given], shape=(4, 3))
