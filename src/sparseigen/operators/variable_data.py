"""The covariance of data that are stored by variables (genotypes), read in passes over the variables.

With D the standardised data and x a sparse vector, A x = D'(D x) / (n - ddof): the k variables of x are read where they
are, which is no pass, and one pass over the variables multiplies each with the scores D x. Small blocks of A need no
pass at all. Whole numbers stay int8 until a few variables at a time are standardised in float32, rounded as data in
memory are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import say_non_finite
from sparseigen.errors import NonFiniteError
from sparseigen.operators.checkpoint import PassLog
from sparseigen.operators.gaps import Gaps, check_filled
from sparseigen.operators.moments import check_variances, choose_scales, degrees_of_freedom, scaled_diagonal
from sparseigen.operators.pass_data import ChunkedData, OnBlock
from sparseigen.operators.pass_operator import FEWEST_DRAWN
from sparseigen.operators.passes import Floats, Indices, Request, Standard, add_parts, list_rows
from sparseigen.operators.samples import DenseSamples, Samples
from sparseigen.rows.read_ahead import ReadAhead
from sparseigen.rows.source import Buffers

BLOCK_BYTES = 1 << 23
"""Of a block of variables as it is read."""
SLAB_ENTRIES = 1 << 19
"""Numbers that are standardised at a time, in the cache."""
CACHE_BYTES = 1 << 27
"""Columns of A that are remembered."""
Combined = list[NDArray[Any]]


class Sideways:
    """A source by variables as one whose rows are the variables."""

    sparse = False
    advice: str | None = None
    names: tuple[str, ...] | None = None

    def __init__(self, source: Any) -> None:
        self.source, self.label = source, source.label
        self.path = getattr(source, "path", None)
        self.shape = source.shape[::-1]
        self.dtype = np.dtype(np.int8)

    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[NDArray[Any]]:
        """Blocks of variables."""
        return self.source.variables(rows, start)  # type: ignore[no-any-return]

    def fingerprint(self) -> str:
        """That of the source."""
        return str(self.source.fingerprint())


class VariableData(ChunkedData):
    """A = D'D / (n - ddof) for genotypes that stay on disk, by variants."""

    def __init__(
        self,
        source: Any,
        *,
        center: bool,
        scale: bool | str,
        ddof: int,
        missing: str = "error",
        memory_limit: int | None = None,
        checkpoint: Path | None = None,
        on_block: OnBlock | None = None,
    ) -> None:
        self.genotypes, self.names, self.dtype, self.missing = source, source.names, source.dtype, missing
        self.source = Sideways(source)
        self.memory_limit, self.on_block = memory_limit, on_block
        block = BLOCK_BYTES if memory_limit is None else min(BLOCK_BYTES, memory_limit // 64)
        self.cache_bytes = CACHE_BYTES if memory_limit is None else min(CACHE_BYTES, memory_limit // 20)
        self.block_rows = max(1, block // source.shape[0])
        self.reader = ReadAhead(self.source, self.block_rows)
        self.log = None
        if checkpoint is not None:
            options = {"center": center, "scale": scale, "ddof": repr(ddof), "missing": missing}
            facts = {"data": source.fingerprint(), "block_rows": self.block_rows, "cache_bytes": self.cache_bytes}
            self.log = PassLog(checkpoint, facts | options)
        self._begin(center=center, scale=scale, ddof=ddof)

    def _begin(self, *, center: bool, scale: bool | str, ddof: int) -> None:
        self._begin_empty(center=center, scale=scale)
        self.n_samples, self.size = self.genotypes.shape
        self.stored = self.n_samples * self.size
        self.divisor = degrees_of_freedom(self.n_samples, ddof)
        found = self._run_pass(variable_moments, (self.genotypes.gap,), list_rows)
        counts, means, squares = (np.concatenate(found[kind::3]) for kind in range(3))
        if counts.any():
            self._check_gaps(counts)
        self.gaps = Gaps(counts, self.n_samples)
        self._fills = means
        self.means = means if center else np.zeros(self.size)
        whole = squares if center else squares + self.n_samples * means**2
        variances = check_variances(whole / self.divisor, self.dtype)
        self.deviations = choose_scales(scale, variances, means, self.names)
        self._variances = scaled_diagonal(scale, variances, self.deviations)
        self.standard = Standard(self.means, self.deviations, True)

    def _check_gaps(self, counts: NDArray[np.int64]) -> None:
        if self.missing == "mean":
            check_filled(self.genotypes.label, counts, self.n_samples, self.names)
            return
        column = int(np.flatnonzero(counts)[0])
        calls = self.genotypes.take(np.array([column]))[0]
        row = int(np.flatnonzero(calls == self.genotypes.gap)[0])
        raise NonFiniteError(say_non_finite(self.genotypes.label, int(counts.sum()), row, column, self.names))

    def _read_through(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        merge: Callable[[Any, Any], Any],
        begin: int,
        total: Any,
        key: str,
    ) -> Any:
        """One pass; functions are told which variables a block holds."""
        place = begin

        def compute(block: NDArray[Any], *rest: Any) -> Any:
            nonlocal place
            where = slice(place, place + len(block))
            place += len(block)
            return function(block, where, *rest)

        return super()._read_through(compute, arguments, merge, begin, total, key)

    def _take(self, indices: Indices) -> Floats:
        """Some variables, standardised, in float64: shape (len(indices), samples)."""
        block = self.genotypes.take(indices)
        facts = (self._fills[indices], self.means[indices], self.deviations[indices])
        return standardise(block, self.genotypes.gap, *facts).astype(np.float64)

    def _serve(self, requests: Sequence[Request]) -> list[NDArray[Any]]:
        """Scores from the variables that requests name; then one pass for all that need every variable."""
        scores = self._find_scores(requests)
        joint = [place for place, request in enumerate(requests) if request.kind in ("product", "block")]
        exact = [place for place, request in enumerate(requests) if request.kind in ("columns", "accurate")]
        answers: dict[int, NDArray[Any]] = {}
        for place, request in enumerate(requests):
            if request.kind in ("submatrix", "gram"):
                answers[place] = scores[place]
        if joint or exact:
            parts = [_stack(scores, places, self.n_samples) for places in (joint, exact)]
            facts = (self.genotypes.gap, self._fills, self.means, self.deviations)
            arguments = (*facts, parts[0].astype(np.float32), parts[1])
            found: Combined = self._run_pass(combine_variables, arguments, list_rows)
            for places, kind in ((joint, 0), (exact, 1)):
                whole = np.concatenate(found[kind::2]).T
                for place in places:
                    count = scores[place].shape[1]
                    answers[place], whole = whole[:count], whole[count:]
        return [_shape_answer(requests[place], answers[place]) for place in range(len(requests))]

    def _find_scores(self, requests: Sequence[Request]) -> list[NDArray[Any]]:
        """D x of products, D itself of columns, and D'D of small blocks; vectors of full length take a pass."""
        scores: list[NDArray[Any]] = []
        for request in requests:
            if request.kind == "block":
                facts = (self.genotypes.gap, self._fills, self.means, self.deviations)
                scores.append(self._run_pass(project_samples, (*facts, request.weights), add_parts)[0])
                continue
            indices = np.arange(self.size) if request.indices is None else request.indices
            rows = self._take(indices)
            if request.kind in ("submatrix", "gram"):
                scores.append(rows @ rows.T)
            elif request.kind == "columns":
                scores.append(rows.T)
            else:
                scores.append((np.asarray(request.weights) @ rows)[:, None])
        return scores

    @property
    def samples(self) -> Samples:
        """All rows where they fit in the memory for columns, else as many as do, drawn in one pass."""
        wanted = min(self.n_samples, max(FEWEST_DRAWN, self.cache_bytes // (8 * self.size)))
        chosen = np.sort(np.random.default_rng(self.n_samples).choice(self.n_samples, size=wanted, replace=False))
        facts = (self.genotypes.gap, self._fills, self.means, self.deviations)
        variables = np.concatenate(self._run_pass(draw_samples, (*facts, chosen), list_rows))
        self.decisions["rows_drawn"] = wanted
        if self.center:  # the mean of the rows drawn is not that of all
            variables -= variables.mean(axis=1, keepdims=True)
        return DenseSamples(variables, np.einsum("ij,ij->i", variables, variables), centred=self.center)

    def describe(self) -> dict[str, Any]:
        """Adds how many calls are missing."""
        return super().describe() | self.gaps.describe()


def _stack(scores: list[NDArray[Any]], places: list[int], n_samples: int) -> NDArray[Any]:
    return np.hstack([scores[place] for place in places]) if places else np.zeros((n_samples, 0))


def _shape_answer(request: Request, answer: NDArray[Any]) -> NDArray[Any]:
    return answer[0] if request.kind in ("product", "accurate") else answer


def standardise(
    block: NDArray[np.int8], gap: int, fills: Floats, means: Floats, deviations: Floats
) -> NDArray[np.float32]:
    """Variables, one per row, centred and scaled with the roundings of data in memory; centred gaps are zero."""
    rows = block.astype(np.float32)
    np.subtract(rows, means[:, None], out=rows, casting="same_kind")
    rows /= deviations[:, None].astype(np.float32)
    gaps = block == gap
    if gaps.any():
        np.copyto(rows, ((fills - means) / deviations).astype(np.float32)[:, None], where=gaps)
    return rows


def standardise_roughly(
    block: NDArray[np.int8], gap: int, fills: Floats, means: Floats, deviations: Floats
) -> NDArray[np.float32]:
    """The same with means rounded to float32, several times faster: for products that are float32 anyway."""
    rows = block.astype(np.float32)
    rows -= means[:, None].astype(np.float32)
    rows *= (1.0 / deviations)[:, None].astype(np.float32)
    gaps = block == gap
    if gaps.any():
        np.copyto(rows, ((fills - means) / deviations).astype(np.float32)[:, None], where=gaps)
    return rows


def _slabs(block: NDArray[Any], where: slice) -> Iterator[tuple[NDArray[Any], slice]]:
    step = max(1, SLAB_ENTRIES // block.shape[1])
    for begin in range(0, len(block), step):
        part = block[begin : begin + step]
        yield part, slice(where.start + begin, where.start + begin + len(part))


def variable_moments(block: NDArray[np.int8], where: slice, gap: int) -> list[NDArray[Any]]:
    """Per variable the gaps, the mean of the others, and the sum of their squared deviations from it.

    Sums of small whole numbers are exact in float64; the deviations are taken from the mean before they are squared.
    """
    counts, means, squares = (np.zeros(len(block), dtype=kind) for kind in (np.int64, np.float64, np.float64))
    for part, place in _slabs(block, slice(0, len(block))):
        gaps = part == gap
        counts[place] = gaps.sum(axis=1)
        rows = part.astype(np.float64)
        np.copyto(rows, 0.0, where=gaps)
        means[place] = rows.sum(axis=1) / np.maximum(part.shape[1] - counts[place], 1)
        np.subtract(rows, means[place, None], out=rows)
        np.copyto(rows, 0.0, where=gaps)
        squares[place] = np.einsum("ij,ij->i", rows, rows)
    return [counts, means, squares]


def combine_variables(
    block: NDArray[np.int8],
    where: slice,
    gap: int,
    fills: Floats,
    means: Floats,
    deviations: Floats,
    scores: NDArray[np.float32],
    exact: Floats,
) -> Combined:
    """The block's variables times the scores, in float32 and, for the second scores, in float64."""
    products = np.empty((len(block), scores.shape[1]), dtype=np.float32)
    columns = np.empty((len(block), exact.shape[1]))
    for part, place in _slabs(block, where):
        facts = (gap, fills[place], means[place], deviations[place])
        inside = slice(place.start - where.start, place.stop - where.start)
        if scores.shape[1]:
            np.matmul(standardise_roughly(part, *facts), scores, out=products[inside])
        if exact.shape[1]:
            np.matmul(standardise(part, *facts).astype(np.float64), exact, out=columns[inside])
    return [products, columns]


def project_samples(
    block: NDArray[np.int8],
    where: slice,
    gap: int,
    fills: Floats,
    means: Floats,
    deviations: Floats,
    weights: Floats,
) -> list[Floats]:
    """The block's share of D V for vectors V of full length."""
    total = np.zeros((block.shape[1], weights.shape[1]))
    for part, place in _slabs(block, where):
        rows = standardise(part, gap, fills[place], means[place], deviations[place])
        total += rows.T @ weights[place].astype(np.float32)
    return [total]


def draw_samples(
    block: NDArray[np.int8], where: slice, gap: int, fills: Floats, means: Floats, deviations: Floats, chosen: Indices
) -> list[Floats]:
    """Some samples of the block's variables, standardised."""
    drawn = np.ascontiguousarray(block[:, chosen])
    return [standardise(drawn, gap, fills[where], means[where], deviations[where]).astype(np.float64)]
