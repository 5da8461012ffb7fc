"""Products and truncation on a torch device: in torch's own operations, and by Triton kernels where they run.

The functions run on any device with no host synchronisation; the Triton kernels are their fast twins on CUDA, with
their grids, block sizes and work space. torch and triton are imported inside: importing this module is free. A
`RowProduct`, a `RowCombination` and a `Selection` each own their work space and may be captured in a CUDA graph.
"""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Tensor = Any


def row_dots(matrix: Tensor, vector: Tensor) -> Tensor:
    """``matrix @ vector``."""
    return matrix @ vector


def combine_rows(matrix: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    """``sum_f weights[f] * matrix[rows[f]]``."""
    return weights @ matrix[rows]


def kept_mask(values: Tensor, counts: Tensor, largest: int, *, nonnegative: bool = False) -> Tensor:
    """Which entries of each row are among its ``counts[row]`` largest magnitudes; ties go to the lowest index.

    ``largest`` is the largest count. `torch.topk` gives the k-th largest magnitude; which of the entries equal to it
    are kept is decided here, because topk leaves that open.
    """
    import torch

    magnitudes = values.clamp(min=0) if nonnegative else values.abs()
    top = torch.topk(magnitudes, largest, dim=1).values
    threshold = top.gather(1, (counts - 1)[:, None])
    above = magnitudes > threshold
    ties = magnitudes == threshold
    wanted_ties = counts[:, None] - above.sum(dim=1, keepdim=True)
    return above | (ties & (ties.cumsum(dim=1) <= wanted_ties))


def largest_magnitudes(values: Tensor, count: int, *, nonnegative: bool = False) -> Tensor:
    """Indices of the ``count`` largest magnitudes, ascending; ties go to the lowest index."""
    import torch

    size = values.shape[0]
    places = torch.arange(size, device=values.device)
    if count >= size:
        return places
    counts = torch.full((1,), count, device=values.device)
    keep = kept_mask(values[None], counts, count, nonnegative=nonnegative)[0]
    # Positions by counting instead of nonzero(): the size is known, so the host need not wait for it.
    position = torch.where(keep, keep.cumsum(0) - 1, count)
    # Where numbers are not finite fewer are kept: what is not written to must be places all the same.
    return torch.arange(count + 1, device=values.device).scatter_(0, position, places)[:count]


def top_sums(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Sum of the ``count`` largest entries of each row of nonnegative numbers, added in float64, and the smallest."""
    import torch

    largest = torch.topk(values, count, dim=1, sorted=False).values.double()
    return largest.sum(dim=1), largest.amin(dim=1)


def column_energies(columns: Tensor, positions: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The twin of `eigen.column_energies` for columns on a device, squared and added in float64."""
    import torch

    squares = columns.T.double() ** 2
    whole = _sum_largest(squares, count)
    squares[torch.arange(len(squares), device=squares.device), torch.as_tensor(positions, device=squares.device)] = 0.0
    return whole.cpu().numpy(), _sum_largest(squares, max(1, count - 1)).cpu().numpy()


def _sum_largest(values: Tensor, count: int) -> Tensor:
    """The sums of `top_sums` by the Triton kernels where they run; rows may have fewer entries than ``count``."""
    import torch

    n_rows, size = values.shape
    if count >= size:
        return values.sum(dim=1)
    if not usable(values):
        return top_sums(values, count)[0]
    wanted = torch.full((n_rows,), count, dtype=torch.int32, device=values.device)
    with torch.cuda.device_of(values):
        return Selection(values, n_rows, size).top_sums(values.contiguous(), wanted)[0]


@contextmanager
def matmul_precision(*, tf32: bool) -> Iterator[None]:
    """Inside, float32 matrix products on CUDA use tf32, or surely do not; the caller's choice returns afterwards."""
    import torch

    settings = torch.backends.cuda.matmul
    name, wanted = ("fp32_precision", "tf32" if tf32 else "ieee") if hasattr(settings, "fp32_precision") else (
        "allow_tf32", tf32
    )  # fmt: skip
    before = getattr(settings, name)
    setattr(settings, name, wanted)
    try:
        yield
    finally:
        setattr(settings, name, before)


def record_graph(work: Callable[[], None]) -> Any:
    """``work`` as a CUDA graph; everything it calls has run before, so that nothing is compiled meanwhile.

    Python's cycle collector rests: an older graph freed while this one is being recorded invalidates the recording. So
    would another thread's allocation, unless the recording is about this thread alone.
    """
    import torch

    graph = torch.cuda.CUDAGraph()
    collecting = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            work()
    finally:
        if collecting:
            gc.enable()
    return graph


PARTS = 256
"""Into how many parts the rows of a combination are cut; each is added up by programs of its own."""
SCORE_COLUMNS = 32
"""Samples whose parts one program adds."""


def usable(tensor: Tensor) -> bool:
    """Whether the Triton kernels can work on this tensor."""
    return bool(tensor.is_cuda) and importlib.util.find_spec("triton") is not None


def _units(matrix: Tensor) -> tuple[int, int, int]:
    """(width in units, stride in units, entries per unit): units of four let the compiler load 16 bytes at a time.

    Columns between the matrix' width and the next multiple of four must be zero where the stride leaves room for
    them; `TorchData` lays its data out so.
    """
    width, stride = matrix.shape[1], matrix.stride(0)
    unit = 4 if stride % 4 == 0 and matrix.data_ptr() % 16 == 0 else 1
    return -(-width // unit), stride // unit, unit


def pad_width(width: int) -> int:
    """The width rounded up so that every row starts on a boundary of four entries."""
    return -(-width // 4) * 4


TILE, DEPTH = 128, 64
"""Rows, columns and samples of the products that one program of `sum_above` makes at a time."""
MOST_TILES, PROGRAMS = 1024, 1024
"""Tiles that one program adds up in float32, and how many programs keep a device busy."""
ADDITIONS = TILE + MOST_TILES + 4
"""Float32 additions on the way to a sum of `sum_above`."""


def sum_above(matrix: Tensor, rows: Tensor, scaling: Tensor, thresholds: Tensor) -> Tensor:
    """Of some rows i of |MM'| diag(scaling) the sum of (entry - threshold_i)+ over j != i, by Triton.

    M is contiguous float16, its width a multiple of 8; products are added in float32 and never written to memory.
    """
    import torch

    from sparseigen.kernels import triton_kernels

    size, count = matrix.shape[0], len(rows)
    tiles, programs = -(-size // TILE), -(-count // TILE)
    parts = min(tiles, max(-(-tiles // MOST_TILES), PROGRAMS // programs, 1))
    sums = torch.zeros(parts, count, dtype=torch.float32, device=matrix.device)
    triton_kernels.sum_above[programs, parts](
        matrix, rows, scaling, thresholds, sums, count, size, matrix.shape[1] // 8, tiles, -(-tiles // parts), 8, TILE,
        TILE, DEPTH, num_warps=8, num_stages=3,
    )  # fmt: skip
    return sums.double().sum(dim=0)


class RowProduct:
    """``out = matrix @ vector`` at the speed of memory. ``vector`` must be `pad_width` with zeros."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self.units, self.stride, self.unit = _units(matrix)
        self.rows = 8 if matrix.element_size() == 4 else 4
        self.columns = 512 if matrix.shape[1] > 256 else 256

    def __call__(self, vector: Tensor, out: Tensor) -> None:
        """Fill ``out``."""
        from sparseigen.kernels import triton_kernels

        n_rows = self.matrix.shape[0]
        grid = (-(-n_rows // self.rows),)
        triton_kernels.row_dots[grid](
            self.matrix, vector, out, n_rows, self.units, self.stride, self.unit, self.rows, self.columns, num_warps=4
        )


class RowCombination:
    """The scores of a sparse combination of rows, its length taken out, and the quadratic form."""

    def __init__(self, matrix: Tensor, divisor: int, *, extra: bool = False) -> None:
        import torch

        self.matrix, self.divisor = matrix, divisor
        self.parts = PARTS + int(extra)
        """With ``extra`` one more part than is computed, for what `subtract` takes away."""
        self.units, self.stride, self.unit = _units(matrix)
        self.width = pad_width(matrix.shape[1])
        self.partial = torch.zeros(self.parts, self.width, dtype=matrix.dtype, device=matrix.device)
        self.n_values = -(-self.width // SCORE_COLUMNS)

    def subtract(self, combination: Tensor) -> None:
        """Take this away from the next combination; made with ``extra=True`` only."""
        self.partial[PARTS, : combination.shape[0]] = -combination

    def __call__(
        self, indices: Tensor, weights: Tensor, count: Tensor, norms: Tensor, scores: Tensor, values: Tensor,
        norm_out: Tensor,
    ) -> None:  # fmt: skip
        """``scores = D'x / divisor`` for x = weights / sqrt(sum(norms)); ``values`` add up to x'Ax."""
        import triton

        from sparseigen.kernels import triton_kernels

        columns = 256
        grid = (PARTS, -(-self.width // columns))
        triton_kernels.combine_rows[grid](
            self.matrix, indices, weights, count, self.partial, self.units, self.stride, self.width, self.unit, 8,
            columns, num_warps=4,
        )  # fmt: skip
        n_norms = norms.shape[0]
        triton_kernels.finish_scores[(self.n_values,)](
            self.partial, norms, scores, values, norm_out, self.width, self.width, self.parts, n_norms, self.divisor,
            triton.next_power_of_2(self.parts), triton.next_power_of_2(n_norms), SCORE_COLUMNS, num_warps=4,
        )  # fmt: skip


class Selection:
    """The k largest magnitudes of each row of a block, ties to the lowest index, k read from device memory."""

    def __init__(self, like: Tensor, n_rows: int, size: int, *, nonnegative: bool = False) -> None:
        import torch
        import triton

        self.size, self.n_rows, self.nonnegative = size, n_rows, nonnegative
        self.wide = like.element_size() == 8
        self.passes = 8 if self.wide else 4
        self.block = 1024 if size <= 4096 or (n_rows == 1 and size <= 1 << 17) else 4096
        self.n_blocks = -(-size // self.block)
        self.blocks = triton.next_power_of_2(self.n_blocks)
        self.warps = 4 if self.block == 1024 else 8
        whole = {"dtype": torch.int32, "device": like.device}
        self.histograms = torch.zeros(n_rows, self.passes, 256, **whole)
        self.state = torch.zeros(n_rows, self.passes + 1, 2, dtype=torch.int64, device=like.device)
        self.above, self.ties = (torch.zeros(n_rows, self.n_blocks, **whole) for _ in range(2))

    def _threshold(self, values: Tensor, wanted: Tensor) -> tuple[int, int]:
        from sparseigen.kernels import triton_kernels

        n_rows = values.shape[0]
        grid, stride = (self.n_blocks, n_rows), values.stride(0)
        for digit in range(self.passes):
            triton_kernels.count_digits[grid](
                values, self.histograms, self.state, wanted, self.size, stride, digit, self.passes, self.wide,
                self.nonnegative, self.block, num_warps=self.warps,
            )  # fmt: skip
        triton_kernels.count_kept[grid](
            values, self.histograms, self.state, self.above, self.ties, self.size, stride, self.passes, self.wide,
            self.nonnegative, self.block, num_warps=self.warps,
        )  # fmt: skip
        return grid

    def compact(
        self, values: Tensor, wanted: Tensor, previous: Tensor, indices: Tensor, kept: Tensor, norms: Tensor,
        changes: Tensor,
    ) -> None:  # fmt: skip
        """One row: ascending indices and values; ``norms`` by block; ``changes`` against the previous indices."""
        self._keep(values, wanted, previous, indices, kept, norms, changes, compact=True)

    def mask(self, values: Tensor, wanted: Tensor, kept: Tensor, norms: Tensor) -> None:
        """All rows: the kept values with zeros elsewhere, and their squares added by block into ``norms``."""
        self._keep(values, wanted, wanted, wanted, kept, norms, wanted, compact=False)

    def _keep(
        self, values: Tensor, wanted: Tensor, previous: Tensor, indices: Tensor, kept: Tensor, norms: Tensor,
        changes: Tensor, *, compact: bool,
    ) -> None:  # fmt: skip
        from sparseigen.kernels import triton_kernels

        grid = self._threshold(values, wanted)
        triton_kernels.keep_largest[grid](
            values, self.histograms, self.state, self.above, self.ties, previous, indices, kept, norms, changes,
            self.size, values.stride(0), self.passes, self.wide, self.nonnegative, compact, self.blocks, self.block,
            num_warps=self.warps,
        )  # fmt: skip

    def top_sums(self, values: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Sum of the wanted number of largest entries of each row of nonnegative numbers, and the smallest of them."""
        import torch

        from sparseigen.kernels import triton_kernels

        n_rows = values.shape[0]
        grid = self._threshold(values, wanted)
        sums = torch.empty(n_rows, self.n_blocks, dtype=torch.float64, device=values.device)
        triton_kernels.sum_largest[grid](
            values, self.histograms, self.state, sums, self.size, values.stride(0), self.passes, self.wide, self.block,
            num_warps=self.warps,
        )  # fmt: skip
        keys, wanted_ties = self.state[:n_rows, self.passes, 0], self.state[:n_rows, self.passes, 1]
        smallest = (keys.view(torch.float64) if self.wide else keys.to(torch.int32).view(torch.float32)).double()
        return sums.sum(dim=1) + smallest * wanted_ties, smallest
