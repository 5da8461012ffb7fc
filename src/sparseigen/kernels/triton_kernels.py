"""The kernels of the GPU loop, in Triton: products at memory speed and a selection that promises its ties.

Imported only when the data are on a CUDA device and triton is there. Every kernel writes into buffers that its caller
made once, so that a whole iteration can be captured as a CUDA graph. No kernel needs the host to know a size that the
device computed: the number of wanted entries is read from device memory.

The selection finds the k-th largest magnitude exactly, one byte of its bit pattern at a time (nonnegative floating
point numbers order like their bit patterns), then keeps everything above it and, of the entries equal to it, those
with the lowest indices. `torch.topk` makes no such promise, and takes longer.
"""

from __future__ import annotations

import triton
import triton.language as tl

BINS = tl.constexpr(256)


@triton.jit
def row_dots(matrix, vector, out, n_rows, units, stride_units, UNIT: tl.constexpr, ROWS: tl.constexpr,
             COLUMNS: tl.constexpr):  # fmt: skip
    """Out = matrix @ vector; rows are ``stride_units * UNIT`` apart, and UNIT tells how wide loads may be."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = row < n_rows
    width = units * UNIT
    start = row * stride_units * UNIT
    total = tl.zeros((ROWS, COLUMNS), dtype=vector.dtype.element_ty)
    for first in range(0, width, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        entries = tl.load(vector + column, mask=column < width, other=0.0)
        mask = inside[:, None] & (column < width)[None, :]
        total += tl.load(matrix + start[:, None] + column[None, :], mask=mask, other=0.0) * entries[None, :]
    tl.store(out + row, tl.sum(total, axis=1), mask=inside)


@triton.jit
def combine_rows(matrix, indices, weights, count, partial, units, stride_units, partial_stride, UNIT: tl.constexpr,
                 ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """partial[c] = sum of weights[f] * matrix[indices[f]] over the c-th part of the ``count`` chosen rows."""
    part, n_parts = tl.program_id(0), tl.num_programs(0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    within = column < units * UNIT
    chosen = tl.load(count)
    length = tl.cdiv(chosen, n_parts * ROWS) * ROWS
    last = tl.minimum((part + 1) * length, chosen)
    total = tl.zeros((ROWS, COLUMNS), dtype=weights.dtype.element_ty)
    for first in range(part * length, last, ROWS):
        place = first + tl.arange(0, ROWS)
        row = tl.load(indices + place, mask=place < last, other=0).to(tl.int64)
        weight = tl.load(weights + place, mask=place < last, other=0.0)
        mask = (place < last)[:, None] & within[None, :]
        start = row * stride_units * UNIT
        total += tl.load(matrix + start[:, None] + column[None, :], mask=mask, other=0.0) * weight[:, None]
    tl.store(partial + part * partial_stride + column, tl.sum(total, axis=0), mask=within)


@triton.jit
def finish_scores(partial, norms, scores, values, norm_out, width, partial_stride, n_parts, n_norms, divisor,
                  PARTS: tl.constexpr, NORMS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Add the parts in float64, divide by the vector's length, and give each program's part of x'Ax."""
    program = tl.program_id(0)
    column = program * COLUMNS + tl.arange(0, COLUMNS)
    part, norm = tl.arange(0, PARTS), tl.arange(0, NORMS)
    squared = tl.sum(tl.load(norms + norm, mask=norm < n_norms, other=0.0), axis=0)
    mask = (part < n_parts)[:, None] & (column < width)[None, :]
    parts = tl.load(partial + part[:, None] * partial_stride + column[None, :], mask=mask, other=0.0)
    inverse = tl.where(squared > 0.0, 1.0 / tl.sqrt(tl.where(squared > 0.0, squared, 1.0)), 0.0)
    total = tl.sum(parts.to(tl.float64), axis=0) * inverse
    tl.store(scores + column, (total / divisor).to(scores.dtype.element_ty), mask=column < width)
    tl.store(values + program, tl.sum(total * total, axis=0) / divisor)
    if program == 0:
        tl.store(norm_out, squared)


@triton.jit
def _keys(values, WIDE: tl.constexpr, NONNEGATIVE: tl.constexpr):
    """Bit patterns that order like the magnitudes (or like the positive parts): 32 or 64 bits wide."""
    if NONNEGATIVE:
        values = tl.maximum(values, 0.0)
    if WIDE:
        keys = values.to(tl.int64, bitcast=True) & 0x7FFFFFFFFFFFFFFF
    else:  # a plain return above would leave this to be compiled for 64 bits, too
        keys = values.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    return keys


@triton.jit
def _next_digit(histogram, prefix, remaining):
    """One more byte of the k-th largest key, and how many of the keys with that prefix are still wanted."""
    counts = tl.load(histogram + tl.arange(0, BINS))
    from_here_up = tl.sum(counts, axis=0) - tl.cumsum(counts, axis=0) + counts
    digit = tl.sum((from_here_up >= remaining).to(tl.int32), axis=0) - 1
    above = tl.sum(tl.where(tl.arange(0, BINS) > digit, counts, 0), axis=0)
    return prefix * BINS + digit, remaining - above


@triton.jit
def count_digits(values, histograms, state, wanted, size, row_stride, PASS: tl.constexpr, PASSES: tl.constexpr,
                 WIDE: tl.constexpr, NONNEGATIVE: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Histogram of byte PASS over the keys that share all bytes before it with the k-th largest."""
    block, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    histograms += row * PASSES * BINS
    state += row * (PASSES + 1) * 2
    prefix, remaining = tl.full((), 0, tl.int64), tl.load(wanted + row).to(tl.int64)
    if PASS > 0:
        prefix, remaining = tl.load(state + 2 * (PASS - 1)), tl.load(state + 2 * (PASS - 1) + 1)
        prefix, remaining = _next_digit(histograms + (PASS - 1) * BINS, prefix, remaining)
    if block == 0:
        tl.store(state + 2 * PASS, prefix)
        tl.store(state + 2 * PASS + 1, remaining)
    place = block * BLOCK + tl.arange(0, BLOCK)
    keys = _keys(tl.load(values + row * row_stride + place, mask=place < size, other=0.0), WIDE, NONNEGATIVE)
    SHIFT: tl.constexpr = 8 * (PASSES - 1 - PASS)
    counted = place < size
    if PASS > 0:
        counted = counted & ((keys >> (SHIFT + 8)) == prefix.to(keys.dtype))
    digits = tl.where(counted, (keys >> SHIFT) & 255, 0).to(tl.int32)
    counts = tl.histogram(digits, BINS)
    # Entries that do not count were put in bin 0: take them out again.
    spurious = BLOCK - tl.sum(counted.to(tl.int32), axis=0)
    counts = counts - tl.where(tl.arange(0, BINS) == 0, spurious, 0)
    tl.atomic_add(histograms + PASS * BINS + tl.arange(0, BINS), counts, mask=counts != 0, sem="relaxed")


@triton.jit
def count_kept(values, histograms, state, above_counts, tie_counts, size, row_stride, PASSES: tl.constexpr,
               WIDE: tl.constexpr, NONNEGATIVE: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """The k-th largest key itself; how many entries of each block lie above it, and how many equal it."""
    block, row, n_blocks = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.num_programs(0)
    state += row * (PASSES + 1) * 2
    prefix, remaining = tl.load(state + 2 * (PASSES - 1)), tl.load(state + 2 * (PASSES - 1) + 1)
    threshold, remaining = _next_digit(histograms + row * PASSES * BINS + (PASSES - 1) * BINS, prefix, remaining)
    if block == 0:
        tl.store(state + 2 * PASSES, threshold)
        tl.store(state + 2 * PASSES + 1, remaining)
    place = block * BLOCK + tl.arange(0, BLOCK)
    keys = _keys(tl.load(values + row * row_stride + place, mask=place < size, other=0.0), WIDE, NONNEGATIVE)
    above = (place < size) & (keys > threshold.to(keys.dtype))
    ties = (place < size) & (keys == threshold.to(keys.dtype))
    tl.store(above_counts + row * n_blocks + block, tl.sum(above.to(tl.int32), axis=0))
    tl.store(tie_counts + row * n_blocks + block, tl.sum(ties.to(tl.int32), axis=0))


@triton.jit
def keep_largest(values, histograms, state, above_counts, tie_counts, previous, indices, kept, norms, changes, size,
                 row_stride, PASSES: tl.constexpr, WIDE: tl.constexpr, NONNEGATIVE: tl.constexpr,
                 COMPACT: tl.constexpr, BLOCKS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Write the k largest: as ascending indices and values (COMPACT), or as the values with zeros elsewhere.

    Also each block's sum of squares, and (COMPACT) how many of its indices differ from the previous ones.
    """
    block, row, n_blocks = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.num_programs(0)
    threshold = tl.load(state + row * (PASSES + 1) * 2 + 2 * PASSES)
    wanted_ties = tl.load(state + row * (PASSES + 1) * 2 + 2 * PASSES + 1)
    earlier = tl.arange(0, BLOCKS)
    above_before = tl.sum(tl.load(above_counts + row * n_blocks + earlier, mask=earlier < block, other=0), axis=0)
    ties_before = tl.sum(tl.load(tie_counts + row * n_blocks + earlier, mask=earlier < block, other=0), axis=0)
    place = block * BLOCK + tl.arange(0, BLOCK)
    entries = tl.load(values + row * row_stride + place, mask=place < size, other=0.0)
    keys = _keys(entries, WIDE, NONNEGATIVE)
    ties = (place < size) & (keys == threshold.to(keys.dtype))
    rank = ties_before + tl.cumsum(ties.to(tl.int32), axis=0)
    keep = ((place < size) & (keys > threshold.to(keys.dtype))) | (ties & (rank <= wanted_ties))
    if NONNEGATIVE:
        entries = tl.maximum(entries, 0.0)
    entries = tl.where(keep, entries, 0.0)
    wide = entries.to(tl.float64)
    tl.store(norms + row * n_blocks + block, tl.sum(wide * wide, axis=0))
    if COMPACT:
        position = above_before + tl.minimum(ties_before, wanted_ties) + tl.cumsum(keep.to(tl.int32), axis=0) - 1
        before = tl.load(previous + position, mask=keep, other=0)
        tl.store(changes + block, tl.sum((keep & (before != place)).to(tl.int32), axis=0))
        tl.store(indices + position, place, mask=keep)
        tl.store(kept + position, entries, mask=keep)
    else:
        tl.store(kept + row * row_stride + place, entries, mask=place < size)
    if block == 0:  # all that was to be read from the histograms has been read: leave them empty for the next use
        for index in range(PASSES):
            tl.store(histograms + row * PASSES * BINS + index * BINS + tl.arange(0, BINS), tl.zeros((BINS,), tl.int32))


@triton.jit
def sum_largest(values, histograms, state, sums, size, row_stride, PASSES: tl.constexpr, WIDE: tl.constexpr,
                BLOCK: tl.constexpr):  # fmt: skip
    """Each block's sum of the nonnegative entries above the k-th largest, in float64; empties the histograms."""
    block, row, n_blocks = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.num_programs(0)
    bound = tl.load(state + row * (PASSES + 1) * 2 + 2 * PASSES).to(tl.int64 if WIDE else tl.int32)
    place = block * BLOCK + tl.arange(0, BLOCK)
    entries = tl.load(values + row * row_stride + place, mask=place < size, other=0.0)
    above = (place < size) & (_keys(entries, WIDE, False) > bound)
    tl.store(sums + row * n_blocks + block, tl.sum(tl.where(above, entries.to(tl.float64), 0.0), axis=0))
    if block == 0:
        for index in range(PASSES):
            tl.store(histograms + row * PASSES * BINS + index * BINS + tl.arange(0, BINS), tl.zeros((BINS,), tl.int32))


@triton.jit
def sum_above(matrix, rows, scaling, thresholds, sums, n_chosen, size, units, n_tiles, per_part, UNIT: tl.constexpr,
              ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):  # fmt: skip
    """Of the chosen rows i of |MM'| diag(scaling) the sum of (entry - threshold_i)+, j != i, by parts of the columns.

    Programs that run at the same time go through the same columns, which stay in the cache.
    """
    place = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = place < n_chosen
    chosen = tl.load(rows + place, mask=inside, other=0)
    level = tl.load(thresholds + place, mask=inside, other=0.0)
    width = units * UNIT
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    first_tile = tl.program_id(1) * per_part
    for tile in range(first_tile, tl.minimum(first_tile + per_part, n_tiles)):
        column = tile * COLUMNS + tl.arange(0, COLUMNS)
        product = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for first in range(0, width, DEPTH):
            depth = first + tl.arange(0, DEPTH)
            mask = inside[:, None] & (depth < width)[None, :]
            left = tl.load(matrix + chosen.to(tl.int64)[:, None] * width + depth[None, :], mask=mask, other=0.0)
            mask = (column < size)[None, :] & (depth < width)[:, None]
            right = tl.load(matrix + column.to(tl.int64)[None, :] * width + depth[:, None], mask=mask, other=0.0)
            product = tl.dot(left, right, product)
        weight = tl.load(scaling + column, mask=column < size, other=0.0)
        above = tl.maximum(tl.abs(product) * weight[None, :] - level[:, None], 0.0)
        total += tl.where(chosen[:, None] == column[None, :], 0.0, above)
    tl.store(sums + tl.program_id(1).to(tl.int64) * n_chosen + place, tl.sum(total, axis=1), mask=inside)
