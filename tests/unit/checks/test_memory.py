"""What counts as available memory, and which requests are refused before anything is allocated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.checks import memory
from sparseigen.errors import NotEnoughMemoryError


def _group(folder: Path, files: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


@pytest.fixture
def no_other_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(memory, "_find_free_in_system", lambda: memory.UNLIMITED)
    monkeypatch.setattr(memory, "_find_left_in_address_space", lambda: memory.UNLIMITED)
    return tmp_path


def _says(monkeypatch, line: str) -> None:
    read = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda self, **named: line if str(self) == "/proc/self/cgroup" else read(self, **named)
    )


def test_version_two_groups(monkeypatch, no_other_limit):
    _says(monkeypatch, "0::/jobs/mine\n")
    stat = "anon 5\ninactive_file 30"
    _group(no_other_limit / "jobs", {"memory.max": 1000, "memory.current": 500, "memory.stat": stat})
    _group(no_other_limit / "jobs/mine", {"memory.max": "max", "memory.current": 400, "memory.stat": stat})
    assert memory.available_bytes() == 530  # the group above has the limit; its idle file pages give way
    _group(no_other_limit / "jobs/mine", {"memory.max": 600})
    assert memory.available_bytes() == 230
    _group(no_other_limit / "jobs/mine", {"memory.max": 100})
    assert memory.available_bytes() == 0


def test_version_one_groups(monkeypatch, no_other_limit):
    _says(monkeypatch, "5:cpu:/x\n4:memory:/box\n0::/\n")
    files = {"memory.usage_in_bytes": 70, "memory.stat": "total_inactive_file 20"}
    _group(no_other_limit / "memory/box", {"memory.limit_in_bytes": 100, **files})
    assert memory.available_bytes() == 50
    _group(no_other_limit / "memory/box", {"memory.limit_in_bytes": 9223372036854771712})
    assert memory.available_bytes() == memory.UNLIMITED


def test_a_group_of_the_host_is_looked_for_at_the_root(monkeypatch, no_other_limit):
    _says(monkeypatch, "0::/on/the/host\n")
    _group(no_other_limit, {"memory.max": 64, "memory.current": 60, "memory.stat": ""})
    assert memory.available_bytes() == 4


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ulimit -v is Linux's")
def test_ulimit_is_seen_before_the_allocation_fails():
    code = """
import resource
import numpy as np
import sparseigen as se
from sparseigen.errors import NotEnoughMemoryError
data = np.zeros((300, 100_000), dtype=np.float32)  # 120 MB
data[0] = 1.0
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 100_000_000, resource.RLIM_INFINITY))
try:
    se.covariance(data)
except NotEnoughMemoryError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("the centred copy of X (300 x 100000) needs 150.0 MB of memory, and ")
    assert "MB are available" in said
    assert "memory_limit" in said


WIDE = np.broadcast_to(np.float32(1.0), (40, 2_000_000))
"""320 MB that take none: what is refused is refused before anybody writes."""


REQUESTS = {
    "data": (lambda: se.covariance(WIDE), "centred copy of X"),
    "integers": (lambda: se.covariance(np.broadcast_to(np.int8(1), (40, 2_000_000))), "converted from int8"),
    "sparse data": (lambda: se.covariance(_sparse()), "X by columns"),
    "path": (lambda: se.cardinality_path(_data(), range(1, 2000), certify=False), "a path of 1999 answers"),
    "certificate": (lambda: se.upper_bound(_data(2500), 3, effort="tight"), "a certificate for 2500 variables"),
    "whole matrix": (lambda: _data(1500).to_dense(), "the 1500 x 1500 matrix"),
    "graph": (lambda: se.densest_k_subgraph(_sparse(square=True), 3), "a graph of 1500 vertices"),
}


def _data(columns: int = 3000) -> se.Operator:
    return se.covariance(np.random.default_rng(0).standard_normal((5, columns)))


def _sparse(*, square: bool = False) -> sp.csr_array:
    shape = (1500, 1500) if square else (1000, 3000)
    return sp.random(*shape, 0.5, format="csr", random_state=np.random.default_rng(0))


@pytest.mark.parametrize("name", list(REQUESTS))
def test_refused_with_sizes_and_a_remedy(name, monkeypatch):
    request, what = REQUESTS[name]
    monkeypatch.setattr(memory, "available_bytes", lambda: 2_000_000)
    with pytest.raises(NotEnoughMemoryError, match=f"{what}.* needs .*B of memory, and 2.0 MB are available; .+"):
        request()
    with pytest.raises(MemoryError):
        request()


def test_what_the_system_says_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc, the physical memory; where not even that is known, a limit that nothing reaches."""
    from sparseigen.checks import memory

    def missing(*given: object, **named: object) -> None:
        raise OSError("no such file")

    monkeypatch.setattr(memory, "open", missing, raising=False)
    monkeypatch.setattr(memory, "os", SimpleNamespace(sysconf={"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}.__getitem__))
    assert memory._find_free_in_system() == 40_960
    monkeypatch.setattr(memory, "os", SimpleNamespace(sysconf=missing))
    assert memory._find_free_in_system() == memory.UNLIMITED
    monkeypatch.setattr(Path, "read_text", missing)
    assert memory._find_left_in_control_groups() == memory.UNLIMITED
