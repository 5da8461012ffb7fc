"""The kernels on tensors choose what the NumPy kernels choose."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.kernels import numpy_reference, torch_kernels


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("count", [1, 2, 7, 50, 99, 100])
def test_ties_go_to_the_lowest_index(count: int, nonnegative: bool, rng: np.random.Generator) -> None:
    import torch

    values = rng.integers(-3, 4, 100).astype(float)
    expected = numpy_reference.largest_magnitudes(values, count, nonnegative=nonnegative)
    ours = torch_kernels.largest_magnitudes(torch.tensor(values), count, nonnegative=nonnegative)
    np.testing.assert_array_equal(ours.numpy(), expected)
