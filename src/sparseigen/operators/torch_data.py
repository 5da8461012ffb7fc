"""The covariance of dense data that live on a torch device, never formed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import DeviceMemoryError, NonFiniteError
from sparseigen.inputs.arrays import CheckedArray, non_finite_message, row_blocks
from sparseigen.inputs.optional import require
from sparseigen.inputs.tensors import host_array, is_tensor
from sparseigen.kernels import torch_reference, triton_calls
from sparseigen.operators.contract import Indices, Matrix, Operator, PowerRun, PowerStep, Vector
from sparseigen.operators.moments import check_variances, degrees_of_freedom, scales

Tensor = Any


class TorchData(Operator):
    """A = D'D / (n - ddof) for dense data D on a CUDA device (or on the CPU, in torch).

    NumPy arrays go in and come out; the data stay on the device, one contiguous row a variable. One copy is made
    when centring, scaling or a change of layout needs it. Products are in the data's precision (float32 or float64);
    the diagonal and every objective are accumulated in float64.
    """

    positive_semidefinite = True

    def __init__(self, data: CheckedArray, *, center: bool, scale: bool, ddof: int) -> None:
        self.n_samples, self.size = (int(length) for length in data.values.shape)
        self.names = data.names
        self.divisor = degrees_of_freedom(self.n_samples, ddof)
        self.center, self.scale, self.device = center, scale, data.device
        itemsize = int(data.values.dtype.itemsize)
        needed = self.size * triton_calls.padded(self.n_samples) * itemsize
        with device_memory(f"data of {self.n_samples} samples x {self.size} variables", needed, self.device):
            self.variables = _one_row_a_variable(data.values, self.device, must_copy=center or scale)
            self.dtype = np.dtype(str(self.variables.dtype).removeprefix("torch."))
            self._check_finite()
            self.means = self._centre() if center else np.zeros(self.size)
            variances = check_variances(self._variances())
            self.deviations = scales(variances, self.means, self.names) if scale else np.ones(self.size)
            if scale:
                self.variables /= self._tensor(self.deviations)[:, None]
        self._kept: dict[Any, Any] = {}
        """Work space of the loops, made on first use; a loop's CUDA graph lives here too."""

    def _blocks(self) -> list[slice]:
        return row_blocks(self.size, self.n_samples)

    def _tensor(self, values: Any) -> Tensor:
        """A host array on the device, in the data's precision."""
        torch = require("torch", purpose="TorchData")
        return torch.as_tensor(np.array(values), dtype=self.variables.dtype, device=self.device)

    def _places(self, indices: Indices) -> Tensor:
        torch = require("torch", purpose="TorchData")
        return torch.as_tensor(np.array(indices, dtype=np.int64), device=self.device)

    def _check_finite(self) -> None:
        if int(sum((~self.variables[rows].isfinite()).sum() for rows in self._blocks())) == 0:
            return
        # Seen as the caller sees it: the first sample that has a bad value, and there the first variable.
        pieces = []
        for rows in self._blocks():
            piece = (~self.variables[rows].isfinite()).nonzero().cpu().numpy()
            piece[:, 0] += rows.start
            pieces.append(piece)
        variables, samples = np.concatenate(pieces).T
        first = np.lexsort((variables, samples))[0]
        row, column = int(samples[first]), int(variables[first])
        raise NonFiniteError(non_finite_message("X", len(samples), row, column, self.names))

    def _centre(self) -> NDArray[np.float64]:
        means = np.empty(self.size)
        for rows in self._blocks():
            average = self.variables[rows].double().mean(dim=1)
            self.variables[rows] -= average[:, None]
            means[rows] = average.cpu().numpy()
        return means

    def _variances(self) -> NDArray[np.float64]:
        squares = np.empty(self.size)
        for rows in self._blocks():
            squares[rows] = (self.variables[rows].double() ** 2).sum(dim=1).cpu().numpy()
        return squares / self.divisor

    def _diagonal(self) -> NDArray[np.float64]:
        # Exactly one after scaling: rounding must not decide which of equal variances is the largest.
        return np.ones(self.size) if self.scale else self._variances()

    def product(self, indices: Tensor, weights: Tensor) -> Tensor:
        """A x on the device for a sparse x on the device."""
        scores = torch_reference.combine_rows(self.variables, indices, weights) / self.divisor
        if not triton_calls.usable(self.variables):
            return torch_reference.row_dots(self.variables, scores)
        vector = scores.new_zeros(triton_calls.padded(self.n_samples))
        vector[: self.n_samples] = scores
        out = scores.new_empty(self.size)
        triton_calls.RowProduct(self.variables)(vector, out)
        return out

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """Scores of the k variables, then every variable's product with the scores."""
        with self._room("a product", len(indices) * self.n_samples * self.dtype.itemsize):
            product: Vector = self.product(self._places(indices), self._tensor(weights)).cpu().numpy()
        return product

    def power_step(
        self, indices: Indices, weights: Vector, cardinality: int, *, nonnegative: bool = False
    ) -> PowerStep:
        """Product and truncation on the device; only k numbers come back."""
        with self._room("a product", len(indices) * self.n_samples * self.dtype.itemsize):
            places, entries = self._places(indices), self._tensor(weights)
            product = self.product(places, entries)
            value = float(entries.double() @ product[places].double())
            kept = torch_reference.largest_magnitudes(product, cardinality, nonnegative=nonnegative)
            values = product[kept].double().cpu().numpy()
        return PowerStep(kept.cpu().numpy(), np.maximum(values, 0.0) if nonnegative else values, value)

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices] by one matrix product."""
        with self._room(f"{len(indices)} columns", self.size * len(indices) * self.dtype.itemsize):
            product: Matrix = (self.variables @ (self.variables[self._places(indices)].T / self.divisor)).cpu().numpy()
        return product

    def submatrix(self, indices: Indices) -> NDArray[np.float64]:
        """A[indices, indices], accumulated in float64."""
        with self._room(f"{len(indices)} variables in float64", 8 * len(indices) * (self.n_samples + len(indices))):
            block = self.variables[self._places(indices)].double()
            product: NDArray[np.float64] = (block @ block.T / self.divisor).cpu().numpy()
        return product

    def block_apply(self, block: Matrix) -> Matrix:
        """A V by two matrix products."""
        with self._room("a block product", 2 * block.size * self.dtype.itemsize):
            scores = self.variables.T @ self._tensor(block)
            product: Matrix = (self.variables @ (scores / self.divisor)).cpu().numpy()
        return product

    def truncated_power_run(
        self,
        indices: Indices,
        weights: Vector,
        cardinality: int,
        *,
        rtol: float,
        atol: float,
        max_iterations: int,
        nonnegative: bool = False,
        until_support_repeats: bool = False,
    ) -> PowerRun | None:
        """Algorithm 1 on the device: the host looks every few iterations whether it may stop."""
        from sparseigen.operators.torch_loop import Rule, power_run

        rule = Rule(rtol, atol, max_iterations, until_support_repeats)
        with self._room("the power iteration", 40 * self.size):
            return power_run(self, indices, weights, cardinality, rule, nonnegative=nonnegative)

    def truncated_power_block(
        self, cardinalities: list[int], *, rtol: float, atol: float, max_iterations: int
    ) -> list[PowerRun] | None:
        """Algorithm 1 for blocks of cardinalities: one pass over the data serves a block."""
        from sparseigen.operators.torch_block import power_block
        from sparseigen.operators.torch_loop import Rule

        with self._room("blocks of cardinalities", 4 * 64 * self.size * self.dtype.itemsize):
            return power_block(self, cardinalities, Rule(rtol, atol, max_iterations))

    def scaled_gershgorin(self, cardinality: int, scaling: Vector, passes: int) -> float | None:
        """The scaled row bound, row blocks of A made and used up on the device."""
        from sparseigen.operators.torch_rows import scaled_row_bound

        with self._room("blocks of rows", 1 << 30):
            return scaled_row_bound(self, cardinality, scaling, passes)

    def kept(self, key: Any, make: Any) -> Any:
        """The work space of that name, made on first use."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _room(self, what: str, needed: int) -> Any:
        return device_memory(what, needed, self.device)

    def describe(self) -> dict[str, object]:
        """Adds the device, the number of samples and what was done to the columns."""
        kernels = "triton" if triton_calls.usable(self.variables) else "torch"
        facts = {"device": str(self.device), "kernels": kernels, "n_samples": self.n_samples}
        return super().describe() | facts | {"center": self.center, "scale": self.scale}


@contextmanager
def device_memory(what: str, needed: int, device: Any) -> Iterator[None]:
    """Work on the device in full precision; running out of its memory raises an error that says what to do."""
    torch = require("torch", purpose="TorchData")
    here = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    try:
        with here, torch_reference.matmul_precision(tf32=False):
            yield
    except torch.cuda.OutOfMemoryError as error:
        free = torch.cuda.mem_get_info(device)[0] / 2**30 if torch.cuda.is_available() else 0.0
        message = (
            f"{what} need about {needed / 2**30:.2f} GiB on {device}, which has {free:.2f} GiB free. Use float32, free "
            "other tensors there, pass data one row a variable with center=False (no copy is made then), or keep the "
            "data in host memory (leave device out)."
        )
        raise DeviceMemoryError(message) from error


def _one_row_a_variable(values: Any, device: Any, *, must_copy: bool) -> Tensor:
    """The transposed data on the device, rows padded with zeros to a multiple of four entries.

    The caller's memory is used as it is where nothing has to change.
    """
    torch = require("torch", purpose="TorchData")
    tensor = is_tensor(values)
    if tensor and not must_copy and values.device == device and values.T.is_contiguous():
        return values.T
    dtype = values.dtype if tensor else getattr(torch, str(values.dtype))
    n_samples, size = values.shape
    stride = triton_calls.padded(n_samples)
    storage = torch.empty(size, stride, dtype=dtype, device=device)
    storage[:, n_samples:] = 0.0
    variables = storage[:, :n_samples]
    if tensor:
        variables.copy_(values.T)
        return variables
    for rows in row_blocks(n_samples, size):
        variables[:, rows] = host_array(values, rows).to(device).T
    return variables
