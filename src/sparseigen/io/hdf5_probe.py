"""A look at an HDF5 file by another process, for files that nobody vouches for.

The HDF5 library (2.0, through h5py 3.16) runs for ever on some damaged files, and falls over on others; nothing inside
the same process can prevent it. Where the environment variable SPARSEIGEN_PROBE_HDF5 is set to 1, a second process
(this file, run as a script) goes through the file first: its tree, attributes and the index of its chunks, and small
arrays in full. Only a file that it comes back from is opened. That takes a few tenths of a second, once for each file
and each change of it. The fuzzer of the readers and the tests run with it; by default files are opened straight away.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

SWITCH = "SPARSEIGEN_PROBE_HDF5"
CPU_SECONDS = 30
"""Of processor time for going through a file; one more for every gigabyte of it."""
WALL_SECONDS = 600
SMALL = 1 << 25
"""Bytes up to which an array is read in full."""


def find_trouble(path: Path) -> str | None:
    """What happened to the process that tried a file; None if it came back, or if nobody asked for it."""
    if os.environ.get(SWITCH) != "1":
        return None
    facts = path.stat()
    return _try_elsewhere(str(path.absolute()), facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=64)
def _try_elsewhere(path: str, size: int, changed: int) -> str | None:
    seconds = CPU_SECONDS + size // 10**9
    # -P: the modules beside this file must not stand in for others of the same name.
    command = [sys.executable or "python", "-P", __file__, path, str(seconds)]
    limit = WALL_SECONDS + seconds
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"the HDF5 library did not come back from it within {limit} s"
    except OSError:  # no second process to be had: nothing is known against the file
        return None
    if done.returncode < 0:
        return f"the HDF5 library crashed or ran for more than {seconds} s on it (signal {-done.returncode})"
    return None  # what the library reports, the reader explains


def _go_through(path: str, seconds: int) -> None:
    """Everything a reader might touch; errors that the library reports are the reader's to explain."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass
    import h5py

    with h5py.File(path, "r") as file:
        _read_attributes(file)
        file.visititems(_touch)


def _read_attributes(node: Any) -> None:
    for name in node.attrs:
        _ignore_errors(lambda name=name: node.attrs[name])


def _touch(name: str, node: Any) -> None:
    _ignore_errors(lambda: _read_attributes(node))
    if not hasattr(node, "shape") or node.shape is None:
        return
    stored = _ignore_errors(lambda: int(node.size) * int(node.dtype.itemsize))
    if node.chunks is not None:
        _ignore_errors(lambda: [node.id.get_chunk_info(i) for i in range(node.id.get_num_chunks())])
    if stored is not None and stored <= SMALL and not node.is_virtual and not node.external:
        _ignore_errors(lambda: node[()])


def _ignore_errors(action: Any) -> Any:
    try:
        return action()
    except Exception:  # only crashes and endless loops are looked for; errors are the reader's to explain
        return None


if __name__ == "__main__":
    try:
        _go_through(sys.argv[1], int(sys.argv[2]))
    except Exception:
        sys.exit(1)
