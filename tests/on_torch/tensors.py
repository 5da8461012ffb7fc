"""Operators on tensors, and the plain method, for several test modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen import covariance
from sparseigen.operators.torch_data import TorchData


def on_torch(values: np.ndarray, **options: Any) -> TorchData:
    import torch

    operator = covariance(torch.tensor(values), **options)
    assert isinstance(operator, TorchData)
    return operator


PLAIN: dict[str, Any] = {"start": "max-variance", "polish": None, "certify": False}


def build_deflated(
    seed: int, dtype: str, magnitude: float, options: dict[str, Any], components: int
) -> tuple[TorchData, Any]:
    """An operator on torch, deflated so often, and the exact matrix (to float64) that it stands for.

    Components are projected out for even seeds, regressed out for odd ones.
    """
    import torch

    rng = np.random.default_rng(seed)
    values = rng.standard_normal((7, 9)) * rng.uniform(0.3, 3.0, 9) + rng.uniform(-5.0, 5.0, 9)
    values = (values * magnitude).astype(dtype)
    operator: Any = covariance(torch.tensor(values), **options)
    exact = covariance(values.astype(np.float64), **options).to_dense() / magnitude**2  # type: ignore[arg-type]
    if options.get("scale"):
        exact *= magnitude**2
    for _ in range(components):
        x = np.where(rng.uniform(size=9) < 0.5, rng.standard_normal(9), 0.0) + np.eye(9)[0]
        x /= np.linalg.norm(x)
        operator = operator.deflated(x, regress=bool(seed % 2))
        against = exact @ x / (x @ exact @ x) if seed % 2 else x
        away = np.eye(9) - np.outer(x, against)
        exact = away.T @ exact @ away
    assert isinstance(operator, TorchData)
    return operator, exact
