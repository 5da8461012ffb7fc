"""The registry of formats, and what holds for all readers: nothing is ever unpickled."""

from __future__ import annotations

import ast
import gzip
import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest

import sparseigen as se
from sparseigen import errors
from sparseigen.io import formats
from sparseigen.io.tables import read_table
from sparseigen.rows.files import open_rows
from tests.unit.rows.sources import Trap

SOURCE = Path(se.__file__).parent


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


def test_every_format_has_its_readers() -> None:
    assert sum(len(form.endings) for form in formats.FORMATS) == len(formats.BY_ENDING)  # no ending twice
    for use in ("table", "rows", "graph"):
        found = formats.find_endings(use)
        assert found
        assert all(callable(formats.find_reader(ending, use)) for ending in found)
    assert formats.find_reader(".npy", "graph") is None
    assert formats.find_reader(".doc", "table") is None


def test_packed_files_are_those_of_text(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.eye(3))
    (tmp_path / "x.npy.gz").write_bytes(gzip.compress((tmp_path / "x.npy").read_bytes()))
    for read in (read_table, lambda path: open_rows(path, None), se.read_graph):
        with pytest.raises(errors.InputError, match=r"x\.npy\.gz.*'\.npy\.gz'"):
            read(tmp_path / "x.npy.gz")
