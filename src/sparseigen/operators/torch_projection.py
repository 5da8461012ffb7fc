"""Projection deflation of data on a device: the data stay as they are, small matrices change the products.

After components x_1, ..., x_m the deflated matrix is P'AP with P = (I - x_1 x_1') ... (I - x_m x_m') = I - XW', X and W
of shape (p, m). With S = DX the deflated variable i is

    d_i - S W_i',

so a combination of variables loses S (W'z), and the product with scores s loses W (S's): a few vectors of length n and
p a step. X is kept sparse on the host (what it holds enters bounds only), W and S are on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import StartError
from sparseigen.operators.contract import Vector

if TYPE_CHECKING:
    from sparseigen.operators.torch_data import TorchData

Tensor = Any
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Projection:
    """What the components so far take out of the data."""

    components: tuple[Floats, ...]
    """The columns of X, on the host."""
    against: Tensor
    """W in float64, shape (p, m)."""
    scores: Tensor
    """S in float64, shape (m, n): one row a component."""
    against_native: Tensor
    scores_native: Tensor
    """The same in the data's precision, for products."""

    @property
    def rank(self) -> int:
        """How many components were taken out."""
        return len(self.components)

    def of_scores(self, scores: Tensor, shares: Tensor) -> Tensor:
        """D P z from D z and W'z; ``scores`` may be a block with one row a vector."""
        return scores - shares @ self.scores_native

    def of_product(self, product: Tensor, scores: Tensor) -> Tensor:
        """P'D's from D's; ``scores`` may be a block with one row a vector."""
        return product - (scores @ self.scores_native.T) @ self.against_native.T

    def of_rows(self, rows: Tensor, chosen: Any) -> Tensor:
        """The deflated variables from the stored ones, in the precision of ``rows``."""
        if rows.dtype == self.scores.dtype:
            return rows - self.against[chosen] @ self.scores
        return rows - self.against_native[chosen] @ self.scores_native

    def raised(self, per_variable: Floats) -> Floats:
        """sum_a |P_ai| t_a for every variable i, for numbers t >= 0: how the base's errors spread."""
        against = np.abs(self.against.cpu().numpy())
        inside = np.array([np.abs(component) @ per_variable for component in self.components])
        spread: Floats = (per_variable + against @ inside) * (1.0 + 1e-9)
        return spread


def extended(data: TorchData, vector: Vector) -> Projection:
    """The projection of data whose projection so far is ``data.projection``, with one more component."""
    import torch

    x = np.asarray(vector, dtype=np.float64)
    norm = float(np.linalg.norm(x))
    if x.shape != (data.size,) or not norm > 0.0:
        message = f"deflation needs a non-zero vector of length {data.size}, got shape {x.shape}, norm {norm}."
        raise StartError(message)
    x = x / norm
    support = np.flatnonzero(x)
    weights = torch.as_tensor(x[support], device=data.device)
    scores = (weights @ data.variables[data._places(support)].double())[None]
    column = torch.as_tensor(x, device=data.device)[:, None]
    components: tuple[Floats, ...] = (x,)
    against = column
    if data.projection is not None:
        before = data.projection
        # (I - XW')(I - xx') = I - X (W - x (x'W))' - xx'
        against = torch.cat([before.against - column @ (column.T @ before.against), column], dim=1)
        components = (*before.components, x)
        scores = torch.cat([before.scores, scores])
    native = data.variables.dtype
    return Projection(components, against, scores, against.to(native).contiguous(), scores.to(native).contiguous())
