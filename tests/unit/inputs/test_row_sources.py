"""Every source of row blocks gives the answer of the same data in memory."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.operators.pass_data import ChunkedData
from sparseigen.rows.read_ahead import ReadAhead, check_memory_limit, plan_memory
from sparseigen.rows.source import CallerRows

N, P = 90, 12
NAMES = [f"gene{i}" for i in range(P)]


@pytest.fixture
def data(rng):
    table = rng.standard_normal((N, P)) * (rng.random((N, P)) < 0.6)
    table[:, 2:6] += rng.standard_normal((N, 1))
    return table


def write_h5ad(path, table, *, kind="csr_matrix", names=NAMES):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.attrs["encoding-type"] = "anndata"
        if kind == "dense":
            file.create_dataset("X", data=table, chunks=(7, table.shape[1]))
        else:
            rows = sp.csr_matrix(table) if kind == "csr_matrix" else sp.csc_matrix(table)
            group = file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = kind, np.array(table.shape)
            for part in ("data", "indices", "indptr"):
                group.create_dataset(part, data=getattr(rows, part))
        variables = file.create_group("var")
        variables.attrs["_index"] = "_index"
        variables.create_dataset("_index", data=np.array(names, dtype="S"))


def _npy(folder, table):
    np.save(folder / "x.npy", table)
    return folder / "x.npy", {}


def _npy_fortran(folder, table):
    np.save(folder / "x.npy", np.asfortranarray(table))
    return str(folder / "x.npy"), {}


def _h5(folder, table):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("deep/table", data=table, compression="gzip", chunks=(10, P))
    return folder / "x.h5", {}


def _h5_named(folder, table):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.hdf5", "w") as file:
        file["a"], file["b"] = table, table[:3]
    return folder / "x.hdf5", {"dataset": "a"}


def _h5ad(folder, table):
    write_h5ad(folder / "x.h5ad", table)
    return folder / "x.h5ad", {}


def _h5ad_dense(folder, table):
    write_h5ad(folder / "x.h5ad", table, kind="dense")
    return folder / "x.h5ad", {}


def _zarr(folder, table):
    zarr = pytest.importorskip("zarr")
    array = zarr.open(str(folder / "x.zarr"), mode="w", shape=table.shape, chunks=(16, P), dtype=table.dtype)
    array[:] = table
    return folder / "x.zarr", {}


def _zarr_array(folder, table):
    zarr = pytest.importorskip("zarr")
    path, _ = _zarr(folder, table)
    return zarr.open(str(path), mode="r"), {}


def _arrow_table(table, wide):
    pa = pytest.importorskip("pyarrow")
    if wide:
        return pa.table({name: table[:, i] for i, name in enumerate(NAMES)})
    flat = pa.array(table.ravel())
    return pa.table({"x": pa.FixedSizeListArray.from_arrays(flat, P)})


def _arrow(wide):
    def write(folder, table):
        import pyarrow as pa

        made = _arrow_table(table, wide)
        with pa.OSFile(str(folder / "x.arrow"), "wb") as file, pa.ipc.new_file(file, made.schema) as writer:
            writer.write_table(made, max_chunksize=13)
        return folder / "x.arrow", {}

    return write


def _parquet(wide):
    def write(folder, table):
        import pyarrow.parquet as parquet

        parquet.write_table(_arrow_table(table, wide), folder / "x.parquet", row_group_size=20)
        return folder / "x.parquet", {}

    return write


def _blocks(table):
    return [table[:1], table[1:40], table[40:]]


SOURCES = {
    "npy": _npy,
    "npy by columns": _npy_fortran,
    "hdf5": _h5,
    "hdf5 named": _h5_named,
    "h5ad csr": _h5ad,
    "h5ad dense": _h5ad_dense,
    "zarr": _zarr,
    "zarr array": _zarr_array,
    "arrow lists": _arrow(False),
    "arrow columns": _arrow(True),
    "parquet lists": _parquet(False),
    "parquet columns": _parquet(True),
    "function": lambda folder, table: (lambda: iter(_blocks(table)), {"shape": (N, P)}),
    "list": lambda folder, table: (_blocks(table), {"shape": (N, P)}),
    "sparse blocks": lambda folder, table: (lambda: map(sp.csr_array, _blocks(table)), {"shape": (N, P)}),
}
NAMED = {"h5ad csr", "h5ad dense", "arrow columns", "parquet columns"}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("memory_limit", [None, "60kB"])
def test_answer_is_that_of_data_in_memory(kind, dtype, memory_limit, data, tmp_path):
    table = data.astype(dtype)
    source, options = SOURCES[kind](tmp_path, table)
    seen = []
    operator = se.covariance(
        source, scale=True, memory_limit=memory_limit, on_block=lambda *facts: seen.append(facts), **options
    )
    assert isinstance(operator, ChunkedData)
    assert operator.dtype == dtype
    assert operator.names == (tuple(NAMES) if kind in NAMED else None)
    assert seen[-1] == (operator.passes_made, N, N)
    in_memory = se.covariance(sp.csr_array(table) if operator.sparse_blocks else table, scale=True)
    np.testing.assert_allclose(operator.to_dense(), in_memory.to_dense(), rtol=0, atol=1e-13)
    found, right = se.sparse_eigenvector(operator, 4), se.sparse_eigenvector(in_memory, 4)
    np.testing.assert_array_equal(found.support, right.support)
    assert found.value == pytest.approx(right.value, rel=1e-10)


def test_integers_and_half_precision_are_converted(tmp_path, data):
    for dtype, expected in ((np.int16, np.float64), (np.float16, np.float32), (np.int64, np.float64)):
        table = np.round(data * 3).astype(dtype)
        np.save(tmp_path / "x.npy", table)
        operator = se.covariance(tmp_path / "x.npy")
        assert operator.dtype == expected
        np.testing.assert_allclose(operator.means, table.astype(float).mean(axis=0))


def _bad_cases(folder, data):
    write_h5ad(folder / "csc.h5ad", data, kind="csc_matrix")
    np.save(folder / "one.npy", data[:1])
    np.save(folder / "flat.npy", data[0])
    np.save(folder / "text.npy", data.astype(str))
    np.save(folder / "big.npy", np.full((3, 2), 2**60))
    np.save(folder / "short.npy", data)
    with (folder / "short.npy").open("r+b") as file:
        file.truncate(400)
    (folder / "junk.h5").write_bytes(b"junk")
    (folder / "junk.arrow").write_bytes(b"junk")
    (folder / "x.csv").write_text("1,2\n")
    with pytest.importorskip("h5py").File(folder / "two.h5", "w") as file:
        file["a"], file["b"] = data, data
    return {
        "missing.npy": (errors.MissingDataError, "does not exist"),
        "x.csv": (errors.InputError, r"ending '.csv'.*sparseigen convert"),
        "csc.h5ad": (errors.InputError, r"stored by columns.*sparseigen convert"),
        "one.npy": (errors.TooFewSamplesError, "has 1 sample"),
        "flat.npy": (errors.ShapeError, "has 1 dimensions"),
        "text.npy": (errors.DtypeError, "must hold real numbers"),
        "big.npy": (errors.IntegerOverflowError, str(2**60)),
        "short.npy": (errors.InputError, "cannot be read as a NumPy array|truncated"),
        "junk.h5": (errors.InputError, "cannot be read as HDF5"),
        "junk.arrow": (errors.InputError, "cannot be read as Arrow IPC"),
        "two.h5": (errors.OptionError, "it has: 'a', 'b'. Choose one with dataset="),
    }


def test_bad_files_are_refused_by_name(tmp_path, data):
    for name, (error, match) in _bad_cases(tmp_path, data).items():
        with pytest.raises(error, match=match):
            se.covariance(tmp_path / name)
    with pytest.raises(errors.OptionError, match="has no dataset 'c'; it has: 'a', 'b'"):
        se.covariance(tmp_path / "two.h5", dataset="c")


def test_a_damaged_sparse_file_is_refused(tmp_path, data):
    h5py = pytest.importorskip("h5py")
    for part, place, value in (("indices", 5, 99), ("indptr", 3, 0)):
        write_h5ad(tmp_path / "x.h5ad", data)
        with h5py.File(tmp_path / "x.h5ad", "r+") as file:
            file["X"][part][place] = value
        with pytest.raises(errors.InputError, match="damaged"):
            se.covariance(tmp_path / "x.h5ad")


BAD_BLOCKS = {
    "a generator": (lambda data: iter([data]), (N, P), errors.OptionError, "only once"),
    "no shape": (lambda data: lambda: [data], None, errors.OptionError, "needs shape="),
    "too few rows": (lambda data: [data[:9]], (N, P), errors.ShapeError, "gave 9 rows where"),
    "too many rows": (lambda data: [data, data], (N, P), errors.ShapeError, "more than 90 rows"),
    "wrong width": (lambda data: [data[:40], data[40:, :5]], (N, P), errors.ShapeError, r"block 1 has shape \(50, 5\)"),
    "nothing": (lambda data: [], (N, P), errors.ShapeError, "gave no block"),
    "not arrays": (lambda data: lambda: 3, (N, P), errors.OptionError, "iterable of arrays, got int"),
    "mixed": (
        lambda data: [data[:40], sp.csr_array(data[40:])],
        (N, P),
        errors.InputError,
        "block 1 is not",
    ),
}


@pytest.mark.parametrize("case", BAD_BLOCKS)
def test_bad_blocks_are_refused(case, data):
    make, shape, error, match = BAD_BLOCKS[case]
    with pytest.raises(error, match=match):
        se.covariance(make(data), shape=shape)


def test_options_for_passes_are_refused_for_data_in_memory(data):
    with pytest.raises(errors.OptionError, match="memory_limit is for data read in passes"):
        se.covariance(data, memory_limit="1GB")


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


def test_an_error_of_the_caller_s_function_is_passed_on(data):
    calls = []

    def blocks():
        yield data[:50]
        calls.append(1)
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        se.covariance(blocks, shape=(N, P))
    assert calls


def test_a_slow_layout_is_said(tmp_path):
    wide = np.zeros((10, 300))
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table({str(i): wide[:, i] + np.arange(10.0) for i in range(300)}), tmp_path / "x.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        operator = se.covariance(tmp_path / "x.parquet")  # small: said in the description only
    assert "sparseigen convert" in operator.describe()["advice"]


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
        se.covariance(path, memory_limit=10**6, on_block=touch).block_apply(np.ones((data.shape[1], 1)))
    assert len(calls) >= 2


def test_repeated_names_in_a_file_are_refused(tmp_path):
    """Loadings by name would lose a variable."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = [pa.array([1.0, 2.0, 3.0]), pa.array([1.0, 2.0, 9.0])]
    parquet.write_table(pa.Table.from_arrays(columns, names=["a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(errors.DuplicateNamesError, match="'a'"):
        se.covariance(tmp_path / "x.parquet")


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
