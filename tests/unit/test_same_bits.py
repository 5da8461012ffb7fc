"""The same question gives the same bits: threads, repetitions, memory layouts, containers. And where it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import kernels

THREADS = (1, 2, 3, 5, 8)


def bits(*answers):
    """Everything an answer says but its seconds, as bytes."""
    parts = []
    for answer in answers:
        numbers = answer.vector if hasattr(answer, "vector") else answer.indicator
        value = answer.value if hasattr(answer, "value") else answer.weight
        proof = answer.certificate
        parts += [numbers.tobytes(), np.float64(value).tobytes(), answer.history.tobytes()]
        parts += [np.array([proof.lower_bound, proof.upper_bound]).tobytes(), proof.method.encode()]
    return b"|".join(parts)


def spiked(n, p, *, seed=7, shift=0.0):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((n, p)) + shift
    data[:, : p // 8] += 1.5 * rng.standard_normal((n, 1))
    return data


def symmetric(p, seed=3):
    square = np.random.default_rng(seed).standard_normal((p, p))
    return square + square.T


def random_graph(size, density, seed=2):
    graph = sp.random(size, size, density=density, random_state=seed)
    return sp.csr_array(((graph + graph.T) > 0).astype(float))


def estimator_bits(data):
    fitted = se.SparsePCA(2, 5).fit(data)
    return fitted.components_.tobytes() + fitted.explained_variance_.tobytes() + bits(*fitted.results_)


LARGE = spiked(120, 1100)
QUESTIONS = {
    "matrix": lambda: bits(se.sparse_eigenvector(np.cov(LARGE[:, :400].T), 12)),
    "indefinite matrix": lambda: bits(se.sparse_eigenvector(symmetric(150), 12)),
    "smallest": lambda: bits(se.sparse_eigenvector(symmetric(150), 12, which="smallest")),
    "data": lambda: bits(se.sparse_eigenvector(se.covariance(LARGE), 15)),
    "float32 data": lambda: bits(se.sparse_eigenvector(se.covariance(LARGE.astype(np.float32)), 15)),
    "sparse data": lambda: bits(
        se.sparse_eigenvector(se.covariance(sp.random(200, 600, density=0.03, random_state=1, format="csr")), 15)
    ),
    "path": lambda: bits(*se.cardinality_path(se.covariance(LARGE[:, :90]), range(1, 18))),
    "bound": lambda: np.array(
        [se.upper_bound(LARGE[:90, :90] @ LARGE[:90, :90].T, 6, effort=e).upper_bound for e in ("cheap", "default")]
    ).tobytes(),
    "exact": lambda: bits(se.solve_exact(np.cov(LARGE[:, 100:150].T), 4, time_limit=600.0)),
    "graph": lambda: bits(se.densest_k_subgraph(random_graph(400, 0.04), 20)),
    "curve": lambda: bits(*se.density_curve(random_graph(200, 0.05), [5, 10, 20])),
    "estimator": lambda: estimator_bits(LARGE[:, :120]),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_number_of_threads_and_repetitions_change_nothing(question):
    before = kernels.thread_count()
    try:
        answers = []
        for threads in (*THREADS, 2):
            kernels.set_thread_count(threads)
            answers.append(QUESTIONS[question]())
    finally:
        kernels.set_thread_count(before)
    assert len(set(answers)) == 1


def _strided(values):
    wide = np.full((2 * values.shape[0], 3 * values.shape[1]), np.nan, dtype=values.dtype)
    wide[::2, ::3] = values
    return wide[::2, ::3]


def _unaligned(values):
    memory = bytearray(values.nbytes + 1)
    shifted = np.frombuffer(memory, dtype=values.dtype, count=values.size, offset=1).reshape(values.shape)
    shifted[:] = values
    assert not shifted.flags.aligned
    return shifted


def _read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def _names(values):
    return [f"v{i}" for i in range(values.shape[1])]


LAYOUTS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": _strided,
    "negative strides": lambda values: np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1],
    "read-only": _read_only,
    "unaligned": _unaligned,
    "big-endian": lambda values: values.astype(values.dtype.newbyteorder(">")),
    "list": lambda values: values.tolist(),
    "pandas": lambda values: pd.DataFrame(values, columns=_names(values)),
    "polars": lambda values: pl.DataFrame({name: values[:, i] for i, name in enumerate(_names(values))}),
}
ASKED = {
    "matrix": (symmetric(40), lambda given: bits(se.sparse_eigenvector(given, 6))),
    "data": (spiked(30, 40, shift=5.0), lambda given: bits(se.sparse_eigenvector(se.covariance(given), 6))),
    "scaled": (
        spiked(30, 40, shift=5.0),
        lambda given: bits(se.sparse_eigenvector(se.covariance(given, scale=True), 6)),
    ),
    "uncentred": (spiked(30, 40), lambda given: bits(se.sparse_eigenvector(se.covariance(given, center=False), 6))),
    "path": (spiked(30, 40), lambda given: bits(*se.cardinality_path(se.covariance(given), range(1, 18)))),
    "exact": (symmetric(25), lambda given: bits(se.solve_exact(given, 3, time_limit=600.0))),
    "estimator": (spiked(30, 40), estimator_bits),
}


@pytest.mark.parametrize("question", ASKED)
def test_memory_layouts_and_containers_change_nothing(question):
    values, ask = ASKED[question]
    expected = ask(values.copy())
    for name, layout in LAYOUTS.items():
        assert ask(layout(values)) == expected, name


def test_float32_data_in_any_layout_are_the_same_question():
    values = spiked(30, 40, shift=5.0).astype(np.float32)
    answers = {
        name: bits(se.sparse_eigenvector(se.covariance(LAYOUTS[name](values)), 6))
        for name in ("C order", "Fortran order", "strided", "negative strides", "unaligned", "big-endian", "pandas")
    }
    assert len(set(answers.values())) == 1, answers.keys()


def _shuffled(matrix):
    """The entries of every row in reverse order."""
    matrix = sp.csr_array(matrix.copy())
    for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        matrix.indices[begin:end] = matrix.indices[begin:end][::-1].copy()
        matrix.data[begin:end] = matrix.data[begin:end][::-1].copy()
    matrix.has_sorted_indices = matrix.has_canonical_format = False
    return matrix


def _with_stored_zeros(matrix):
    entries = matrix.tocoo()
    rows, columns = np.array([0, 1, 2]), np.array([1, 0, 2])
    data = np.concatenate([entries.data, np.zeros(3, dtype=entries.data.dtype)])
    where = (np.concatenate([entries.row, rows]), np.concatenate([entries.col, columns]))
    return sp.csr_array(sp.coo_array((data, where), shape=matrix.shape))


SPARSE_LAYOUTS = {
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "lil": sp.lil_array,
    "bsr": sp.bsr_array,
    "matrix": sp.csr_matrix,
    "64-bit indices": lambda m: sp.csr_array(
        (m.data, m.indices.astype(np.int64), m.indptr.astype(np.int64)), shape=m.shape
    ),
    "unsorted": _shuffled,
    "stored zeros": _with_stored_zeros,
}


def test_sparse_formats_change_nothing():
    full = symmetric(40)
    matrix = sp.csr_array(np.where(np.abs(full) > 1.0, full, 0.0))
    data = sp.random(50, 60, density=0.2, random_state=1, format="csr")
    graph = random_graph(60, 0.1)
    for ask, given in (
        (lambda m: bits(se.sparse_eigenvector(m, 6)), matrix),
        (lambda m: bits(se.sparse_eigenvector(se.covariance(m), 6)), data),
        (lambda m: bits(se.densest_k_subgraph(m, 8)), graph),
    ):
        expected = ask(given)
        for name, layout in SPARSE_LAYOUTS.items():
            assert ask(layout(given)) == expected, name


# --- up to a tolerance --------------------------------------------------------------------------------------------


def carriers(data, folder):
    """The same covariance by every operator of this machine."""
    np.save(folder / "data.npy", data)
    blocks = [data[begin : begin + 7] for begin in range(0, len(data), 7)]
    yield "matrix", np.cov(data.T)
    yield "data", se.covariance(data)
    yield "sparse data", se.covariance(sp.csr_array(data))
    yield "file", se.covariance(folder / "data.npy")
    yield "blocks", se.covariance(blocks, shape=data.shape)
    yield "sparse blocks", se.covariance([sp.csr_array(block) for block in blocks], shape=data.shape)
    yield "dask", se.covariance([lambda block=block: block for block in blocks])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_operators_agree_up_to_the_documented_tolerance(dtype, tolerance, tmp_path):
    """docs/trust.md: the same support, values and bounds within 1e-12 (float64) and 1e-5 (float32) of each other."""
    data = spiked(60, 40).astype(dtype)
    answers = {name: se.sparse_eigenvector(operator, 5) for name, operator in carriers(data, tmp_path)}
    expected = answers["matrix"]
    for name, answer in answers.items():
        assert answer.support.tolist() == expected.support.tolist(), name
        assert answer.value == pytest.approx(expected.value, rel=tolerance), name
        np.testing.assert_allclose(answer.vector, expected.vector, atol=10.0 * tolerance, err_msg=name)
        for end in ("lower_bound", "upper_bound"):
            assert getattr(answer.certificate, end) == pytest.approx(
                getattr(expected.certificate, end), rel=10.0 * tolerance
            ), name


SCRIPT = """
import json, sys
import numpy as np
import sparseigen as se
rng = np.random.default_rng(7)
data = rng.standard_normal((60, 200))
data[:, :30] += 1.5 * rng.standard_normal((60, 1))
square = rng.standard_normal((250, 250))
answers = [se.sparse_eigenvector(se.covariance(data), 15), se.sparse_eigenvector(square + square.T, 12)]
facts = [(a.support.tolist(), a.value, a.certificate.lower_bound, a.certificate.upper_bound) for a in answers]
json.dump(facts, sys.stdout)
"""


def test_threads_of_blas_change_the_last_digits_only():
    """Not the same bits: OpenBLAS and LAPACK add up in another order. Supports agree, numbers to 1e-12."""
    found = []
    for threads in ("1", "2"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-c", SCRIPT]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.append(json.loads(run.stdout))
    for (support, *numbers), (other, *others) in zip(*found, strict=True):
        assert support == other
        np.testing.assert_allclose(numbers, others, rtol=1e-12)
