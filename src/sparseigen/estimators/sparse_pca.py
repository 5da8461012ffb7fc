"""`SparsePCA`: sparse principal components as a scikit-learn estimator."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.annotated import choose_table
from sparseigen.checks.arguments import check_choice, check_count, check_flag
from sparseigen.checks.arrays import is_sparse
from sparseigen.checks.coercion import check_meaning, is_annotated, real_numbers
from sparseigen.checks.frames import check_no_gaps, squared_distances
from sparseigen.components.automatic import Significance, find_components
from sparseigen.components.sequential import BLOCK
from sparseigen.components.variance import VARIANCES, measure_overlap, products, warn_of_redundancy
from sparseigen.config import require
from sparseigen.errors import OptionError, ShapeError
from sparseigen.estimators.batches import InBatches
from sparseigen.estimators.pictures import Pictures
from sparseigen.estimators.weighting import Narrator, check_sample_weights, fit_rows_with_gaps, weigh_rows
from sparseigen.operators import Operator, as_operator, covariance
from sparseigen.operators.build import covariance_of_data
from sparseigen.operators.gaps import check_missing, find_gaps
from sparseigen.operators.moments import check_scale, correlation_of, finite_scales
from sparseigen.rows.partitions import is_row_partitions
from sparseigen.rows.source import iter_once

require("sklearn", purpose="SparsePCA")

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin  # noqa: E402
from sklearn.utils.validation import check_array, check_is_fitted, validate_data  # noqa: E402

FLOATS = (np.float64, np.float32)
AUTO = "auto"


class SparsePCA(Pictures, InBatches, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components with few non-zero loadings, and a proof of how good they are.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of components; "auto" or None: as many as stand out from noise, which may be none.
    cardinality : int, float, list or "auto"
        Non-zeros of each component: one number for all, a list with one per component, a fraction of the variables
        (above 0, at most 1, given as a float), or "auto": of the variables that take part in the component at a false
        discovery rate of 1 % those that matter (squared loading at least half the average). A covariance matrix
        without ``n_samples`` has no noise to compare with: there "auto" is the smallest number that explains ``share``
        (by default 0.9) of what a component without limit would.
    max_cardinality : int, optional
        With ``cardinality="auto"`` at most so many.
    method : str
        "tpower" (truncated power method), "pathspca", "gpower-l1", "gpower-l0", "spca", "rsvd", "dspca", "backward",
        "threshold" or "pca".
    constraint : {None, "orthogonal", "uncorrelated"}
        "orthogonal" components or "uncorrelated" scores, found jointly for the largest sum of variances, with one
        certificate for the set (``results_.certificate``); None: one component after the other.
    disjoint : bool
        No variable in two components; also found jointly.
    deflation : {"schur", "projection", "hotelling", "orthogonal-hotelling", "block"}
        What is taken out after each component: by "schur" (Schur complement) every variable is regressed on the
        component's scores, so that the next one says something else; "projection" is the paper's, and can say the same
        with other variables. "block" for methods that find all components at once.
    scale : bool or "patterson"
        Divide each variable by its standard deviation: components of the correlation matrix. "patterson" is for counts
        of alleles, as in `covariance`.
    missing : {"error", "mean"}
        What missing values (NaN) are: refused, or filled with the mean of their variable. `transform` then fits the
        scores of rows with gaps to what is there, by least squares.
    nonnegative : bool
        Only loadings >= 0.
    certify : bool
        Prove for each component how far from the optimum it can be, given the ones before it.
    refine : bool
        Afterwards change the components together, keeping their cardinalities, while the adjusted variance of the
        whole set rises; ``effort`` says from how many starts.
    variance : {"adjusted", "plain", "span"}
        The definition behind ``explained_variance_``; all three are in ``explained_variances_``.
    share : float, optional
        With ``cardinality="auto"`` the smallest number of variables that holds this share of the variance of the
        component on all variables that take part.
    start, polish, max_iterations, effort, method_options
        As in `sparse_eigenvector`.
    time_limit : float, optional
        Seconds for all components together; then the best answers and bounds so far are taken.
    random_state : None, int or numpy.random.Generator
        For ``start="random"``.
    verbose : bool
        Say on standard output which component is being found or proven.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Unit vectors; the loading of largest magnitude of each is positive.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        In the definition asked for.
    explained_variances_, explained_variance_ratios_ : dict of ndarray
        The same in all three definitions, by name.
    score_correlations_ : ndarray of shape (n_components, n_components)
        Correlations between the components' scores x'X. A component that adds less than 1 % of its own variance to
        those before it is a `RedundantComponentWarning`.
    n_components_ : int
        How many there are.
    cardinality_ : list of int
        The cardinalities asked for or chosen.
    significant_ : ndarray of bool or None
        Which components stand out from noise; None where there are no samples to tell.
    significance_ : Significance or None
        The p-values of every variable in every component, and which variables take part.
    results_ : ComponentSet, or list of SparseEigResult where the cardinalities were chosen
        What was found and proven, component by component, and of the set. With ``refine`` components have no
        certificates of their own.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted from and divided out of new data (zeros after `fit_covariance`, ones without ``scale``).
    noise_variance_ : float
        The average variance, after scaling, of the directions that the components leave.
    n_iter_ : int
        Iterations of the component that took most.
    n_samples_ : int or None
        Samples behind the covariance, where known.
    missing_ : ndarray of shape (n_features,) or None
        The share of values that was missing of each variable; None with ``missing="error"``.

    Notes
    -----
    The scores are the products with the components, as those of `sklearn.decomposition.PCA`: their variances are the
    plain ones and their correlations ``score_correlations_``. Sparse components are in general not orthogonal, so
    `inverse_transform` does not multiply by them again: it returns the data in their span that have these scores, the
    least-squares fit, and ``transform(inverse_transform(Z))`` is Z.

    References
    ----------
    X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 8)) + 2.0 * rng.standard_normal((100, 1)) * (np.arange(8) < 3)
    >>> pca = se.SparsePCA(n_components=1, cardinality=3).fit(X)
    >>> pca.results_[0].support.tolist(), pca.transform(X).shape
    ([0, 1, 2], (100, 1))
    """

    def __init__(
        self,
        n_components: int | str | None = 1,
        cardinality: Any = "auto",
        *,
        method: str = "tpower",
        deflation: str = "schur",
        scale: bool | str = False,
        missing: str = "error",
        nonnegative: bool = False,
        certify: bool = True,
        refine: bool = False,
        constraint: str | None = None,
        disjoint: bool = False,
        variance: str = "adjusted",
        max_cardinality: int | None = None,
        share: float | None = None,
        start: Any = None,
        polish: str | None = "auto",
        max_iterations: int = 1000,
        effort: str = "default",
        time_limit: float | None = None,
        method_options: dict[str, Any] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.cardinality = cardinality
        self.method = method
        self.deflation = deflation
        self.scale = scale
        self.missing = missing
        self.nonnegative = nonnegative
        self.certify = certify
        self.refine = refine
        self.constraint = constraint
        self.disjoint = disjoint
        self.variance = variance
        self.max_cardinality = max_cardinality
        self.share = share
        self.start = start
        self.polish = polish
        self.max_iterations = max_iterations
        self.effort = effort
        self.time_limit = time_limit
        self.method_options = method_options
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SparsePCA:
        """Find the components of data.

        Parameters
        ----------
        X : array, scipy sparse matrix, DataFrame or AnnData of shape (n_samples, n_features), path, operator, iterator
            Sparse data are not densified. Of an AnnData object X is taken; for a layer or some of its variables pass
            ``covariance(adata, layer=..., mask=...)``. The name of a file is read as `covariance` reads it. Data in
            partitions (dask arrays and frames, lists of delayed objects or loaders) stay on the current client's
            cluster. An iterator (a generator, for example) gives batches of rows, as for `partial_fit`.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts; 0 leaves it out. Whole numbers are as good as repeated samples; with others
            the data must be dense and ``cardinality`` and ``n_components`` numbers.

        Returns
        -------
        self
        """
        if sample_weight is not None:
            return self._fit_weighted(X, sample_weight)
        scale, missing = check_scale(self.scale), check_missing(self.missing)
        self.__dict__.pop("_batches", None)
        if iter_once(X):
            for batch in X:
                self._add_batch(batch)
            self._fit_batches()
            return self
        if is_row_partitions(X) or is_annotated(X) or isinstance(X, (str, os.PathLike)):
            X = covariance(X, center=True, scale=scale, missing=missing)
        data = covariance_of_data(X, scale=scale)
        if data is not None:
            self._note_gaps(data)
            self.mean_, self.scale_ = data.means, finite_scales(data.deviations)
            self.n_samples_ = data.n_samples
            self._name_features(data)
            return self._fit_operator(data)
        check_meaning(X, "X")
        names = getattr(X, "columns", None)
        X = validate_data(
            self, X, accept_sparse=("csr", "csc"), dtype=FLOATS, ensure_all_finite=False, ensure_min_samples=2
        )
        if missing == "error":
            check_no_gaps(X, names)
        operator: Any = covariance(X, center=True, scale=scale, missing=missing)
        self._note_gaps(operator)
        self.mean_, self.scale_ = operator.means, finite_scales(operator.deviations)
        self.n_samples_ = int(X.shape[0])
        if hasattr(self, "feature_names_in_"):  # a frame's names, which became an array above
            operator.names = tuple(self.feature_names_in_)
        return self._fit_operator(operator)

    def _note_gaps(self, operator: Operator) -> None:
        gaps = find_gaps(operator)
        self.missing_ = None if gaps is None else gaps.counts / gaps.n_samples

    def _fit_weighted(self, X: Any, sample_weight: Any) -> SparsePCA:
        """Repeat the samples, or weigh the data so that their products are the weighted covariance."""
        check_meaning(X, "X")
        names = getattr(X, "columns", None)
        X = validate_data(
            self, X, accept_sparse=("csr", "csc"), dtype=FLOATS, ensure_all_finite=False, ensure_min_samples=2
        )
        check_no_gaps(X, names)
        weights = check_sample_weights(sample_weight, X.shape[0])
        named = tuple(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        scale = check_flag(self.scale, "scale")
        self.missing_ = None
        if (weights == np.floor(weights)).all():
            rows = np.repeat(np.arange(X.shape[0]), weights.astype(np.int64))
            operator: Any = covariance((X.tocsr() if is_sparse(X) else X)[rows], scale=scale, names=named)
            self.mean_, self.scale_, self.n_samples_ = operator.means, finite_scales(operator.deviations), len(rows)
            return self._fit_operator(operator)
        if is_sparse(X) or "auto" in (str(self.cardinality), str(self.n_components or "auto")):
            msg = (
                "sample_weight other than whole numbers takes dense data, and numbers for cardinality and n_components."
            )
            raise OptionError(msg, parameter="sample_weight")
        weighted, self.mean_, self.scale_ = weigh_rows(X, weights, scale=scale)
        self.n_samples_ = None
        return self._fit_operator(covariance(weighted, center=False, names=named))

    def get_covariance(self) -> NDArray[np.float64]:
        """The covariance of the data as the components describe it.

        Their own in the span of the components, and ``noise_variance_`` in every direction that they leave.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        size = self.components_.shape[1]
        basis = np.linalg.pinv(self.components_)
        inside = basis @ self._score_covariance @ basis.T
        rest = np.eye(size) - basis @ self.components_
        covariance_: NDArray[np.float64] = np.outer(self.scale_, self.scale_) * (inside + self.noise_variance_ * rest)
        return covariance_

    def fit_covariance(self, S: Any, n_samples: int | None = None) -> SparsePCA:
        """Find the components of a covariance matrix.

        Parameters
        ----------
        S : array, scipy sparse matrix, DataFrame or operator of shape (n_features, n_features)
            The covariance. With ``scale=True`` it is turned into the correlation matrix.
        n_samples : int, optional
            The samples behind it, kept in ``n_samples_``.

        Returns
        -------
        self
            `transform` then expects centred data: ``mean_`` is zero.
        """
        operator = as_operator(S)
        self.scale_ = np.ones(operator.size)
        self.missing_ = None
        if check_flag(self.scale, "scale"):
            operator, deviations = correlation_of(operator)
            self.scale_ = finite_scales(deviations)
        self.n_samples_ = None if n_samples is None else check_count(n_samples, "n_samples", minimum=2)
        self.mean_ = np.zeros(operator.size)
        self._name_features(operator)
        return self._fit_operator(operator)

    def _name_features(self, operator: Operator) -> None:
        self.n_features_in_ = operator.size
        if operator.names is not None:
            self.feature_names_in_ = np.array(operator.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _fit_operator(self, operator: Operator) -> SparsePCA:
        check_choice(self.variance, VARIANCES, "variance")
        self.significance_: Significance | None
        self.results_, self.significance_ = find_components(
            operator,
            AUTO if self.n_components is None else self.n_components,
            self.cardinality,
            n_samples=self.n_samples_,
            max_cardinality=self.max_cardinality,
            share=self.share,
            **self._list_options(),
        )
        self.n_components_ = len(self.results_)
        self.cardinality_ = [result.cardinality for result in self.results_]
        self.significant_ = None if self.significance_ is None else self.significance_.significant
        vectors = np.array([result.vector for result in self.results_]).reshape(-1, operator.size)
        self.components_ = vectors
        self.n_iter_ = max(1, *(result.n_iterations for result in self.results_), 1)
        self._explain(operator)
        return self

    def _list_options(self) -> dict[str, Any]:
        options = {
            "deflation": self.deflation,
            "method": self.method,
            "max_iterations": self.max_iterations,
            "effort": self.effort,
            "time_limit": self.time_limit,
            "rng": self.random_state,
            "method_options": self.method_options,
        }
        options["refine"] = check_flag(self.refine, "refine")
        if check_flag(self.verbose, "verbose"):
            options["on_iteration"] = Narrator()
        if self.deflation == BLOCK:
            return options
        if check_flag(self.disjoint, "disjoint") or self.constraint is not None:
            return self._list_joint_options()
        return options | {
            "nonnegative": self.nonnegative,
            "certify": self.certify,
            "start": self.start,
            "polish": self.polish,
        }

    def _list_joint_options(self) -> dict[str, Any]:
        """Options of a set under a constraint: those of one component alone must be as they are by default."""
        single = {
            "nonnegative": self.nonnegative or None,
            "start": self.start,
            "polish": None if self.polish == "auto" else self.polish,
            "method_options": self.method_options,
        }
        return {
            "constraint": self.constraint,
            "disjoint": self.disjoint,
            "deflation": self.deflation,
            "method": self.method,
            "refine": self.refine,
            "effort": self.effort,
            "time_limit": self.time_limit,
            "certify": self.certify,
            "rng": self.random_state,
            **single,
        }

    def _explain(self, operator: Operator) -> None:
        columns = self.components_.T
        images, total = products(operator, columns), float(operator.diagonal().sum())
        self.explained_variances_ = {name: explain(columns, images) for name, explain in VARIANCES.items()}
        self.explained_variance_ratios_ = {name: v / total for name, v in self.explained_variances_.items()}
        self.explained_variance_ = self.explained_variances_[self.variance]
        self.explained_variance_ratio_ = self.explained_variance_ratios_[self.variance]
        overlap = measure_overlap(columns, images, total)
        self._score_covariance = columns.T @ images
        spanned = float(self.explained_variances_["span"].sum())
        self.noise_variance_ = max(0.0, total - spanned) / max(1, operator.size - len(self.components_))
        self.score_correlations_ = overlap.correlations
        warn_of_redundancy(overlap, self.deflation)

    def transform(self, X: Any) -> NDArray[Any]:
        """Scores of new data: (X - mean) / scale times the components.

        With ``missing="mean"`` a row with gaps gets the scores of the point in the span of the components that is
        nearest to it in the variables that are there; without gaps that is the same.

        Parameters
        ----------
        X : array, scipy sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        X = self._check_new_data(X)
        filled, gaps = self._fill(X)
        weights = self.components_.T / self.scale_[:, None]
        scores: NDArray[Any] = filled @ weights - self.mean_ @ weights
        if gaps is not None:
            fit_rows_with_gaps(filled, gaps, self.mean_, self.scale_, self.components_, scores)
        return scores.astype(X.dtype, copy=False)

    def _fill(self, X: Any) -> tuple[Any, NDArray[np.bool_] | None]:
        """The data with means in their gaps, and where those are; None where there are none."""
        values = X.data if is_sparse(X) else X
        gaps = np.isnan(values)
        if not gaps.any():
            return X, None
        dense = np.array(X.toarray() if is_sparse(X) else X)
        gaps = np.isnan(dense)
        np.copyto(dense, self.mean_, where=gaps, casting="same_kind")
        return dense, gaps

    def inverse_transform(self, Z: Any) -> NDArray[np.float64]:
        """The data in the span of the components that have these scores.

        Parameters
        ----------
        Z : array of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        scores = real_numbers(Z, "Z")
        if scores.ndim != 2 or scores.shape[1] != len(self.components_):
            shape = f"(n_samples, {len(self.components_)})"
            message = f"Z has shape {scores.shape}; it must be {shape}, one column per component."
            raise ShapeError(message)
        data: NDArray[np.float64] = (scores @ np.linalg.pinv(self.components_).T) * self.scale_ + self.mean_
        return data

    def score(self, X: Any, y: Any = None) -> float:
        """The share of the variance of new data, around the fitted mean, that the components' span explains.

        Parameters
        ----------
        X : array, scipy sparse matrix or DataFrame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
            At most 1; what `GridSearchCV` maximises.
        """
        X = self._check_new_data(X)
        scores = np.asarray(self.transform(X), dtype=np.float64)
        explained = float(
            np.einsum("ij,jk,ik->", scores, np.linalg.pinv(self.components_ @ self.components_.T), scores)
        )
        return explained / squared_distances(self._fill(X)[0], self.mean_, self.scale_)

    def _check_new_data(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_annotated(X):
            return self._check_annotated(X)
        check_meaning(X, "X")
        X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=FLOATS, ensure_all_finite=False, reset=False)
        check_no_gaps(X, getattr(self, "feature_names_in_", None), gaps=self.missing == "mean")
        return X

    def _check_annotated(self, adata: Any) -> Any:
        """The numbers of an AnnData object's variables by the names of the fit, in its order."""
        table = choose_table(adata)
        names = getattr(self, "feature_names_in_", None)
        values = table.values
        if names is not None and tuple(names) != table.names:
            places = {name: place for place, name in enumerate(table.names)}
            missing = [name for name in names if name not in places]
            if missing:
                message = f"{len(missing)} variables of the fit are not in X, the first is {missing[0]!r}."
                raise ShapeError(message)
            values = values[:, [places[name] for name in names]]
        values = check_array(values, accept_sparse=("csr", "csc"), dtype=FLOATS, ensure_all_finite=False)
        if values.shape[1] != self.n_features_in_:
            message = f"X has {values.shape[1]} variables; the fit was on {self.n_features_in_}."
            raise ShapeError(message)
        check_no_gaps(values, names, gaps=self.missing == "mean")
        return values

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "mean"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
