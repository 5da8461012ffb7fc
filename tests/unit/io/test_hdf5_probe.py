"""The other process that looks at HDF5 files first, where somebody asks for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

from fuzzing import reader_seeds
from sparseigen import errors
from sparseigen.io import hdf5_probe
from sparseigen.io.tables import read_table
from tests.unit.rows.sources import VALUES


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


def test_what_the_other_process_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays in full, the index of chunks, every attribute; nothing that lies in other files."""
    path = tmp_path / "x.h5"
    (tmp_path / "outside.bin").write_bytes(b"\0" * 64)
    with h5py.File(path, "w") as file:
        file.attrs["says"] = "something"
        file["group/small"] = np.arange(5)
        file["group/small"].attrs["unit"] = "m"
        file["empty"] = h5py.Empty("f8")
        file.create_dataset("chunked", data=np.arange(8), chunks=(2,))
        file.create_dataset("large", (hdf5_probe.SMALL, 2), "f8", chunks=(1024, 2))
        file.create_dataset("far", (8,), "f8", external=[(str(tmp_path / "outside.bin"), 0, 64)])
    read, limits = [], []
    whole = h5py.Dataset.__getitem__
    monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda self, key: (read.append(self.name), whole(self, key))[1])
    attribute = h5py.AttributeManager.__getitem__
    seen = []
    monkeypatch.setattr(
        h5py.AttributeManager, "__getitem__", lambda self, name: (seen.append(name), attribute(self, name))[1]
    )
    import resource

    monkeypatch.setattr(resource, "setrlimit", lambda what, limit: limits.append((what, limit)))
    hdf5_probe._go_through(str(path), 7)
    assert sorted(read) == ["/chunked", "/group/small"]
    assert sorted(seen) == ["says", "unit"]
    assert limits == [(resource.RLIMIT_CPU, (7, 7)), (resource.RLIMIT_CORE, (0, 0))]


def test_a_system_without_limits_and_arrays_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    def refuse(*given: object) -> None:
        raise OSError("not here")

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"], file["b"] = np.ones(3), np.ones(3)
    tried = []

    def broken(self: h5py.Dataset, key: object) -> None:
        tried.append(self.name)
        raise OSError("damaged")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr(h5py.Dataset, "__getitem__", broken)
    hdf5_probe._go_through(str(tmp_path / "x.h5"), 7)  # what the library reports is for the reader to explain
    assert tried == ["/a", "/b"]


def test_another_process_that_hangs_or_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file["X"] = VALUES

    def hangs(command: object, **given: object) -> None:
        raise subprocess.TimeoutExpired("python", 1)

    def refused(command: object, **given: object) -> None:
        raise OSError("no more processes")

    hdf5_probe._try_elsewhere.cache_clear()
    monkeypatch.setattr(subprocess, "run", hangs)
    np.testing.assert_array_equal(read_table(tmp_path / "x.h5ad").values, VALUES)  # nobody asked for it
    monkeypatch.setenv(hdf5_probe.SWITCH, "1")
    with pytest.raises(errors.InputError, match=r"x\.h5ad cannot be read as HDF5: the HDF5 library did not come back"):
        read_table(tmp_path / "x.h5ad")
    hdf5_probe._try_elsewhere.cache_clear()
    monkeypatch.setattr(subprocess, "run", refused)
    np.testing.assert_array_equal(read_table(tmp_path / "x.h5ad").values, VALUES)
    hdf5_probe._try_elsewhere.cache_clear()
