"""Readers that break each rule on purpose: the fuzzer must report every one of them, or it could not see a real one."""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from sparseigen.errors import InputError


def _crash(path: Path) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _hang(path: Path) -> None:
    while True:
        pass


def _other_error(path: Path) -> None:
    raise KeyError(path.name)


def _nameless(path: Path) -> None:
    raise InputError("something is wrong")


def _warning(path: Path) -> None:
    warnings.warn("leaked", stacklevel=1)


def _unpickle(path: Path) -> Any:
    return pickle.loads(pickle.dumps(print))


def _memory(path: Path) -> float:
    block = np.empty(900_000_000, dtype=np.uint8)
    block[::4096] = 1  # every page is in use, without writing all of it
    return float(block[-1])


def _outside(path: Path) -> None:
    (path.parent.parent / "outside").write_text("x")


def _refusal(path: Path) -> None:
    raise InputError(f"{path.name} is fine, and refused")


PLANTS = {
    "planted crash": _crash,
    "planted hang": _hang,
    "planted other error": _other_error,
    "planted nameless": _nameless,
    "planted warning": _warning,
    "planted unpickling": _unpickle,
    "planted memory": _memory,
    "planted outside": _outside,
    "planted refusal": _refusal,
    "planted wrong numbers": lambda path: 7,
}
