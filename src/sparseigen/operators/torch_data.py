"""The covariance of dense data that live on a torch device, never formed."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import CheckedArray, row_blocks, say_non_finite
from sparseigen.checks.coercion import host_array, is_tensor
from sparseigen.config import require
from sparseigen.errors import DeviceMemoryError, NonFiniteError
from sparseigen.kernels import torch_kernels
from sparseigen.operators.contract import (
    LARGEST_MATERIALISED,
    AccessCosts,
    Indices,
    Matrix,
    Operator,
    Vector,
    Weights,
)
from sparseigen.operators.deflated import SMALLEST_VALUE, find_unit_vector, regress_out
from sparseigen.operators.iteration import Iteration
from sparseigen.operators.moments import check_variances, degrees_of_freedom, find_scales, gram_errors, scaled_variances
from sparseigen.operators.samples import DeviceSamples, Samples

RUNS_PER_PASS = 64
"""Runs that step together as a block."""

Tensor = Any
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Projection:
    """What the components so far take out of the data: D becomes D (I - XW').

    Projection and regression differ in W alone: a component x is projected out with w = x, and regressed out with
    w = Ax / x'Ax, the slopes of every variable on its scores. The matrix meant is P'AP with X and W as they are stored;
    it is positive semidefinite whatever they are, and slopes that are off by e put x'Ax ee' between it and the Schur
    complement: a rounding error squared.
    """

    components: tuple[Floats, ...]
    """The columns of X, on the host."""
    against: Tensor
    """W in float64, shape (p, m)."""
    scores: Tensor
    """S in float64, shape (m, n): one row per component."""
    against_native: Tensor
    scores_native: Tensor
    """The same in the data's precision, for products."""

    @property
    def rank(self) -> int:
        """How many components were taken out."""
        return len(self.components)

    def project_scores(self, scores: Tensor, coefficients: Tensor) -> Tensor:
        """D P z from D z and W'z; ``scores`` may be a block with one row per vector."""
        return scores - coefficients @ self.scores_native

    def project_product(self, product: Tensor, scores: Tensor) -> Tensor:
        """P'D's from D's; ``scores`` may be a block with one row per vector."""
        return product - (scores @ self.scores_native.T) @ self.against_native.T

    def project_rows(self, rows: Tensor, chosen: Any) -> Tensor:
        """The deflated variables from the stored ones, in the precision of ``rows``."""
        if rows.dtype == self.scores.dtype:
            return rows - self.against[chosen] @ self.scores
        return rows - self.against_native[chosen] @ self.scores_native

    def spread_errors(self, per_variable: Floats) -> Floats:
        """sum_a |P_ai| t_a for every variable i, for numbers t >= 0: how the base's errors spread."""
        against = np.abs(self.against.cpu().numpy())
        inside = np.array([np.abs(component) @ per_variable for component in self.components])
        spread: Floats = (per_variable + against @ inside) * (1.0 + 1e-9)
        return spread


def extend_projection(data: TorchData, vector: Vector, *, regress: bool = False) -> Projection | None:
    """The projection of data whose projection so far is ``data.projection``, with one more component.

    With ``regress`` every variable is regressed on the component's scores: None where these do not vary.
    """
    import torch

    x = find_unit_vector(data, vector)
    support = np.flatnonzero(x)
    places, weights = data._places(support), torch.as_tensor(x[support], device=data.device)
    scores = (weights @ data.variables[places].double())[None]
    column = against = torch.as_tensor(x, device=data.device)[:, None]
    if regress:
        left = (weights @ data.rows(places))[:, None]  # scores of what the components before leave
        length = float((left * left).sum())
        if not SMALLEST_VALUE < length / data.divisor < np.inf:
            return None
        against = torch.cat([data.rows(rows) @ left for rows in data._blocks()]) / length
    components: tuple[Floats, ...] = (x,)
    if data.projection is not None:
        before = data.projection
        # (I - XW')(I - xw') = I - X (W - w (x'W))' - xw'
        against = torch.cat([before.against - against @ (column.T @ before.against), against], dim=1)
        components = (*before.components, x)
        scores = torch.cat([before.scores, scores])
    native = data.variables.dtype
    return Projection(components, against, scores, against.to(native).contiguous(), scores.to(native).contiguous())


class TorchData(Operator):
    """A = D'D / (n - ddof) for dense data D on a CUDA device (or on the CPU, in torch).

    NumPy arrays go in and come out; the data stay on the device, one contiguous row per variable. One copy is made
    when centring, scaling or a change of layout needs it. Products are in the data's precision (float32 or float64);
    the diagonal and every objective are accumulated in float64. Deflated data share the memory of the plain ones:
    `projection` says what is taken out of the products.
    """

    negative_part = 0.0
    projection: Projection | None = None
    candidates: int | None = None
    """How many variables were chosen by `restricted`; None where all are there."""

    def __init__(self, data: CheckedArray, *, center: bool, scale: bool, ddof: int) -> None:
        self.n_samples, self.size = (int(length) for length in data.values.shape)
        self.names = data.names
        self.divisor = degrees_of_freedom(self.n_samples, ddof)
        self.center, self.scale, self.device = center, scale, data.device
        itemsize = int(data.values.dtype.itemsize)
        needed = self.size * torch_kernels.pad_width(self.n_samples) * itemsize
        with guard_device_memory(f"data of {self.n_samples} samples x {self.size} variables", needed, self.device):
            self.variables = _store_by_variable(data.values, self.device, must_copy=center or scale)
            self.dtype = np.dtype(str(self.variables.dtype).removeprefix("torch."))
            self._check_finite()
            self.means = self._centre() if center else np.zeros(self.size)
            variances = check_variances(self._variances(), self.dtype)
            self.deviations = find_scales(variances, self.means, self.names) if scale else np.ones(self.size)
            if scale:
                self.variables /= self._tensor(self.deviations)[:, None]
        self._plain: TorchData | None = None
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
        raise NonFiniteError(say_non_finite("X", len(samples), row, column, self.names))

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
            squares[rows] = (self.rows(rows) ** 2).sum(dim=1).cpu().numpy()
        return squares / self.divisor

    def _diagonal(self) -> NDArray[np.float64]:
        # Exactly one after scaling: rounding must not decide which of equal variances is the largest.
        return scaled_variances(self.deviations) if self.scale and self.projection is None else self._variances()

    def rows(self, chosen: Any) -> Tensor:
        """Some variables in float64 on the device, deflated; ``chosen`` is a slice or a tensor of places."""
        plain = self.variables[chosen].double()
        return plain if self.projection is None else self.projection.project_rows(plain, chosen)

    def combine(self, indices: Tensor, weights: Tensor) -> Tensor:
        """D z on the device for a sparse z on the device, in the data's precision."""
        scores = torch_kernels.combine_rows(self.variables, indices, weights)
        if self.projection is None:
            return scores
        return self.projection.project_scores(scores, weights @ self.projection.against_native[indices])

    def multiply(self, scores: Tensor) -> Tensor:
        """D's on the device."""
        if torch_kernels.usable(self.variables):
            vector = scores.new_zeros(torch_kernels.pad_width(self.n_samples))
            vector[: self.n_samples] = scores
            product = scores.new_empty(self.size)
            torch_kernels.RowProduct(self.variables)(vector, product)
        else:
            product = torch_kernels.row_dots(self.variables, scores)
        return product if self.projection is None else self.projection.project_product(product, scores)

    def product(self, indices: Tensor, weights: Tensor) -> Tensor:
        """A x on the device for a sparse x on the device."""
        return self.multiply(self.combine(indices, weights) / self.divisor)

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """Scores of the k variables, then every variable's product with the scores."""
        with self._guard_memory("a product", len(indices) * self.n_samples * self.dtype.itemsize):
            product: Vector = self.product(self._places(indices), self._tensor(weights)).cpu().numpy()
        return product

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices] by one matrix product."""
        columns: Matrix = self.native_columns(indices).cpu().numpy()
        return columns

    def native_columns(self, indices: Indices) -> Tensor:
        """A[:, indices] on the device, in the data's precision."""
        with self._guard_memory(f"{len(indices)} columns", self.size * len(indices) * self.dtype.itemsize):
            scores = self.rows(self._places(indices)).to(self.variables.dtype) / self.divisor
            product = scores @ self.variables.T
            return (product if self.projection is None else self.projection.project_product(product, scores)).T

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """A[:, indices] with float64 products whatever the data are stored in, laid out by columns."""
        with self._guard_memory(f"{len(indices)} columns in float64", 8 * self.size * len(indices)):
            chosen = self.rows(self._places(indices)) / self.divisor
            pieces = [(chosen @ self.rows(rows).T).cpu().numpy() for rows in self._blocks()]
        rows: NDArray[np.float64] = np.hstack(pieces)
        return rows.T

    def entry_errors(self) -> NDArray[np.float64]:
        """Rounding of the dot products, of centring and scaling, of the means, and of the deflation.

        Deflation spreads the base's errors: |(P'EP)_ij| <= sum_ab |P_ai| |E_ab| |P_bj|, a product again. Its own
        float64 sums have m terms and, inside S, as many as a component has non-zeros; all of them are relative to
        sum_a |P_ai| |d_a|, as the dot products then are.
        """
        plain = self._plain_diagonal()
        errors = gram_errors(plain, self.means, self.deviations, self.n_samples, self.divisor, self.dtype)
        if self.projection is None:
            return errors
        longest = max(int(np.count_nonzero(component)) for component in self.projection.components)
        terms = 2.0 * (self.n_samples + 2 * (self.projection.rank + longest) + 16)
        return self.projection.spread_errors(np.sqrt(errors)) ** 2 + terms * 2.0**-52 * self.radii() ** 2

    @property
    def factor_rank(self) -> int:  # type: ignore[override]
        """The samples, where products of dual points (n x n) can be held."""
        return self.n_samples if self.n_samples <= LARGEST_MATERIALISED else 0

    def factor_rows(self, rows: Indices | slice) -> Tensor:
        """Variables in float64 on the device, divided so that A = FF'."""
        chosen = rows if isinstance(rows, slice) else self._places(rows)
        with self._guard_memory("the data in float64", 8 * self.n_samples * self.size):
            return self.rows(chosen) * float(1.0 / np.sqrt(self.divisor))

    @property
    def samples(self) -> Samples:
        """The data where they are; of deflated data what the components leave."""
        if self.projection is not None:
            return super().samples
        return DeviceSamples(self.variables, self.diagonal() * self.divisor, centred=self.center)

    def _plain_diagonal(self) -> NDArray[np.float64]:
        """The diagonal before any deflation."""
        return self.diagonal() if self.plain is self else self.plain.diagonal()

    def radii(self) -> NDArray[np.float64]:
        """sqrt(A_ii) without deflation, sum_a |P_ai| sqrt(A_aa) with: what rounding errors are relative to."""
        lengths = np.sqrt(self._plain_diagonal())
        return lengths if self.projection is None else self.projection.spread_errors(lengths)

    @property
    def plain(self) -> TorchData:
        """The operator before any deflation."""
        return self if self._plain is None else self._plain

    def deflated(self, vector: Vector, *, regress: bool = False) -> Operator:
        """Either deflation in the same memory: only W and S are new."""
        with self._guard_memory("deflation", 40 * self.size):
            projection = extend_projection(self, vector, regress=regress)
        if projection is None:
            return regress_out(self, vector)
        deflated = copy.copy(self)
        deflated.__dict__.pop("_diagonal_once", None)
        deflated.projection, deflated.taken_out = projection, (*self.taken_out, "schur" if regress else "projection")
        deflated._plain, deflated._kept = self.plain, {}
        return deflated

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """A[rows, columns], accumulated in float64; nothing else leaves the device."""
        columns = rows if columns is None else columns
        count = len(rows) + len(columns)
        with self._guard_memory(
            f"{count} variables in float64", 8 * (count * self.n_samples + len(rows) * len(columns))
        ):
            left = self.rows(self._places(rows))
            right = left if rows is columns else self.rows(self._places(columns))
            block: NDArray[np.float64] = (left @ right.T / self.divisor).cpu().numpy()
        return block

    def quadratic_form(self, indices: Indices, weights: Vector) -> tuple[float, float]:
        """|D x|^2 / (n - ddof) in float64, and how far off it can be: sums of k, then of n terms."""
        torch = require("torch", purpose="TorchData")
        with self._guard_memory("a quadratic form", 8 * len(indices) * self.n_samples):
            rows = self.rows(self._places(indices))
            entries = torch.as_tensor(np.array(weights, dtype=np.float64), device=self.device)
            scores = entries @ rows
            lengths = float(entries.abs() @ (rows * rows).sum(dim=1).sqrt())
            squared = float(scores @ scores)
        # |computed - exact scores| <= (k + 4) u sum_i |x_i| |d_i|, and the squares' sum is off by (n + 4) u of itself.
        off = (len(indices) + 4) * 2.0**-52 * lengths
        error = 2.0 * off * squared**0.5 + off**2 + (self.n_samples + 8) * 2.0**-52 * squared
        return squared / self.divisor, 1.01 * error / self.divisor

    def restricted(self, indices: Indices) -> Operator:
        """The variables chosen, copied on the device; a deflated operator is wrapped instead."""
        if self.projection is not None:
            return super().restricted(indices)
        chosen = copy.copy(self)
        chosen.__dict__.pop("_diagonal_once", None)
        with self._guard_memory(f"{len(indices)} variables", len(indices) * self.n_samples * self.dtype.itemsize):
            chosen.variables = _gather_rows(self.variables, self._places(indices))
        chosen.size, chosen.candidates, chosen._kept = len(indices), len(indices), {}
        chosen.names = None if self.names is None else tuple(self.names[i] for i in indices)
        chosen.means, chosen.deviations = self.means[indices], self.deviations[indices]
        return chosen

    def block_apply(self, block: Matrix) -> Matrix:
        """A V by two matrix products."""
        with self._guard_memory("a block product", 2 * block.size * self.dtype.itemsize):
            vectors = self._tensor(block).T
            scores = vectors @ self.variables
            if self.projection is not None:
                scores = self.projection.project_scores(scores, vectors @ self.projection.against_native)
            scores = scores / self.divisor
            product = scores @ self.variables.T
            if self.projection is not None:
                product = self.projection.project_product(product, scores)
            applied: Matrix = product.cpu().numpy().T
        return applied

    def iteration(self, cardinalities: Sequence[int], *, nonnegative: bool = False) -> Iteration:
        """Steps on the device: the host looks every few of them; one pass over the data serves a block of runs."""
        from sparseigen.operators.torch_block import DeviceBlock
        from sparseigen.operators.torch_iteration import DeviceRun

        if len(cardinalities) == 1:
            return DeviceRun(self, cardinalities, nonnegative=nonnegative)
        if nonnegative:
            return Iteration(self, cardinalities, nonnegative=True)
        return DeviceBlock(self, cardinalities)

    def top_row_sums(self, rows: Indices, weights: Weights, count: int) -> tuple[Floats, Floats, Floats]:
        """Row blocks of A made and used up on the device, in the data's precision."""
        from sparseigen.operators.torch_rows import top_row_sums

        with self._guard_memory("blocks of rows", 1 << 30):
            return top_row_sums(self, rows, weights, count)

    def row_sum_ceilings(self, rows: Indices, weights: Weights, count: int) -> Floats:
        """Numbers that the sums of `top_row_sums` cannot exceed, at a fraction of their cost; infinite where unknown.

        They cover all rounding but that of the entries themselves, `entry_errors`.
        """
        from sparseigen.operators.torch_rows import row_sum_ceilings

        with self._guard_memory("blocks of rows", 1 << 30):
            return row_sum_ceilings(self, rows, weights, count)

    @property
    def costs(self) -> AccessCosts:
        """The samples of k variables, then of all; 64 products cost little more than one."""
        samples = float(self.n_samples)
        return AccessCosts(
            self.size, product=samples * self.size, per_variable=samples, transfers=True, runs_per_pass=RUNS_PER_PASS
        )

    def find_workspace(self, key: Any, make: Any) -> Any:
        """The work space of that name, made on first use."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _guard_memory(self, subject: str, needed: int) -> AbstractContextManager[None]:
        return guard_device_memory(subject, needed, self.device)

    def describe(self) -> dict[str, object]:
        """Adds the device, the number of samples and what was done to the columns."""
        kernels = "triton" if torch_kernels.usable(self.variables) else "torch"
        facts = {"device": str(self.device), "kernels": kernels, "n_samples": self.n_samples}
        if self.candidates is not None:
            facts["candidates"] = self.candidates
        if self.projection is not None:
            facts["deflation_rank"] = self.projection.rank
        return super().describe() | facts | {"center": self.center, "scale": self.scale}


@contextmanager
def guard_device_memory(subject: str, needed: int, device: Any) -> Iterator[None]:
    """Work on the device in full precision; running out of its memory raises an error that says what to do."""
    torch = require("torch", purpose="TorchData")
    on_device = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    try:
        with on_device, torch_kernels.matmul_precision(tf32=False):
            yield
    except torch.cuda.OutOfMemoryError as error:
        free = torch.cuda.mem_get_info(device)[0] / 2**30 if torch.cuda.is_available() else 0.0
        message = (
            f"{subject} need about {needed / 2**30:.2f} GiB on {device}, which has {free:.2f} GiB free. Use float32, "
            "free other tensors there, pass data one row per variable with center=False (no copy is made then), or "
            "keep the data in host memory (leave device out)."
        )
        raise DeviceMemoryError(message) from error


def _gather_rows(variables: Tensor, places: Tensor) -> Tensor:
    """Some rows, padded like all of them."""
    storage = variables.new_zeros(len(places), torch_kernels.pad_width(variables.shape[1]))
    chosen = storage[:, : variables.shape[1]]
    chosen.copy_(variables[places])
    return chosen


def _store_by_variable(values: Any, device: Any, *, must_copy: bool) -> Tensor:
    """The transposed data on the device, rows padded with zeros to a multiple of four entries.

    The caller's memory is used as it is where nothing has to change.
    """
    torch = require("torch", purpose="TorchData")
    tensor = is_tensor(values)
    if tensor and not must_copy and values.device == device and values.T.is_contiguous():
        return values.T
    dtype = values.dtype if tensor else getattr(torch, str(values.dtype))
    n_samples, size = values.shape
    stride = torch_kernels.pad_width(n_samples)
    storage = torch.empty(size, stride, dtype=dtype, device=device)
    storage[:, n_samples:] = 0.0
    variables = storage[:, :n_samples]
    if tensor:
        variables.copy_(values.T)
        return variables
    for rows in row_blocks(n_samples, size):
        variables[:, rows] = host_array(values, rows).to(device).T
    return variables
