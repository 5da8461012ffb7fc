"""Algorithm 1 as a loop that stays on the device.

A chunk of iterations is enqueued without looking at any of them; then the host reads their objectives, finds the
first that satisfies the stop rule, and fetches that very iterate from a ring of the chunk's iterates. So the answer
and the number of iterations are those of a loop that looks after every step, at the price of a few steps too many.

On CUDA with Triton a chunk is one CUDA graph. The cardinality lies in device memory, so one graph serves all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import torch_reference, triton_calls
from sparseigen.operators.contract import Indices, PowerRun, Vector

if TYPE_CHECKING:
    from sparseigen.operators.torch_data import TorchData

Tensor = Any
Floats = NDArray[np.float64]

CHUNK = {"short": 8, "long": 4}
"""Iterations between two looks, for steps that take microseconds and for steps that take a good part of a second."""
LONG_STEP = 1 << 28
"""From this many entries of data on a step counts as long."""


@dataclass(frozen=True)
class Rule:
    """When a run ends: the paper's rule on the objective, the repeated support, or the limit."""

    rtol: float
    atol: float
    max_iterations: int
    until_support_repeats: bool = False

    def stalled(self, value: float, previous: float) -> bool:
        """The objective moved by no more than the tolerance."""
        return abs(value - previous) <= max(self.atol, self.rtol * abs(value))


@dataclass(frozen=True)
class Look:
    """What the host reads after a chunk, one entry an iteration."""

    values: Floats
    norms: Floats
    changes: NDArray[np.int64]


def power_run(
    data: TorchData, indices: Indices, weights: Vector, cardinality: int, rule: Rule, *, nonnegative: bool
) -> PowerRun:
    """One run from one start."""
    if triton_calls.usable(data.variables):
        steps = data.kept(("triton", nonnegative), lambda: TritonSteps(data, nonnegative=nonnegative))
    else:
        steps = TorchSteps(data, nonnegative=nonnegative)
    history = [steps.begin(indices, weights, cardinality)]
    start = np.asarray(indices, dtype=np.int64), np.asarray(weights, dtype=np.float64)
    while True:
        done = len(history) - 1
        look = steps.chunk()
        for step in range(min(steps.length, rule.max_iterations - done)):
            if look.norms[step] == 0.0:  # A x = 0: the product leads nowhere else
                last = start if done + step == 0 else steps.iterate(step)
                return _ended(last, history, "fixed_point")
            history.append(float(look.values[step]))
            repeated = rule.until_support_repeats and look.changes[step] == 0
            if rule.stalled(history[-1], history[-2]) or repeated:
                return _ended(steps.iterate(step + 1), history, "value_stalled")
            if done + step + 1 == rule.max_iterations:
                return _ended(steps.iterate(step + 1), history, "iteration_limit")


def _ended(last: tuple[Indices, Floats], history: list[float], how: str) -> PowerRun:
    indices, weights = last
    return PowerRun(indices, weights, history, how, len(history) - 1)


def _unit(indices: Tensor, entries: Tensor) -> tuple[Indices, Floats]:
    places: Indices = indices.cpu().numpy().astype(np.int64)
    values: Floats = entries.double().cpu().numpy()
    return places, values / np.linalg.norm(values)


class TorchSteps:
    """The steps in torch's own operations, for CPU tensors and for CUDA without Triton."""

    def __init__(self, data: TorchData, *, nonnegative: bool) -> None:
        self.data, self.nonnegative = data, nonnegative
        self.length = _length(data) if data.variables.is_cuda else 1  # on the CPU looking costs nothing

    def begin(self, indices: Indices, weights: Vector, cardinality: int) -> float:
        """Take the start; its objective."""
        self.cardinality = min(cardinality, self.data.size)
        self.current = self.data._places(indices), self.data._tensor(weights)
        self.norm = self.current[1].double().new_ones(())
        return float(self._score(*self.current))

    def _score(self, indices: Tensor, entries: Tensor) -> Tensor:
        length = self.norm.sqrt()
        combined = torch_reference.combine_rows(self.data.variables, indices, entries).double()
        scores = combined / length.where(length > 0, length.new_ones(()))
        self.scores = (scores / self.data.divisor).to(entries.dtype)
        return (scores * scores).sum() / self.data.divisor

    def chunk(self) -> Look:
        """Make the next iterations, then read their objectives, lengths and changes of support."""
        self.ring, seen = [self.current], []
        for _ in range(self.length):
            product = torch_reference.row_dots(self.data.variables, self.scores)
            kept = torch_reference.largest_magnitudes(product, self.cardinality, nonnegative=self.nonnegative)
            entries = product[kept].clamp(min=0) if self.nonnegative else product[kept]
            self.norm = (entries.double() ** 2).sum()
            before = self.current[0]
            same_length = before.shape == kept.shape
            changes = (before != kept).sum().double() if same_length else self.norm.new_ones(())
            self.current = kept, entries
            self.ring.append(self.current)
            seen += [changes, self._score(kept, entries), self.norm]
        import torch

        changes, values, norms = torch.stack(seen).cpu().numpy().reshape(-1, 3).T
        return Look(values, norms, changes.astype(np.int64))

    def iterate(self, step: int) -> tuple[Indices, Floats]:
        """The iterate after that many steps of the chunk (0: the one before it)."""
        return _unit(*self.ring[step])


class TritonSteps:
    """The steps as Triton kernels in one CUDA graph, with all their buffers."""

    def __init__(self, data: TorchData, *, nonnegative: bool) -> None:
        import torch

        self.data, self.length = data, _length(data)
        size, variables = data.size, data.variables
        self.multiply = triton_calls.RowProduct(variables)
        self.combine = triton_calls.RowCombination(variables, data.divisor)
        self.select = triton_calls.Selection(variables, 1, size, nonnegative=nonnegative)
        count, wide = self.length, {"dtype": torch.float64, "device": variables.device}
        self.product = variables.new_zeros(1, size)
        self.scores = variables.new_zeros(triton_calls.padded(data.n_samples))
        self.indices = torch.zeros(count + 1, size, dtype=torch.int32, device=variables.device)
        self.entries = variables.new_zeros(count + 1, size)
        self.wanted, self.n_start = (torch.ones(1, dtype=torch.int32, device=variables.device) for _ in range(2))
        self.norm_parts = torch.zeros(self.select.n_blocks, **wide)
        # One row an iteration, for the host to read at one go: parts of the value, the squared length, the changes.
        self.seen = torch.zeros(count + 1, self.combine.n_values + 1, **wide)
        self.changes = torch.zeros(count, self.select.n_blocks, dtype=torch.int32, device=variables.device)
        self.graph: Any = None

    def begin(self, indices: Indices, weights: Vector, cardinality: int) -> float:
        """Take the start; its objective."""
        count, last = len(indices), self.length
        self.cardinality = min(cardinality, self.data.size)
        self.indices[last, :count] = self.data._places(indices).int()
        self.entries[last, :count] = self.data._tensor(weights)
        self.wanted.fill_(self.cardinality)
        self.n_start.fill_(count)
        self.norm_parts.zero_()
        self.norm_parts[0] = 1.0
        self._score(last, self.n_start)
        if count != self.cardinality:
            self.indices[last, 0] = -1  # a start of another size is no repetition, whatever it shares
        return float(self.seen[last, :-1].sum())

    def _score(self, slot: int, count: Tensor) -> None:
        seen = self.seen[slot]
        self.combine(self.indices[slot], self.entries[slot], count, self.norm_parts, self.scores, seen[:-1], seen[-1:])

    def _step(self, slot: int) -> None:
        self.multiply(self.scores, self.product)
        self.select.compact(
            self.product, self.wanted, self.indices[slot - 1], self.indices[slot], self.entries[slot],
            self.norm_parts, self.changes[slot - 1],
        )  # fmt: skip
        self._score(slot, self.wanted)

    def _chunk(self) -> None:
        self.indices[0].copy_(self.indices[self.length])
        self.entries[0].copy_(self.entries[self.length])
        for slot in range(1, self.length + 1):
            self._step(slot)

    def _capture(self) -> None:
        """Compile every kernel by one chunk, then record it; the state is put back as it was.

        A whole chunk, because Triton compiles anew for pointers of another alignment, which must not happen while
        recording.
        """
        import torch

        kept = [self.scores, self.indices[self.length], self.entries[self.length]]
        before = [tensor.clone() for tensor in kept]
        self._chunk()
        for tensor, values in zip(kept, before, strict=True):
            tensor.copy_(values)
        torch.cuda.synchronize(self.scores.device)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._chunk()

    def chunk(self) -> Look:
        """Replay the graph, then read the objectives, lengths and changes of support."""
        if self.graph is None:
            self._capture()
        self.graph.replay()
        seen = self.seen[1:].cpu().numpy()
        changes: NDArray[np.int64] = self.changes.cpu().numpy().sum(axis=1, dtype=np.int64)
        return Look(seen[:, :-1].sum(axis=1), seen[:, -1], changes)

    def iterate(self, step: int) -> tuple[Indices, Floats]:
        """The iterate after that many steps of the chunk (0: the one before it)."""
        return _unit(self.indices[step, : self.cardinality], self.entries[step, : self.cardinality])


def _length(data: TorchData) -> int:
    return CHUNK["long" if data.size * data.n_samples >= LONG_STEP else "short"]
