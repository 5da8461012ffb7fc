"""Every operator as a way to ask about one matrix, with the exact matrix that the answer must be about.

A carrier takes random numbers and an array (a symmetric matrix or data) and returns what is given to sparseigen and
the `Truth` of it. A new operator is one function and one row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from fuzzing.truth import Truth
from sparseigen.operators import as_operator
from sparseigen.operators.deflated import DEFLATIONS, find_unit_vector
from sparseigen.operators.deflated_data import DeflatedData
from sparseigen.operators.wrapped import scale_operator

Array = np.ndarray
Generator = np.random.Generator


class Carried(NamedTuple):
    """What is given to sparseigen, and the truth about it."""

    given: Any
    truth: Truth
    says: str = ""
    """Options that were drawn."""
    scale: float = 0.0
    """The size of what was deflated: values are as accurate as that allows."""
    keeps: Any = None
    """What must live as long as the question: a folder with the file that is read."""


class Foreign:
    """An object of a caller's with nothing but the contract."""

    def __init__(self, matrix: Array) -> None:
        self.matrix, self.size = matrix, len(matrix)

    def diagonal(self) -> Array:
        return np.diag(self.matrix)

    def apply_support(self, indices: Array, weights: Array) -> Array:
        product: Array = self.matrix[:, indices] @ weights
        return product

    def columns(self, indices: Array) -> Array:
        return self.matrix[:, indices]


def _dense(rng: Generator, matrix: Array) -> Carried:
    return Carried(matrix if rng.random() < 0.5 else np.asfortranarray(matrix), Truth.of_matrix(matrix))


def _sparse(rng: Generator, matrix: Array) -> Carried:
    form = [sp.csr_array, sp.csc_matrix, sp.coo_array][int(rng.integers(3))]
    return Carried(form(matrix), Truth.of_matrix(matrix))


def _foreign(rng: Generator, matrix: Array) -> Carried:
    with np.errstate(over="ignore"):
        matrix = np.where(np.triu(np.ones_like(matrix)) > 0, matrix, matrix.T)
    return Carried(Foreign(matrix.astype(np.float64)), Truth.of_matrix(matrix))


def _shifted(rng: Generator, matrix: Array) -> Carried:
    shift = float(rng.choice([-1.0, 1.0, 0.3]) * np.abs(matrix).max())
    # A shift can cancel the matrix to nothing: values then carry the rounding of what was cancelled.
    shifted, truth = as_operator(matrix).shifted(shift), Truth.of_matrix(matrix).shifted(shift)
    return Carried(shifted, truth, f"shift {shift}", scale=2.0 * abs(shift))


def _negated(rng: Generator, matrix: Array) -> Carried:
    return Carried(scale_operator(as_operator(matrix), -1.0), Truth.of_matrix(matrix).negated())


def _restricted(rng: Generator, matrix: Array) -> Carried:
    kept = np.sort(rng.permutation(len(matrix))[: int(rng.integers(1, len(matrix) + 1))])
    return Carried(as_operator(matrix).restricted(kept), Truth.of_matrix(matrix).restricted(kept.tolist()))


def drawn_vector(rng: Generator, size: int) -> Array:
    """A component to take out: some of its loadings are zero, never all."""
    vector = rng.standard_normal(size) * (rng.random(size) < 0.6)
    vector[int(rng.integers(size))] = 1.0
    return vector


def _deflate(rng: Generator, operator: Any, truth: Truth) -> Carried:
    name = str(rng.choice(sorted(DEFLATIONS)))
    for _ in range(int(rng.integers(1, 3))):
        vector = drawn_vector(rng, operator.size)
        following = DEFLATIONS[name](operator, vector)
        if isinstance(following, DeflatedData) and following is not operator:
            x = find_unit_vector(operator, vector)
            regressed = following.taken_out[-1] == "schur"
            truth = truth.regressed(x) if regressed else truth.projected(x[:, None], x[:, None])
        operator = following
    left = getattr(operator, "left", None)
    return Carried(operator, truth if left is None else truth.updated(left, operator.middle), name, truth.largest)


def _deflated(rng: Generator, matrix: Array) -> Carried:
    return _deflate(rng, as_operator(matrix), Truth.of_matrix(matrix))


MATRIX_CARRIERS: dict[str, Callable[[Generator, Array], Carried]] = {
    "dense": _dense,
    "sparse": _sparse,
    "foreign": _foreign,
    "shifted": _shifted,
    "negated": _negated,
    "restricted": _restricted,
    "deflated": _deflated,
}


def drawn_options(rng: Generator) -> dict[str, Any]:
    return {"center": bool(rng.random() < 0.8), "scale": bool(rng.random() < 0.4), "ddof": int(rng.integers(0, 2))}


def carried_covariance(given: Any, data: Array, options: dict[str, Any], **more: Any) -> Carried:
    truth = Truth.of_data(data, **options)
    return Carried(se.covariance(given, **options, **more), truth, str(options))


def _in_memory(rng: Generator, data: Array) -> Carried:
    return carried_covariance(data if rng.random() < 0.5 else np.asfortranarray(data), data, drawn_options(rng))


def _prepared(rng: Generator, data: Array) -> Carried:
    found = carried_covariance(data, data, drawn_options(rng))
    return found._replace(given=found.given.prepared_for(10_000))


def _sparse_data(rng: Generator, data: Array) -> Carried:
    data *= rng.random(data.shape) < rng.choice([0.3, 0.8, 1.0])  # in place: what is saved is what was asked
    return carried_covariance([sp.csr_array, sp.csc_matrix][int(rng.integers(2))](data), data, drawn_options(rng))


def _blocks_of_rows(rng: Generator, data: Array) -> Carried:
    step = int(rng.integers(1, len(data) + 1))
    blocks = [data[begin : begin + step] for begin in range(0, len(data), step)]
    if rng.random() < 0.3:
        blocks = [sp.csr_array(block) for block in blocks]
    return carried_covariance(blocks, data, drawn_options(rng), shape=data.shape)


def _file(rng: Generator, data: Array) -> Carried:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "data.npy"
    np.save(path, data)
    given = path if rng.random() < 0.5 else np.load(path, mmap_mode="r")
    try:
        return carried_covariance(given, data, drawn_options(rng))._replace(keeps=folder)
    except Exception:
        folder.cleanup()
        raise


def _deflated_data(rng: Generator, data: Array) -> Carried:
    options = drawn_options(rng) | {"scale": False}
    given = sp.csr_array(data) if rng.random() < 0.3 else data
    found = carried_covariance(given, data, options)
    deflated = _deflate(rng, found.given, found.truth)
    return deflated._replace(says=f"{deflated.says} {options}")


def _restricted_data(rng: Generator, data: Array) -> Carried:
    found = carried_covariance(data, data, drawn_options(rng))
    kept = np.sort(rng.permutation(data.shape[1])[: int(rng.integers(1, data.shape[1] + 1))])
    return found._replace(given=found.given.restricted(kept), truth=found.truth.restricted(kept.tolist()))


DATA_CARRIERS: dict[str, Callable[[Generator, Array], Carried]] = {
    "data": _in_memory,
    "Gram matrix of data": _prepared,
    "sparse data": _sparse_data,
    "blocks of rows": _blocks_of_rows,
    "file of rows": _file,
    "deflated data": _deflated_data,
    "restricted data": _restricted_data,
}
