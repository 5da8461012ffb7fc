"""Algorithm 1 as a loop that stays on the device.

A chunk of iterations is enqueued without looking at any of them; then the host reads their objectives, finds the
first that satisfies the stop rule, and fetches that very iterate from a ring of the chunk's iterates. So the answer
and the number of iterations are those of a loop that looks after every step, at the price of a few steps too many.

The device does not wait for the host: before the host looks at a chunk, the next one is already enqueued. There are
two rings, used in turn, so that the chunk that runs ahead leaves the iterates of the one being looked at alone. What
the host reads is copied to pinned memory behind each chunk.

On CUDA with Triton a chunk is one CUDA graph. The cardinality lies in device memory, so one graph serves all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import torch_reference, triton_calls
from sparseigen.operators.contract import Indices, PowerRun, Vector
from sparseigen.operators.torch_mailbox import Mailbox

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
    steps: Steps
    if triton_calls.usable(data.variables):
        steps = data.kept(("triton", nonnegative), lambda: TritonSteps(data, nonnegative=nonnegative))
    else:
        steps = TorchSteps(data, nonnegative=nonnegative)
    history = [steps.begin(indices, weights, cardinality)]
    start = np.asarray(indices, dtype=np.int64), np.asarray(weights, dtype=np.float64)
    for ring, look in _looks(steps, rule):
        done = len(history) - 1
        for step in range(min(steps.length, rule.max_iterations - done)):
            if look.norms[step] == 0.0:  # A x = 0: the product leads nowhere else
                last = start if done + step == 0 else steps.iterate(ring, step)
                return _ended(last, history, "fixed_point")
            history.append(float(look.values[step]))
            repeated = rule.until_support_repeats and look.changes[step] == 0
            if rule.stalled(history[-1], history[-2]) or repeated:
                return _ended(steps.iterate(ring, step + 1), history, "value_stalled")
            if done + step + 1 == rule.max_iterations:
                return _ended(steps.iterate(ring, step + 1), history, "iteration_limit")
    raise AssertionError("the limit ends the loop")  # pragma: no cover


def _looks(steps: Steps, rule: Rule) -> Iterator[tuple[int, Look]]:
    """Chunk after chunk, alternately in two rings, with ``steps.ahead`` more of them enqueued before each look."""
    chunks = -(-rule.max_iterations // steps.length)
    launched = 0
    for chunk in range(chunks):
        # A run that ends when its support repeats most often ends in its first chunk: nothing is enqueued behind it.
        ahead = 0 if chunk == 0 and rule.until_support_repeats else steps.ahead
        while launched < min(chunk + 1 + ahead, chunks):
            steps.launch(launched % 2)
            launched += 1
        yield chunk % 2, steps.look(chunk % 2)


class Steps(Protocol):
    """What the loop asks of either implementation."""

    length: int
    """Iterations of a chunk."""
    ahead: int
    """Chunks enqueued beyond the one looked at: 0 or 1."""

    def begin(self, indices: Indices, weights: Vector, cardinality: int) -> float:
        """Take the start; its objective."""

    def launch(self, ring: int) -> None:
        """Enqueue a chunk that writes into that ring, and the copy of what the host will look at."""

    def look(self, ring: int) -> Look:
        """Wait for the chunk last written into that ring, and read it."""

    def iterate(self, ring: int, step: int) -> tuple[Indices, Floats]:
        """The iterate after that many steps of the ring's chunk (0: the one before it)."""


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
        on_device = bool(data.variables.is_cuda)  # on the CPU looking costs nothing
        self.length, self.ahead = _pace(data) if on_device else (1, 0)
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
            kept = torch_reference.largest_magnitudes(product, self.cardinality, nonnegative=self.nonnegative)
            entries = product[kept].clamp(min=0) if self.nonnegative else product[kept]
            self.norm = (entries.double() ** 2).sum()
            before = self.current[0]
            same_length = before.shape == kept.shape
            changes = (before != kept).sum().double() if same_length else self.norm.new_ones(())
            self.current = kept, entries
            self.rings[ring].append(self.current)
            seen += [changes, self._score(kept, entries), self.norm]
        self.seen[ring] = torch.stack(seen)

    def look(self, ring: int) -> Look:
        """Read the objectives, lengths and changes of support."""
        changes, values, norms = self.seen[ring].cpu().numpy().reshape(-1, 3).T
        return Look(values, norms, changes.astype(np.int64))

    def iterate(self, ring: int, step: int) -> tuple[Indices, Floats]:
        """The iterate after that many steps of the ring's chunk (0: the one before it)."""
        return _unit(*self.rings[ring][step])


class TritonSteps:
    """The steps as Triton kernels, each ring's chunk one CUDA graph, with all their buffers."""

    def __init__(self, data: TorchData, *, nonnegative: bool) -> None:
        import torch

        self.data, (self.length, self.ahead) = data, _pace(data)
        size, variables = data.size, data.variables
        self.multiply = triton_calls.RowProduct(variables)
        self.combine = triton_calls.RowCombination(variables, data.divisor, extra=data.projection is not None)
        self.select = triton_calls.Selection(variables, 1, size, nonnegative=nonnegative)
        count, wide = self.length, {"dtype": torch.float64, "device": variables.device}
        self.product = variables.new_zeros(1, size)
        self.scores = variables.new_zeros(triton_calls.padded(data.n_samples))
        # Slot 0 of a ring is where its chunk began, which is where the other ring's chunk ended.
        self.indices = torch.zeros(2, count + 1, size, dtype=torch.int32, device=variables.device)
        self.entries = variables.new_zeros(2, count + 1, size)
        self.wanted, self.n_start = (torch.ones(1, dtype=torch.int32, device=variables.device) for _ in range(2))
        self.norm_parts = torch.zeros(self.select.n_blocks, **wide)
        # One row an iteration, for the host to read at one go: parts of the value, the squared length, the changes.
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
            self.indices[1, last, 0] = -1  # a start of another size is no repetition, whatever it shares
        return float(self.seen[1, last, :-1].sum())

    def _score(self, ring: int, slot: int, count: Tensor) -> None:
        seen, indices, entries = self.seen[ring, slot], self.indices[ring, slot], self.entries[ring, slot]
        if self.data.projection is not None:
            # Entries behind the first ``count`` are left over from earlier uses of the ring.
            valid = entries * (self.places < count)
            shares = valid @ self.data.projection.against_native.index_select(0, indices.clamp(min=0))
            self.combine.subtract(shares @ self.data.projection.scores_native)
        self.combine(indices, entries, count, self.norm_parts, self.scores, seen[:-1], seen[-1:])

    def _step(self, ring: int, slot: int) -> None:
        self.multiply(self.scores, self.product)
        if self.data.projection is not None:
            scores = self.scores[None, : self.data.n_samples]
            self.product.copy_(self.data.projection.of_product(self.product, scores))
        self.select.compact(
            self.product, self.wanted, self.indices[ring, slot - 1], self.indices[ring, slot],
            self.entries[ring, slot], self.norm_parts, self.changes[ring, slot - 1],
        )  # fmt: skip
        self._score(ring, slot, self.wanted)

    def _chunk(self, ring: int) -> None:
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
        self._chunk(ring)
        self.scores.copy_(before)
        torch.cuda.synchronize(self.scores.device)
        self.graphs[ring] = torch_reference.recorded(lambda: self._chunk(ring))

    def launch(self, ring: int) -> None:
        """Replay the ring's graph, and copy what the host will look at behind it."""
        if not self.scores.is_cuda:  # the kernels interpreted, for tests
            self._chunk(ring)
        else:
            if None in self.graphs:
                for one in (1, 0):  # recording ring 1 writes into it: ring 0 has not yet been taken from it
                    self._capture_keeping_start(one)
            self.graphs[ring].replay()
        self.on_host[ring].send()

    def _capture_keeping_start(self, ring: int) -> None:
        """Record a ring; what the other one goes on from is saved, because ring 1's recording overwrites it."""
        kept = [self.indices[1, self.length], self.entries[1, self.length]]
        before = [tensor.clone() for tensor in kept]
        self._capture(ring)
        for tensor, values in zip(kept, before, strict=True):
            tensor.copy_(values)

    def look(self, ring: int) -> Look:
        """Wait for the ring's chunk, not for the one behind it."""
        seen, changes = self.on_host[ring].read()
        counts: NDArray[np.int64] = changes.sum(axis=1, dtype=np.int64)
        return Look(seen[1:, :-1].sum(axis=1), seen[1:, -1], counts)

    def iterate(self, ring: int, step: int) -> tuple[Indices, Floats]:
        """The iterate after that many steps of the ring's chunk (0: the one before it)."""
        indices, entries = self.indices[ring, step, : self.cardinality], self.entries[ring, step, : self.cardinality]
        with self.on_host[ring].beside():
            return _unit(indices, entries)


def _pace(data: TorchData) -> tuple[int, int]:
    """Iterations a chunk, and chunks ahead: a chunk of long steps is worth more than the wait it would save."""
    long = data.size * data.n_samples >= LONG_STEP
    return CHUNK["long" if long else "short"], 0 if long else 1
