"""Reading ahead within a limit of memory, and data that change from pass to pass."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.rows.read_ahead import ReadAhead, check_memory_limit, plan_memory
from sparseigen.rows.source import CallerRows
from tests.unit.rows.sources import N, P


@pytest.mark.parametrize(("text", "expected"), [("1GB", 10**9), ("1.5 GiB", 3 * 2**29), (77, 77), ("2k", 2000)])
def test_memory_limits(text, expected):
    assert check_memory_limit(text) == expected


@pytest.mark.parametrize("text", ["lots", "1XB", -3, True, 0, [1], "nan"])
def test_bad_memory_limits(text):
    with pytest.raises(errors.OptionError, match="memory_limit="):
        check_memory_limit(text)


def test_a_limit_that_cannot_be_kept_is_refused_with_what_is_needed(tmp_path, data):
    np.save(tmp_path / "x.npy", data)
    with pytest.raises(errors.OptionError, match=r"memory_limit=1000 bytes is too little for 12 variables"):
        se.covariance(tmp_path / "x.npy", memory_limit=1000)


def test_plan_keeps_blocks_within_their_share_of_the_limit():
    plan = plan_memory(10**9, 400_000, 10**7, 50_000)
    assert 3 * plan.rows * 400_000 <= 10**9 / 6
    assert plan.cache_bytes <= 10**9 / 20


def test_reader_holds_three_blocks_and_ends_with_its_consumer(data):
    made = []

    def blocks():
        for row in data:
            made.append(1)
            yield row[None]

    reader = ReadAhead(CallerRows(blocks, (N, P)), 1)
    made.clear()
    for number, _ in enumerate(reader.blocks()):
        assert len(made) <= number + 3
        if number == 10:
            break
    assert len(made) < 20


@pytest.mark.parametrize("layout", ["C", "F"])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, data, layout):
    """The means of one file and the products of another would make an answer about neither."""
    path = tmp_path / "x.npy"
    np.save(path, np.asarray(data, order=layout))
    untouched = se.sparse_eigenvector(se.covariance(path), 2)
    operator = se.covariance(path)
    was = path.stat()
    np.save(path, np.asarray(3.0 * data, order=layout))
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns + 1_000_000))  # clocks of file systems can be coarse
    with pytest.raises(errors.InputError, match=r"x\.npy changed while it was being read"):
        se.sparse_eigenvector(operator, 2)
    assert se.sparse_eigenvector(se.covariance(path), 2).value == pytest.approx(9.0 * untouched.value)
    operator = se.covariance(path)
    path.unlink()
    with pytest.raises(errors.InputError, match=r"x\.npy"):
        se.sparse_eigenvector(operator, 2)


def test_a_file_that_changes_during_a_pass_is_refused(tmp_path, data):
    path = tmp_path / "x.npy"
    np.save(path, data)
    calls = []

    def touch(passes, done, rows):
        calls.append(done)
        if len(calls) == 2:
            os.utime(path, ns=(0, 1))

    with pytest.raises(errors.InputError, match="changed while it was being read"):
        se.covariance(path, memory_limit=10**6, on_block=touch).apply(np.ones(data.shape[1]))
    assert len(calls) >= 2


def test_memory_limits_may_be_numbers_of_numpy():
    assert check_memory_limit(np.int64(10**8)) == check_memory_limit(np.float32(1e8)) == 10**8
    with pytest.raises(errors.OptionError):
        check_memory_limit(np.bool_(True))


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_differ_from_pass_to_pass_are_refused(data, sparse, rng):
    """A loader that shuffles has no covariance; neither have blocks that the caller goes on writing to."""
    kind = sp.csr_array if sparse else np.asarray

    def shuffled():
        order = rng.permutation(len(data))
        return [kind(data[order[:9]]), kind(data[order[9:]])]

    with pytest.raises(errors.InputError, match="not what it was in an earlier pass"):
        se.sparse_eigenvector(se.covariance(shuffled, shape=data.shape), 2)

    def cut_anew():
        at = int(rng.integers(1, len(data) - 1))  # other blocks of the same rows are the same data
        return [kind(data[:at]), kind(data[at:])]

    found = se.sparse_eigenvector(se.covariance(cut_anew, shape=data.shape), 2)
    assert found.value == pytest.approx(se.sparse_eigenvector(se.covariance(data), 2).value)


def test_memory_maps_and_blocks_that_are_written_to_are_refused(tmp_path, data):
    mapped = np.memmap(tmp_path / "x.bin", dtype=np.float64, mode="w+", shape=data.shape)
    mapped[:] = data
    blocks = [data[:10].copy(), data[10:].copy()]
    for operator, written in ((se.covariance(mapped), [mapped]), (se.covariance(blocks, shape=data.shape), blocks)):
        for part in written:
            part *= 3.0
        with pytest.raises(errors.InputError, match="not what it was in an earlier pass"):
            se.sparse_eigenvector(operator, 2)
