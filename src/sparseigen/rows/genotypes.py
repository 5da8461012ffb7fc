"""Genotypes: PLINK's .bed with its .bim and .fam, and VCF-Zarr's call_genotype; small whole numbers, by variants.

Both formats keep all samples of a variant together. `GenotypeRows` therefore gives blocks of rows, as every source
does, and blocks of variables (`variables`, `take`), which is how such files are read fast: `operators.variable_data`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import check_data_shape
from sparseigen.checks.coercion import check_names
from sparseigen.checks.memory import check_columns_fit, check_fits
from sparseigen.config import require
from sparseigen.errors import InputError, MissingDataError
from sparseigen.io.columns import Table, TableOptions
from sparseigen.io.formats import guard_blocks
from sparseigen.io.zarr_stores import find_in_store
from sparseigen.rows.source import Buffers, file_fingerprint, sampled_hash

GAP = -127
"""What a call that is missing becomes in blocks of int8."""
MAGIC = b"\x6c\x1b"
CALLS = np.array([2, GAP, 1, 0], dtype=np.int8)[np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3].view(np.uint32)
"""A byte of a .bed file -> its four calls, lowest bits first, as the bytes of one number."""
LARGEST_CALL = 100
"""Alleles per call, or numbers of an allele, above which a file is not taken for genotypes."""


class GenotypeRows:
    """Allele counts, samples x variants, stored by variants; missing calls are NaN in rows, GAP in int8 blocks."""

    sparse = False
    by_variable = True
    gap = GAP
    dtype = np.dtype(np.float32)
    advice: str | None = None
    shape: tuple[int, int]
    names: tuple[str, ...] | None
    label: str

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.int8]:
        """Some variants, one per row: shape (len(indices), samples)."""
        raise NotImplementedError

    def variables(self, count: int, start: int) -> Iterator[NDArray[np.int8]]:
        """Blocks of ``count`` variants, one per row, from variant ``start`` on."""
        for begin in range(start, self.shape[1], count):
            yield self.take(np.arange(begin, min(begin + count, self.shape[1])))

    @guard_blocks
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[NDArray[np.float32]]:
        """Blocks of samples: every block goes through the whole file, a few variants at a time."""
        for begin in range(start, self.shape[0], rows):
            block = buffers(min(rows, self.shape[0] - begin))
            done = 0
            for part in self.variables(max(1, (1 << 22) // self.shape[0]), 0):
                chosen = part[:, begin : begin + len(block)].astype(np.float32)
                chosen[chosen == GAP] = np.nan
                block[:, done : done + len(part)] = chosen.T
                done += len(part)
            yield block


class BedRows(GenotypeRows):
    """A PLINK 1 binary file: counts of the first allele of the .bim; files by samples are read by bed-reader."""

    def __init__(self, path: Path) -> None:
        self.path, self.label = path, path.name
        variants, samples = _read_column(path.with_suffix(".bim"), path), _read_column(path.with_suffix(".fam"), path)
        self.shape = check_data_shape((len(samples), len(variants)), path.name)
        check_columns_fit(self.shape[1], path.name)
        with path.open("rb") as file:
            head = file.read(3)
        if head[:2] != MAGIC or head[2:] not in (b"\x00", b"\x01"):
            message = f"{path.name} does not begin as a PLINK 1 .bed file does; is it a BED file of intervals?"
            raise InputError(message)
        self.by_sample = head[2] == 0
        if self.by_sample:
            require("bed_reader", purpose="reading PLINK .bed files that are stored by samples")
        lines, width = self.shape if self.by_sample else self.shape[::-1]
        needed, found = 3 + lines * -(-width // 4), path.stat().st_size
        if needed != found:
            message = (
                f"{path.name} has {found} bytes, and {len(samples)} samples (.fam) x {len(variants)} variants (.bim) "
                f"need {needed}: it is cut short, or the .bim or .fam belongs to another file."
            )
            raise InputError(message)
        self.names = tuple(variants)

    @cached_property
    def _file(self) -> Any:
        reader = require("bed_reader", purpose="reading PLINK .bed files that are stored by samples")
        return reader.open_bed(self.path, iid_count=self.shape[0], sid_count=self.shape[1])

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.int8]:
        """The counts of some variants."""
        if self.by_sample:
            chosen = (slice(None), indices)
            calls: NDArray[np.int8] = self._file.read(index=chosen, dtype="int8", order="F", num_threads=1)
            return calls.T
        width = -(-self.shape[0] // 4)
        packed = np.empty((len(indices), width), dtype=np.uint8)
        starts = np.flatnonzero(np.diff(indices, prepend=-2) != 1).tolist()  # of runs of neighbours
        with self.path.open("rb", buffering=0) as file:
            for begin, end in pairwise([*starts, len(indices)]):
                file.seek(3 + int(indices[begin]) * width)
                if file.readinto(packed[begin:end].data) != (end - begin) * width:
                    message = f"{self.path.name} ends before variant {int(indices[end - 1])}: it has become shorter."
                    raise InputError(message)
        counts: NDArray[np.int8] = CALLS.ravel().take(packed).view(np.int8)
        return counts[:, : self.shape[0]]

    def __getstate__(self) -> dict[str, Any]:
        """Without the open file, so that another process opens its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_file"}

    def fingerprint(self) -> str:
        """That of the file, with its shape."""
        return f"{file_fingerprint(self.path)} {self.shape}"


def _read_column(path: Path, bed: Path) -> list[str]:
    """The names in the second column of a .bim or .fam; a variant without one is its chromosome and position."""
    if not path.is_file():
        message = f"{path.name} is not beside {bed.name}; a PLINK data set is three files: .bed, .bim and .fam."
        raise MissingDataError(message)
    names = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            cells = line.split()
            if len(cells) < 2:
                message = f"{path.name}, line {number}, has {len(cells)} columns; it needs at least 2."
                raise InputError(message)
            unnamed = cells[1] == "." and len(cells) > 3
            names.append(f"{cells[0]}:{cells[3]}" if unnamed else cells[1])
    return names


def open_bed(path: Path, dataset: str | None) -> GenotypeRows:
    """The samples of a PLINK data set."""
    return BedRows(path)


def read_calls(path: Path, options: TableOptions) -> Table:
    """All calls of a PLINK data set in memory, as float32 with NaN where one is missing, and the names of variants."""
    rows = BedRows(path)
    check_fits(5 * rows.shape[0] * rows.shape[1], path.name)
    values = np.empty(rows.shape, dtype=np.float32)
    (block,) = rows.blocks(rows.shape[0], 0, lambda count: values[:count])
    check_names(path.name, rows.names)
    return Table(block, rows.names)


class TallRows(GenotypeRows):
    """A zarr array of int8, samples x variables, in chunks that hold most samples of some variables."""

    gap = 1 << 10  # no int8: nothing is missing

    def __init__(self, array: Any, label: str, names: tuple[str, ...] | None) -> None:
        self.array, self.label, self.names = array, label, names
        self.shape, self.chunk = check_data_shape(tuple(array.shape), label), int(array.chunks[1])
        check_columns_fit(self.shape[1], label)

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.int8]:
        """Some variables, one per row."""
        chosen = slice(int(indices[0]), int(indices[-1]) + 1)
        if chosen.stop - chosen.start == len(indices):
            return np.ascontiguousarray(np.asarray(self.array[:, chosen]).T)
        return np.ascontiguousarray(self.array.oindex[:, indices].T)

    def variables(self, count: int, start: int) -> Iterator[NDArray[np.int8]]:
        """Blocks that end where chunks end, if one fits."""
        yield from super().variables(max(count - count % self.chunk, min(count, self.chunk)), start)

    def fingerprint(self) -> str:
        """A hash of the first, the middle and the last sample."""
        return sampled_hash(self.array, self.shape)


class VcfZarrRows(GenotypeRows):
    """call_genotype of a VCF-Zarr store (variants x samples x ploidy): the number of alleles that are not reference."""

    def __init__(self, store: Any, label: str) -> None:
        self.label, self.calls = label, find_in_store(store, "call_genotype", label)
        if len(self.calls.shape) != 3 or np.dtype(self.calls.dtype).kind != "i" or self.calls.shape[2] > LARGEST_CALL:
            message = (
                f"{label}: call_genotype has shape {self.calls.shape} and holds {self.calls.dtype}; VCF-Zarr keeps "
                "whole numbers of variants x samples x ploidy."
            )
            raise InputError(message)
        self.shape = check_data_shape((int(self.calls.shape[1]), int(self.calls.shape[0])), label)
        check_columns_fit(self.shape[1], label)
        self.chunk = int(self.calls.chunks[0])
        self.names = self._read_names(store)

    def _read_names(self, store: Any) -> tuple[str, ...] | None:
        if "variant_id" not in store:
            return None
        names = tuple(str(name) for name in find_in_store(store, "variant_id", self.label)[:])
        return names if len(set(names)) == len(names) == self.shape[1] else None

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.int8]:
        """Alternate alleles per call; a call with any allele missing is missing."""
        run = len(indices) and int(indices[-1]) - int(indices[0]) == len(indices) - 1
        if run and (np.diff(indices) == 1).all():
            return self._count(self.calls[int(indices[0]) : int(indices[-1]) + 1])
        return self._count(self.calls.oindex[indices])

    def _count(self, calls: NDArray[Any]) -> NDArray[np.int8]:
        counts: NDArray[np.int8] = (calls > 0).sum(axis=2, dtype=np.int8)
        # -1 is a missing allele; -2 fills the calls of samples with fewer of them.
        counts[(calls == -1).any(axis=2)] = GAP
        return counts

    def variables(self, count: int, start: int) -> Iterator[NDArray[np.int8]]:
        """Blocks that end where chunks end, if one fits."""
        yield from super().variables(max(count - count % self.chunk, min(count, self.chunk)), start)

    def fingerprint(self) -> str:
        """A hash of the first, the middle and the last variant."""
        return f"{sampled_hash(self.calls, tuple(self.calls.shape))} call_genotype"
