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
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.operators.contract import Indices, Vector

Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]

SMALLEST_DATA = 8 << 20
"""Data below this many bytes live in the caches, where reading them is cheaper than deciding what to read."""
PLAIN_STEPS = 2
"""Full products at the start of a run: the support is still moving, and they are the first reference."""
PAUSE = 8
"""Full products after screening did not pay, before it is tried again."""
REFRESH_GAIN = 10.0
"""A full product as a new reference pays when it serves about this many steps."""


@dataclass
class Run:
    """What one run of the iteration remembers between its steps."""

    indices: Indices | None = None
    values: Vector | None = None
    combined: Vector | None = None
    reference: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    previous: NDArray[np.float64] | None = None
    steps: int = 0
    plain_until: int = PLAIN_STEPS

    def combined_scores(self, indices: Indices, weights: Vector) -> Vector | None:
        """D_F x_F, if the last step computed it on the way."""
        if self.combined is None or self.values is None or self.indices is not indices:
            return None
        length = np.linalg.norm(self.values)
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
        self.statistics = Statistics()

    @property
    def worthwhile(self) -> bool:
        """Whether the data are large enough for screening at all."""
        return self.variables.nbytes >= SMALLEST_DATA

    @cached_property
    def shadow(self) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The int8 copy, built when first needed."""
        return kernels.shadow_codes(self.variables)

    @property
    def extra_bytes(self) -> int:
        """Memory the shadow takes, 0 before it is built."""
        return sum(part.nbytes for part in self.shadow) if "shadow" in self.__dict__ else 0

    def bounds(self, run: Run, vector: Vector, cardinality: int) -> tuple[str, Bounds] | None:
        """Bounds on |d_j'u| for every variable, or None where a full product is the better step."""
        if not self.worthwhile or run.steps < run.plain_until or run.reference is None:
            return None
        wide = vector.astype(np.float64)
        length = float(np.linalg.norm(wide))
        if length == 0.0:
            return None
        shadow_error = float(self.shadow[2].mean())
        if self.mean_norm * _angle(wide, run.reference[0]) <= shadow_error:
            return "running", self._running_bounds(run.reference, wide, length)
        if run.previous is not None:
            drift = self.mean_norm * _angle(wide, run.previous)
            if drift * REFRESH_GAIN <= shadow_error:
                return None
        codes, scales, errors, norms = self.shadow
        return "shadow", kernels.shadow_bounds(codes, scales, errors, norms, wide, self.slack)

    def _running_bounds(
        self, reference: tuple[NDArray[np.float64], NDArray[np.float64]], vector: NDArray[np.float64], length: float
    ) -> Bounds:
        earlier, products = reference
        earlier_length = float(np.linalg.norm(earlier))
        cosine = abs(float(earlier @ vector)) / (earlier_length * length)
        sine = _angle(vector, earlier)
        along = np.abs(products) / earlier_length
        across = np.sqrt(np.maximum(self.norms**2 - along**2, 0.0) + (4.0 * self.slack * self.norms) ** 2)
        radius = (across * sine + 4.0 * self.slack * self.norms) * length
        centre = along * (cosine * length)
        return np.maximum(centre - radius, 0.0), centre + radius

    def record(self, run: Run, kind: str, read: int, cardinality: int) -> None:
        """Count a step; pause after one that read more than a full product would have."""
        size = len(self.variables)
        self.statistics.steps[kind] += 1
        self.statistics.variables_read += read
        run.steps += 1
        codes = 1.0 / self.variables.itemsize if kind == "shadow" else 0.0
        if kind != "full" and codes + read / size > 0.95 * (1.0 + cardinality / size):
            run.plain_until = run.steps + PAUSE

    def describe(self) -> dict[str, Any]:
        """What settings say: steps by kind, the share of variables read, the extra memory."""
        total = sum(self.statistics.steps.values()) * len(self.variables)
        return {
            "steps": dict(self.statistics.steps),
            "share_of_variables_read": self.statistics.variables_read / total if total else 0.0,
            "extra_bytes": self.extra_bytes,
        }


def _angle(vector: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The sine of the angle between two vectors, rounded up; from their difference, so without cancellation."""
    first, second = vector / np.linalg.norm(vector), other / np.linalg.norm(other)
    across = first - (first @ second) * second
    return min(1.0, float(np.linalg.norm(across)) * (1.0 + 1e-12) + 1e-14)
