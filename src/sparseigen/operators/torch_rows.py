"""The scaled Gershgorin bound on the device: row blocks of A are made, used and thrown away there.

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
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import torch_reference, triton_calls
from sparseigen.operators.contract import Indices, Vector

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
        self.triton = triton_calls.usable(data.variables)
        if self.triton:
            self.select = triton_calls.Selection(data.variables, len(self.block), data.size)
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
        return torch_reference.top_sums(block, self.others)


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
    if not triton_calls.usable(block):
        return (torch.topk(block.abs(), count, dim=1, sorted=False).values.double() ** 2).sum(dim=1)
    select = triton_calls.Selection(block, n_rows, size)
    wanted = torch.full((n_rows,), count, dtype=torch.int32, device=block.device)
    norms = torch.zeros(n_rows, select.n_blocks, dtype=torch.float64, device=block.device)
    select.mask(block, wanted, torch.empty_like(block), norms)
    return norms.sum(dim=1)
