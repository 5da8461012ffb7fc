"""Tests against one fault: a fork of a process that has loaded everything except sparseigen."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

from tools.mutation.faults import Fault, mutated

# What is loaded already cannot be rewritten, and need not be.
OPTIONS = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov",
           "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip
OUTCOMES = {0: "survived", 1: "killed"}
LOADED = ("numpy", "scipy.sparse.linalg", "scipy.optimize", "scipy.stats", "sklearn.decomposition", "pytest",
          "hypothesis.strategies", "networkx", "mpmath", "pandas", "dask.array", "distributed")  # fmt: skip


class _Loader(importlib.machinery.SourceFileLoader):
    code: CodeType

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class _Finder(importlib.abc.MetaPathFinder):
    """Gives out one module with the fault in it."""

    def __init__(self, root: Path, fault: Fault) -> None:
        self.name = fault.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.path = root / fault.module
        self.loader = _Loader(self.name, str(self.path))
        self.loader.code = compile(mutated(root, fault), str(self.path), "exec")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self.loader)


def load_everything_else() -> None:
    """Import what the tests import, once."""
    for name in LOADED:
        if importlib.util.find_spec(name.split(".")[0]) is not None:
            importlib.import_module(name)
    loaded = [name for name in sys.modules if name.split(".")[0] == "sparseigen"]
    if loaded:
        sys.exit(f"mutants: {loaded[0]} is loaded before the fault is put into it")


def attempt(root: Path, fault: Fault | None, tests: list[str], seconds: float) -> tuple[str, float]:
    """What the tests said: killed, survived, or timeout after this many processor seconds; and how many it took."""
    child = os.fork()
    if child == 0:
        _run(root, fault, tests, int(seconds) + 1)
    _, status, usage = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        return ("timeout" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGALRM) else "killed"), usage.ru_utime
    return OUTCOMES.get(os.WEXITSTATUS(status), "killed"), usage.ru_utime


def _run(root: Path, fault: Fault | None, tests: list[str], seconds: int) -> None:
    """In the child: the tests, until the first failure."""
    import hypothesis
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    signal.alarm(20 * seconds)  # a fault that sleeps uses no processor
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    if fault is not None:
        sys.meta_path.insert(0, _Finder(root, fault))
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]  # a failure need not be made small
    hypothesis.settings.register_profile("mutants", database=None, derandomize=True, phases=phases)
    hypothesis.settings.load_profile("mutants")
    code = 3
    try:
        code = int(pytest.main([*OPTIONS, *tests]))
    finally:
        os._exit(code)
