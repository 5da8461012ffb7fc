"""One run of Algorithm 1 on a device, in chunks that the host looks at.

A chunk of iterations is enqueued without looking at any of them; then the host reads their objectives and lengths, and
may fetch any iterate from a ring of the chunk's iterates. So the answer and the number of iterations are those of a
loop that looks after every step, at the price of a few steps too many. The device does not wait for the host: before
the host looks at a chunk, the next one is already enqueued. There are two rings, used in turn, so that the chunk that
runs ahead leaves the iterates of the one being looked at alone. What the host reads is copied to pinned memory behind
each chunk. On CUDA with Triton a chunk is one CUDA graph. The cardinality lies in device memory, so one graph serves
all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import torch_kernels
from sparseigen.operators.contract import Indices, PowerStep, SparseVector, Vector
from sparseigen.operators.iteration import Iteration, Look

if TYPE_CHECKING:
    from sparseigen.operators.torch_data import TorchData

Tensor = Any


class Mailbox:
    """Copies of device tensors in pinned host memory, with the event that says they have arrived."""

    def __init__(self, *tensors: Tensor) -> None:
        import torch

        self.tensors = tensors
        self.on_device = bool(tensors[0].is_cuda)
        self.copies = [torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=self.on_device) for tensor in tensors]
        if self.on_device:
            self.arrived = torch.cuda.Event()
            self.side = torch.cuda.Stream(tensors[0].device)

    def send(self) -> None:
        """Enqueue the copies behind what the device has been given to do."""
        for copy, tensor in zip(self.copies, self.tensors, strict=True):
            copy.copy_(tensor, non_blocking=True)
        if self.on_device:
            self.arrived.record()

    def read(self) -> list[NDArray[Any]]:
        """Wait for the last copies, and for nothing that was enqueued after them."""
        if self.on_device:
            self.arrived.synchronize()
        return [np.array(copy.numpy()) for copy in self.copies]

    def work_beside(self) -> AbstractContextManager[Any]:
        """Work on a stream of its own that waits only for what was enqueued before the last copies."""
        if not self.on_device:
            return nullcontext()
        import torch

        self.side.wait_event(self.arrived)
        stream: AbstractContextManager[Any] = torch.cuda.stream(self.side)
        return stream


Floats = NDArray[np.float64]

CHUNK = {"short": 8, "long": 4}
"""Iterations between two looks, for steps that take microseconds and for steps that take a good part of a second."""
LONG_STEP = 1 << 28
"""From this many entries of data on a step counts as long."""


@dataclass(frozen=True)
class Seen:
    """What the host reads after a chunk, one entry per iteration."""

    values: Floats
    norms: Floats
    changes: NDArray[np.int64]


class DeviceRun(Iteration):
    """One run from one start, in chunks."""

    operator: TorchData
    on_host = False

    def __init__(self, data: TorchData, cardinalities: Sequence[int], *, nonnegative: bool) -> None:
        super().__init__(data, cardinalities, nonnegative=nonnegative)
        self.launched = self.looked = 0

    def _choose_steps(self) -> Steps:
        data, nonnegative = self.operator, self.nonnegative
        if not torch_kernels.usable(data.variables):
            return TorchSteps(data, nonnegative=nonnegative)
        steps: Steps = data.find_workspace(("triton", nonnegative), lambda: TritonSteps(data, nonnegative=nonnegative))
        return steps

    def begin(self, starts: Sequence[SparseVector]) -> list[float]:
        """Take the start; its objective."""
        (self.start,) = starts
        self.launched = self.looked = 0
        with self._guard_memory():
            self.steps = self._choose_steps()
            return [self.steps.begin(self.start.indices, self.start.weights, self.cardinalities[0])]

    def _guard_memory(self) -> AbstractContextManager[None]:
        return self.operator._guard_memory("the power iteration", 40 * self.operator.size)

    def step(self, vector: SparseVector, cardinality: int, run: int = 0) -> PowerStep:
        """Product and truncation on the device; only k numbers come back."""
        data = self.operator
        with data._guard_memory("a product", len(vector.indices) * data.n_samples * data.dtype.itemsize):
            places, entries = data._places(vector.indices), data._tensor(vector.weights)
            product = data.product(places, entries)
            value = float(entries.double() @ product[places].double())
            kept = torch_kernels.largest_magnitudes(product, cardinality, nonnegative=self.nonnegative)
            values = product[kept].double().cpu().numpy()
        return PowerStep(kept.cpu().numpy(), np.maximum(values, 0.0) if self.nonnegative else values, value)

    def multiply(self, vectors: Sequence[SparseVector]) -> NDArray[Any]:
        """All products by one with a block, which only small data are asked for."""
        block = np.zeros((self.operator.size, len(vectors)))
        for column, vector in enumerate(vectors):
            block[vector.indices, column] = vector.weights
        return np.ascontiguousarray(self.operator.block_apply(block).T)

    def advance(self, runs: Sequence[int], most: int, *, ahead: bool = True) -> Sequence[Iterable[Look]]:
        """Look at the next chunk, alternately in two rings; with ``ahead`` the one behind it is enqueued before."""
        useful = -(-most // self.steps.length)
        with self._guard_memory():
            while self.launched - self.looked < min(1 + (self.steps.ahead if ahead else 0), useful):
                self.steps.launch(self.launched % 2)
                self.launched += 1
            seen = self.steps.look(self.looked % 2)
        self.looked += 1
        repeated = (seen.changes == 0).tolist()
        return [list(zip(seen.values.tolist(), np.sqrt(seen.norms).tolist(), repeated, strict=True))]

    def iterate(self, run: int, step: int) -> SparseVector:
        """The iterate after so many steps of the chunk last looked at."""
        if step == 0 and self.looked <= 1:
            return self.start
        with self._guard_memory():
            return SparseVector(*self.steps.iterate((self.looked - 1) % 2, step))


class Steps(Protocol):
    """What a run asks of either implementation."""

    length: int
    """Iterations of a chunk."""
    ahead: int
    """Chunks enqueued beyond the one looked at: 0 or 1."""

    def begin(self, indices: Indices, weights: Vector, cardinality: int) -> float:
        """Take the start; its objective."""

    def launch(self, ring: int) -> None:
        """Enqueue a chunk that writes into that ring, and the copy of what the host will look at."""

    def look(self, ring: int) -> Seen:
        """Wait for the chunk last written into that ring, and read it."""

    def iterate(self, ring: int, step: int) -> tuple[Indices, Floats]:
        """The iterate after that many steps of the ring's chunk (0: the one before it)."""


def _fetch_unit(indices: Tensor, entries: Tensor) -> tuple[Indices, Floats]:
    places: Indices = indices.cpu().numpy().astype(np.int64)
    values: Floats = entries.double().cpu().numpy()
    return places, values / np.linalg.norm(values)


class TorchSteps:
    """The steps in torch's own operations, for CPU tensors and for CUDA without Triton."""

    def __init__(self, data: TorchData, *, nonnegative: bool) -> None:
        self.data, self.nonnegative = data, nonnegative
        on_device = bool(data.variables.is_cuda)  # on the CPU looking costs nothing
        self.length, self.ahead = _choose_pace(data) if on_device else (1, 0)
        self.rings: list[list[tuple[Tensor, Tensor]]] = [[], []]
        self.seen: list[Tensor] = [None, None]

    def begin(self, indices: Indices, weights: Vector, cardinality: int) -> float:
        """Take the start; its objective."""
        self.cardinality = min(cardinality, self.data.size)
        self.current = self.data._places(indices), self.data._tensor(weights)
        self.norm = self.current[1].double().new_ones(())
        return float(self._score(*self.current))

    def _score(self, indices: Tensor, entries: Tensor) -> Tensor:
        length = self.norm.sqrt()
        combined = self.data.combine(indices, entries).double()
        scores = combined / length.where(length > 0, length.new_ones(()))
        self.scores = (scores / self.data.divisor).to(entries.dtype)
        return (scores * scores).sum() / self.data.divisor

    def launch(self, ring: int) -> None:
        """Make the next iterations."""
        import torch

        self.rings[ring], seen = [self.current], []
        for _ in range(self.length):
            product = self.data.multiply(self.scores)
            kept = torch_kernels.largest_magnitudes(product, self.cardinality, nonnegative=self.nonnegative)
            entries = product[kept].clamp(min=0) if self.nonnegative else product[kept]
            self.norm = (entries.double() ** 2).sum()
            before = self.current[0]
            same_length = before.shape == kept.shape
            changes = (before != kept).sum().double() if same_length else self.norm.new_ones(())
            self.current = kept, entries
            self.rings[ring].append(self.current)
            seen += [changes, self._score(kept, entries), self.norm]
        self.seen[ring] = torch.stack(seen)

    def look(self, ring: int) -> Seen:
        """Read the objectives, lengths and changes of support."""
        changes, values, norms = self.seen[ring].cpu().numpy().reshape(-1, 3).T
        return Seen(values, norms, changes.astype(np.int64))

    def iterate(self, ring: int, step: int) -> tuple[Indices, Floats]:
        """The iterate after that many steps of the ring's chunk (0: the one before it)."""
        return _fetch_unit(*self.rings[ring][step])


class TritonSteps:
    """The steps as Triton kernels, each ring's chunk one CUDA graph, with all their buffers."""

    def __init__(self, data: TorchData, *, nonnegative: bool) -> None:
        import torch

        self.data, (self.length, self.ahead) = data, _choose_pace(data)
        size, variables = data.size, data.variables
        self.multiply = torch_kernels.RowProduct(variables)
        self.combine = torch_kernels.RowCombination(variables, data.divisor, extra=data.projection is not None)
        self.select = torch_kernels.Selection(variables, 1, size, nonnegative=nonnegative)
        count, wide = self.length, {"dtype": torch.float64, "device": variables.device}
        self.product = variables.new_zeros(1, size)
        self.scores = variables.new_zeros(torch_kernels.pad_width(data.n_samples))
        # Slot 0 of a ring is where its chunk began, which is where the other ring's chunk ended.
        self.indices = torch.zeros(2, count + 1, size, dtype=torch.int32, device=variables.device)
        self.entries = variables.new_zeros(2, count + 1, size)
        self.wanted, self.n_start = (torch.ones(1, dtype=torch.int32, device=variables.device) for _ in range(2))
        self.norm_parts = torch.zeros(self.select.n_blocks, **wide)
        # One row per iteration, for the host to read at one go: parts of the value, the squared length, the changes.
        self.seen = torch.zeros(2, count + 1, self.combine.n_values + 1, **wide)
        self.changes = torch.zeros(2, count, self.select.n_blocks, dtype=torch.int32, device=variables.device)
        self.graphs: list[Any] = [None, None]
        self.on_host = [Mailbox(self.seen[ring], self.changes[ring]) for ring in range(2)]
        if data.projection is not None:
            self.places = torch.arange(size, dtype=torch.int32, device=variables.device)

    def begin(self, indices: Indices, weights: Vector, cardinality: int) -> float:
        """Take the start as the end of ring 1, behind which ring 0 goes on; its objective."""
        count, last = len(indices), self.length
        self.cardinality = min(cardinality, self.data.size)
        self.indices[1, last, :count] = self.data._places(indices).int()
        self.entries[1, last, :count] = self.data._tensor(weights)
        self.wanted.fill_(self.cardinality)
        self.n_start.fill_(count)
        self.norm_parts.zero_()
        self.norm_parts[0] = 1.0
        self._score(1, last, self.n_start)
        if count != self.cardinality:
            self.indices[1, last, 0] = -1  # a start of another size is no repetition, whatever they have in common
        return float(self.seen[1, last, :-1].sum())

    def _score(self, ring: int, slot: int, count: Tensor) -> None:
        seen, indices, entries = self.seen[ring, slot], self.indices[ring, slot], self.entries[ring, slot]
        if self.data.projection is not None:
            # Entries behind the first ``count`` are left over from earlier uses of the ring.
            valid = entries * (self.places < count)
            coefficients = valid @ self.data.projection.against_native.index_select(0, indices.clamp(min=0))
            self.combine.subtract(coefficients @ self.data.projection.scores_native)
        self.combine(indices, entries, count, self.norm_parts, self.scores, seen[:-1], seen[-1:])

    def _step(self, ring: int, slot: int) -> None:
        self.multiply(self.scores, self.product)
        if self.data.projection is not None:
            scores = self.scores[None, : self.data.n_samples]
            self.product.copy_(self.data.projection.project_product(self.product, scores))
        self.select.compact(
            self.product, self.wanted, self.indices[ring, slot - 1], self.indices[ring, slot],
            self.entries[ring, slot], self.norm_parts, self.changes[ring, slot - 1],
        )  # fmt: skip
        self._score(ring, slot, self.wanted)

    def _make_chunk(self, ring: int) -> None:
        self.indices[ring, 0].copy_(self.indices[1 - ring, self.length])
        self.entries[ring, 0].copy_(self.entries[1 - ring, self.length])
        for slot in range(1, self.length + 1):
            self._step(ring, slot)

    def _capture(self, ring: int) -> None:
        """Compile every kernel by one chunk, then record it; the state is put back as it was.

        A whole chunk, because Triton compiles anew for pointers of another alignment, which must not happen while
        recording. The other ring is only read.
        """
        import torch

        before = self.scores.clone()
        self._make_chunk(ring)
        self.scores.copy_(before)
        torch.cuda.synchronize(self.scores.device)
        self.graphs[ring] = torch_kernels.record_graph(lambda: self._make_chunk(ring))

    def launch(self, ring: int) -> None:
        """Replay the ring's graph, and copy what the host will look at behind it."""
        if not self.scores.is_cuda:  # the kernels interpreted, for tests
            self._make_chunk(ring)
        else:
            if None in self.graphs:
                for recorded in (1, 0):  # recording ring 1 writes into it: ring 0 has not yet been taken from it
                    self._capture_keeping_start(recorded)
            self.graphs[ring].replay()
        self.on_host[ring].send()

    def _capture_keeping_start(self, ring: int) -> None:
        """Record a ring; what the other one goes on from is saved, because ring 1's recording overwrites it."""
        kept = [self.indices[1, self.length], self.entries[1, self.length]]
        before = [tensor.clone() for tensor in kept]
        self._capture(ring)
        for tensor, values in zip(kept, before, strict=True):
            tensor.copy_(values)

    def look(self, ring: int) -> Seen:
        """Wait for the ring's chunk, not for the one behind it."""
        seen, changes = self.on_host[ring].read()
        counts: NDArray[np.int64] = changes.sum(axis=1, dtype=np.int64)
        return Seen(seen[1:, :-1].sum(axis=1), seen[1:, -1], counts)

    def iterate(self, ring: int, step: int) -> tuple[Indices, Floats]:
        """The iterate after that many steps of the ring's chunk (0: the one before it)."""
        indices, entries = self.indices[ring, step, : self.cardinality], self.entries[ring, step, : self.cardinality]
        with self.on_host[ring].work_beside():
            return _fetch_unit(indices, entries)


def _choose_pace(data: TorchData) -> tuple[int, int]:
    """Iterations per chunk, and chunks ahead: a chunk of long steps is worth more than the wait it would save."""
    long = data.size * data.n_samples >= LONG_STEP
    return CHUNK["long" if long else "short"], 0 if long else 1
