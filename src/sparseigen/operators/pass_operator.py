"""A covariance whose data are read in passes, from disk or on other machines, and computations that share passes.

Each computation runs in a thread of its own, but only one of them runs at any time, in a fixed order: each goes on
until it asks for a product, and when all have asked (or ended) one pass answers them all. The outcome therefore does
not depend on scheduling, and code that knows nothing of passes shares them (`SharedPasses`).

A pass costs the same whatever is computed in it, so `PassOperator` asks for as much as possible at once, remembers
columns of A (a product with variables whose columns are known needs no pass), and lets computations that run side by
side share their passes. Subclasses say how a pass is made: `PassOperator._pass`.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import CheckedArray, say_non_finite
from sparseigen.errors import NonFiniteError
from sparseigen.operators import passes
from sparseigen.operators.contract import LARGEST_MATERIALISED, AccessCosts, Indices, Matrix, Operator, Vector, Weights
from sparseigen.operators.matrix import DenseSymmetric
from sparseigen.operators.moments import (
    check_variances,
    choose_scales,
    degrees_of_freedom,
    gram_errors,
    scaled_diagonal,
)
from sparseigen.operators.passes import Moments, Request, Standard
from sparseigen.operators.samples import DenseSamples, Samples, SparseSamples

Answer = TypeVar("Answer")
Serve = Callable[[list[Any]], list[Any]]


class _Cancelled(BaseException):
    """Unwinds a computation whose neighbour failed."""


class _Task:
    """One computation and the baton that it and the coordinator hand each other."""

    def __init__(self, work: Callable[[], Any], board: threading.local) -> None:
        self.work, self.board = work, board
        self.may_run, self.has_stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.requests: list[Any] | None = None
        self.answers: list[Any] = []
        self.outcome: Any = None
        self.failure: BaseException | None = None
        self.cancelled = False
        self.ended = False
        self.thread = threading.Thread(target=self._run_work, daemon=True)

    def _run_work(self) -> None:
        self.may_run.acquire()
        self.board.task = self
        try:
            if not self.cancelled:
                self.outcome = self.work()
        except _Cancelled:
            pass
        except BaseException as failure:
            self.failure = failure
        finally:
            self.ended = True
            self.has_stopped.release()

    def go_on(self) -> None:
        """Let the computation run until it asks for something or ends; called by the coordinator."""
        self.may_run.release()
        self.has_stopped.acquire()

    def ask(self, requests: list[Any]) -> list[Any]:
        """Hand requests over and wait for their answers; called by the computation."""
        self.requests = requests
        self.has_stopped.release()
        self.may_run.acquire()
        if self.cancelled:
            raise _Cancelled
        return self.answers


class SharedPasses:
    """Runs computations side by side; ``serve`` answers a list of requests in one pass."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._board = threading.local()

    def ask(self, requests: list[Any]) -> list[Any]:
        """Answers to requests: at once, or with those of the computations that run side by side with this one."""
        task: _Task | None = getattr(self._board, "task", None)
        return self._serve(requests) if task is None else task.ask(requests)

    def run(self, work: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """The results of all computations, in their order. The first failure ends all and is raised."""
        if len(work) < 2 or getattr(self._board, "task", None) is not None:
            return [compute() for compute in work]
        tasks = [_Task(compute, self._board) for compute in work]
        for task in tasks:
            task.thread.start()
        try:
            live = tasks
            while live:
                live = [task for task in live if _advance(task)]
                answers = iter(
                    self._serve([request for task in live for request in task.requests or []]) if live else ()
                )
                for task in live:
                    task.answers = [next(answers) for _ in task.requests or []]
        except BaseException:
            _cancel(tasks)
            raise
        return [task.outcome for task in tasks]


def _advance(task: _Task) -> bool:
    """Let one computation go on; whether it has asked for more."""
    task.go_on()
    if task.failure is not None:
        raise task.failure
    return not task.ended


def _cancel(tasks: Sequence[_Task]) -> None:
    for task in tasks:
        if not task.ended:
            task.cancelled = True
            task.may_run.release()
            task.thread.join()


CACHE_BYTES = 1 << 28
"""Columns of A that are remembered, unless the subclass allows less."""
PRODUCTS_PER_PASS = 10
"""About how many of the products of a default solve share a pass."""
PASSES_PER_GRAM = 64
"""Forming the Gram matrix of p variables costs about as much time as p over this many passes."""

PRODUCTS_KEPT, SAME = 4, 4.0 * 2.0**-53
"""Products that are remembered, and how far weights may be apart to count as the same: their rounding."""
LARGE_BLOCK = 1 << 16
"""Entries of a block of A of which only one is remembered at a time."""
FEWEST_DRAWN = 200
"""Rows that are drawn for statistics of single variables, however long they are."""
RUNS_PER_PASS = 1 << 20
"""A pass answers whatever it is asked."""
AFFORDABLE_PASSES = 2
"""Passes that a default bound may spend on columns of A."""


class PassOperator(Operator):
    """A = D'D / (n - ddof) for data D that only passes can see, centred and scaled implicitly.

    A subclass sets ``names`` and ``dtype``, defines `_pass`, and calls `_begin` at the end of its constructor.
    """

    negative_part = 0.0
    cache_bytes = CACHE_BYTES
    sparse_blocks = False
    """Whether blocks are compressed rows."""

    @abstractmethod
    def _pass(self, function: Callable[..., Any], arguments: tuple[Any, ...], merge: Callable[[Any, Any], Any]) -> Any:
        """``function(block, *arguments)`` for every block of rows, merged in the order of the blocks.

        ``function`` and ``merge`` are top-level functions and ``arguments`` arrays and tuples: all can be sent to
        another process. ``merge(total, part)`` may change ``total``. The order of merging must be fixed.
        """

    def _begin_empty(self, *, center: bool, scale: bool | str) -> None:
        """Nothing read, nothing remembered."""
        self.center, self.scale = center, scale
        self.passes_made = 0
        self.decisions: dict[str, Any] = {}
        self._columns: OrderedDict[int, NDArray[np.float64]] = OrderedDict()
        self._blocks_known: dict[bytes, NDArray[np.float64]] = {}
        self._products: dict[bytes, tuple[NDArray[np.float64], Vector]] = {}
        self._gram_operator: DenseSymmetric | None = None
        self._shared = SharedPasses(self._answer)

    def _begin(self, *, center: bool, scale: bool | str, ddof: int) -> None:
        """The first pass: shape, means and scales. Scaled float32 data take a second one, for scales as in memory."""
        self._begin_empty(center=center, scale=scale)
        found: Moments = self._run_pass(passes.moments, (), passes.merge_moments)
        self._check_moments(found)
        self.n_samples, self.size, self.stored = found.n_rows, len(found.means), found.stored
        self.divisor = degrees_of_freedom(self.n_samples, ddof)
        self.means = found.means if center else np.zeros(self.size)
        with np.errstate(over="ignore"):
            squares = found.squares if center else found.squares + self.n_samples * found.means**2
        variances = check_variances(squares / self.divisor, self.dtype)
        if scale is True and self.dtype == np.float32 and not self.sparse_blocks:
            (squares,) = self._run_pass(passes.rounded_squares, (self.means,), passes.add_parts)
            variances = squares / self.divisor
        self.deviations = choose_scales(scale, variances, found.means, self.names)
        self._variances = scaled_diagonal(scale, variances, self.deviations)
        spreads = np.sqrt(variances)
        explicit = not self.sparse_blocks and passes.centres_explicitly(self.means, spreads, self.dtype)
        self.standard = Standard(self.means, self.deviations, explicit)

    def _check_moments(self, found: Moments) -> None:
        if found.bad:
            raise NonFiniteError(say_non_finite("X", found.bad, found.row, found.column, self.names))

    def _run_pass(self, function: Callable[..., Any], arguments: tuple[Any, ...], merge: Callable[..., Any]) -> Any:
        self.passes_made += 1
        return self._pass(function, arguments, merge)

    def _answer(self, requests: list[Request]) -> list[NDArray[np.float64]]:
        """One pass for all requests; equal ones are computed once."""
        first: dict[Any, int] = {}
        places = [first.setdefault(_make_key(request), len(first)) for request in requests]
        distinct = [requests[places.index(place)] for place in range(len(first))]
        answers = [np.asarray(total, dtype=np.float64) / self.divisor for total in self._serve(distinct)]
        return [answers[place] for place in places]

    def _serve(self, requests: list[Request]) -> Sequence[NDArray[Any]]:
        """D'D times what the requests ask for, in one pass."""
        plan = passes.plan_requests(requests, self.size)
        sums: list[NDArray[Any]] = self._run_pass(passes.evaluate, (self.standard, requests, plan), passes.add_parts)
        return sums

    def run_together(self, work: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run computations side by side: each pass answers what all of them ask for."""
        return self._shared.run(work)

    def _diagonal(self) -> NDArray[np.float64]:
        return self._variances

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """From remembered columns where all are known, else one pass."""
        if self._gram_operator is not None:
            return self._gram_operator.apply_support(indices, weights).astype(self.dtype, copy=False)
        if self._knows(indices):
            known = self._recall(indices) @ np.asarray(weights, dtype=np.float64)
            return np.asarray(known, dtype=self.dtype)
        again = self._recall_product(indices, weights)
        if again is not None:
            return again
        asked = [Request("product", indices, np.asarray(weights, dtype=np.float64))]
        if len(indices) ** 2 <= self.size // 2:  # most products are followed by a solve on their support
            asked.append(Request("submatrix", indices))
        answers = self._shared.ask(asked)
        if len(answers) > 1:
            self._keep_block(indices, answers[1])
        product = np.asarray(answers[0], dtype=self.dtype)
        self._products[indices.tobytes()] = np.array(weights, dtype=np.float64), product
        while len(self._products) > PRODUCTS_KEPT:
            del self._products[next(iter(self._products))]
        return product.copy()

    def _recall_product(self, indices: Indices, weights: Vector) -> Vector | None:
        """The product with a vector that one of the last products was with, but for its sign and its last digits."""
        kept = self._products.get(indices.tobytes())
        if kept is None:
            return None
        sign = np.copysign(1.0, float(kept[0] @ weights))
        same = np.abs(sign * kept[0] - weights).max() <= SAME * np.abs(kept[0]).max()
        return np.asarray(sign * kept[1], dtype=self.dtype) if same else None

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices] in one pass, or none."""
        return self.accurate_columns(indices).astype(self.dtype, copy=False)

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """A[:, indices] in float64. When most columns are asked for and the matrix is small, it is formed and kept."""
        if self._gram_operator is not None or (2 * len(indices) >= self.size and self._form_gram()):
            assert self._gram_operator is not None
            return self._gram_operator.accurate_columns(indices)
        # Held here: while the pass is made, computations beside this one may remember other columns instead.
        known = {index: self._columns[index] for index in indices.tolist() if index in self._columns}
        missing = np.array([i for i in dict.fromkeys(indices.tolist()) if i not in known], dtype=np.int64)
        if not missing.size:
            return self._recall(indices)
        found = self._shared.ask([Request("columns", missing)])[0]
        position = {int(index): place for place, index in enumerate(missing)}
        out = np.empty((self.size, len(indices)), order="F")
        for place, index in enumerate(indices.tolist()):
            out[:, place] = found[position[index]] if index in position else known[index]
        self._keep_columns(missing, found)
        return out

    def _accurate_product(self, indices: Indices, weights: Weights) -> tuple[Weights, Weights]:
        """A x in float64 by one pass; k columns of many variables would not fit.

        Scores are sums of k terms and products of n, of numbers no longer than the variables: the product is off by
        gamma(n + k + 8) sqrt(A_ii) sum_l |x_l| sqrt(A_ll), where the columns themselves are off by gamma(n + 8) of it
        (`entry_errors`). The magnitudes are raised so that the caller's 2 (k + 4) roundings of them cover both. Where
        blocks are centred by algebra, the numbers are as long as the uncentred variables.
        """
        if self._gram_operator is not None or self._knows(indices):
            return super()._accurate_product(indices, weights)
        (product,) = self._shared.ask([Request("accurate", indices, weights)])
        apart = 0.0 if self.standard.explicit else 4.0 * self.n_samples / self.divisor
        lengths = np.sqrt(self.diagonal() + apart * (self.means / self.deviations) ** 2)
        sizes: Weights = lengths * float(np.abs(weights) @ lengths[indices]) * (2.0 + self.n_samples / len(indices))
        return product, sizes

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """A[rows, columns]: from what is remembered where that is enough, else one pass."""
        if self._gram_operator is not None:
            return self._gram_operator.submatrix(rows, columns)
        return self._principal_submatrix(rows) if columns is None else super().submatrix(rows, columns)

    def _principal_submatrix(self, indices: Indices) -> NDArray[np.float64]:
        known = self._blocks_known.get(indices.tobytes())
        if known is not None:
            return known.copy()
        for key, large in self._blocks_known.items():
            members = np.frombuffer(key, dtype=np.int64)
            if large.size > LARGE_BLOCK and np.isin(indices, members).all():
                order = np.argsort(members)
                places = order[np.searchsorted(members, indices, sorter=order)]
                return large[np.ix_(places, places)]
        unknown = [place for place, index in enumerate(indices.tolist()) if index not in self._columns]
        if len(unknown) > 1 or len(indices) == 1:
            block: NDArray[np.float64] = self._shared.ask([Request("submatrix", indices)])[0]
            self._keep_block(indices, block)
            return block.copy()
        block = np.empty((len(indices), len(indices)))
        for place, index in enumerate(indices.tolist()):
            if index in self._columns:
                block[:, place] = block[place] = self._columns[index][indices]
        for place in unknown:
            block[place, place] = self.diagonal()[indices[place]]
        return block

    def block_apply(self, block: Matrix) -> Matrix:
        """A V in one pass."""
        if self._gram_operator is not None:
            return self._gram_operator.block_apply(block).astype(self.dtype, copy=False)
        product = self._shared.ask([Request("block", weights=np.asarray(block, dtype=np.float64))])[0].T
        return np.asarray(product, dtype=self.dtype)

    def to_dense(self) -> NDArray[np.float64]:
        """The whole matrix by one pass."""
        if self._form_gram():
            assert self._gram_operator is not None
            return self._gram_operator.to_dense()
        return super().to_dense()

    @property
    def costs(self) -> AccessCosts:
        """Products cost the stored entries of k variables, then of all.

        A pass gives all columns of a matrix that is formed; of a larger one as many as the memory for columns holds
        twice over, and a default bound may ask for what a few passes give.
        """
        formed = self.size <= LARGEST_MATERIALISED and self._gram_fits()
        per_pass = self.size if formed else max(1, self.cache_bytes // (16 * self.size))
        return AccessCosts(
            self.size,
            product=float(self.stored),
            per_variable=self.stored / self.size,
            columns_per_pass=per_pass,
            affordable_columns=np.inf if formed else float(AFFORDABLE_PASSES * per_pass),
            runs_per_pass=RUNS_PER_PASS,
        )

    def prepared_for(self, n_products: int) -> Operator:
        """The Gram matrix where it is small enough and costs less than the passes it saves."""
        passes_saved = n_products / PRODUCTS_PER_PASS
        worthwhile = self._gram_operator is not None or self.size <= PASSES_PER_GRAM * passes_saved
        if worthwhile and self._form_gram():
            assert self._gram_operator is not None
            return self._gram_operator
        return self

    def _form_gram(self) -> bool:
        """Form the matrix in one pass if it is of a size that is formed at all; whether it is there."""
        if self._gram_operator is not None:
            return True
        if self.size > LARGEST_MATERIALISED or not self._gram_fits():
            return False
        matrix = self._shared.ask([Request("gram")])[0]
        matrix = 0.5 * (matrix + matrix.T)
        if self.scale is True or self.dtype == np.float64 or self.sparse_blocks:
            np.fill_diagonal(matrix, self.diagonal())  # the same bits, so that ties fall the same way
        checked = CheckedArray(matrix, "dense", self.names)
        self._gram_operator = DenseSymmetric(checked, positive_semidefinite=True, entry_errors=self.entry_errors())
        self.decisions["route"] = "gram"
        return True

    def _gram_fits(self) -> bool:
        return 12 * self.size**2 <= self.cache_bytes

    def entry_errors(self) -> NDArray[np.float64]:
        """Rounding of dot products, of centring and scaling, and of the means."""
        stored = np.dtype(np.float64) if self.sparse_blocks else self.dtype
        moments = (self.diagonal(), self.means, self.deviations, self.n_samples, self.divisor, stored)
        return gram_errors(*moments, scale=self.scale, uncentred=not self.standard.explicit)

    def describe(self) -> dict[str, Any]:
        """Adds the samples, what is done to the columns, the route and the passes made until now."""
        facts = {"n_samples": self.n_samples, "center": self.center, "scale": self.scale}
        route = {"route": "passes", "passes": self.passes_made}
        return super().describe() | facts | route | self.decisions

    @property
    def samples(self) -> Samples:
        """All rows where they fit in the memory for columns, else as many as do, drawn in one pass."""
        wanted = max(FEWEST_DRAWN, self.cache_bytes // (8 * self.size))
        drawn = self._run_pass(passes.draw_rows, (min(1.0, wanted / self.n_samples),), passes.list_rows)
        self.decisions["rows_drawn"] = sum(len(part) for part in (drawn[2::3] if self.sparse_blocks else drawn))
        return self._make_sparse_samples(drawn) if self.sparse_blocks else self._make_dense_samples(drawn)

    def _make_dense_samples(self, drawn: list[NDArray[Any]]) -> Samples:
        rows = np.concatenate(drawn)
        variables = np.empty(rows.shape[::-1])
        np.divide(rows.T - self.means[:, None], self.deviations[:, None], out=variables)
        if self.center:  # the mean of the rows drawn is not that of all
            variables -= variables.mean(axis=1, keepdims=True)
        return DenseSamples(variables, np.einsum("ij,ij->i", variables, variables), centred=self.center)

    def _make_sparse_samples(self, drawn: list[NDArray[Any]]) -> Samples:
        from scipy.sparse import csr_matrix

        values, columns, lengths = (np.concatenate(drawn[kind::3]) for kind in range(3))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = csr_matrix((values.astype(np.float64), columns, starts), shape=(len(lengths), self.size))
        variables = rows.T.tocsr()
        means = np.asarray(variables.mean(axis=1)).ravel() if self.center else np.zeros(self.size)
        samples = SparseSamples(variables, means, self.deviations, np.zeros(self.size), centred=self.center)
        samples.squares = samples.moments(np.zeros(len(lengths)), np.ones(len(lengths)))[:, 2]
        return samples

    def _knows(self, indices: Indices) -> bool:
        return all(index in self._columns for index in indices.tolist())

    def _recall(self, indices: Indices) -> NDArray[np.float64]:
        out = np.empty((self.size, len(indices)), order="F")
        for place, index in enumerate(indices.tolist()):
            self._columns.move_to_end(index)
            out[:, place] = self._columns[index]
        return out

    def _keep_columns(self, indices: Indices, found: NDArray[np.float64]) -> None:
        """Remember columns, forgetting those not used for longest."""
        room = max(0, int(self.cache_bytes // (8 * self.size)))
        kept = indices[-room:] if room else indices[:0]
        for place, index in enumerate(kept.tolist(), start=len(indices) - len(kept)):
            self._columns[index] = found[place].copy()  # a view would keep all of the answer in memory
            self._columns.move_to_end(index)
        while len(self._columns) > room:
            self._columns.popitem(last=False)

    def _accurate_block(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """From the principal block of the rows where that holds the columns: it is small, columns of A are long."""
        if self._gram_operator is None and np.isin(columns, rows).all():
            order = np.argsort(rows)
            return self._principal_submatrix(rows)[:, order[np.searchsorted(rows, columns, sorter=order)]]
        return super()._accurate_block(rows, columns)

    def _keep_block(self, indices: Indices, block: NDArray[np.float64]) -> None:
        if block.size > LARGE_BLOCK:  # one of these at a time
            large = [key for key, known in self._blocks_known.items() if known.size > LARGE_BLOCK]
            for key in large:
                del self._blocks_known[key]
        if len(self._blocks_known) >= 256:
            self._blocks_known.pop(next(iter(self._blocks_known)))
        self._blocks_known[indices.tobytes()] = block


def _make_key(request: Request) -> Any:
    indices = None if request.indices is None else request.indices.tobytes()
    return request.kind, indices, None if request.weights is None else np.asarray(request.weights).tobytes()
