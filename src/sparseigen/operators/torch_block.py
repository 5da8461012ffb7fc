"""Many runs of Algorithm 1 on a device at once: one pass over the data serves a block of them.

64 products cost little more than one on a GPU, because reading the data is what takes the time. The first iterations
use tf32 where the hardware has it (CUDA, float32 data); they only have to find the neighbourhood of the answer. Then
the block goes on in the data's own precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import torch_kernels
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.iteration import Iteration, Look

if TYPE_CHECKING:
    from sparseigen.operators.torch_data import TorchData

Floats = NDArray[np.float64]

LOOK = 4
"""Iterations between two looks at the objectives."""


class DeviceBlock(Iteration):
    """A block of runs, LOOK iterations at a time; runs that have ended leave when half of the block has."""

    operator: TorchData
    on_host = False
    keeps_iterates = False

    def __init__(self, data: TorchData, cardinalities: Sequence[int]) -> None:
        super().__init__(data, cardinalities)
        self.rough = bool(data.variables.is_cuda) and data.dtype == np.float32

    def begin(self, starts: Sequence[SparseVector]) -> list[float]:
        """Take the starts; their objectives."""
        with self._guard_memory():
            self.whole = self.block = _make_block(self.operator, len(starts))
            self.stepping: Sequence[int] = range(len(starts))
            self.last: list[SparseVector] = []
            return self.block.begin(starts, self.cardinalities)

    def _guard_memory(self) -> AbstractContextManager[None]:
        data = self.operator
        return data._guard_memory(
            "blocks of cardinalities", 4 * len(self.cardinalities) * data.size * data.dtype.itemsize
        )

    def advance(self, runs: Sequence[int], most: int, *, ahead: bool = True) -> Sequence[Iterable[Look]]:
        """LOOK more iterations; no product vanishes, because A is semidefinite and the objectives grow."""
        with self._guard_memory():
            values = self.block.run_chunk(tf32=self.rough)
        return [[(value, 1.0, False) for value in row] for row in values.T.tolist()]

    def keep(self, runs: Sequence[int]) -> Sequence[int]:
        """Narrow the block when half of its runs have ended; the whole block, at rest by then, keeps all iterates."""
        if self.rough or 2 * len(runs) > len(self.stepping):
            return self.stepping
        stepping = np.array(self.stepping)
        moving = np.isin(stepping, runs)
        with self._guard_memory():
            leaving = np.flatnonzero(~moving)
            if self.block is not self.whole:
                self.whole.take(stepping[leaving], self.block, leaving)
            if len(runs):
                self.block = self.block.narrow(np.flatnonzero(moving))
        self.stepping = runs
        return runs

    def iterate(self, run: int, step: int) -> SparseVector:
        """The last iterate of a run; when all have ended they come at one go."""
        if not self.last:
            with self._guard_memory():
                self.last = self.whole.read_vectors()
        return self.last[run]


def _make_block(data: TorchData, count: int) -> Block:
    block: Block = data.find_workspace(("block", count), lambda: Block(data, count))
    return block


class Block:
    """The iterates of one block as rows, with the work space of their steps."""

    def __init__(self, data: TorchData, count: int) -> None:
        import torch

        self.data, self.count, self.used, self.largest = data, count, count, 1
        variables = data.variables
        self.triton = torch_kernels.usable(variables)
        self.products, self.vectors = (variables.new_zeros(count, data.size) for _ in range(2))
        self.scores = variables.new_zeros(count, data.n_samples)
        self.wanted = torch.ones(count, dtype=torch.int32 if self.triton else torch.int64, device=variables.device)
        self.lengths = torch.ones(count, dtype=torch.float64, device=variables.device)
        self.values = torch.zeros(LOOK, count, dtype=torch.float64, device=variables.device)
        if self.triton:
            self.select = torch_kernels.Selection(variables, count, data.size)
            self.norm_parts = torch.zeros(count, self.select.n_blocks, dtype=torch.float64, device=variables.device)
        self.graphs: dict[bool, Any] = {}

    def begin(self, starts: Sequence[SparseVector], cardinalities: Sequence[int]) -> list[float]:
        """Put every row on its start; the objectives there."""
        import torch

        self.wanted.copy_(self.wanted.new_tensor(cardinalities))
        self.used, self.largest = self.count, min(max(cardinalities), self.data.size)
        combined = {}
        for start in starts:  # most often all begin at the same vector
            if id(start) not in combined:
                places, entries = self.data._places(start.indices), self.data._tensor(start.weights)
                combined[id(start)] = self.data.combine(places, entries)
        values = {key: float((scores.double() ** 2).sum()) / self.data.divisor for key, scores in combined.items()}
        self.scores.copy_(torch.stack([combined[id(start)] for start in starts]) / self.data.divisor)
        return [values[id(start)] for start in starts]

    def narrow(self, rows: NDArray[np.int64]) -> Block:
        """A block with those rows alone; its size is a power of two, so that few graphs serve all."""
        size = 1 << (len(rows) - 1).bit_length()
        chosen = self.data._places(np.resize(rows, size))
        block = _make_block(self.data, size)
        block.used, block.largest = len(rows), self.largest
        block.scores.copy_(self.scores[chosen])
        block.wanted.copy_(self.wanted[chosen])
        return block

    def _step(self, slot: int) -> None:
        import torch

        torch.matmul(self.scores, self.data.variables.T, out=self.products)
        projection = self.data.projection
        if projection is not None:
            self.products.copy_(projection.project_product(self.products, self.scores))
        self._truncate()
        combined = self.vectors @ self.data.variables
        if projection is not None:
            combined = projection.project_scores(combined, self.vectors @ projection.against_native)
        combined = combined.double() / self.lengths[:, None]
        self.values[slot] = (combined * combined).sum(dim=1) / self.data.divisor
        self.scores.copy_(combined / self.data.divisor)

    def _truncate(self) -> None:
        if self.triton:
            self.select.mask(self.products, self.wanted, self.vectors, self.norm_parts)
            squared = self.norm_parts.sum(dim=1)
        else:
            keep = torch_kernels.kept_mask(self.products, self.wanted, self.largest)
            self.vectors.copy_(self.products * keep)
            squared = (self.vectors.double() ** 2).sum(dim=1)
        self.lengths.copy_(squared.sqrt().clamp(min=np.finfo(np.float64).tiny))

    def _make_chunk(self, *, tf32: bool) -> None:
        with torch_kernels.matmul_precision(tf32=tf32):
            for slot in range(LOOK):
                self._step(slot)

    def run_chunk(self, *, tf32: bool) -> Floats:
        """LOOK more iterations; their objectives, one row per iteration."""
        if not self.triton:
            self._make_chunk(tf32=tf32)
        else:
            if tf32 not in self.graphs:
                self._capture(tf32=tf32)
            self.graphs[tf32].replay()
        values: Floats = self.values.cpu().numpy()[:, : self.used].copy()
        return values

    def _capture(self, *, tf32: bool) -> None:
        """Record a chunk as a CUDA graph, after one that compiles the kernels; the state is put back."""
        import torch

        scores = self.scores.clone()
        self._make_chunk(tf32=tf32)
        self.scores.copy_(scores)
        torch.cuda.synchronize(scores.device)
        self.graphs[tf32] = torch_kernels.record_graph(lambda: self._make_chunk(tf32=tf32))

    def take(self, rows: NDArray[np.int64], source: Block, places: NDArray[np.int64]) -> None:
        """Keep iterates of a narrower block as these rows."""
        self.vectors[self.data._places(rows)] = source.vectors[self.data._places(places)]

    def read_vectors(self) -> list[SparseVector]:
        """The iterates as unit vectors by their non-zeros."""
        flat = self.vectors.view(-1)
        found = flat.nonzero()[:, 0]
        entries: Floats = flat[found].cpu().numpy().astype(np.float64)
        rows, columns = np.divmod(found.cpu().numpy(), self.data.size)
        starts = np.searchsorted(rows, np.arange(self.count))
        lengths = np.sqrt(np.add.reduceat(entries**2, starts))
        entries /= lengths[rows]
        parts = zip(np.split(columns, starts[1:]), np.split(entries, starts[1:]), strict=True)
        return [SparseVector(indices, weights) for indices, weights in parts]
