"""Dual points of the penalised problem in closed form, made from data on a device a block of variables at a time.

`certificates.penalised_dual` has the mathematics; `support_points` and `remainders` there are the twins of what is
here. Everything is float64, whatever the data are stored in. Of the p x n dual points only their n x n Gram matrix and
one remainder a variable ever exist at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseigen.operators.contract import LARGEST_MATERIALISED, DualParts, Indices, Vector

if TYPE_CHECKING:
    from sparseigen.operators.torch_data import TorchData

Tensor = Any

BLOCK_ENTRIES = 1 << 23
"""Entries of the data worked on at a time, about six copies of them in float64."""
GOLDEN = 0.6180339887498949
TINY = 1e-290
UNDERFLOW = 1e-140
"""Added to every remainder: more than squares of numbers too small for float64 can add up to."""
POWER_STEPS = 24
LARGEST_EXPONENT = 500
"""Data beyond 2^500, or below 2^-500, have squares that leave float64: other bounds, which scale them first, hold."""


def closed_form_duals(
    data: TorchData, vectors: list[tuple[Indices, Vector]], cardinalities: list[int], trials: int
) -> list[DualParts] | None:
    """For each answer the points of the best of ``trials`` penalties.

    None where the Gram matrix would be too large, or its numbers would leave the range of float64.
    """
    if data.n_samples > LARGEST_MATERIALISED:
        return None
    maker = _Maker(data)
    if abs(maker.exponent) > LARGEST_EXPONENT:
        return None
    found = [
        maker.best(maker.direction(*vector), cardinality, trials)
        for vector, cardinality in zip(vectors, cardinalities, strict=True)
    ]
    return [parts for parts in found if parts is not None]


def relative_error(terms: int) -> float:
    """Twice a safe relative error of a float64 sum of so many products, in any order."""
    return 2.04 * (terms + 4) * 2.0**-53


class _Maker:
    """Points for the variables f_i = 2^-e d_i, whose lengths are at most about one."""

    def __init__(self, data: TorchData) -> None:
        self.data = data
        largest = float(data.radii().max()) * math.sqrt(data.divisor)
        self.exponent = math.frexp(largest)[1]
        self.factor = math.ldexp(1.0, -self.exponent)
        step = max(1, BLOCK_ENTRIES // data.n_samples)
        self.blocks = [slice(first, min(first + step, data.size)) for first in range(0, data.size, step)]

    def direction(self, indices: Indices, weights: Vector) -> Tensor | None:
        """F'x as a unit vector; None where it vanishes."""
        import torch

        entries = torch.as_tensor(np.array(weights, dtype=np.float64), device=self.data.device)
        direction = entries @ (self.data.rows(self.data._places(indices)) * self.factor)
        length = direction.norm()
        return direction / length if float(length) > 0.0 else None

    def best(self, direction: Tensor | None, cardinality: int, trials: int) -> DualParts | None:
        """A golden section search between the last share inside and the first outside, ended after some trials."""
        if direction is None:
            return None
        if cardinality >= self.data.size:
            return self._parts(*self._points(direction, None))
        low, width = self._window(direction, cardinality)

        def at(position: float) -> tuple[float, Any]:
            penalty = low + position * width
            made = self._points(direction, penalty)
            return _largest_eigenvalue(made[0], direction) + cardinality * penalty, made

        left, right = 0.0, 1.0
        inner, outer = at(1.0 - GOLDEN), at(GOLDEN)
        for _ in range(trials - 2):
            if inner[0] <= outer[0]:
                right, outer = left + GOLDEN * (right - left), inner
                inner = at(right - GOLDEN * (right - left))
            else:
                left, inner = right - GOLDEN * (right - left), outer
                outer = at(left + GOLDEN * (right - left))
        return self._parts(*min(inner, outer, key=lambda item: item[0])[1])

    def _window(self, direction: Tensor, cardinality: int) -> tuple[float, float]:
        import torch

        shares = torch.cat([self._rows(rows) @ direction for rows in self.blocks]) ** 2
        last, first = torch.topk(shares, cardinality + 1).values[-2:].cpu().tolist()
        return first, last - first

    def _rows(self, rows: slice) -> Tensor:
        return self.data.rows(rows) * self.factor

    def _points(self, direction: Tensor, penalty: float | None) -> tuple[Tensor, Tensor, Tensor]:
        """The Gram matrix of the points, the sum of their squares, the remainders; no penalty: z_i = f_i."""
        import torch

        size = self.data.n_samples
        gram = torch.zeros(size, size, dtype=torch.float64, device=self.data.device)
        squares, pieces = gram.new_zeros(()), []
        for block in self.blocks:
            rows = self._rows(block)
            points = rows if penalty is None else support_points(rows, direction, penalty)
            gram.addmm_(points.T, points)
            squares += (points * points).sum()
            pieces.append(remainders(rows, points))
        return gram, squares, torch.cat(pieces)

    def _parts(self, gram: Tensor, squares: Tensor, found: Tensor) -> DualParts:
        scale = math.ldexp(1.0, 2 * self.exponent) / self.data.divisor
        symmetric = (0.5 * (gram + gram.T)).cpu().numpy()
        return DualParts(symmetric, float(squares), found.cpu().numpy(), scale)


def support_points(rows: Tensor, direction: Tensor, penalty: float) -> Tensor:
    """The closed form for a unit direction and a penalty; see `certificates.penalised_dual.support_points`."""
    along = rows @ direction
    shares, squares = along**2, (rows * rows).sum(dim=1)
    inside = shares > penalty
    above = (shares - penalty).clamp(min=TINY).sqrt()
    chosen = (along[:, None] * rows - penalty * direction) / above[:, None]
    across = rows - along[:, None] * direction
    lengths = (across * across).sum(dim=1).sqrt().clamp(min=TINY)
    room = (penalty - shares).clamp(min=1e-30)  # a share equal to the penalty leaves no room: a useless bound
    wanted = (penalty * (squares - penalty).clamp(min=0.0) / room).sqrt()
    return chosen.where(inside[:, None], across * (wanted / lengths)[:, None])


def remainders(rows: Tensor, points: Tensor) -> Tensor:
    """rho_i for every variable, raised past its rounding; see `certificates.penalised_dual.remainders`."""
    error, unit = relative_error(rows.shape[1] + 8), 2.0**-53
    squares, sizes = (rows * rows).sum(dim=1), (points * points).sum(dim=1)
    minus, plus = rows - points, rows + points
    difference = (minus * plus).sum(dim=1)
    difference += error * ((minus * minus).sum(dim=1) * (plus * plus).sum(dim=1)).sqrt()
    share = (rows * points).sum(dim=1) / squares.clamp(min=TINY)
    across = ((points - share[:, None] * rows) ** 2).sum(dim=1).sqrt()
    # A wrong share only makes the computed part longer, except by its own rounding: z and f times a few roundings.
    across = across * (1.0 + error) + 4.0 * unit * (sizes.sqrt() + share.abs() * squares.sqrt())
    product = squares * (1.0 + error) * across**2
    root = (difference**2 + 4.0 * product).sqrt()
    apart = root - difference
    below = (2.0 * product / apart.clamp(min=TINY)).where(apart > 0.0, apart.new_zeros(()))
    found = (0.5 * (difference + root)).where(difference >= 0.0, below)
    return found * (1.0 + 16.0 * unit) + UNDERFLOW


def _largest_eigenvalue(gram: Tensor, direction: Tensor) -> float:
    """An estimate by the power method from a vector that is close: it ranks penalties, it proves nothing."""
    vector = direction
    for _ in range(POWER_STEPS):
        vector = gram @ vector
        vector = vector / vector.norm().clamp(min=TINY)
    return float(vector @ (gram @ vector))
