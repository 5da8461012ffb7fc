"""Row bounds and dual points made from data on a device.

The scaled Gershgorin bound on the device: row blocks of A are made, used and thrown away there.

For any d > 0 and every support S of size k,

    lambda_max(A_SS) <= max_i [ A_ii + (1 / d_i) * sum of the k - 1 largest |A_ij| d_j, j != i ].

What is computed is larger than the exact right-hand side, whatever the order of summation on the device. Let u be
the unit roundoff of the data's precision and R_i = sqrt(A_ii), or after a deflation P of m components
R_i = sum_a |P_ai| sqrt(A_aa).

- An entry A_ij, the inner product of two variables of n numbers less m products, is off by at most gamma R_i R_j with
  gamma = 2 (n + 4 m + 16) u. The sum of the k - 1 largest grows by at most gamma R_i times the sum of the k - 1
  largest R_j d_j, which is added;
- numbers too small for the precision are flushed to zero by at most its smallest normal number each: added;
- the product with d_j is off by a factor 1 + u, the float64 sums by less than (k + n + 16) 2^-52: multiplied in.

docs/theory-bounds.md has the derivation. tf32 is never used here.

Dual points of the penalised problem in closed form, made from data on a device a block of variables at a time.

`certificates.penalised_dual` has the mathematics; `support_points` and `remainders` there are the twins of what is
here. Everything is float64, whatever the data are stored in. Of the p x n dual points only their n x n Gram matrix and
one remainder a variable ever exist at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import torch_kernels
from sparseigen.operators.contract import LARGEST_MATERIALISED, DualParts, Indices, Vector

if TYPE_CHECKING:
    from sparseigen.operators.torch_data import TorchData

Tensor = Any
Floats = NDArray[np.float64]

BLOCK_ENTRIES = 1 << 27
"""Entries of A made at a time."""
MOST_ROWS = 32768
MOST_OPERATIONS = {"cuda": 4.0e14, "cpu": 4.0e12}
"""Multiplications of one pass, p^2 n, above which the bound is not offered: seconds on a large GPU."""
SMALLEST_SCALING = 1e-7
"""No d_i below this share of the largest: it would make its own row the worst."""


def affordable(data: TorchData) -> bool:
    """Whether a pass over all rows of A takes seconds at most."""
    return float(data.size) ** 2 * (data.n_samples + 256) <= MOST_OPERATIONS[data.device.type]


def scaled_row_bound(data: TorchData, cardinality: int, scaling: Vector, passes: int) -> float | None:
    """The smallest bound over ``passes`` scalings, each made from the row sums of the one before."""
    others = min(cardinality, data.size) - 1
    variances = _upper_variances(data)
    if others == 0:
        return float(variances.max())
    if not affordable(data):
        return None
    rows = _Rows(data, others)
    best, current = np.inf, np.asarray(scaling, dtype=np.float64)
    for _ in range(max(1, passes)):
        current = _usable(current, data.dtype)
        sums = current * variances + rows.sums(current)
        best = min(best, float((sums / current).max()) * (1.0 + _float64_slack(data.n_samples, others)))
        current = sums
    return best


def _upper_variances(data: TorchData) -> Floats:
    """The diagonal of the stored data's second moments, and of the matrix they stand for, rounded up."""
    raised: Floats = np.maximum(data.diagonal(), data._variances()) * (1.0 + _float64_slack(data.n_samples, 0))
    return raised


def _float64_slack(n_samples: int, others: int) -> float:
    return (n_samples + 4 * others + 64) * float(np.finfo(np.float64).eps)


def _usable(scaling: Floats, dtype: np.dtype[Any]) -> Floats:
    """The scaling with largest entry one, none too small, exactly representable in the data's precision."""
    positive = np.maximum(np.nan_to_num(scaling, posinf=0.0), 0.0)
    largest = float(positive.max())
    relative = positive / largest if largest > 0.0 else np.ones_like(positive)
    return np.maximum(relative, SMALLEST_SCALING).astype(dtype).astype(np.float64)


class _Rows:
    """For each row, an upper bound on the sum of its ``others`` largest off-diagonal |A_ij| d_j."""

    def __init__(self, data: TorchData, others: int) -> None:
        import torch

        self.data, self.others, self.radii = data, others, data.radii() * (1.0 + _float64_slack(data.n_samples, 0))
        rank = 0 if data.projection is None else data.projection.rank
        self.step = max(1, min(MOST_ROWS, BLOCK_ENTRIES // data.size))
        unit = float(np.finfo(data.dtype).eps) / 2.0
        self.gamma, self.unit = 2.0 * (data.n_samples + 4 * rank + 16) * unit, unit
        self.smallest = float(np.finfo(data.dtype).smallest_normal)
        self.block = data.variables.new_empty(min(self.step, data.size), data.size)
        self.triton = torch_kernels.usable(data.variables)
        if self.triton:
            self.select = torch_kernels.Selection(data.variables, len(self.block), data.size)
            whole = {"dtype": torch.int32, "device": data.variables.device}
            self.wanted = torch.full((len(self.block),), others, **whole)

    def sums(self, scaling: Floats) -> Floats:
        import torch

        data, device_scaling = self.data, self.data._tensor(scaling)
        pieces = []
        for first in range(0, data.size, self.step):
            rows = _deflated_rows(data, slice(first, first + self.step))
            block = torch.matmul(rows, data.variables.T, out=self.block[: len(rows)])
            if data.projection is not None:
                block.addmm_(rows @ data.projection.scores_native.T, data.projection.against_native.T, alpha=-1.0)
            block.abs_().mul_(device_scaling)
            block.diagonal(first).zero_()
            pieces.append(self._top(block))
        computed = torch.cat(pieces).cpu().numpy() / data.divisor
        largest = np.sort(self.radii * scaling)[data.size - self.others :]
        rounding = self.gamma * self.radii * float(largest.sum())
        flushed = self.others * (data.n_samples + 8) * 4.0 * self.smallest
        raised: Floats = computed * (1.0 + 4.0 * self.unit) + rounding * (1.0 + 4.0 * self.unit) + flushed
        return raised

    def _top(self, block: Tensor) -> Tensor:
        if self.triton:
            return self.select.top_sums(block, self.wanted)
        return torch_kernels.top_sums(block, self.others)


def _deflated_rows(data: TorchData, rows: slice) -> Tensor:
    """Some variables in the data's precision."""
    plain = data.variables[rows]
    return plain if data.projection is None else data.projection.of_rows(plain, rows)


def column_energies(data: TorchData, columns: Indices, cardinality: int) -> tuple[Floats, Floats]:
    """Sums of the k largest squares of columns of A, and of the k - 1 largest off the diagonal (k = 1: of one)."""
    import torch

    step = max(1, min(MOST_ROWS, BLOCK_ENTRIES // data.size))
    with_diagonal, without = [], []
    for first in range(0, len(columns), step):
        places = data._places(columns[first : first + step])
        scores = data.rows(places).to(data.variables.dtype) / data.divisor
        block = scores @ data.variables.T
        if data.projection is not None:
            block = data.projection.of_product(block, scores)
        with_diagonal.append(_energies(block, cardinality))
        block[torch.arange(len(places), device=places.device), places] = 0.0
        without.append(_energies(block, max(1, cardinality - 1)))
    return torch.cat(with_diagonal).cpu().numpy(), torch.cat(without).cpu().numpy()


def _energies(block: Tensor, count: int) -> Tensor:
    import torch

    n_rows, size = block.shape
    if count >= size:
        return (block.double() ** 2).sum(dim=1)
    if not torch_kernels.usable(block):
        return (torch.topk(block.abs(), count, dim=1, sorted=False).values.double() ** 2).sum(dim=1)
    select = torch_kernels.Selection(block, n_rows, size)
    wanted = torch.full((n_rows,), count, dtype=torch.int32, device=block.device)
    norms = torch.zeros(n_rows, select.n_blocks, dtype=torch.float64, device=block.device)
    select.mask(block, wanted, torch.empty_like(block), norms)
    return norms.sum(dim=1)


DUAL_BLOCK_ENTRIES = 1 << 23
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
        step = max(1, DUAL_BLOCK_ENTRIES // data.n_samples)
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
