"""What every solver takes and returns, and how progress is reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.problem import Proven
from sparseigen.errors import SolveInterrupted
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import Stage, StopReason

EFFORTS = ("quick", "default", "thorough")
"""How much a solve may cost: the plain answer and a cheap bound, every stage within a budget, everything to its end."""

OnIteration = Callable[[int, NDArray[np.float64], float], None]


@dataclass
class Progress:
    """Counts iterations over all runs of a solve, calls the caller back, and remembers the best answer so far.

    The memory is what makes Ctrl-C harmless: whatever was best when it came is still here.
    """

    size: int
    on_iteration: OnIteration | None = None
    value_of: Callable[[float], float] = float
    iterations: int = 0
    best: SparseVector | None = None
    best_value: float = -np.inf

    def report(self, vector: SparseVector, value: float) -> None:
        """One more iteration ended with this vector and value."""
        self.iterations += 1
        if value > self.best_value:
            self.best, self.best_value = vector, value
        if self.on_iteration is not None:
            self.on_iteration(self.iterations, vector.spread(self.size), self.value_of(value))

    def begin_stage(self, name: str) -> None:
        """Another stage of the solve begins; a callback with a method ``on_stage`` hears its name."""
        on_stage = getattr(self.on_iteration, "on_stage", None)
        if on_stage is not None:
            on_stage(name)

    def report_bracket(self, vector: SparseVector, lower: float, upper: float) -> None:
        """One more node of an exact search; a callback with a method ``on_bracket`` hears (iterations, low, high)."""
        self.report(vector, lower)
        on_bracket = getattr(self.on_iteration, "on_bracket", None)
        if on_bracket is not None:
            low, high = sorted((self.value_of(lower), self.value_of(upper)))
            on_bracket(self.iterations, low, high)


class KeepWhenInterrupted:
    """Turns Ctrl-C within a ``with`` block into `SolveInterrupted` that carries what is worth keeping.

    Parameters
    ----------
    find_best : callable
        Called as ``find_best(inner)``; what it returns becomes ``result``. ``inner`` is the ``result`` of a
        `SolveInterrupted` that came out of the block, else None.
    completed : iterable
        What was finished before; read when Ctrl-C comes, so that a list that grows meanwhile counts as it is then.

    Examples
    --------
    >>> try:
    ...     with KeepWhenInterrupted(lambda inner: "so far"):
    ...         raise KeyboardInterrupt
    ... except SolveInterrupted as stop:
    ...     print(stop.result)
    so far
    """

    def __init__(self, find_best: Callable[[object], object], completed: Iterable[object] = ()) -> None:
        self.find_best, self.completed = find_best, completed

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, stop: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(stop, KeyboardInterrupt):
            raise SolveInterrupted(self.find_best(getattr(stop, "result", None)), tuple(self.completed)) from None


@dataclass(frozen=True)
class SolverOptions:
    """The caller's wishes, checked."""

    start: str | NDArray[np.float64] = "auto"
    polish: str | None = "swap"
    nonnegative: bool = False
    rtol: float = 1e-7
    atol: float = 0.0
    max_iterations: int = 1000
    rng: np.random.Generator | None = None
    """None: seed 0, made where it is needed; making a generator takes a good part of the time of a small problem."""
    progress: Progress = field(default_factory=lambda: Progress(0))
    effort: str = "default"
    certify: bool = True
    """Whether bounds are wanted: solvers that prove on their way need not otherwise."""
    deadline: float = np.inf
    """When to stop, by ``time.perf_counter``; from the caller's time limit alone."""
    metric: Operator | None = None
    """B of the generalised problem x'Ax / x'Bx, for methods that take one (`SolverSpec.takes_metric`)."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Parameters of one method alone (for example ``gamma``), by name."""

    def has_stalled(self, value: float, previous: float, *, resolution: float = 0.0) -> bool:
        """The paper's stop rule: the objective moved by no more than the tolerance.

        ``resolution`` is the relative rounding of the products: smaller changes are noise, whatever was asked for.
        """
        return abs(value - previous) <= max(self.atol, max(self.rtol, resolution) * abs(value))

    @property
    def out_of_time(self) -> bool:
        """Whether the caller's time limit is over."""
        return self.deadline < np.inf and time.perf_counter() > self.deadline


@dataclass(frozen=True)
class SolverOutcome:
    """A solver's answer, before it becomes a result with names and a certificate."""

    vector: SparseVector
    value: float
    stop_reason: StopReason
    n_iterations: int
    history: list[float]
    settings: dict[str, Any] = field(default_factory=dict)
    proven: Proven | None = None
    stages: tuple[Stage, ...] = ()
    """In the units of the matrix searched."""


Solver = Callable[[Operator, int, SolverOptions], SolverOutcome]
BlockSolver = Callable[[Operator, list[int], SolverOptions], list[SolverOutcome]]


@dataclass(frozen=True)
class SolverSpec:
    """A solver and what it needs of an operator and of the caller."""

    solve: Solver
    needs: tuple[str, ...] = ("iteration", "submatrix")
    supports_nonnegative: bool = False
    needs_psd: bool = False
    """Whether the method is defined for covariance (positive semidefinite) matrices only."""
    takes_metric: bool = False
    """Whether the method solves x'Ax / x'Bx itself; for the others x'(A - tB)x is made largest, t by t."""
    parameters: tuple[str, ...] = ()
    """Names of the method's own parameters."""
    solve_block: BlockSolver | None = None
    """For methods that can find several components at once: the same, with one cardinality per component."""
