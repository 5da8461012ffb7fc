"""Rows of Arrow IPC and parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.memory import check_columns_fit
from sparseigen.config import require
from sparseigen.errors import DtypeError, ShapeError
from sparseigen.io.columns import damaged, readable
from sparseigen.rows.source import CONVERT, Buffers, as_floats, check_source_shape, file_fingerprint

MANY_COLUMNS = 256
"""Tables with one array a column are slow to read by rows above this many columns."""


class ArrowRows:
    """Record batches of an Arrow IPC file, or of a parquet file: one list column, or one column a variable."""

    sparse = False

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind, self.label = path, kind, path.name
        pyarrow = require("pyarrow", purpose=f"reading {path.suffix} files")
        with damaged(path.name, kind):
            schema, n_rows = self._facts()
        width = None
        if len(schema) == 1 and pyarrow.types.is_fixed_size_list(schema[0].type):
            width, element = schema[0].type.list_size, schema[0].type.value_type
            self.names: tuple[str, ...] | None = None
            elements = [element]
        else:
            self.names = tuple(schema.names)
            elements = [field.type for field in schema]
        for field, element in zip(schema, elements * (len(schema) if width else 1), strict=False):
            if not (pyarrow.types.is_floating(element) or pyarrow.types.is_integer(element)):
                message = f"{path.name}, column {field.name!r}, holds {element}; it must hold real numbers. Drop it."
                raise DtypeError(message)
        self.list_size = width
        self.shape = check_source_shape((n_rows, width or len(schema)), path.name)
        check_columns_fit(self.shape[1], path.name)
        small = all(pyarrow.types.is_float32(e) or pyarrow.types.is_float16(e) for e in elements)
        self.dtype = np.dtype(np.float32 if small else np.float64)
        wide = width is None and len(schema) > MANY_COLUMNS
        self.advice = (
            f"{path.name} keeps {len(schema)} columns apart, which is slow to read by rows; {CONVERT}" if wide else None
        )

    def _facts(self) -> tuple[Any, int]:
        if self.kind == "parquet":
            import pyarrow.parquet as parquet

            with parquet.ParquetFile(self.path) as file:
                return file.schema_arrow, file.metadata.num_rows
        import pyarrow as pa

        with pa.memory_map(str(self.path)) as mapped, pa.ipc.open_file(mapped) as file:
            return file.schema, sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))

    def _batches(self, rows: int) -> Iterator[Any]:
        if self.kind == "parquet":
            import pyarrow.parquet as parquet

            with parquet.ParquetFile(self.path, memory_map=True) as file:
                yield from file.iter_batches(batch_size=rows)
            return
        import pyarrow as pa

        with pa.memory_map(str(self.path)) as mapped, pa.ipc.open_file(mapped) as file:
            for i in range(file.num_record_batches):
                batch = file.get_batch(i)
                batch.validate(full=True)  # what a damaged batch points at may lie outside of it
                for begin in range(0, batch.num_rows, rows):
                    yield batch.slice(begin, rows)

    @readable
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[NDArray[Any]]:
        """Batches copied into rows; where batches are small, several of them fill one block."""
        block, filled, skip = None, 0, start
        for batch in self._batches(rows):
            begin = min(skip, batch.num_rows)
            skip -= begin
            while begin < batch.num_rows:
                if block is None:
                    block, filled = buffers(min(rows, self.shape[0])), 0
                count = min(len(block) - filled, batch.num_rows - begin)
                self._copy(batch.slice(begin, count), block[filled : filled + count])
                begin, filled = begin + count, filled + count
                if filled == len(block):
                    yield block
                    block = None
        if block is not None and filled:
            yield block[:filled]

    def _copy(self, batch: Any, out: NDArray[Any]) -> None:
        if self.list_size is None:
            for place, column in enumerate(batch.columns):
                out[:, place] = self._numbers(column, batch.schema[place].name)
            return
        column = batch.column(0)
        if column.null_count:
            self._refuse_gaps(column.null_count, batch.schema[0].name)
        out[:] = self._numbers(column.flatten(), batch.schema[0].name).reshape(out.shape)

    def _numbers(self, column: Any, name: str) -> NDArray[Any]:
        if column.null_count:
            self._refuse_gaps(column.null_count, name)
        return as_floats(column.to_numpy(zero_copy_only=False), self.dtype, f"{self.label}, column {name!r},")

    def _refuse_gaps(self, count: int, name: str) -> None:
        message = f"{self.label}, column {name!r}, has {count} empty cells in one batch; fill or drop them first."
        raise ShapeError(message)

    def fingerprint(self) -> str:
        """That of the file."""
        return file_fingerprint(self.path)
