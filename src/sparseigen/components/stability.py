"""How stable a sparse component is: how often each variable is chosen when the data are resampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import (
    check_count,
    check_position,
    check_positive,
    check_rng,
    check_sparsity,
    check_tolerance,
)
from sparseigen.checks.arrays import check_data
from sparseigen.components.sequential import sparse_components
from sparseigen.config import require
from sparseigen.errors import OptionError
from sparseigen.operators import covariance
from sparseigen.results.figures import draw_bars


@dataclass(frozen=True)
class SelectionStability:
    """How often each variable was chosen.

    Attributes
    ----------
    frequencies : ndarray of shape (n_components, n_features)
        Share of the resamples in which the component chose the variable.
    chosen : ndarray of bool, same shape
        What the whole data choose.
    n_resamples : int
        How many resamples there were.
    names : tuple of str or None
        The variables' names.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 6)) + 3.0 * rng.standard_normal((60, 1)) * (np.arange(6) < 2)
    >>> stability = se.components.selection_stability(X, 2, n_resamples=10)
    >>> stability.frequencies[0].tolist(), stability.stable(threshold=0.9)
    ([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0, 1])
    """

    frequencies: NDArray[np.float64]
    chosen: NDArray[np.bool_]
    n_resamples: int
    names: tuple[str, ...] | None

    def stable(self, component: int = 0, *, threshold: float = 0.8) -> list[int]:
        """Variables chosen in at least this share of the resamples, most frequent first."""
        frequencies = self.frequencies[check_position(component, len(self.frequencies), "component")]
        check_tolerance(threshold, "threshold")
        often = np.flatnonzero(frequencies >= threshold)
        return [int(j) for j in often[np.argsort(-frequencies[often], kind="stable")]]

    def name_of(self, variable: int) -> str:
        """The name of a variable; its number where there are no names."""
        return str(variable) if self.names is None else self.names[variable]

    def to_dict(self, component: int) -> dict[str, Any]:
        """Plain Python values about one component, ready for JSON: how often each variable it ever chose is chosen."""
        rows = [row for row in self.to_table()[1] if row[0] == component + 1]
        return {"resamples": self.n_resamples, "frequencies": {name: often for _, name, often, _ in rows}}

    def to_table(self) -> tuple[list[str], list[list[Any]]]:
        """Header and rows: for each component every variable it ever chose, most frequent first."""
        rows: list[list[Any]] = []
        for component, often in enumerate(self.frequencies):
            met = np.flatnonzero((often > 0.0) | self.chosen[component])
            for j in met[np.argsort(-often[met], kind="stable")]:
                rows.append([component + 1, self.name_of(int(j)), float(often[j]), bool(self.chosen[component, j])])
        return ["component", "variable", "frequency", "chosen"], rows

    def to_frame(self) -> Any:
        """One row for each component and each variable it ever chose, as a pandas DataFrame."""
        header, rows = self.to_table()
        return require("pandas", purpose="SelectionStability.to_frame()").DataFrame(rows, columns=header)

    def plot(self, component: int = 0, *, ax: Any = None, engine: str | None = None) -> Any:
        """How often each variable is chosen, most often first; blue: chosen by the whole data too.

        Parameters
        ----------
        component : int
            Which component, from 0 on.
        ax : matplotlib axes, optional
            Where matplotlib is to draw.
        engine : {"plotly", "matplotlib"}, optional
            Who draws; without ``ax`` plotly, where it is installed.
        """
        wanted = check_position(component, len(self.frequencies), "component") + 1
        rows = [row for row in self.to_table()[1] if row[0] == wanted]
        return draw_bars(
            [name for _, name, _, _ in rows],
            [often for _, _, often, _ in rows],
            marked=[chosen for *_, chosen in rows],
            title=f"component {wanted}, {self.n_resamples} resamples",
            axis="share of the resamples",
            purpose="SelectionStability.plot()",
            ax=ax,
            engine=engine,
        )


def selection_stability(
    X: Any,
    cardinality: Any,
    *,
    n_components: int = 1,
    n_resamples: int = 50,
    share: float = 0.5,
    scale: bool = False,
    rng: Any = None,
    **options: Any,
) -> SelectionStability:
    """Fit sparse components to random parts of the data and count which variables they choose.

    Parameters
    ----------
    X : array, scipy sparse matrix or DataFrame of shape (n_samples, n_features)
        The data.
    cardinality : int, float or list
        Non-zeros of each component, as in `SparsePCA` (without "auto").
    n_components, n_resamples : int
        How many components, how many random parts.
    share : float
        Share of the samples in each part, drawn without replacement; one half is the usual choice.
    scale : bool
        Work on the correlation matrix.
    rng : None, int or numpy.random.Generator
        Draws the parts; None is seed 0.
    **options
        Passed on to `sparse_components`.

    Returns
    -------
    SelectionStability
        The components of each part are matched to those of the whole data by their products, so a swap of order
        does not count as instability.

    References
    ----------
    N. Meinshausen, P. Bühlmann, "Stability selection", J. Royal Statistical Society B 72 (2010), 417-473.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 8)) + 2.0 * rng.standard_normal((100, 1)) * (np.arange(8) < 3)
    >>> sorted(se.components.selection_stability(X, 3, n_resamples=10).stable())
    [0, 1, 2]
    """
    checked = check_data(X)
    n_samples, size = checked.values.shape
    count, resamples = check_count(n_components, "n_components"), check_count(n_resamples, "n_resamples")
    cardinalities = check_sparsity(cardinality, size, count).cardinalities
    if cardinalities is None:
        msg = "cardinality='auto' would choose anew for every resample; give a number, fraction or list."
        raise OptionError(msg)
    drawn = round(check_positive(share, "share") * n_samples)
    if not 2 <= drawn <= n_samples:
        message = f"share={share!r} of {n_samples} samples is {drawn}; it must leave between 2 and {n_samples}."
        raise OptionError(message)
    generator = check_rng(rng)
    options = {"certify": False} | options
    rows = checked.values.tocsr() if checked.layout == "sparse" else checked.values
    whole = _vectors(covariance(rows, scale=scale), cardinalities, options)
    counts = np.zeros(whole.shape)
    for _ in range(resamples):
        part = np.sort(generator.choice(n_samples, size=drawn, replace=False))
        found = _vectors(covariance(rows[part], scale=scale), cardinalities, options)
        counts += _match_components(whole, found) != 0.0
    return SelectionStability(counts / resamples, whole != 0.0, resamples, checked.names)


def _vectors(operator: Any, cardinalities: list[int], options: dict[str, Any]) -> NDArray[np.float64]:
    return np.array([result.vector for result in sparse_components(operator, cardinalities, **options)])


def _match_components(reference: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    """The components found, in the order in which they fit the reference best."""
    from scipy.optimize import linear_sum_assignment

    _, order = linear_sum_assignment(-np.abs(reference @ found.T))
    ordered: NDArray[np.float64] = found[order]
    return ordered
