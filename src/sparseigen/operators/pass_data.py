"""Data read in passes: from files and blocks of rows (`ChunkedData`), or in partitions on a cluster (`ClusterData`).

Partial results of row partitions are merged in an order that does not depend on who computed them: partition i is leaf
i of a binary tree over all partitions; whoever holds neighbouring nodes may merge them, and nothing else is ever
merged, so that the sums come out the same to the last bit on any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparseigen.checks.arrays import row_blocks, say_non_finite
from sparseigen.errors import NonFiniteError, PartitionError, ShapeError, SparseigenError
from sparseigen.operators.checkpoint import PassLog, pass_key
from sparseigen.operators.pass_operator import PassOperator
from sparseigen.operators.passes import Moments, Standard
from sparseigen.rows.cluster import Cluster
from sparseigen.rows.partitions import BlockFacts, Partition, check_alike, load_block, name_place
from sparseigen.rows.read_ahead import ReadAhead, plan_memory
from sparseigen.rows.source import RowSource

Nodes = dict[tuple[int, int], Any]
"""Level and position in the tree -> partial result; None for partitions without rows."""


def fold_nodes(nodes: Nodes, count: int, merge: Callable[[Any, Any], Any]) -> Nodes:
    """All merges that are possible among these nodes of a tree over ``count`` leaves."""
    nodes = dict(nodes)
    level = 0
    while 1 << level < count:
        for place in sorted(position for height, position in nodes if height == level and position % 2 == 0):
            sibling = (level, place + 1)
            if (place + 1) << level >= count:  # there is no right neighbour
                nodes[level + 1, place // 2] = nodes.pop((level, place))
            elif sibling in nodes:
                first, second = nodes.pop((level, place)), nodes.pop(sibling)
                nodes[level + 1, place // 2] = _merge_pair(first, second, merge)
        level += 1
    return nodes


def combine_nodes(parts: list[Nodes], count: int, merge: Callable[[Any, Any], Any]) -> Nodes:
    """The nodes of several holders together, merged as far as possible."""
    together: Nodes = {}
    for part in parts:
        together |= part
    return fold_nodes(together, count, merge)


def root(nodes: Nodes) -> Any:
    """The result of all leaves."""
    (result,) = nodes.values()
    return result


def _merge_pair(first: Any, second: Any, merge: Callable[[Any, Any], Any]) -> Any:
    if first is None or second is None:
        return second if first is None else first
    return merge(first, second)


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
        return self.log.find_or_compute(
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


TASK_NAMES = {"moments": "moments", "rounded_squares": "scales", "evaluate": "product"}
"""Function of a pass -> how the dashboard names its tasks."""
FAN_IN = 8
"""Partial results of this many shards are merged by one task; up to as many are merged in this process."""
LARGE_ARGUMENTS = 1 << 20
"""Arguments of more bytes become one task of their own instead of a copy in each task."""


class Call:
    """A function to run on every block, opaque to dask so that it does not look for tasks in the arguments."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], merge: Callable[..., Any]) -> None:
        self.function, self.arguments, self.merge = function, arguments, merge


class Shard:
    """Neighbouring partitions that one worker goes through in one task: loaded, or loaded anew in every pass."""

    def __init__(self, first: int, partitions: list[Partition], loaded: list[tuple[Any, BlockFacts]] | None) -> None:
        self.first, self.partitions, self.loaded = first, partitions, loaded

    def blocks(self) -> Any:
        """Number, partition, block and facts, one partition at a time."""
        for place, partition in enumerate(self.partitions):
            number = self.first + place
            block, facts = load_block(number, partition) if self.loaded is None else self.loaded[place]
            yield number, partition, block, facts

    def __sizeof__(self) -> int:
        """The bytes of the blocks, for dask's accounting."""
        if self.loaded is None:
            return 1000
        return 1000 + sum(_block_bytes(block) for block, _ in self.loaded)


def _block_bytes(block: Any) -> int:
    arrays = (block.data, block.indices, block.indptr) if hasattr(block, "indptr") else (block,)
    return sum(int(array.nbytes) for array in arrays)


def load_shard(first: int, partitions: list[Partition], *values: Any) -> Shard:
    """The partitions in memory; ``values`` are those of lazy ones."""
    loaded = [
        load_block(first + place, partition, values[place] if values else None)
        for place, partition in enumerate(partitions)
    ]
    return Shard(first, partitions, loaded)


def shard_facts(shard: Shard) -> list[BlockFacts]:
    """The facts of every partition."""
    return [facts for _, _, _, facts in shard.blocks()]


def run_pass(shard: Shard, expected: list[BlockFacts], call: Call, standard: Standard | None, count: int) -> Nodes:
    """The function's results on the shard's partitions, merged as far as the tree of all partitions allows."""
    arguments = tuple(standard if argument is Standard else argument for argument in call.arguments)
    nodes: Nodes = {}
    for number, partition, block, facts in shard.blocks():
        check_alike(number, partition, facts, expected[number - shard.first], "when first loaded it")
        total = None
        for rows in row_blocks(*block.shape):
            part = call.function(block[rows], *arguments)
            total = part if total is None else call.merge(total, part)
        _check_result(total, number, partition)
        nodes[0, number] = total
        nodes = fold_nodes(nodes, count, call.merge)
    return nodes


def _check_result(total: Any, number: int, partition: Partition) -> None:
    """Only the first pass looks at every value; data that have changed since show in the products."""
    if isinstance(total, list) and not all(bool(np.isfinite(part).all()) for part in total):
        message = (
            f"{name_place(number, partition)} gives products that are NaN or infinite, though its values were finite "
            "when first read: it was loaded again and has changed, or its values are so large that products overflow."
        )
        raise NonFiniteError(message)


def merge_nodes(call: Call, count: int, *parts: Nodes) -> Nodes:
    """Partial results of several shards together."""
    return combine_nodes(list(parts), count, call.merge)


def _same(value: Any) -> Any:
    return value


class ClusterData(PassOperator):
    """A = D'D / (n - ddof) for data in row partitions; a pass is one task for each shard and a tree of sums.

    Parameters
    ----------
    partitions : list of Partition
    cluster : Cluster
    n_shards : int, optional
        Tasks of a pass; by default one for each thread of the workers.
    keep : bool
        Keep the partitions in the workers' memory; otherwise they are loaded anew in every pass.
    checkpoint : path, optional
        Every finished pass is saved there, on the machine of this process.
    """

    def __init__(
        self,
        partitions: Sequence[Partition],
        cluster: Cluster,
        *,
        center: bool,
        scale: bool,
        ddof: int,
        n_shards: int | None = None,
        keep: bool = True,
        checkpoint: Path | None = None,
    ) -> None:
        if not partitions:
            raise ShapeError("X has no partitions; at least one is needed.")
        self.partitions, self.cluster, self.keep = list(partitions), cluster, keep
        count = min(len(partitions), n_shards or cluster.n_threads)
        self._firsts = [len(partitions) * part // count for part in range(count + 1)]
        self._shards = self._make_shards()
        self._facts = self._check_facts()
        first = self._facts[0]
        self.dtype, self.names, self.sparse_blocks = np.dtype(first.dtype), first.names, first.sparse
        self._known_standard: tuple[Standard, Any] | None = None
        self.log: PassLog | None = None
        if checkpoint is not None:
            options = {"center": center, "scale": scale, "ddof": int(ddof) if isinstance(ddof, int) else repr(ddof)}
            facts = [[*seen[:4], seen.digest] for seen in self._facts]
            self.log = PassLog(checkpoint, {"partitions": facts, "cache_bytes": self.cache_bytes} | options)
            cluster.advice = f" The passes made are in the checkpoint {checkpoint}: the same calls go on from there."
        else:
            cluster.advice = " With checkpoint=path the next run can go on where this one ended."
        self._begin(center=center, scale=scale, ddof=ddof)

    def _make_shards(self) -> list[Any]:
        shards = []
        for first, last in zip(self._firsts[:-1], self._firsts[1:], strict=True):
            held = self.partitions[first:last]
            lazy = [partition.lazy for partition in held if partition.lazy is not None]
            if self.keep or lazy:
                bare = [partition.drop_lazy() for partition in held]
                shards.append(self.cluster.task("load", load_shard, first, bare, *lazy))
            else:
                shards.append(Shard(first, held, None))
        return self.cluster.persist(shards) if self.keep else shards

    def _check_facts(self) -> list[BlockFacts]:
        tasks = [self.cluster.task("look", shard_facts, shard) for shard in self._shards]
        facts: list[BlockFacts] = [seen for part in self._gather(tasks) for seen in part]
        for number, seen in enumerate(facts):
            check_alike(number, self.partitions[number], seen, facts[0]._replace(n_rows=-1), "partition 0")
        if facts[0].n_columns == 0 or sum(seen.n_rows for seen in facts) == 0:
            shape = (sum(seen.n_rows for seen in facts), facts[0].n_columns)
            message = f"X is empty (shape {shape}); it needs at least one row and one column."
            raise ShapeError(message)
        return facts

    def _pass(self, function: Callable[..., Any], arguments: tuple[Any, ...], merge: Callable[[Any, Any], Any]) -> Any:
        if self.log is None:
            return self._make_pass(function, arguments, merge)
        key = pass_key(function, arguments)
        return self.log.find_or_compute(key, lambda begin, total: self._make_pass(function, arguments, merge))

    def _make_pass(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], merge: Callable[[Any, Any], Any]
    ) -> Any:
        cluster, count = self.cluster, len(self.partitions)
        standard = self._standard_task(
            next((argument for argument in arguments if isinstance(argument, Standard)), None)
        )
        bare = tuple(Standard if isinstance(argument, Standard) else argument for argument in arguments)
        call: Any = Call(function, bare, merge)
        if _argument_bytes(bare) > LARGE_ARGUMENTS:
            call = cluster.persist([cluster.task("iterate", _same, call)])[0]
        name = TASK_NAMES.get(function.__name__, function.__name__)
        tasks = self._tasks(name, call, standard)
        merging = Call(_same, (), merge)
        while len(tasks) > FAN_IN:
            groups = [tasks[begin : begin + FAN_IN] for begin in range(0, len(tasks), FAN_IN)]
            tasks = [cluster.task("merge", merge_nodes, merging, count, *group) for group in groups]
        return root(combine_nodes(self._gather(tasks), count, merge))

    def _gather(self, tasks: list[Any]) -> list[Any]:
        """The results; an error in the caller's own lazy tasks is traced to its partition."""
        try:
            return self.cluster.gather(tasks)
        except SparseigenError:
            raise
        except Exception as error:  # the caller's lazy tasks may raise anything; raised again if it is none of theirs
            self._trace(error)
            raise

    def _trace(self, error: Exception) -> None:
        """Raise an error that names the first partition whose lazy task fails, if there is one."""
        for number, partition in enumerate(self.partitions):
            if partition.lazy is None:
                continue
            task = self.cluster.task("trace", load_block, number, partition.drop_lazy(), partition.lazy)
            try:
                self.cluster.gather([task])
            except SparseigenError:
                raise
            except Exception as cause:  # anything at all: this is the partition
                message = f"{name_place(number, partition)} cannot be loaded: {type(cause).__name__}: {cause}"
                raise PartitionError(message) from error

    def _tasks(self, name: str, call: Any, standard: Any) -> list[Any]:
        """One task for each shard."""
        cluster, count = self.cluster, len(self.partitions)
        expected = [self._facts[first:last] for first, last in zip(self._firsts[:-1], self._firsts[1:], strict=True)]
        if self.keep:
            return list(cluster.map_pairs(name, run_pass, self._shards, expected, call, standard, count))
        pairs = zip(self._shards, expected, strict=True)
        return [cluster.task(name, run_pass, shard, facts, call, standard, count) for shard, facts in pairs]

    def _standard_task(self, standard: Standard | None) -> Any:
        """Means and scales travel once: a task that any worker can repeat, not data that only one holds."""
        if standard is None:
            return None
        if self._known_standard is None or self._known_standard[0] is not standard:
            task = self.cluster.persist([self.cluster.task("standard", _same, standard)])[0]
            self._known_standard = (standard, task)
        return self._known_standard[1]

    def _check_moments(self, found: Moments) -> None:
        if not found.bad:
            return
        ends = np.cumsum([seen.n_rows for seen in self._facts])
        number = int(np.searchsorted(ends, found.row, side="right"))
        row = found.row - int(ends[number] - self._facts[number].n_rows)
        inside = say_non_finite("X", found.bad, row, found.column, self.names)
        message = f"{name_place(number, self.partitions[number])} holds the first of them: {inside}"
        raise NonFiniteError(message)

    def describe(self) -> dict[str, Any]:
        """Adds the partitions and the tasks of a pass."""
        return super().describe() | {"partitions": len(self.partitions), "shards": len(self._shards)}


def _argument_bytes(arguments: Any) -> int:
    """The bytes of all arrays in nested tuples and lists."""
    if isinstance(arguments, (tuple, list)):
        return sum(_argument_bytes(argument) for argument in arguments)
    return int(getattr(arguments, "nbytes", 0))
