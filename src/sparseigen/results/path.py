"""`SparsePath`: results for many cardinalities, and rules that choose one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.config import require
from sparseigen.errors import DtypeError, NonFiniteError, NotSymmetricError, OptionError, ShapeError, one_of
from sparseigen.results.certificate import find_by_cardinality
from sparseigen.results.eigenvector import SparseEigResult
from sparseigen.results.figures import draw_curve

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparsePath:
    """One result for each cardinality asked for, in the order asked for.

    Values never fall as the cardinality grows (of the smallest end: never rise).

    Attributes
    ----------
    results : tuple of SparseEigResult
        One for each cardinality; the path iterates over them, and ``path[k]`` is the one with at most k non-zeros.
    total_variance : float
        Trace of the matrix: the variance of all variables.
    dense_optimum : float
        The largest (smallest) eigenvalue: what one component can reach without any limit on k.
    seconds : float
        Wall-clock time of the path, without certificates.

    Examples
    --------
    >>> import sparseigen as se
    >>> path = se.cardinality_path(se.datasets.load_pitprops().matrix, range(1, 14), certify=False)
    >>> path.suggest("share", share=0.8), path.suggest("elbow")
    (5, 6)
    >>> path[5].support.tolist()
    [0, 1, 6, 8, 9]
    """

    results: tuple[SparseEigResult, ...]
    total_variance: float
    dense_optimum: float
    seconds: float

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[SparseEigResult]:
        return iter(self.results)

    def __getitem__(self, cardinality: int) -> SparseEigResult:
        """The result for one cardinality (not a position)."""
        return find_by_cardinality(self.results, self.cardinalities.tolist(), cardinality, "path", "cardinality")

    def ascending(self) -> SparsePath:
        """The path with each cardinality once, from the smallest to the largest."""
        once = {result.cardinality: result for result in self.results}
        return replace(self, results=tuple(once[k] for k in sorted(once)))

    @property
    def which(self) -> str:
        """The end of the spectrum that was asked for, "largest" or "smallest"."""
        return str(self.results[0].settings.get("which", "largest"))

    @property
    def cardinalities(self) -> NDArray[np.int64]:
        """The cardinalities, in the order asked for, as are the values, shares and bounds."""
        return np.array([result.cardinality for result in self.results], dtype=np.int64)

    @property
    def values(self) -> Vector:
        """The value x'Ax at each cardinality."""
        return np.array([result.value for result in self.results])

    @property
    def shares(self) -> Vector:
        """The share of the total variance that one component with k non-zeros explains."""
        return self.values / self.total_variance

    @property
    def upper_bounds(self) -> Vector | None:
        """The upper end of the bracket at each cardinality; None if the path is uncertified."""
        return self._list_ends("upper_bound")

    @property
    def lower_bounds(self) -> Vector | None:
        """The lower end of the bracket at each cardinality; None if the path is uncertified."""
        return self._list_ends("lower_bound")

    def _list_ends(self, end: str) -> Vector | None:
        proofs = [result.certificate for result in self.results if result.certificate is not None]
        return np.array([getattr(proof, end) for proof in proofs]) if len(proofs) == len(self.results) else None

    def __repr__(self) -> str:
        path = self.ascending()
        first, last = path.results[0], path.results[-1]
        end = ", smallest" if self.which == "smallest" else ""
        proof = "uncertified" if path.upper_bounds is None else "certified"
        return (
            f"SparsePath({len(path)} cardinalities {first.cardinality} to {last.cardinality}{end}, "
            f"share {path.shares[0]:.4f} to {path.shares[-1]:.4f}, {proof})"
        )

    def suggest(self, rule: str = "share", *, share: float = 0.9, held_out: Any = None) -> int:
        """A cardinality, by one of three rules.

        Parameters
        ----------
        rule : {"share", "elbow", "held-out"}
            "share": the smallest k that reaches ``share`` of the dense optimum (the largest eigenvalue); not for
            paths of the smallest end.
            "elbow": the k whose point lies farthest beyond the chord from the first to the last point.
            "held-out": the smallest k within one percent of the best variance on other data; give their
            covariance as ``held_out`` (`CardinalitySearchCV` does this over folds).
        share : float
            For "share".
        held_out : operator, LinearOperator or array
            For "held-out": the covariance of data the path has not seen.

        Returns
        -------
        int
        """
        if not isinstance(rule, str) or rule not in RULES:
            message = f"rule={rule!r} is not known. Allowed: {one_of(RULES)}."
            raise OptionError(message, parameter="rule")
        path = self.ascending()
        return int(path.cardinalities[RULES[rule](path, share, held_out)])

    def to_frame(self) -> Any:
        """One row per cardinality, ascending, as a pandas DataFrame."""
        pandas = require("pandas", purpose="SparsePath.to_frame()")
        return pandas.DataFrame(self.to_rows())

    def to_rows(self) -> list[dict[str, Any]]:
        """One dict per cardinality, ascending: what `to_frame` shows."""
        return [
            {
                "cardinality": result.cardinality,
                "value": result.value,
                "share": result.value / self.total_variance,
                "share_of_dense": result.value / self.dense_optimum,
                "lower_bound": None if result.certificate is None else result.certificate.lower_bound,
                "upper_bound": None if result.certificate is None else result.certificate.upper_bound,
                "relative_gap": None if result.certificate is None else result.certificate.relative_gap,
                "proven_optimal": None if result.certificate is None else result.certificate.optimal,
                "variables": [result.name_of(int(j)) for j in result.support],
            }
            for result in self.ascending()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "total_variance": self.total_variance,
            "dense_optimum": self.dense_optimum,
            "seconds": self.seconds,
            "results": [result.to_dict() for result in self.results],
        }

    def plot(self, *, chosen: int | None = None, ax: Any = None, engine: str | None = None) -> Any:
        """Explained share against k, with the band up to the proven bound: a plotly figure, or matplotlib axes.

        Parameters
        ----------
        chosen : int, optional
            A cardinality of the path to be marked.
        ax : matplotlib axes, optional
            Where matplotlib is to draw.
        engine : {"plotly", "matplotlib"}, optional
            Who draws; without ``ax`` plotly, where it is installed.
        """
        path = self.ascending()
        bounds = path.upper_bounds if self.which == "largest" else path.lower_bounds
        return draw_curve(
            path.cardinalities.tolist(),
            path.shares.tolist(),
            None if bounds is None else (bounds / self.total_variance).tolist(),
            purpose="SparsePath.plot()",
            titles=("cardinality k", "share of total variance"),
            reference=self.dense_optimum / self.total_variance,
            chosen=None if chosen is None else self[chosen].cardinality,
            ax=ax,
            engine=engine,
        )


def check_share(share: Any, name: str = "share") -> float:
    """A share as a number above 0 and at most 1."""
    if isinstance(share, bool) or not isinstance(share, (int, float, np.floating)) or not 0.0 < share <= 1.0:
        message = f"{name}={share!r} must be above 0 and at most 1."
        raise OptionError(message)
    return float(share)


def _by_share(path: SparsePath, share: float, held_out: Any) -> int:
    check_share(share)
    if path.which == "smallest":
        msg = "rule='share' is about explained variance, and this path is about the smallest end; use rule='elbow'."
        raise OptionError(msg)
    enough = np.flatnonzero(path.values >= share * path.dense_optimum * (1.0 - 1e-12))
    if not enough.size:
        reached = float(path.values[-1] / path.dense_optimum)
        message = (
            f"no cardinality on the path reaches {share:.4g} of the dense optimum (the largest, "
            f"{path.results[-1].cardinality}, reaches {reached:.4g}); lower share or extend the path."
        )
        raise OptionError(message)
    return int(enough[0])


def _by_elbow(path: SparsePath, share: float, held_out: Any) -> int:
    k, values = path.cardinalities.astype(float), path.values
    if len(k) < 3 or values[-1] == values[0]:
        return 0
    along = (k - k[0]) / (k[-1] - k[0])
    return int(((values - values[0]) / (values[-1] - values[0]) - along).argmax())


def _by_held_out(path: SparsePath, share: float, held_out: Any) -> int:
    if held_out is None:
        msg = "rule='held-out' needs held_out, the covariance of other data: held_out=covariance(X_new)."
        raise OptionError(msg)
    variances = held_out_variances(path, held_out) * (1.0 if path.which == "largest" else -1.0)
    return smallest_good_enough(variances, 0.01 * abs(float(variances.max())))


def held_out_variances(path: SparsePath, held_out: Any) -> Vector:
    """The value x'Ax of every point of the path under another covariance (an array or an operator)."""
    size, values = len(path.results[0].vector), np.empty(len(path))
    is_operator, by_products = hasattr(held_out, "submatrix"), hasattr(held_out, "matvec")
    shape = (held_out.size, held_out.size) if is_operator else np.shape(held_out)
    if shape != (size, size):
        message = (
            f"held_out has shape {' x '.join(map(str, shape))}; it must be the covariance of the same {size} variables "
            f"({size} x {size}). From data of {size} columns: held_out=covariance(X_new)."
        )
        raise ShapeError(message)
    _check_held_out_names(path, held_out)
    matrix = None if is_operator or by_products else _held_out_numbers(held_out)
    for i, result in enumerate(path):
        if by_products:
            values[i] = result.vector @ np.asarray(held_out.matvec(result.vector))
            continue
        support = result.support
        block = held_out.submatrix(support) if matrix is None else matrix[np.ix_(support, support)]
        values[i] = result.vector[support] @ block.astype(np.float64) @ result.vector[support]
    if not np.isfinite(values).all():
        msg = "held_out has entries that are not finite; remove or replace them."
        raise NonFiniteError(msg)
    return values


def _check_held_out_names(path: SparsePath, held_out: Any) -> None:
    """Variables that have names must be the path's, in its order: both the columns and the rows of a frame."""
    names = path.results[0].names
    for labels in (getattr(held_out, "columns", getattr(held_out, "names", None)), getattr(held_out, "index", None)):
        if names is None or labels is None or callable(labels):
            continue
        found = tuple(str(name) for name in labels)
        if found not in (names, tuple(map(str, range(len(found))))):  # numbered rows say nothing
            first = next(i for i, name in enumerate(names) if i >= len(found) or found[i] != name)
            message = (
                f"held_out is about other variables than the path, or has them in another order: variable {first} is "
                f"{names[first]!r} on the path. Bring both into one order first."
            )
            raise OptionError(message)


def _held_out_numbers(held_out: Any) -> NDArray[Any]:
    matrix: NDArray[Any] = held_out.toarray() if hasattr(held_out, "toarray") else np.asarray(held_out)
    if matrix.dtype.kind not in "fiub":
        message = f"held_out has dtype {matrix.dtype}; it must hold real numbers (float or int)."
        raise DtypeError(message)
    allowed = 1e-5 * float(np.abs(matrix).max())
    if np.isfinite(allowed) and not np.allclose(matrix, matrix.T, rtol=0.0, atol=allowed):
        msg = "held_out is not symmetric; it must be a covariance. From data: held_out=covariance(X_new)."
        raise NotSymmetricError(msg)
    return matrix


def smallest_good_enough(variances: Vector, slack: float) -> int:
    """The first position whose variance is within ``slack`` of the largest."""
    return int(np.flatnonzero(variances >= float(variances.max()) - slack)[0])


RULES: dict[str, Callable[[SparsePath, float, Any], int]] = {
    "share": _by_share,
    "elbow": _by_elbow,
    "held-out": _by_held_out,
}
"""Rules by name: from a path to a position on it."""
