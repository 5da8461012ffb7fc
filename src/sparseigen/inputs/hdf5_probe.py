"""A damaged HDF5 file can make the HDF5 library itself run for ever or fall over: another process looks first.

That process (this file, run as a script) opens the file, follows its tree, reads attributes, names and the index of the
chunks, and small arrays in full. Only a file that it comes back from is opened here. It takes a few tenths of a second,
once for each file and each change of it.
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

CPU_SECONDS = 30
"""Of processor time for looking a file over; one more for every gigabyte of it."""
WALL_SECONDS = 600
SMALL = 1 << 25
"""Bytes up to which an array is read in full."""
MISSING = 4
"""Exit status: the file could not be looked over here, for no fault of its own."""


def survives(path: Path) -> str | None:
    """None for a file that can be opened; otherwise what happened to the process that tried."""
    facts = path.stat()
    return _looked_over(str(path.absolute()), facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=64)
def _looked_over(path: str, size: int, changed: int) -> str | None:
    seconds = CPU_SECONDS + size // 10**9
    # -P: the modules beside this file must not stand in for others of the same name.
    command = [sys.executable or "python", "-P", __file__, path, str(seconds)]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=WALL_SECONDS + seconds, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"the HDF5 library did not come back from it within {WALL_SECONDS + seconds} s"
    except OSError:  # no second process to be had: nothing is known against the file
        return None
    if done.returncode < 0:
        return f"the HDF5 library crashed or ran for more than {seconds} s on it (signal {-done.returncode})"
    return None


def _look(path: str, seconds: int) -> None:
    """Everything a reader might touch; errors that the library reports are the reader's to explain."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass
    import h5py

    with h5py.File(path, "r") as file:
        _attributes(file)
        file.visititems(_touch)


def _attributes(node: Any) -> None:
    for name in node.attrs:
        _quietly(lambda name=name: node.attrs[name])


def _touch(name: str, node: Any) -> None:
    _quietly(lambda: _attributes(node))
    if not hasattr(node, "shape") or node.shape is None:
        return
    stored = _quietly(lambda: int(node.size) * int(node.dtype.itemsize))
    if node.chunks is not None:
        _quietly(lambda: [node.id.get_chunk_info(i) for i in range(node.id.get_num_chunks())])
    if stored is not None and stored <= SMALL and not node.is_virtual and not node.external:
        _quietly(lambda: node[()])


def _quietly(action: Any) -> Any:
    try:
        return action()
    except Exception:
        return None


if __name__ == "__main__":
    try:
        _look(sys.argv[1], int(sys.argv[2]))
    except Exception:
        sys.exit(MISSING)
