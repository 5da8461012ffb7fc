"""The answer to 'which k variables carry the most variance?'."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.config import require
from sparseigen.results.certificate import Certificate, reduce_to_fields
from sparseigen.results.figures import draw_bars


class StopReason(StrEnum):
    """Why a solver's loop ended. It never claims optimality; only a certificate does.

    ``BRACKET_CLOSED`` and ``GAP`` come from the exact search: both ends of its bracket met, or came as close as asked
    for. ``TIME_LIMIT``: the time allowed was over before the bracket closed. ``COMPLETED`` is for methods without a
    loop that could go on.

    Examples
    --------
    >>> import sparseigen as se
    >>> from sparseigen.results import StopReason
    >>> result = se.sparse_eigenvector(se.datasets.load_pitprops().matrix, cardinality=5)
    >>> result.stop_reason is StopReason.FIXED_POINT, result.stop_reason == "fixed_point"
    (True, True)
    """

    VALUE_STALLED = "value_stalled"
    FIXED_POINT = "fixed_point"
    ITERATION_LIMIT = "iteration_limit"
    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    BRACKET_CLOSED = "bracket_closed"
    GAP = "gap"
    TIME_LIMIT = "time_limit"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a solve: what it cost, and where answer and proof stood after it.

    Attributes
    ----------
    name : str
        "plain run", "bound", "dual ascent", "more starts", "swaps", "row bounds", "branch and bound"; of a method
        without stages "search" and "bound".
    seconds : float
        Wall-clock time of the stage.
    value : float
        The value of the best answer after it.
    bound : float or None
        The proven end of the bracket after it: an upper bound of the largest end, a lower bound of the smallest.

    Examples
    --------
    >>> import sparseigen as se
    >>> result = se.sparse_eigenvector(se.datasets.load_pitprops().matrix, cardinality=2)
    >>> [stage.name for stage in result.stages]
    ['plain run', 'bound']
    """

    name: str
    seconds: float
    value: float
    bound: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {"name": self.name, "seconds": self.seconds, "value": self.value, "bound": self.bound}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparseEigResult:
    """A sparse unit vector, its value, and how far that value can be from the optimum.

    Attributes
    ----------
    vector : ndarray of shape (n_features,)
        Unit vector with at most ``cardinality`` non-zeros, read-only. Its entry of largest magnitude is positive.
    value : float
        The quadratic form x'Ax of that vector.
    cardinality : int
        The number of non-zeros that was asked for (*k*).
    stop_reason : StopReason
        Why the solver stopped.
    n_iterations : int
        Iterations of the run that gave the answer.
    history : ndarray
        Objective values of that run, from its start on, read-only.
    certificate : Certificate or None
        The proven bracket; None prints as 'uncertified'.
    solver : str
        Name of the method.
    settings : mapping
        Everything that was chosen, by the caller or by the solver: start, polish, shift, limits reached.
    seconds : float
        Wall-clock time of the solve, without the certificate.
    names : tuple of str or None
        The caller's variable names.
    stages : tuple of Stage
        What ran, in order, and what it cost.

    Examples
    --------
    >>> import sparseigen as se
    >>> result = se.sparse_eigenvector(se.datasets.load_pitprops().operator(), cardinality=2)
    >>> result.support.tolist(), round(result.value, 3)
    ([0, 1], 1.954)
    >>> {name: round(weight, 3) for name, weight in result.loadings.items()}
    {'topdiam': 0.707, 'length': 0.707}
    """

    vector: NDArray[np.float64]
    value: float
    cardinality: int
    stop_reason: StopReason
    n_iterations: int
    history: NDArray[np.float64]
    certificate: Certificate | None
    solver: str
    settings: Mapping[str, Any]
    seconds: float
    names: tuple[str, ...] | None = field(default=None)
    stages: tuple[Stage, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_to_fields(self)

    @property
    def support(self) -> NDArray[np.int64]:
        """Indices of the non-zero entries, ascending."""
        return np.flatnonzero(self.vector).astype(np.int64)

    @property
    def loadings(self) -> dict[str, float]:
        """Variable name to loading, largest magnitude first; unnamed variables are called ``x0``, ``x1``, ..."""
        support = self.support
        order = support[np.argsort(-np.abs(self.vector[support]), kind="stable")]
        return {self.name_of(int(i)): float(self.vector[i]) for i in order}

    def name_of(self, index: int) -> str:
        """The name of one variable."""
        return self.names[index] if self.names is not None else f"x{index}"

    def __repr__(self) -> str:
        proof = "uncertified" if self.certificate is None else str(self.certificate)
        return (
            f"SparseEigResult(value={self.value:.6g}, cardinality={self.cardinality}, "
            f"{self.stop_reason.value} after {self.n_iterations}, {proof})"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td style='text-align:right'>{weight:+.4f}</td></tr>"
            for name, weight in self.loadings.items()
        )
        return (
            f"<p>{html.escape(repr(self))}</p>"
            f"<table><thead><tr><th>variable</th><th>loading</th></tr></thead><tbody>{rows}</tbody></table>"
        )

    def to_frame(self) -> Any:
        """One row per variable with a loading, largest first, as a pandas DataFrame."""
        pandas = require("pandas", purpose="SparseEigResult.to_frame()")
        return pandas.DataFrame({"variable": list(self.loadings), "loading": list(self.loadings.values())})

    def plot(self, *, ax: Any = None, engine: str | None = None) -> Any:
        """The loadings as bars, largest first: a plotly figure, or matplotlib axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where matplotlib is to draw.
        engine : {"plotly", "matplotlib"}, optional
            Who draws; without ``ax`` plotly, where it is installed.
        """
        loadings = self.loadings
        title = f"{len(loadings)} variables, value {self.value:.5g}"
        names, values, purpose = list(loadings), list(loadings.values()), "SparseEigResult.plot()"
        return draw_bars(names, values, title=title, axis="loading", purpose=purpose, ax=ax, engine=engine)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON: the one source of every written form of a result."""
        support = self.support
        return {
            "value": self.value,
            "cardinality": self.cardinality,
            "support": support.tolist(),
            "loadings": self.vector[support].tolist(),
            "names": None if self.names is None else [self.names[i] for i in support],
            "n_features": int(self.vector.size),
            "stop_reason": self.stop_reason.value,
            "n_iterations": self.n_iterations,
            "history": self.history.tolist(),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "solver": self.solver,
            "settings": dict(self.settings),
            "seconds": self.seconds,
            "stages": [stage.to_dict() for stage in self.stages],
        }
