"""The covariance of data that are read from disk block by block."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparseigen.inputs.memory_plan import plan_memory
from sparseigen.inputs.read_ahead import ReadAhead
from sparseigen.inputs.row_source import RowSource
from sparseigen.operators.checkpoint import PassLog, pass_key
from sparseigen.operators.pass_operator import PassOperator

OnBlock = Callable[[int, int, int], None]


class ChunkedData(PassOperator):
    """A = D'D / (n - ddof) for samples x variables that stay where they are and are read in passes.

    One thread reads ahead; at most three blocks are in memory. With ``checkpoint`` every finished pass is saved, and
    the same calls on the same data go on from there.
    """

    def __init__(
        self,
        source: RowSource,
        *,
        center: bool,
        scale: bool,
        ddof: int,
        memory_limit: int | None = None,
        checkpoint: Path | None = None,
        on_block: OnBlock | None = None,
    ) -> None:
        self.source, self.names, self.dtype = source, source.names, source.dtype
        self.sparse_blocks = source.sparse
        row_bytes = getattr(source, "row_bytes", source.shape[1] * source.dtype.itemsize)
        plan = plan_memory(memory_limit, row_bytes, source.shape[0], source.shape[1])
        self.memory_limit, self.cache_bytes, self.block_rows = memory_limit, plan.cache_bytes, plan.rows
        self.on_block = on_block
        self.reader = ReadAhead(source, plan.rows)
        self.log: PassLog | None = None
        if checkpoint is not None:
            identity = {
                "data": source.fingerprint(),
                "shape": list(source.shape),
                "dtype": str(source.dtype),
                "block_rows": plan.rows,
                "cache_bytes": plan.cache_bytes,
                "center": center,
                "scale": scale,
                "ddof": int(ddof) if isinstance(ddof, int) else repr(ddof),
            }
            self.log = PassLog(checkpoint, identity)
        self._begin(center=center, scale=scale, ddof=ddof)

    def _pass(self, function: Callable[..., Any], arguments: tuple[Any, ...], merge: Callable[[Any, Any], Any]) -> Any:
        if self.log is None:
            return self._read_through(function, arguments, merge, 0, None, "")
        key = pass_key(function, arguments)
        return self.log.made(
            key, lambda begin, total: self._read_through(function, arguments, merge, begin, total, key)
        )

    def _read_through(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        merge: Callable[[Any, Any], Any],
        begin: int,
        total: Any,
        key: str,
    ) -> Any:
        """One pass from row ``begin`` on; what the rows before it gave is in ``total``."""
        done, n_rows = begin, self.source.shape[0]
        for block in self.reader.blocks(begin):
            part = function(block, *arguments)
            total = part if total is None else merge(total, part)
            done += block.shape[0]
            if self.log is not None and done < n_rows:
                self.log.during(key, total, done)
            if self.on_block is not None:
                self.on_block(self.passes_made, done, n_rows)
        return total

    def describe(self) -> dict[str, Any]:
        """Adds where the data are, how they are read, and what to do if that is slow."""
        facts: dict[str, Any] = {"source": self.source.label, "block_rows": self.block_rows}
        if self.memory_limit is not None:
            facts["memory_limit"] = self.memory_limit
        if self.source.advice is not None:
            facts["advice"] = self.source.advice
        return super().describe() | facts
