"""Every operator as a way to carry A = factor' factor / n. A new operator joins the common tests by a row here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from sparseigen import contrast, covariance
from sparseigen.operators import Operator, as_operator
from sparseigen.operators.wrapped import scale_operator

Factor = np.ndarray[Any, Any]


def _read_only(array: Factor) -> Factor:
    array = array.copy()
    array.flags.writeable = False
    return array


def _gram(factor: Factor) -> Factor:
    return factor.T @ factor / len(factor)


def _mapped(factor: Factor, order: str) -> np.memmap[Any, Any]:
    path = Path(tempfile.mkdtemp()) / "data.bin"
    mapped = np.memmap(path, dtype=factor.dtype, mode="w+", shape=factor.shape, order=order)
    mapped[:] = factor
    mapped.flush()
    return np.memmap(path, dtype=factor.dtype, mode="r", shape=factor.shape, order=order)


def _names(factor: Factor) -> list[str]:
    return [f"v{i}" for i in range(factor.shape[1])]


def _plain(data: Any) -> Operator:
    return covariance(data, center=False, ddof=0)


class Foreign:
    """An object of a caller's with nothing but the contract."""

    def __init__(self, matrix: Factor) -> None:
        self.matrix, self.size = matrix, len(matrix)

    def diagonal(self) -> Factor:
        return np.diag(self.matrix)

    def apply_support(self, indices: Factor, weights: Factor) -> Factor:
        return self.matrix[:, indices] @ weights

    def columns(self, indices: Factor) -> Factor:
        return self.matrix[:, indices]


OPERATORS: dict[str, Callable[[Factor], Operator]] = {
    "dense": lambda f: as_operator(_read_only(_gram(f))),
    "dense-fortran": lambda f: as_operator(np.asfortranarray(_gram(f))),
    "sparse": lambda f: as_operator(sp.csr_array(_gram(f))),
    "sparse-coo": lambda f: as_operator(sp.coo_matrix(_gram(f))),
    "frame-matrix": lambda f: as_operator(pd.DataFrame(_gram(f), columns=_names(f))),
    "data": lambda f: _plain(_read_only(f)),
    "data-fortran": lambda f: _plain(np.asfortranarray(f)),
    "sparse-data": lambda f: _plain(sp.csr_array(f)),
    "sparse-data-csc": lambda f: _plain(sp.csc_matrix(f)),
    "pandas": lambda f: _plain(pd.DataFrame(f, columns=_names(f))),
    "polars": lambda f: _plain(pl.DataFrame({name: f[:, i] for i, name in enumerate(_names(f))})),
    "memmap": lambda f: _plain(_mapped(f, "C")),
    "memmap-fortran": lambda f: _plain(_mapped(f, "F")),
    "foreign": lambda f: as_operator(Foreign(_gram(f))),
    "shifted-back": lambda f: as_operator(_gram(f)).shifted(2.0).shifted(-2.0),
    "negated-twice": lambda f: scale_operator(scale_operator(as_operator(_gram(f)), -1.0), -1.0),
    "combined": lambda f: contrast(_plain(2.0 * f), _plain(f), 3.0),
    "restricted-to-all": lambda f: _plain(f).restricted(np.arange(f.shape[1])),
    "deflated-nothing": lambda f: (
        _plain(np.hstack([f, np.zeros((len(f), 1))]))
        .deflated(np.eye(f.shape[1] + 1)[-1])
        .restricted(np.arange(f.shape[1]))
    ),
}

SINGLE_PRECISION: dict[str, Callable[[Factor], Operator]] = {
    "dense-float32": lambda f: as_operator(_gram(f).astype(np.float32)),
    "data-float32": lambda f: _plain(f.astype(np.float32)),
    "sparse-data-float32": lambda f: _plain(sp.csr_array(f.astype(np.float32))),
    "memmap-float32": lambda f: _plain(_mapped(f.astype(np.float32), "C")),
}
