"""What notebooks show of a fitted `SparsePCA`: a frame of its loadings, and five pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_choice, check_position
from sparseigen.checks.frames import as_labels
from sparseigen.config import require
from sparseigen.errors import OptionError
from sparseigen.results.figures import MOST_BARS, draw_bars, draw_curve, draw_heat_map, draw_points

MOST_ARROWS = 12
"""Variables of a biplot, those with the largest loadings."""
PURPOSE = "SparsePCA.plot()"


class Pictures:
    """Methods of `SparsePCA` that show what was found; mixed into it."""

    components_: NDArray[np.float64]
    explained_variance_ratio_: NDArray[np.float64]
    transform: Callable[[Any], Any]

    def loadings_frame(self, *, all_variables: bool = False) -> Any:
        """The loadings as a pandas DataFrame: one row per variable, one column per component.

        Parameters
        ----------
        all_variables : bool
            Also those that no component has.

        Examples
        --------
        >>> import numpy as np
        >>> import sparseigen as se
        >>> X = np.random.default_rng(0).standard_normal((50, 6)) * [3, 3, 1, 1, 1, 1]
        >>> sorted(se.SparsePCA(2, 1).fit(X).loadings_frame().index)
        ['x0', 'x1']
        """
        pandas = require("pandas", purpose="SparsePCA.loadings_frame()")
        loadings = self.components_.T + 0.0  # no minus zeros
        frame = pandas.DataFrame(loadings, index=self._list_names(), columns=self._list_components())
        return frame if all_variables else frame[(frame != 0.0).any(axis=1)]

    def plot(
        self,
        kind: str = "loadings",
        X: Any = None,
        *,
        components: Sequence[int] = (0, 1),
        labels: Any = None,
        ax: Any = None,
        engine: str | None = None,
    ) -> Any:
        """A picture of the fit: a plotly figure, or matplotlib axes.

        Parameters
        ----------
        kind : {"loadings", "heatmap", "scree", "scores", "biplot"}
            Bars of one component, all loadings by colour, the share of the variance of every component, the samples'
            scores on two components, or these with the variables as arrows.
        X : array, scipy sparse matrix, DataFrame or AnnData, optional
            The samples, for "scores" and "biplot".
        components : sequence of int
            The components shown, from 0 on: the first for "loadings", two for "scores" and "biplot".
        labels : sequence, optional
            One group per sample, for its colour.
        ax : matplotlib axes, optional
            Where matplotlib is to draw.
        engine : {"plotly", "matplotlib"}, optional
            Who draws; without ``ax`` plotly, where it is installed.

        Examples
        --------
        >>> import numpy as np
        >>> import sparseigen as se
        >>> X = np.random.default_rng(0).standard_normal((50, 6))
        >>> len(se.SparsePCA(2, 3).fit(X).plot("heatmap", engine="plotly").data)
        1
        """
        check_choice(kind, KINDS, "kind")
        if not len(self.components_):
            msg = "there is no component to show: none stands out from noise."
            raise OptionError(msg)
        return KINDS[kind](self, X, [int(j) for j in components], labels, {"ax": ax, "engine": engine})

    def _list_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        count = self.components_.shape[1]
        return [f"x{j}" for j in range(count)] if names is None else [str(name) for name in names]

    def _list_components(self) -> list[str]:
        return [f"PC{j + 1}" for j in range(len(self.components_))]

    def _pick_two(self, components: list[int]) -> tuple[int, int]:
        first = check_position(components[0], len(self.components_), "components[0]")
        if len(self.components_) == 1:
            return first, first
        return first, check_position(components[1], len(self.components_), "components[1]")


def show_loadings(fit: Pictures, X: Any, components: list[int], labels: Any, where: dict[str, Any]) -> Any:
    """Bars of one component, largest first."""
    component = check_position(components[0], len(fit.components_), "components[0]")
    vector, names = fit.components_[component], fit._list_names()
    order = np.argsort(-np.abs(vector), kind="stable")[: np.count_nonzero(vector)]
    share = fit.explained_variance_ratio_[component]
    title = f"PC{component + 1}, {share:.2%} of the variance"
    return draw_bars(
        [names[j] for j in order], vector[order].tolist(), title=title, axis="loading", purpose=PURPOSE, **where
    )


def show_heat_map(fit: Pictures, X: Any, components: list[int], labels: Any, where: dict[str, Any]) -> Any:
    """All loadings by colour, the variables in blocks: those of the first component first."""
    order = order_in_blocks(fit.components_)
    shown = order[:MOST_BARS]
    more = f" of {len(order)}" if len(order) > len(shown) else ""
    names = fit._list_names()
    title = f"{len(shown)}{more} variables"
    table = fit.components_[:, shown].T
    return draw_heat_map(
        [names[j] for j in shown], fit._list_components(), table, title=title, purpose=PURPOSE, **where
    )


def show_scree(fit: Pictures, X: Any, components: list[int], labels: Any, where: dict[str, Any]) -> Any:
    """The share of the variance of every component."""
    shares, numbers = fit.explained_variance_ratio_.tolist(), list(range(1, len(fit.components_) + 1))
    titles = ("component", "share of total variance")
    return draw_curve(numbers, shares, None, titles=titles, purpose=PURPOSE, **where)


def show_scores(fit: Pictures, X: Any, components: list[int], labels: Any, where: dict[str, Any]) -> Any:
    """The samples on two components."""
    return _show_samples(fit, X, components, labels, {}, where)


def show_biplot(fit: Pictures, X: Any, components: list[int], labels: Any, where: dict[str, Any]) -> Any:
    """The samples, and the variables with the largest loadings as arrows as long as the scores spread."""
    pair = list(fit._pick_two(components))
    loadings = fit.components_[pair]
    strength = np.hypot(*loadings)
    names = fit._list_names()
    order = np.argsort(-strength, kind="stable")[: min(MOST_ARROWS, int(np.count_nonzero(strength)))]
    return _show_samples(fit, X, components, labels, {names[j]: loadings[:, j] / strength.max() for j in order}, where)


def _show_samples(
    fit: Pictures, X: Any, components: list[int], labels: Any, arrows: dict[str, Any], where: dict[str, Any]
) -> Any:
    if X is None:
        msg = "kind='scores' and kind='biplot' show samples; pass them: pca.plot('scores', X)."
        raise OptionError(msg, parameter="X")
    first, second = fit._pick_two(components)
    scores = np.asarray(fit.transform(X), dtype=np.float64)[:, [first, second]]
    groups: dict[str, Sequence[int]] = {"samples": range(len(scores))}
    if labels is not None:
        named = as_labels([str(label) for label in labels], len(scores))
        codes = np.array(named["codes"])
        groups = {name: np.flatnonzero(codes == code).tolist() for code, name in enumerate(named["names"])}
    reach = float(np.abs(scores).max()) or 1.0
    titles = (f"score on PC{first + 1}", f"score on PC{second + 1}")
    scaled = {name: (reach * arrow).tolist() for name, arrow in arrows.items()}
    return draw_points(scores, groups, titles=titles, arrows=scaled, purpose=PURPOSE, **where)


def order_in_blocks(components: NDArray[np.float64]) -> NDArray[np.int64]:
    """Variables by the component in which they weigh most, and within it by weight.

    Examples
    --------
    >>> order_in_blocks(np.array([[0.0, 0.6, 0.8, 0.0], [1.0, 0.0, 0.1, 0.0]])).tolist()
    [2, 1, 0]
    """
    used = np.flatnonzero(components.any(axis=0))
    magnitudes = np.abs(components[:, used])
    return used[np.lexsort((-magnitudes.max(axis=0), magnitudes.argmax(axis=0)))]


KINDS: dict[str, Callable[..., Any]] = {
    "loadings": show_loadings,
    "heatmap": show_heat_map,
    "scree": show_scree,
    "scores": show_scores,
    "biplot": show_biplot,
}
"""Pictures by name."""
