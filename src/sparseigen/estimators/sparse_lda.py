"""`SparseLDA`: discriminants of few variables as a scikit-learn classifier and transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_cardinality, check_count, check_flag
from sparseigen.checks.coercion import check_meaning
from sparseigen.components.generalised import DataPencil, discriminant_pencil, generalised_components
from sparseigen.config import require
from sparseigen.errors import OptionError, TooFewSamplesError
from sparseigen.results import SparseEigResult, Verification
from sparseigen.solve.verification import verify

require("sklearn", purpose="SparseLDA")

from sklearn.base import (  # noqa: E402
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

Numbers = NDArray[np.float64]

FEW = 5
"""Variables of each discriminant where no cardinality is given, as far as there are so many."""


class SparseLDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fisher's discriminants with few variables each, with a proof of how good they are.

    A discriminant is the vector of the largest ratio of the scatter between the classes to that within them, among all
    vectors with at most k non-zeros. New samples go to the class whose mean is nearest in the discriminants, in the
    metric of their covariance within the classes, with the priors of the data.

    Parameters
    ----------
    n_components : int or None
        Number of discriminants; None: one fewer than classes, or as many as there are variables.
    cardinality : int or None
        Variables of each discriminant; None: five, or as many as there are.
    ridge : float
        Added to the variances within classes of the standardised variables. With more variables than samples one is
        needed: without it some vector has no scatter within the classes at all, and `fit` refuses.
    method : {"tpower", "exact"}
        "exact" goes on proving for up to ``time_limit`` seconds per discriminant.
    certify : bool
        Prove for each discriminant how far from the optimum it can be, given the ones before it.
    effort : {"quick", "default", "thorough"}
        As in `sparse_eigenvector`.
    time_limit : float, optional
        Seconds for each discriminant.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    weights_ : ndarray of shape (n_features, n_components)
        Weights of the standardised variables; scores have unit variance within the classes.
    values_ : ndarray of shape (n_components,)
        Scatter between over scatter within the classes, the ridge included.
    results_ : list of SparseEigResult
        With certificates; `verify` proves the first again.
    means_, priors_ : ndarray
        Of the classes, in the discriminants.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted from and divided out of new data.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((120, 8)), np.repeat(["a", "b"], 60)
    >>> X[:60, [1, 4]] += 2.0
    >>> lda = se.SparseLDA(cardinality=2).fit(X, y)
    >>> lda.results_[0].support.tolist(), lda.score(X, y) > 0.9
    ([1, 4], True)
    """

    def __init__(
        self,
        n_components: int | None = None,
        cardinality: int | None = None,
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

    def fit(self, X: Any, y: Any) -> SparseLDA:
        """Find the discriminants.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            The class of each sample.

        Returns
        -------
        self
        """
        check_meaning(X, "X")
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, places = np.unique(y, return_inverse=True)
        classes = len(self.classes_)
        if classes < 2:
            message = f"y has {classes} class ({self.classes_[0]!r}); a discriminant needs two classes at least."
            raise OptionError(message, parameter="y")
        if len(X) <= classes:
            message = f"{len(X)} samples in {classes} classes leave nothing that varies within them. Give more samples."
            raise TooFewSamplesError(message)
        pencil = self._pose(X, places)
        most = min(classes - 1, X.shape[1])
        count = most if self.n_components is None else check_count(self.n_components, "n_components")
        if count > most:
            message = f"n_components={count}; {classes} classes and {X.shape[1]} variables have {most} at most."
            raise OptionError(message, parameter="n_components")
        k = min(FEW, X.shape[1]) if self.cardinality is None else check_cardinality(self.cardinality, X.shape[1])
        options: dict[str, Any] = {"method": self.method, "effort": self.effort, "time_limit": self.time_limit}
        certify = check_flag(self.certify, "certify")
        self.results_ = generalised_components(pencil, count, (k, 0), ridge=self.ridge, certify=certify, **options)
        self.mean_, self.scale_ = pencil.means, pencil.scales
        self._take_weights(X, places)
        return self

    def _pose(self, X: Numbers, places: NDArray[np.int64]) -> DataPencil:
        names = getattr(self, "feature_names_in_", None)
        return discriminant_pencil(X, places, len(self.classes_), None if names is None else tuple(map(str, names)))

    def _take_weights(self, X: Numbers, places: NDArray[np.int64]) -> None:
        """Weights whose scores vary by one within the classes, and the linear rule in these scores."""
        self.weights_ = np.array([result.vector for result in self.results_]).T
        self.values_ = np.array([result.value for result in self.results_])
        self.n_iter_ = max(1, *(result.n_iterations for result in self.results_), 1)
        self._n_features_out = self.weights_.shape[1]
        classes, freedom = len(self.classes_), len(X) - len(self.classes_)
        scores = (X - self.mean_) / self.scale_ @ self.weights_
        means = np.array([scores[places == number].mean(axis=0) for number in range(classes)])
        rest = scores - means[places]
        deviations = np.sqrt((rest**2).sum(axis=0) / freedom)
        deviations = np.where(deviations > 0.0, deviations, 1.0)
        self.weights_ /= deviations
        self.means_, rest = means / deviations, rest / deviations
        self.priors_ = np.bincount(places, minlength=classes) / len(places)
        within = rest.T @ rest / freedom
        self._rule = np.linalg.pinv(within) @ self.means_.T
        self._offsets = np.log(self.priors_) - 0.5 * (self.means_.T * self._rule).sum(axis=0)

    def transform(self, X: Any) -> Numbers:
        """The scores of samples, one column per discriminant."""
        check_is_fitted(self, "weights_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores: Numbers = (X - self.mean_) / self.scale_ @ self.weights_
        return scores

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the scores."""
        return self.fit(X, y, **fit_params).transform(X)

    def _log_scores(self, X: Any) -> Numbers:
        scores: Numbers = self.transform(X) @ self._rule + self._offsets
        return scores

    def decision_function(self, X: Any) -> Numbers:
        """One number per class and sample; with two classes one per sample, above zero for the second."""
        scores = self._log_scores(X)
        return scores if len(self.classes_) > 2 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes of samples."""
        places = self._log_scores(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[places]
        return predicted

    def predict_proba(self, X: Any) -> Numbers:
        """The probabilities of the classes under the model of normal scores with one covariance."""
        scores = self._log_scores(X)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Numbers = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def verify(self, X: Any, y: Any, *, time_limit: float = 60.0) -> Verification:
        """Prove the certificate of the first discriminant again, from the data it was fitted to."""
        check_is_fitted(self, "weights_")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=False)
        pencil = self._pose(X, np.searchsorted(self.classes_, y))
        first: SparseEigResult = self.results_[0]
        return verify(first, pencil.form, metric=pencil.metric, time_limit=time_limit)
