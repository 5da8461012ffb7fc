"""`SparseCCA`: pairs of sparse canonical variates as a scikit-learn estimator, and whether they are real."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_cardinality, check_count, check_flag, check_rng
from sparseigen.checks.coercion import check_meaning
from sparseigen.components.generalised import DataPencil, canonical_pencil, generalised_components
from sparseigen.config import require
from sparseigen.errors import CardinalityError, OptionError
from sparseigen.results import SparseEigResult, Verification
from sparseigen.solve.verification import verify

require("sklearn", purpose="SparseCCA")

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone  # noqa: E402
from sklearn.model_selection import KFold  # noqa: E402
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data  # noqa: E402

Numbers = NDArray[np.float64]

FEW = 5
"""Variables of each block where no cardinality is given, as far as the block has them."""


@dataclass(frozen=True)
class CorrelationEvidence:
    """Whether canonical correlations are more than what the search finds in noise.

    Attributes
    ----------
    fitted : ndarray of shape (n_components,)
        Correlations of the scores on the samples that the weights were fitted to. With more variables than samples
        they are high whatever the data.
    held_out : ndarray of shape (n_components,)
        Correlations of scores of samples that were left out of the fit, over all folds.
    permuted : ndarray of shape (n_permutations,)
        First held-out correlations after the samples of Y were shuffled, so that nothing is common to X and Y.
    p_value : float or None
        Share of the shuffled data, the given ones included, with a held-out correlation at least as high as that of
        the first pair; None without permutations.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> Y = X[:, :2] + 0.1 * rng.standard_normal((60, 2))
    >>> evidence = se.SparseCCA(cardinality=(1, 1)).evidence(X, Y, permutations=9)
    >>> bool(evidence.held_out[0] > 0.95), evidence.p_value
    (True, 0.1)
    """

    fitted: Numbers
    held_out: Numbers
    permuted: Numbers
    p_value: float | None

    def __str__(self) -> str:
        chance = "" if self.p_value is None else f", p = {self.p_value:.3g}"
        return f"fitted {self.fitted[0]:.3f}, held out {self.held_out[0]:.3f}{chance}"


class SparseCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Canonical correlations between two blocks of variables, with few variables of each, and a proof.

    Parameters
    ----------
    n_components : int
        Number of pairs.
    cardinality : int, (int, int) or None
        Variables of X and of Y in each pair; one number for both; None: five of each, or as many as there are.
    ridge : float
        Added to the variances of the standardised variables. With more variables than samples one is needed: without
        it every correlation can be made 1, and `fit` refuses.
    method : {"tpower", "exact"}
        "exact" goes on proving for up to ``time_limit`` seconds per pair.
    certify : bool
        Prove for each pair how far from the optimum it can be, given the ones before it.
    effort : {"quick", "default", "thorough"}
        As in `sparse_eigenvector`.
    time_limit : float, optional
        Seconds for each pair.

    Attributes
    ----------
    x_weights_, y_weights_ : ndarray of shape (n_features, n_components)
        Weights of the standardised variables; each pair's scores have unit variance on the data fitted.
    correlations_ : ndarray of shape (n_components,)
        Correlations of the scores on the data fitted. See `evidence` for what they are worth.
    values_ : ndarray of shape (n_components,)
        What was made largest: the correlation with the ridge counted as variance.
    results_ : list of SparseEigResult
        Vectors over the variables of X, then of Y, with certificates; ``verify`` proves them again.
    mean_, scale_ : ndarray
        Of the variables of X, then of Y.

    Notes
    -----
    With more variables than samples sparse canonical analysis finds high correlations in pure noise: the search goes
    through all pairs of supports. `evidence` compares held-out samples and shuffled ones.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((100, 6)), rng.standard_normal((100, 4))
    >>> Y[:, 1] += X[:, 2] + X[:, 5]
    >>> cca = se.SparseCCA(cardinality=(2, 1)).fit(X, Y)
    >>> np.flatnonzero(cca.x_weights_[:, 0]).tolist(), np.flatnonzero(cca.y_weights_[:, 0]).tolist()
    ([2, 5], [1])
    >>> cca.results_[0].certificate.optimal
    True
    """

    def __init__(
        self,
        n_components: int = 1,
        cardinality: Any = None,
        *,
        ridge: float = 0.0,
        method: str = "tpower",
        certify: bool = True,
        effort: str = "default",
        time_limit: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.cardinality = cardinality
        self.ridge = ridge
        self.method = method
        self.certify = certify
        self.effort = effort
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any = None, Y: Any = None) -> SparseCCA:
        """Find the pairs.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
        y, Y : array or DataFrame of shape (n_samples, n_targets)
            The other block, under either name; the same samples in the same order.

        Returns
        -------
        self
        """
        check_meaning(X, "X")
        X, Y = self._check_data(X, self._one_of(y, Y), reset=True)
        count = check_count(self.n_components, "n_components")
        both = self._check_cardinality(X.shape[1], Y.shape[1])
        pencil = self._pose(X, Y)
        options: dict[str, Any] = {"method": self.method, "effort": self.effort, "time_limit": self.time_limit}
        certify = check_flag(self.certify, "certify")
        self.results_ = generalised_components(pencil, count, both, ridge=self.ridge, certify=certify, **options)
        self.mean_, self.scale_ = pencil.means, pencil.scales
        self._take_weights(X, Y)
        return self

    def _pose(self, X: Numbers, Y: Numbers) -> DataPencil:
        names = getattr(self, "feature_names_in_", None)
        named = None if names is None else (*map(str, names), *self._name_targets(Y.shape[1]))
        return canonical_pencil(X, Y, named)

    def _name_targets(self, count: int) -> list[str]:
        return (
            [f"Y:{name}" for name in self.target_names_]
            if self.target_names_ is not None
            else [f"Y:{i}" for i in range(count)]
        )

    def _take_weights(self, X: Numbers, Y: Numbers) -> None:
        vectors = np.array([result.vector for result in self.results_]).T
        self.n_iter_ = max(1, *(result.n_iterations for result in self.results_), 1)
        self._n_features_out = vectors.shape[1]
        width = X.shape[1]
        self.x_weights_, self.y_weights_ = vectors[:width].copy(), vectors[width:].copy()
        self.values_ = np.array([result.value for result in self.results_])
        scores = self._score_blocks(X, Y)
        for weights, own in zip((self.x_weights_, self.y_weights_), scores, strict=True):
            deviations = own.std(axis=0, ddof=1)
            weights /= np.where(deviations > 0.0, deviations, 1.0)
        self.correlations_ = correlate(*scores)

    @staticmethod
    def _one_of(y: Any, Y: Any) -> Any:
        if y is None and Y is None:
            message = "requires y to be passed, but the target y is None: SparseCCA needs the second block, fit(X, Y)."
            raise OptionError(message, parameter="y")
        return y if Y is None else Y

    def _check_data(self, X: Any, Y: Any, *, reset: bool = False) -> tuple[Numbers, Numbers]:
        if reset:
            names = getattr(Y, "columns", None)
            self.target_names_ = None if names is None else [str(name) for name in names]
        X = validate_data(self, X, dtype=np.float64, reset=reset, ensure_min_samples=2)
        Y = check_array(Y, dtype=np.float64, ensure_2d=False, input_name="y")
        check_consistent_length(X, Y)
        return X, Y.reshape(-1, 1) if Y.ndim == 1 else Y

    def _check_cardinality(self, first: int, second: int) -> tuple[int, int]:
        given = self.cardinality
        if given is None:
            return min(FEW, first), min(FEW, second)
        pair = tuple(given) if isinstance(given, (tuple, list)) else (given, given)
        if len(pair) != 2:
            message = f"cardinality={given!r} must be one number, or a pair: variables of X and variables of Y."
            raise CardinalityError(message, parameter="cardinality")
        return (
            check_cardinality(pair[0], first, subject="cardinality of X"),
            check_cardinality(pair[1], second, subject="cardinality of Y"),
        )

    def transform(self, X: Any, Y: Any = None) -> Any:
        """The scores of X, or of both blocks.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        Y : array of shape (n_samples, n_targets), optional

        Returns
        -------
        scores, or (x_scores, y_scores) where Y is given
        """
        check_is_fitted(self, "x_weights_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if Y is not None:
            Y = check_array(Y, dtype=np.float64, ensure_2d=False, input_name="y")
            Y = Y.reshape(-1, 1) if Y.ndim == 1 else Y
        return self._score_blocks(X, Y)

    def _score_blocks(self, X: Numbers, Y: Numbers | None) -> Any:
        width = len(self.x_weights_)
        own = (X - self.mean_[:width]) / self.scale_[:width] @ self.x_weights_
        return own if Y is None else (own, (Y - self.mean_[width:]) / self.scale_[width:] @ self.y_weights_)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the scores of X."""
        return self.fit(X, y, **fit_params).transform(X)

    def score(self, X: Any, y: Any = None, Y: Any = None) -> float:
        """The correlation of the first pair's scores on these samples."""
        return float(correlate(*self.transform(X, self._one_of(y, Y)))[0])

    def verify(self, X: Any, Y: Any, *, time_limit: float = 60.0) -> Verification:
        """Prove the certificate of the first pair again, from the data it was fitted to.

        Later pairs have certificates for what the ones before them left.
        """
        check_is_fitted(self, "x_weights_")
        X, Y = self._check_data(X, Y)
        pencil = self._pose(X, Y)
        first: SparseEigResult = self.results_[0]
        return verify(first, pencil.form, metric=pencil.metric, time_limit=time_limit)

    def evidence(
        self, X: Any, Y: Any, *, folds: int = 5, permutations: int = 99, random_state: Any = None
    ) -> CorrelationEvidence:
        """Correlations on samples left out, and how often shuffled data reach as much.

        Parameters
        ----------
        X, Y : arrays of shape (n_samples, n_features) and (n_samples, n_targets)
        folds : int
            Parts of the samples; each is left out once.
        permutations : int
            How many times the samples of Y are shuffled; 0: no p-value.
        random_state : None, int or numpy.random.Generator
            For folds and shuffling; None is seed 0.

        Returns
        -------
        CorrelationEvidence
        """
        folds, rng = check_count(folds, "folds", minimum=2), check_rng(random_state)
        permutations = check_count(permutations, "permutations", minimum=0)
        X = check_array(X, dtype=np.float64)
        Y = check_array(Y, dtype=np.float64, ensure_2d=False, input_name="y")
        check_consistent_length(X, Y)
        Y = Y.reshape(-1, 1) if Y.ndim == 1 else Y
        plain = clone(self).set_params(certify=False)
        parts = list(KFold(folds, shuffle=True, random_state=int(rng.integers(1 << 31))).split(X))
        held_out = _correlate_left_out(plain, X, Y, parts)
        single = clone(plain).set_params(n_components=1)
        shuffled = (Y[rng.permutation(len(Y))] for _ in range(permutations))
        permuted = np.array([_correlate_left_out(single, X, other, parts)[0] for other in shuffled])
        reached = 1 + int((permuted >= held_out[0]).sum())
        p_value = reached / (permutations + 1) if permutations else None
        return CorrelationEvidence(plain.fit(X, Y).correlations_, held_out, permuted, p_value)

    def __sklearn_tags__(self) -> Any:
        """Needs y, which may have several columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.target_tags.multi_output = True, True
        return tags


def correlate(first: Numbers, second: Numbers) -> Numbers:
    """Correlations of the columns of two tables; zero where one does not vary."""
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    sizes = np.linalg.norm(first, axis=0) * np.linalg.norm(second, axis=0)
    products = (first * second).sum(axis=0)
    correlations: Numbers = np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0.0)
    return correlations


def _correlate_left_out(estimator: SparseCCA, X: Numbers, Y: Numbers, parts: list[Any]) -> Numbers:
    """The correlations over the samples of all folds, each scored by weights that were fitted to the others.

    Scores are standardised by the means and deviations of the samples fitted, so that folds may be put together.
    """
    scores: list[tuple[Numbers, Numbers]] = []
    for train, test in parts:
        scores.append(clone(estimator).fit(X[train], Y[train]).transform(X[test], Y[test]))
    return correlate(np.vstack([own for own, _ in scores]), np.vstack([other for _, other in scores]))
