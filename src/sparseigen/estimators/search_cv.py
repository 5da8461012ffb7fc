"""`CardinalitySearchCV`: the number of non-zeros, chosen by the variance of data the components have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted, validate_data

from sparseigen.checks.arguments import check_cardinality, check_choice, check_count, check_flag, check_many
from sparseigen.checks.frames import check_no_gaps, squared_distances
from sparseigen.components.sequential import cardinality_grid
from sparseigen.errors import OptionError
from sparseigen.estimators.sparse_pca import FLOATS, SparsePCA
from sparseigen.operators import covariance
from sparseigen.operators.deflated import DEFLATIONS
from sparseigen.solve.path import cardinality_path

RULES = ("one-standard-error", "best")


class CardinalitySearchCV(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Choose the cardinality of a sparse component by cross-validated variance.

    For every fold one path of cardinalities is followed on the training part, and every point of it is scored by the
    share of the held-out part's variance (around the training mean) that its scores have. That share grows with k
    while true variables come in and falls once noise does.

    Parameters
    ----------
    estimator : SparsePCA, optional
        What is fitted in the end, with the cardinality chosen; its ``scale``, ``method``, ``deflation``,
        ``nonnegative``, ``effort`` and ``method_options`` are used for the paths too.
    cardinalities : list of int, optional
        The ones to try; by default 24 between 1 and the number of variables, evenly spaced on a logarithmic scale.
    cv : int or splitter
        Folds, as everywhere in scikit-learn.
    rule : {"one-standard-error", "best"}
        The smallest cardinality within one standard error of the best, or the best.

    Attributes
    ----------
    cardinality_ : list of int
        The cardinality chosen for each component.
    best_estimator_ : SparsePCA
        Fitted to all data with it.
    cv_results_ : dict
        ``cardinality``, ``mean_test_share`` and ``std_test_share`` of the first component, and ``split_test_share``
        of shape (n_splits, n_cardinalities).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseigen.estimators.search_cv import CardinalitySearchCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 20)) + 2.0 * rng.standard_normal((200, 1)) * (np.arange(20) < 4)
    >>> CardinalitySearchCV().fit(X).cardinality_
    [4]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        cardinalities: Any = None,
        cv: Any = 5,
        rule: str = "one-standard-error",
    ) -> None:
        self.estimator = estimator
        self.cardinalities = cardinalities
        self.cv = cv
        self.rule = rule

    def fit(self, X: Any, y: Any = None) -> CardinalitySearchCV:
        """Choose the cardinality and fit the estimator with it.

        Parameters
        ----------
        X : array, scipy sparse matrix or DataFrame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        names = getattr(X, "columns", None)
        original = X
        X = validate_data(self, X, accept_sparse=("csr",), dtype=FLOATS, ensure_all_finite=False, ensure_min_samples=2)
        check_no_gaps(X, names)
        check_choice(self.rule, RULES, "rule")
        base = SparsePCA() if self.estimator is None else self.estimator
        if not isinstance(base, SparsePCA):
            message = f"estimator={base!r} must be a SparsePCA (an object of it), got {type(base).__name__}."
            raise OptionError(message)
        grid = self._build_grid(X.shape[1])
        folds = self._split_folds(X)
        chosen: list[int] = []
        for component in range(check_count(base.n_components, "n_components")):
            shares = np.array([_find_held_out_shares(base, X[a], X[b], grid, chosen) for a, b in folds])
            if component == 0:
                self.cv_results_ = _summarise(grid, shares)
            chosen.append(grid[_choose(shares, self.rule)])
        self.cardinality_ = chosen
        self.best_estimator_ = clone(base).set_params(cardinality=list(chosen)).fit(original)
        return self

    def _build_grid(self, size: int) -> list[int]:
        if self.cardinalities is None:
            return cardinality_grid(size)
        several = check_many(self.cardinalities, "cardinalities", "[2, 5, 10]")
        grid = sorted({check_cardinality(k, size, subject="cardinalities") for k in several})
        if not grid:
            msg = "cardinalities is empty; give at least one, for example range(1, 21)."
            raise OptionError(msg, parameter="cardinalities")
        return grid

    def _split_folds(self, X: Any) -> list[Any]:
        try:
            return list(check_cv(self.cv).split(X))
        except (TypeError, ValueError) as error:
            message = f"cv={self.cv!r} does not split {X.shape[0]} samples: {error}"
            raise OptionError(message) from error

    def transform(self, X: Any) -> NDArray[Any]:
        """Scores of the estimator fitted with the cardinality chosen."""
        check_is_fitted(self)
        validate_data(self, X, accept_sparse=("csr", "csc"), dtype=FLOATS, ensure_all_finite=False, reset=False)
        scores: NDArray[Any] = np.asarray(self.best_estimator_.transform(X))
        return scores

    def score(self, X: Any, y: Any = None) -> float:
        """The explained share of `SparsePCA.score`."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X))

    @property
    def _n_features_out(self) -> int:
        return int(self.best_estimator_._n_features_out)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _find_held_out_shares(
    base: SparsePCA, training: Any, held_out: Any, grid: list[int], earlier: list[int]
) -> NDArray[np.float64]:
    """For each cardinality the share of the held-out variance that the component's scores have."""
    operator: Any = covariance(training, center=True, scale=check_flag(base.scale, "scale"))
    means, scales = operator.means, operator.deviations
    options: dict[str, Any] = {
        "method": base.method,
        "nonnegative": base.nonnegative,
        "effort": base.effort,
        "method_options": base.method_options,
    }
    deflate = DEFLATIONS[check_choice(base.deflation, DEFLATIONS, "deflation")]
    for cardinality in earlier:
        operator = deflate(
            operator, cardinality_path(operator, [cardinality], certify=False, **options)[cardinality].vector
        )
    path = cardinality_path(operator, grid, certify=False, **options)
    weights = np.column_stack([result.vector for result in path]) / scales[:, None]
    scores = held_out @ weights - means @ weights
    shares: NDArray[np.float64] = (np.asarray(scores) ** 2).sum(axis=0) / squared_distances(held_out, means, scales)
    return shares


def _summarise(grid: list[int], shares: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    return {
        "cardinality": np.array(grid),
        "mean_test_share": shares.mean(axis=0),
        "std_test_share": shares.std(axis=0),
        "split_test_share": shares,
    }


def _choose(shares: NDArray[np.float64], rule: str) -> int:
    """The position of the cardinality to take."""
    means = shares.mean(axis=0)
    best = int(means.argmax())
    if rule == "best" or len(shares) < 2:
        return best
    # Folds differ in how much variance they hold at all; what counts is the spread of the loss against the best k.
    losses = shares[:, best][:, None] - shares
    errors = losses.std(axis=0, ddof=1) / np.sqrt(len(shares))
    return int(np.flatnonzero(losses.mean(axis=0) <= errors)[0])
