"""Exact screening: the k largest of |d_j'u| over all variables j, without reading every variable.

Two bounds tell which variables can be among the largest; only those are read, and the answer is the one a full
product gives. Derivations in docs/theory.md.

* **Shadow**: an int8 copy of the data, an eighth of the float64 bytes. |d_j'u| lies within
  ``error_j |u| + ...`` of the product of the codes.
* **Running**: from a full product with an earlier vector r. With c the cosine between u and r (both of unit length),
  |d_j'u| lies within sqrt(|d_j|^2 - (d_j'r)^2) sqrt(1 - c^2) of |c| |d_j'r|. Costs no reading at all and wins when the
  iteration moves slowly.

Every decision depends on the numbers alone, never on a clock: the same question takes the same path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.operators.contract import Indices, Vector, computed_once

Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]

SMALLEST_DATA = 8 << 20
"""Data below this many bytes live in the caches, where reading them is cheaper than deciding what to read."""
PLAIN_STEPS = 2
"""Full products at the start of a run: the support is still moving, and they are the first reference."""
PAUSE = 8
"""Full products after screening did not pay, before it is tried again."""
REFRESH_GAIN = 10.0
"""A full product as a new reference pays when it serves about this many steps."""
LARGEST_SHARE = 0.3
"""More chosen variables than this share must all be read anyway; one pass over everything is then faster."""
SHORT_ROW = 1024
"""A variable of fewer bytes is read about as fast as its codes: it gets running bounds alone."""
SHORT_ROW_ERROR = 0.05
"""Sine of the angle from the reference up to which running bounds are tried on short rows."""


@dataclass
class Memory:
    """What one run of the iteration remembers between its steps."""

    indices: Indices | None = None
    values: NDArray[np.float64] | None = None
    combined: Vector | None = None
    reference: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    previous: NDArray[np.float64] | None = None
    smallest_kept: float | None = None
    bounds: Bounds | None = None  # memory that every step writes anew
    steps: int = 0
    plain_until: int = PLAIN_STEPS

    def combined_scores(self, indices: Indices, weights: Vector) -> Vector | None:
        """D_F x_F, if the last step computed it on the way: if the vector is what that step chose."""
        if self.combined is None or self.values is None or self.indices is None:
            return None
        if not np.array_equal(self.indices, indices):
            return None
        length = kernels.length(self.values)
        if not np.array_equal(self.values / length, weights):
            return None
        scores: Vector = self.combined / self.combined.dtype.type(length)
        return scores


@dataclass
class Statistics:
    """How much was read, for a result's settings."""

    steps: dict[str, int] = field(default_factory=lambda: {"full": 0, "shadow": 0, "running": 0})
    variables_read: int = 0


class Screen:
    """Chooses bounds for each step, counts what was read, and steps aside where it does not pay."""

    def __init__(self, variables: NDArray[Any], norms: NDArray[np.float64]) -> None:
        self.variables = variables
        # Upwards past the rounding of the norms, so that the bounds built on them hold.
        self.norms = norms * (1.0 + (variables.shape[1] + 8) * np.finfo(np.float64).eps)
        self.slack = (variables.shape[1] + 16) * float(np.finfo(variables.dtype).eps)
        self.mean_norm = float(self.norms.mean())
        self.row_bytes = variables.shape[1] * variables.itemsize
        self.statistics = Statistics()

    @property
    def worthwhile(self) -> bool:
        """Whether the data are large enough for screening at all."""
        return self.variables.nbytes >= SMALLEST_DATA

    @computed_once
    def shadow(self) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The int8 copy, built when first needed."""
        return kernels.shadow_codes(self.variables)

    @property
    def extra_bytes(self) -> int:
        """Memory the shadow takes, 0 before it is built."""
        return sum(part.nbytes for part in self.shadow) if "shadow" in self.__dict__ else 0

    def bounds(self, memory: Memory, vector: Vector, cardinality: int) -> tuple[str, Bounds] | None:
        """Bounds on |d_j'u| for every variable, or None where a full product is the better step."""
        if (
            not self.worthwhile
            or cardinality > LARGEST_SHARE * len(self.variables)
            or memory.steps < memory.plain_until
            or memory.reference is None
        ):
            return None
        wide = vector.astype(np.float64)
        length = kernels.length(wide)
        if length == 0.0:
            return None
        if self.row_bytes < SHORT_ROW:
            near = _angle(wide, memory.reference[0]) <= SHORT_ROW_ERROR
            return ("running", self._running_bounds(memory, memory.reference, wide, length)) if near else None
        shadow_error = float(self.shadow[2].mean())
        if self.mean_norm * _angle(wide, memory.reference[0]) <= shadow_error:
            return "running", self._running_bounds(memory, memory.reference, wide, length)
        if memory.previous is not None:
            drift = self.mean_norm * _angle(wide, memory.previous)
            if drift * REFRESH_GAIN <= shadow_error:
                return None
        codes, scales, errors, norms = self.shadow
        memory.bounds = kernels.shadow_bounds(codes, scales, errors, norms, wide, self.slack, memory.bounds)
        return "shadow", memory.bounds

    def _running_bounds(self, memory: Memory, reference: Bounds, vector: NDArray[np.float64], length: float) -> Bounds:
        earlier, products = reference
        earlier_length = kernels.length(earlier)
        cosine = abs(kernels.inner_product(earlier, vector)) / (earlier_length * length)
        sine = _angle(vector, earlier)
        angle = (cosine, sine, 4.0 * self.slack)
        memory.bounds = kernels.running_bounds(
            products, self.norms, 1.0 / earlier_length, length, *angle, memory.bounds
        )
        return memory.bounds

    def record(self, memory: Memory, kind: str, read: int, cardinality: int) -> None:
        """Count a step; pause after one that cost more than a full step would have."""
        share, chosen = read / len(self.variables), cardinality / len(self.variables)
        self.statistics.steps[kind] += 1
        self.statistics.variables_read += read
        memory.steps += 1
        if kind != "full" and self._cost(kind, share + chosen / 2.0) > 1.0 + 0.6 * min(chosen, 0.5):
            # Another reference helps running bounds at once; codes stay as coarse as they are.
            memory.plain_until = memory.steps + (1 if kind == "running" else PAUSE)

    def _cost(self, kind: str, share_read: float) -> float:
        """Time of a screened step in full products, from measurements on rows of 62 and 500 samples.

        Rows read with gaps come at half the speed, and again at that of a full product for the sum over those chosen;
        deciding costs about what 250 bytes of a row cost, the codes as
        much again and 1.2 of their bytes.
        """
        decided = 250.0 / self.row_bytes
        codes = 1.2 / self.variables.itemsize + decided if kind == "shadow" else 0.0
        return float(codes + decided + 2.0 * share_read)

    def describe(self) -> dict[str, Any]:
        """What settings say: steps by kind, the share of variables read, the extra memory."""
        total = sum(self.statistics.steps.values()) * len(self.variables)
        return {
            "steps": dict(self.statistics.steps),
            "share_of_variables_read": self.statistics.variables_read / total if total else 0.0,
            "extra_bytes": self.extra_bytes,
        }


def _angle(vector: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """The sine of the angle between two vectors, rounded up; from their difference, so without cancellation."""
    first, second = vector / kernels.length(vector), reference / kernels.length(reference)
    across = first - kernels.inner_product(first, second) * second
    return min(1.0, kernels.length(across) * (1.0 + 1e-12) + 1e-14)
