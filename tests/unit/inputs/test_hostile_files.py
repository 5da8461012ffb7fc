"""Files that were made to do harm, or that once did: each is refused in one sentence that names it, or read right."""

from __future__ import annotations

import ast
import gzip
import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from fuzzing import reader_mutations, reader_seeds
from fuzzing.reader_targets import TARGETS
from sparseigen import errors
from sparseigen.io.matrix_market import read_matrix
from sparseigen.io.npy import read_archive
from sparseigen.io.tables import read_table
from sparseigen.rows.files import open_rows

SOURCE = Path(se.__file__).parent


class Trap:
    """Unpickling this would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def rows_of(path: Path) -> np.ndarray:
    source = open_rows(path, None)
    blocks = source.blocks(3, 0, lambda count: np.empty((count, source.shape[1]), dtype=source.dtype))
    return np.vstack([block.toarray() if source.sparse else block.copy() for block in blocks])


# ---- pickle ----


def test_no_module_can_unpickle() -> None:
    """np.load with allow_pickle, and the modules that unpickle, are nowhere in the source."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] not in ("pickle", "cloudpickle", "joblib", "dill", "shelve", "marshal"), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                called = ast.unparse(node.func)
                assert called not in (
                    "np.lib.format.read_array",
                    "pandas.read_pickle",
                    "eval",
                    "exec",
                    "ast.literal_eval",
                ), path
                if called in ("np.load", "np.save"):
                    given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                    assert given.get("allow_pickle") == "False", f"{path}: {ast.unparse(node)}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile"), path


def test_pickles_in_every_disguise(tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    trap = np.array([[Trap(sprung)]], dtype=object)
    np.save(tmp_path / "trap.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "trap.npz", X=trap)
    np.savez(tmp_path / "names.npz", X=np.eye(3), names=np.array([Trap(sprung)] * 3, dtype=object))
    np.savez(tmp_path / "format.npz", format=trap, shape=np.array([1, 1]), src=trap, dst=trap)
    (tmp_path / "raw.npy").write_bytes(pickle.dumps(Trap(sprung)))
    with h5py.File(tmp_path / "trap.h5ad", "w") as file:
        file["X"] = np.frombuffer(pickle.dumps(Trap(sprung)), dtype=np.uint8)
        file.create_dataset("var", data=np.void(pickle.dumps(Trap(sprung))))
    for name in ("trap.npy", "trap.npz", "names.npz", "format.npz", "raw.npy", "trap.h5ad"):
        with pytest.raises(errors.SparseigenError, match=name):
            read_table(tmp_path / name)
        if name.endswith("npz"):
            with pytest.raises(errors.SparseigenError, match=name):
                se.read_graph(tmp_path / name)
        else:
            with pytest.raises(errors.SparseigenError, match=name):
                open_rows(tmp_path / name, None)
    assert not sprung.exists()


@pytest.mark.parametrize("dtype", ["<f8", "|O"])
def test_a_zarr_store_whose_chunks_are_pickles(dtype: str, tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    sprung = tmp_path / "sprung"
    store = tmp_path / "x.zarr"
    store.mkdir()
    (store / ".zarray").write_text(
        '{"zarr_format": 2, "shape": [4, 2], "chunks": [4, 2], "compressor": null, "fill_value": 0, "order": "C", '
        f'"dtype": "{dtype}", "filters": [{{"id": "pickle", "protocol": 5}}]}}'
    )
    (store / "0.0").write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(errors.InputError, match=r"x\.zarr"):
        rows_of(store)
    assert not sprung.exists()


# ---- files that point out of themselves ----


def test_hdf5_files_that_point_at_others(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["X"] = np.eye(4)
    (tmp_path / "secret.bin").write_bytes(np.eye(4).tobytes())
    with h5py.File(tmp_path / "link.h5ad", "w") as file:
        file["X"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "X")
    with h5py.File(tmp_path / "soft.h5ad", "w") as file:
        file["far"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "X")
        file["X"] = h5py.SoftLink("/far")
    with h5py.File(tmp_path / "raw.h5ad", "w") as file:
        file.create_dataset("X", (4, 4), "f8", external=[(str(tmp_path / "secret.bin"), 0, h5py.h5f.UNLIMITED)])
    with h5py.File(tmp_path / "virtual.h5ad", "w") as file:
        layout = h5py.VirtualLayout((4, 4), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "X", (4, 4))
        file.create_virtual_dataset("X", layout)
    for name in ("link", "soft", "raw", "virtual"):
        with pytest.raises(errors.InputError, match=f"{name}.h5ad.*(another file|other files)"):
            read_table(tmp_path / f"{name}.h5ad")
        with pytest.raises(errors.InputError, match=f"{name}.h5ad.*(another file|other files)"):
            rows_of(tmp_path / f"{name}.h5ad")
    with h5py.File(tmp_path / "own.h5ad", "w") as file:
        file["numbers"] = np.arange(12.0).reshape(4, 3)
        file["X"] = h5py.SoftLink("/numbers")
    np.testing.assert_array_equal(read_table(tmp_path / "own.h5ad").values, np.arange(12.0).reshape(4, 3))
    with h5py.File(tmp_path / "ring.h5ad", "w") as file:
        file["X"], file["Y"] = h5py.SoftLink("/Y"), h5py.SoftLink("/X")
    with pytest.raises(errors.InputError, match=r"ring\.h5ad"):
        read_table(tmp_path / "ring.h5ad")


def test_a_graph_that_names_a_file_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "x.graphml").write_text(
        f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
        '<graphml><graph edgedefault="directed"><node id="&x;"/><node id="b"/></graph></graphml>'
    )
    try:
        labels = list(se.read_graph(tmp_path / "x.graphml").labels)
    except errors.SparseigenError as error:
        labels = [str(error)]
    assert not any("secret" in str(label).replace(str(tmp_path), "") for label in labels)


# ---- what once went wrong ----


def test_a_damaged_matrix_market_file(tmp_path: Path) -> None:
    """A number broken in two made another reader write behind the end of its array."""
    whole = reader_seeds.matrix_market(reader_seeds.numbers())
    first = whole.splitlines()[4]
    (tmp_path / "x.mtx").write_bytes(whole.replace(first, first[:3] + b"\x18" + first[3:], 1))
    with pytest.raises(errors.InputError, match=r"x\.mtx"):
        read_table(tmp_path / "x.mtx")
    for text, message in {
        "3 3 1\n4 1 1.0\n": "entry at 4; these are whole numbers in 1..3",
        "3 3 2\n1 1 1.0\n": "declares 2 entries and holds 1",
        "3 3 1\n1 1 1.0\n2 2 1.0\n": "more than the 1 entries",
        "3 3 1\n1 1 1.0 2.0\n": "a line of 3",
        "3 3 1\n1.5 1 1.0\n": "entry at 1.5",
        "-3 3 1\n1 1 1.0\n": "must be whole numbers",
    }.items():
        (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix coordinate real general\n" + text)
        with pytest.raises(errors.InputError, match=message.replace("(", r"\(")):
            read_table(tmp_path / "x.mtx")


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("dense", [True, False])
def test_matrix_market_against_scipy(symmetry: str, dense: bool, tmp_path: Path, rng: np.random.Generator) -> None:
    import scipy.io

    values = np.round(rng.standard_normal((6, 6)), 3) * (rng.random((6, 6)) < 0.6)
    values = {"general": values, "symmetric": values + values.T, "skew-symmetric": values - values.T}[symmetry]
    for field, factor in (("real", 1.0), ("integer", 1000)):
        array = np.rint(values * factor).astype(int) if field == "integer" else values
        scipy.io.mmwrite(tmp_path / "x.mtx", array if dense else sp.coo_array(array), field=field, symmetry=symmetry)
        (tmp_path / "x.mtx.gz").write_bytes(gzip.compress((tmp_path / "x.mtx").read_bytes()))
        for name in ("x.mtx", "x.mtx.gz"):
            found = read_matrix(tmp_path / name)
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found if dense else found.toarray(), array)


def test_large_vertex_numbers_stay_apart(tmp_path: Path) -> None:
    for name, text in (
        ("a.txt", "9007199254740993 1\n9007199254740992 2\n"),
        ("b.txt", "inf 1\n2 3\n"),
        ("c.txt", "nan 1\n"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(errors.InputError, match=name):
            se.read_graph(tmp_path / name)
    with pytest.raises(errors.IntegerOverflowError, match="beyond 2\\^63"):
        se.densest_k_subgraph(np.array([[2**63, 1], [1, 2]], dtype=np.uint64), 2)
    np.savez(tmp_path / "wraps.npz", src=np.array([0, 2**32 + 1]), dst=np.array([1, 0]))
    with pytest.raises(errors.InputError, match=r"wraps\.npz"):
        se.read_graph(tmp_path / "wraps.npz")


def test_weights_whose_sum_runs_over() -> None:
    small = np.full(4, 100, dtype=np.int8)  # summed as they are: -112
    assert se.densest_k_subgraph((np.zeros(4, int), np.ones(4, int), small), 2).weight == 800.0
    assert se.densest_k_subgraph(sp.coo_array((small, ([0] * 4, [1] * 4)), shape=(2, 2)), 2).weight == 400.0
    heavy = sp.coo_array((np.full(4, 2**62), ([0, 0, 0, 0], [1, 1, 1, 1])), shape=(2, 2))
    with pytest.raises(errors.IntegerOverflowError, match="2\\^62"):
        se.densest_k_subgraph(heavy, 2)


def test_a_small_file_with_a_line_that_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.io import text as text_tables

    monkeypatch.setattr(text_tables, "available_bytes", lambda: 64 << 20)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"1" * (8 << 20)))
    assert (tmp_path / "x.csv.gz").stat().st_size < 20_000
    with pytest.raises(errors.InputError, match=r"x\.csv\.gz has a line of more than 1048576 characters"):
        read_table(tmp_path / "x.csv.gz")


def test_python_notation_is_no_number(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n2,1_000\n3,4\n")
    with pytest.raises(errors.DtypeError, match="'1_000' is not a number"):
        read_table(tmp_path / "x.csv")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<i2", "|b1"])
def test_plain_arrays_are_read_as_numpy_reads_them(order: str, dtype: str, tmp_path: Path) -> None:
    values = np.asarray(np.arange(24).reshape(6, 4) % 7, dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", values)
    np.savez_compressed(tmp_path / "x.npz", X=values, names=np.array(list("abcd")))
    np.testing.assert_array_equal(read_table(tmp_path / "x.npy").values, np.load(tmp_path / "x.npy"))
    table = read_table(tmp_path / "x.npz")
    np.testing.assert_array_equal(table.values, values)
    assert table.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(rows_of(tmp_path / "x.npy"), values.astype(float))
    assert read_archive(tmp_path / "x.npz")["X"].dtype == np.dtype(dtype)


def test_bytes_of_an_index_that_another_process_falls_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The HDF5 library hangs on some damaged files: what it does in the other process decides."""
    from sparseigen.io import hdf5_probe

    monkeypatch.setenv(hdf5_probe.SWITCH, "1")
    whole = reader_seeds.hdf5("dense")
    (tmp_path / "x.h5ad").write_bytes(whole)
    assert hdf5_probe.find_trouble(tmp_path / "x.h5ad") is None
    script = tmp_path / "falls.py"
    for action in ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "while True: pass"):
        script.write_text("import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n" + action)
        monkeypatch.setattr(hdf5_probe, "__file__", str(script))
        (tmp_path / "x.h5ad").write_bytes(whole + b"\0")
        hdf5_probe._try_elsewhere.cache_clear()
        with pytest.raises(errors.InputError, match=r"x\.h5ad cannot be read as HDF5: the HDF5 library crashed or ran"):
            read_table(tmp_path / "x.h5ad")


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_of_the_fuzzer_are_whole(name: str, tmp_path: Path) -> None:
    files = TARGETS[name].whole()
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(content)
    found = TARGETS[name].read(tmp_path / next(iter(files)).split("/")[0])
    if TARGETS[name].right is not None:
        assert TARGETS[name].right(tmp_path / next(iter(files)), found)


def test_mutations_follow_from_their_seed() -> None:
    for way in (*reader_mutations.BYTES, *reader_mutations.TEXT):
        data = reader_seeds.table_text()
        first, second = (way(data, np.random.default_rng(5)) for _ in range(2))
        assert first == second
