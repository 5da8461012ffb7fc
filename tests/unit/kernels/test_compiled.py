"""The compiled kernels give the answers of their NumPy twins, on any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen import kernels
from sparseigen.kernels import numpy_reference

compiled = pytest.importorskip("sparseigen.kernels.compiled", reason="the extension is not built")


TOLERANCE = {np.float64: 1e-13, np.float32: 2e-5}


@pytest.fixture
def restore_threads() -> Iterator[None]:
    yield
    compiled.set_thread_count(0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 33), (300, 1000), (1500, 129)])
def test_dense_products(shape: tuple[int, int], dtype: type, rng: np.random.Generator) -> None:
    matrix = rng.standard_normal(shape).astype(dtype)
    rows = np.sort(rng.choice(shape[0], max(1, shape[0] // 3), replace=False)).astype(np.int64)
    weights = rng.standard_normal(len(rows)).astype(dtype)
    vector = rng.standard_normal(shape[1]).astype(dtype)
    tolerance = TOLERANCE[dtype] * np.sqrt(shape[0] + shape[1])
    for name, arguments in (("combine_rows", (matrix, rows, weights)), ("row_dots", (matrix, vector))):
        fast, reference = getattr(compiled, name)(*arguments), getattr(numpy_reference, name)(*arguments)
        assert fast.dtype == reference.dtype == dtype
        np.testing.assert_allclose(fast, reference, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("size", [1, 31, 1000, 200_003])
def test_stream_sum(size: int, rng: np.random.Generator) -> None:
    values = rng.standard_normal(size)
    assert compiled.stream_sum(values) == pytest.approx(numpy_reference.stream_sum(values), abs=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_products(dtype: type, index: type, rng: np.random.Generator) -> None:
    matrix = sp.csr_array(sp.random(60, 45, density=0.2, dtype=dtype, random_state=rng))
    starts, columns = matrix.indptr.astype(index), matrix.indices.astype(index)
    rows = np.array([0, 3, 4, 59], dtype=np.int64)
    weights, vector = rng.standard_normal(4).astype(dtype), rng.standard_normal(45).astype(dtype)
    dense = matrix.toarray()
    for module in (compiled, numpy_reference):
        combined = module.sparse_combine_rows(starts, columns, matrix.data, rows, weights, 45)
        dots = module.sparse_row_dots(starts, columns, matrix.data, vector)
        assert combined.dtype == dots.dtype == dtype
        np.testing.assert_allclose(combined, weights @ dense[rows], atol=TOLERANCE[dtype])
        np.testing.assert_allclose(dots, dense @ vector, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(60, 45), (1, 7), (7, 1), (4000, 900), (300, 9000)])
def test_sparse_transpose(shape: tuple[int, int], index: type, dtype: type, rng: np.random.Generator) -> None:
    matrix = sp.csr_array(sp.random(*shape, density=0.2, dtype=dtype, random_state=rng))
    matrix.indices[:3] = matrix.indices[:3][::-1]  # columns need not ascend
    starts, columns = matrix.indptr.astype(index), matrix.indices.astype(index)
    expected = matrix.tocsc()
    for module in (compiled, numpy_reference):
        found = module.sparse_transpose(starts, columns, matrix.data, shape[1])
        assert [part.dtype for part in found] == [index, index, dtype]
        for part, other in zip(found, (expected.indptr, expected.indices, expected.data), strict=True):
            np.testing.assert_array_equal(part, other)
        # Some of the rows alone: the starts do not begin at zero.
        first, last = shape[0] // 3, shape[0] - shape[0] // 3
        found = module.sparse_transpose(starts[first : last + 1], columns, matrix.data, shape[1])
        np.testing.assert_array_equal(found[2], matrix[first:last].tocsc().data)
        np.testing.assert_array_equal(found[1], matrix[first:last].tocsc().indices)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("size", [1, 2, 50, 5000, 20000])
def test_largest_magnitudes(size: int, nonnegative: bool, dtype: type, rng: np.random.Generator) -> None:
    smooth = rng.standard_normal(size).astype(dtype)
    tied = rng.integers(-3, 4, size).astype(dtype)
    clustered = np.where(np.arange(size) < size // 10, smooth * 100, smooth)  # a strided sample misjudges this
    for values in (smooth, tied, clustered, np.zeros(size, dtype)):
        for count in sorted({1, max(1, size // 20), max(1, size // 2), size}):
            fast = compiled.largest_magnitudes(values, count, nonnegative=nonnegative)
            reference = numpy_reference.largest_magnitudes(values, count, nonnegative=nonnegative)
            magnitudes = np.maximum(values, 0) if nonnegative else np.abs(values)
            by_sorting = np.sort(np.lexsort((np.arange(size), -magnitudes))[:count])
            np.testing.assert_array_equal(fast, by_sorting)
            np.testing.assert_array_equal(reference, by_sorting)


def test_same_bits_on_any_number_of_threads(restore_threads: None, rng: np.random.Generator) -> None:
    matrix = rng.standard_normal((1200, 700))
    rows = np.arange(0, 1200, 3, dtype=np.int64)
    weights, vector = rng.standard_normal(len(rows)), rng.standard_normal(700)
    answers = []
    for threads in (1, 2, 3, 7):
        compiled.set_thread_count(threads)
        assert compiled.thread_count() == threads
        answers.append((compiled.combine_rows(matrix, rows, weights), compiled.row_dots(matrix, vector)))
    for combined, dots in answers[1:]:
        np.testing.assert_array_equal(combined, answers[0][0])
        np.testing.assert_array_equal(dots, answers[0][1])


def test_many_callers_at_once(rng: np.random.Generator) -> None:
    matrix, vector = rng.standard_normal((900, 400)), rng.standard_normal(400)
    expected = compiled.row_dots(matrix, vector)
    with ThreadPoolExecutor(8) as pool:
        for answer in pool.map(lambda _: compiled.row_dots(matrix, vector), range(64)):
            np.testing.assert_array_equal(answer, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_works_after_fork() -> None:
    code = """
import os, sys, numpy as np
from sparseigen.kernels import compiled
compiled.set_thread_count(2)
matrix, vector = np.ones((900, 400)), np.ones(400)
compiled.row_dots(matrix, vector)
child = os.fork()
if child == 0:
    os._exit(0 if (compiled.row_dots(matrix, vector) == 400).all() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="row index out of range"):
        compiled.combine_rows(np.ones((3, 3)), np.array([3]), np.ones(1))
    with pytest.raises(ValueError, match="lengths do not match"):
        compiled.row_dots(np.ones((3, 3)), np.ones(4))


@pytest.mark.skipif(kernels.active.NAME == "numpy", reason="there is no extension")
def test_bindings_refuse_what_would_walk_out_of_memory() -> None:
    compiled = kernels._compiled
    starts, columns, values = np.array([0, 2, 1000]), np.array([0, 1]), np.ones(2)
    out, rows, weights = np.zeros(2), np.array([1]), np.ones(1)
    with pytest.raises(ValueError, match="row starts"):
        compiled.sparse_row_dots(starts, columns, values, np.ones(2), out)
    with pytest.raises(ValueError, match="row starts"):
        compiled.sparse_combine_rows(starts, columns, values, rows, weights, out)
    with pytest.raises(ValueError, match="lengths"):
        compiled.sparse_combine_rows(starts[:0], columns, values, rows, weights, out)
    halves = np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(2)
    with pytest.raises(ValueError, match="row starts"):
        compiled.sparse_transpose(starts, columns, values, *halves)
    with pytest.raises(ValueError, match="lengths"):
        compiled.sparse_transpose(np.array([0, 1, 1]), columns, values, *halves)
    for outside in (-1, 2, 10**9):
        with pytest.raises(ValueError, match="column index"):
            compiled.sparse_transpose(np.array([0, 1, 2]), np.array([0, outside]), values, *halves)
    with pytest.raises(ValueError, match="row index"):
        compiled.combine_rows(np.eye(2), np.array([5]), weights, out)
    for bad in ([0, 9, 2], [0, -5, 2], [1, 1, 2]):
        graph = (np.array(bad), np.array([0, 1], dtype=np.int32), np.zeros(0, dtype=np.int64))
        with pytest.raises(ValueError, match="row starts"):
            compiled.graph_add_rows(*graph, np.array([0, 1]), 1, np.zeros(2, dtype=np.int64))
        with pytest.raises(ValueError, match="row starts"):
            compiled.graph_is_symmetric(*graph)
    with pytest.raises(TypeError):
        compiled.row_dots(np.eye(2, dtype=object), np.ones(2), out)
    stream, format_ = np.zeros(4, dtype=np.uint8), np.array([4, 6, 7, 4, -3, 1, 0, 1, 1, 3])
    with pytest.raises(ValueError, match="out of range"):
        compiled.decode_webgraph(stream, 0, format_, 0, 4, np.zeros(5, dtype=np.int64), np.zeros(6, dtype=np.int32))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1, 7, 32, 33, 64, 100, 700])
def test_survey_of_a_symmetric_matrix(size: int, dtype: type, rng: np.random.Generator) -> None:
    square = rng.standard_normal((size, size)).astype(dtype)
    matrix = square + square.T
    for _ in range(3):
        place = tuple(rng.integers(0, size, 2))
        assert compiled.survey_symmetric(matrix) == numpy_reference.survey_symmetric(matrix)
        matrix[place] += dtype(0.25)
        largest, apart, finite = compiled.survey_symmetric(matrix)
        assert (largest, finite) == (np.abs(matrix).max(), True)
        assert apart == np.abs(matrix - matrix.T).max()
        for broken in (np.nan, np.inf, -np.inf):
            spoilt = matrix.copy()
            spoilt[place] = broken
            assert not compiled.survey_symmetric(spoilt)[2]
            assert not numpy_reference.survey_symmetric(spoilt)[2]
            spoilt[place[::-1]] = broken  # symmetric all the same
            assert not compiled.survey_symmetric(spoilt)[2]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_steps_with_a_symmetric_matrix(dtype: type, nonnegative: bool, rng: np.random.Generator) -> None:
    square = rng.standard_normal((30, 40)).astype(dtype)
    matrix = (square @ square.T / dtype(40)).astype(dtype)
    matrix = (matrix + matrix.T) / dtype(2)
    support, weights = np.array([3, 8, 20], dtype=np.int64), np.array([0.6, 0.0, 0.8])
    answers = []
    for module in (compiled, numpy_reference):
        indices, values, form = module.symmetric_step(matrix, support, weights, 6, nonnegative=nonnegative)
        answers.append(
            (indices, values, form, *module.symmetric_steps(matrix, indices, values, 5, nonnegative=nonnegative))
        )
    for ours, reference in zip(*answers, strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-12 if dtype == np.float64 else 1e-4, atol=1e-6)


def test_steps_end_where_a_product_vanishes() -> None:
    matrix = np.diag([1.0, 0.0, 0.0])
    for module in (compiled, numpy_reference):
        table, entries, lengths, forms, repeated = module.symmetric_steps(
            matrix, np.array([1, 2], dtype=np.int64), np.ones(2), 4
        )
        assert lengths.tolist() == [np.sqrt(2.0)]
        assert forms.tolist() == [0.0]
        assert (len(table), len(entries), len(repeated)) == (2, 2, 1)
