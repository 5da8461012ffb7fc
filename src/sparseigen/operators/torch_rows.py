"""Sums of the largest entries of rows of A from data on a device: row blocks are made, used and thrown away there.

What `top_row_sums` returns bounds the exact sums, whatever the order of summation on the device. Let u be the unit
roundoff of the data's precision and R_i = sqrt(A_ii), or after a deflation P of m components
R_i = sum_a |P_ai| sqrt(A_aa).

- An entry A_ij, the inner product of two variables of n numbers less m products, is off by at most gamma R_i R_j with
  gamma = 2 (n + 4 m + 16) u. The sum of the k - 1 largest grows by at most gamma R_i times the sum of the k - 1
  largest R_j d_j, which is part of the shortfall;
- d_j is rounded to the data's precision, and the product with it is rounded once more: (1 - u)^-2 < 1 + 4 u, which is
  part of the shortfall;
- numbers too small for the precision are flushed to zero by at most its smallest normal number each: part of it too;
- the sums themselves are float64, one rounding per addition, as everywhere.

docs/theory-bounds.md has the derivation. tf32 is not used for them.

`row_sum_ceilings` says at a fraction of that cost which rows need not be summed. For any threshold t the sum of the c
largest of some numbers is at most c t plus the sum of all (number - t)+: a device need neither write the entries nor
order them. Products are made in float16, of variables y_i = f_i times a power of two whose largest entry is in [1, 2).
Rounding two factors to 11 bits takes 2^-10 (1 + 2^-12) of |y_i| |y_j|; entries below 2^-14 are rounded to multiples of
2^-24, which is 2^-25 (sum of |y_ia| + |y_ja|) <= 2^-24 sqrt(n) |y_i| |y_j|, both lengths being at least one. Each
of the n additions takes at most 2^-20: tensor cores do not round to nearest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import torch_kernels
from sparseigen.operators.contract import Indices, Weights

if TYPE_CHECKING:
    from sparseigen.operators.torch_data import TorchData

Tensor = Any
Floats = NDArray[np.float64]

BLOCK_ENTRIES = 1 << 27
"""Entries of A made at a time."""
MOST_ROWS = 32768
MOST_OPERATIONS = {"cuda": 4.0e14, "cpu": 2.0e11}
"""Multiplications for the rows asked for, p n each, above which the shortfall is infinite: seconds on a large GPU."""
LEAST_ROUGH, MOST_ROUGH = 1.0e12, 8.0e14
"""Ceilings are for sums that cost more than the first, and cost seconds at the second."""
SAMPLE = 128
"""Rows whose sums tell where the thresholds of all should lie."""
WIDEST = 40
"""Powers of two that the largest entries of variables may lie apart, for ceilings."""


def row_sum_ceilings(data: TorchData, rows: Indices, weights: Weights, count: int) -> Floats:
    """See `TorchData.row_sum_ceilings`; by Triton, from plain data."""
    nothing = np.full(len(rows), np.inf)
    work = float(data.size) * len(rows) * (data.n_samples + 256)
    offered = torch_kernels.usable(data.variables) and data.projection is None and LEAST_ROUGH <= work <= MOST_ROUGH
    if not offered or count == 0 or len(rows) <= SAMPLE or not 1e-9 <= weights.min() <= weights.max() <= 1e9:
        return nothing
    rounded, powers = _round_to_half(data)
    highest = int(powers.max())
    if highest - int(powers.min()) > WIDEST:
        return nothing
    import torch

    sample = rows[np.linspace(0, len(rows) - 1, SAMPLE).astype(np.int64)]
    radii = data.radii() * (1.0 + (data.n_samples + 64) * 2.0**-52)
    _, least = _compute_sums(data, sample, weights, count)
    level = float(np.median(least / np.maximum(radii[sample], np.finfo(np.float64).tiny)))
    # |f_i'f_j| d_j / (n - ddof) = |y_i'y_j| (d_j 2^(e_j - highest)) c_i
    factors = np.ldexp(1.0, powers[rows] + highest - 2) / data.divisor
    single = {"dtype": torch.float32, "device": data.device}
    thresholds = torch.as_tensor(level * radii[rows] / factors, **single)
    scaling = torch.as_tensor(weights * np.ldexp(1.0, powers - highest), **single)
    places = torch.as_tensor(rows, dtype=torch.int32, device=data.device)
    excess = torch_kernels.sum_above(rounded, places, scaling, thresholds) * (1.0 + torch_kernels.ADDITIONS * 2.0**-23)
    sums = (count * thresholds.double() + excess).cpu().numpy() + count * 1e-37
    gamma = 2.0**-10 * (1.0 + 2.0**-6) + 2.0**-23 * data.n_samples**0.5 + (data.n_samples + 64) * 2.0**-20
    largest = float(np.sort(radii * weights)[data.size - count :].sum())
    ceilings: Floats = (sums * factors + gamma * radii[rows] * largest) * (1.0 + 2.0**-20)
    return np.where(np.isnan(ceilings), np.inf, ceilings)


def _round_to_half(data: TorchData) -> tuple[Tensor, NDArray[np.int64]]:
    """The variables in float16, padded, each times 2^(1 - e): its largest entry is in [1, 2); and the powers e."""
    import torch

    rounded = torch.zeros(data.size, -(-data.n_samples // 8) * 8, dtype=torch.float16, device=data.device)
    peaks = np.concatenate([data.variables[part].abs().amax(dim=1).double().cpu().numpy() for part in data._blocks()])
    powers = np.frexp(peaks)[1].astype(np.int64)
    powers[peaks == 0.0] = powers[int(peaks.argmax())]
    for part in data._blocks():
        scales = data._tensor(np.ldexp(1.0, 1 - powers[part]))
        rounded[part, : data.n_samples] = data.variables[part] * scales[:, None]
    return rounded, powers


def top_row_sums(data: TorchData, rows: Indices, weights: Weights, count: int) -> tuple[Floats, Floats, Floats]:
    """See `Operator.top_row_sums`; the shortfall is infinite where the sums would take more than seconds."""
    sums, least, shortfall = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    if count == 0 or len(rows) == 0:
        return sums, least, shortfall
    if float(data.size) * len(rows) * (data.n_samples + 256) > MOST_OPERATIONS[data.device.type]:
        return sums, least, shortfall + np.inf
    sums, least = _compute_sums(data, rows, weights, count)
    rank = 0 if data.projection is None else data.projection.rank
    precision = np.finfo(data.dtype)
    unit = float(precision.eps) / 2.0
    gamma = 2.0 * (data.n_samples + 4 * rank + 16) * unit
    radii = data.radii() * (1.0 + (data.n_samples + 64) * 2.0**-52)
    largest = float(np.sort(radii * weights)[data.size - count :].sum())
    flushed = count * (data.n_samples + 8) * 4.0 * float(precision.smallest_normal) * max(1.0, float(weights.max()))
    return sums, least, 4.0 * unit * sums + gamma * radii[rows] * largest * (1.0 + 4.0 * unit) + flushed


def _compute_sums(data: TorchData, rows: Indices, weights: Weights, count: int) -> tuple[Floats, Floats]:
    """The sums and the smallest product used, as computed."""
    import torch

    scaling, against = data._tensor(weights), data.variables.T
    step = max(1, min(MOST_ROWS, BLOCK_ENTRIES // data.size, len(rows)))
    storage = data.variables.new_empty(step, data.size)
    select = torch_kernels.Selection(data.variables, step, data.size) if torch_kernels.usable(data.variables) else None
    wanted = torch.full((step,), count, dtype=torch.int32, device=data.variables.device)
    pieces = []
    for first in range(0, len(rows), step):
        places = rows[first : first + step]
        scores = _deflate_rows(data, places)
        block = torch.matmul(scores, against, out=storage[: len(places)])
        if data.projection is not None:
            block.addmm_(scores @ data.projection.scores_native.T, data.projection.against_native.T, alpha=-1.0)
        block.abs_().mul_(scaling)
        block.scatter_(1, data._places(places)[:, None], 0.0)
        pieces.append(torch_kernels.top_sums(block, count) if select is None else select.top_sums(block, wanted))
    sums, least = (torch.cat(parts).cpu().numpy() / data.divisor for parts in zip(*pieces, strict=True))
    return sums, least


def _deflate_rows(data: TorchData, places: Indices) -> Tensor:
    """Some variables in the data's precision; neighbours are not copied."""
    together = bool((np.diff(places) == 1).all())
    chosen = slice(int(places[0]), int(places[-1]) + 1) if together else data._places(places)
    plain = data.variables[chosen]
    return plain if data.projection is None else data.projection.project_rows(plain, chosen)
