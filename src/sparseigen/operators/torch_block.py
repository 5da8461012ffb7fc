"""Algorithm 1 for many cardinalities at once: one pass over the data serves a block of them.

A block of 64 products costs little more than one on a GPU, because reading the data is what takes the time. The first
iterations use tf32 where the hardware has it (CUDA, float32 data); they only have to find the neighbourhood of the
answer. Then the block goes on in the data's own precision until the caller's stop rule holds for every cardinality.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import torch_reference, triton_calls
from sparseigen.operators.contract import Indices, PowerRun
from sparseigen.operators.torch_loop import Rule

if TYPE_CHECKING:
    from sparseigen.operators.torch_data import TorchData

Tensor = Any
Floats = NDArray[np.float64]

BLOCK = 64
"""Cardinalities a pass."""
LOOK = 4
"""Iterations between two looks at the objectives."""
ROUGH_RTOL = 1e-3
"""The tf32 iterations end when no objective moves by more than this share."""


def power_block(data: TorchData, cardinalities: list[int], rule: Rule) -> list[PowerRun]:
    """One run for each cardinality, all from the variable of largest variance, in the order given.

    Iterations are made LOOK at a time, so that a limit can be passed by up to LOOK - 1 of them.
    """
    runs: list[PowerRun] = []
    for first in range(0, len(cardinalities), BLOCK):
        runs += _one_block(data, cardinalities[first : first + BLOCK], rule)
    return runs


def _one_block(data: TorchData, cardinalities: list[int], rule: Rule) -> list[PowerRun]:
    block = _block(data, len(cardinalities))
    rough = [block.begin(cardinalities)]
    if data.variables.is_cuda and data.dtype == np.float32:
        loose = Rule(max(ROUGH_RTOL, rule.rtol), rule.atol, rule.max_iterations // 2)
        while len(rough) - 1 + LOOK <= loose.max_iterations and _moving(np.array(rough), loose).any():
            rough += list(block.chunk(tf32=True))
    histories = [[float(values[one]) for values in rough] for one in range(len(cardinalities))]
    return _finished(block, histories, rule)


def _block(data: TorchData, count: int) -> Block:
    block: Block = data.kept(("block", count), lambda: Block(data, count))
    return block


def _finished(whole: Block, histories: list[list[float]], rule: Rule) -> list[PowerRun]:
    """Iterate in the data's precision; rows that have stalled leave when half of the block has."""
    block, rows = whole, np.arange(len(histories))  # which cardinality each row of the block works on
    ended = ["value_stalled"] * len(histories)
    while True:
        values = block.chunk(tf32=False)
        moving = _moving(values, rule)
        for row, one in enumerate(rows):
            histories[one] += values[:, row].tolist()
        over = not moving.any() or len(histories[rows[0]]) > rule.max_iterations
        if over or 2 * int(moving.sum()) <= len(rows):
            leaving = np.arange(len(rows)) if over else np.flatnonzero(~moving)
            if block is not whole:  # the whole block, at rest by now, keeps everyone's last iterate
                whole.take(rows[leaving], block, leaving)
            if over:
                for straggler in rows[moving]:
                    ended[straggler] = "iteration_limit"
                break
            block, rows = block.narrowed(np.flatnonzero(moving)), rows[moving]
    return [
        PowerRun(indices, weights, seen, how, len(seen) - 1)
        for (indices, weights), seen, how in zip(whole.vectors_now(), histories, ended, strict=True)
    ]


def _moving(history: Floats, rule: Rule) -> NDArray[np.bool_]:
    """Which cardinalities' last two objectives (rows: iterations) differ by more than the tolerance."""
    if len(history) < 2:
        return np.ones(history.shape[1], dtype=bool)
    tolerance = np.maximum(rule.atol, rule.rtol * np.abs(history[-1]))
    moving: NDArray[np.bool_] = np.abs(history[-1] - history[-2]) > tolerance
    return moving


class Block:
    """The iterates of one block as rows, with the work space of their steps."""

    def __init__(self, data: TorchData, count: int) -> None:
        import torch

        self.data, self.count, self.used, self.largest = data, count, count, 1
        variables = data.variables
        self.triton = triton_calls.usable(variables)
        self.products, self.vectors = (variables.new_zeros(count, data.size) for _ in range(2))
        self.scores = variables.new_zeros(count, data.n_samples)
        self.wanted = torch.ones(count, dtype=torch.int32 if self.triton else torch.int64, device=variables.device)
        self.lengths = torch.ones(count, dtype=torch.float64, device=variables.device)
        self.values = torch.zeros(LOOK, count, dtype=torch.float64, device=variables.device)
        if self.triton:
            self.select = triton_calls.Selection(variables, count, data.size)
            self.norm_parts = torch.zeros(count, self.select.n_blocks, dtype=torch.float64, device=variables.device)
        self.graphs: dict[bool, Any] = {}

    def begin(self, cardinalities: list[int]) -> Floats:
        """Put every row on the variable of largest variance; the objectives there."""
        largest = int(np.argmax(self.data.diagonal()))
        self.wanted.copy_(self.wanted.new_tensor(cardinalities))
        self.used, self.largest = self.count, min(max(cardinalities), self.data.size)
        self.scores.copy_(self.data.variables[largest][None].expand(self.count, -1) / self.data.divisor)
        return np.full(self.count, self.data.diagonal()[largest])

    def narrowed(self, rows: NDArray[np.int64]) -> Block:
        """A block with those rows alone; its size is a power of two, so that few graphs serve all."""
        size = 1 << (len(rows) - 1).bit_length()
        chosen = self.data._places(np.resize(rows, size))
        block = _block(self.data, size)
        block.used, block.largest = len(rows), self.largest
        block.scores.copy_(self.scores[chosen])
        block.wanted.copy_(self.wanted[chosen])
        return block

    def _step(self, slot: int) -> None:
        import torch

        torch.matmul(self.scores, self.data.variables.T, out=self.products)
        projection = self.data.projection
        if projection is not None:
            self.products.copy_(projection.of_product(self.products, self.scores))
        self._truncate()
        combined = self.vectors @ self.data.variables
        if projection is not None:
            combined = projection.of_scores(combined, self.vectors @ projection.against_native)
        combined = combined.double() / self.lengths[:, None]
        self.values[slot] = (combined * combined).sum(dim=1) / self.data.divisor
        self.scores.copy_(combined / self.data.divisor)

    def _truncate(self) -> None:
        if self.triton:
            self.select.mask(self.products, self.wanted, self.vectors, self.norm_parts)
            squared = self.norm_parts.sum(dim=1)
        else:
            keep = torch_reference.kept_mask(self.products, self.wanted, self.largest)
            self.vectors.copy_(self.products * keep)
            squared = (self.vectors.double() ** 2).sum(dim=1)
        self.lengths.copy_(squared.sqrt().clamp(min=np.finfo(np.float64).tiny))

    def _chunk(self, *, tf32: bool) -> None:
        with torch_reference.matmul_precision(tf32=tf32):
            for slot in range(LOOK):
                self._step(slot)

    def chunk(self, *, tf32: bool) -> Floats:
        """LOOK more iterations; their objectives, one row an iteration."""
        if not self.triton:
            self._chunk(tf32=tf32)
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
        self._chunk(tf32=tf32)
        self.scores.copy_(scores)
        torch.cuda.synchronize(scores.device)
        self.graphs[tf32] = torch_reference.recorded(lambda: self._chunk(tf32=tf32))

    def take(self, rows: NDArray[np.int64], other: Block, theirs: NDArray[np.int64]) -> None:
        """Keep another block's iterates as these rows."""
        self.vectors[self.data._places(rows)] = other.vectors[self.data._places(theirs)]

    def vectors_now(self) -> list[tuple[Indices, Floats]]:
        """The iterates as unit vectors by their non-zeros."""
        flat = self.vectors.view(-1)
        found = flat.nonzero()[:, 0]
        entries: Floats = flat[found].cpu().numpy().astype(np.float64)
        rows, columns = np.divmod(found.cpu().numpy(), self.data.size)
        starts = np.searchsorted(rows, np.arange(self.count))
        lengths = np.sqrt(np.add.reduceat(entries**2, starts))
        entries /= lengths[rows]
        return list(zip(np.split(columns, starts[1:]), np.split(entries, starts[1:]), strict=True))
