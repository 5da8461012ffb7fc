"""SparseLDA: scikit-learn's own checks, the rule of all variables, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparseigen as se
from sparseigen import errors


@parametrize_with_checks([se.SparseLDA()])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("classes", [2, 3])
def test_all_variables_give_the_rule_of_lda(classes) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    sparse = se.SparseLDA(cardinality=4).fit(X, y)
    dense = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert (sparse.predict(X) == dense.predict(X)).all()
    np.testing.assert_allclose(sparse.predict_proba(X), dense.predict_proba(X), atol=0.02)
    assert sparse.decision_function(X).shape == ((len(X),) if classes == 2 else (len(X), 3))
    own, other = sparse.transform(X)[:, 0], dense.transform(X)[:, 0]
    assert abs(np.corrcoef(own, other)[0, 1]) == pytest.approx(1.0, abs=1e-6)


def test_few_variables_separate_and_are_proven(rng) -> None:
    X, y = rng.standard_normal((120, 9)), np.repeat(["a", "b", "c"], 40)
    X[y == "a", 1] += 4.0
    X[y == "b", 6] += 4.0
    lda = se.SparseLDA(cardinality=2).fit(X, y)
    assert lda.weights_.shape == (9, 2)
    assert np.flatnonzero(lda.weights_[:, 0]).tolist() == [1, 6]
    assert lda.score(X, y) > 0.9
    assert lda.results_[0].certificate.optimal
    assert lda.verify(X, y)
    scores = lda.transform(X)
    within = np.concatenate([scores[y == c] - scores[y == c].mean(0) for c in "abc"])
    np.testing.assert_allclose((within**2).sum(0) / 117, 1.0)
    np.testing.assert_allclose(lda.fit_transform(X, y), scores)
    assert se.SparseLDA(n_components=1, cardinality=2, method="exact").fit(X, y).weights_.shape == (9, 1)


def test_more_variables_than_samples_need_a_ridge(rng) -> None:
    X, y = rng.standard_normal((20, 60)), np.repeat([0, 1], 10)
    X[y == 1, 7] += 5.0
    with pytest.raises(errors.NotDefiniteError, match="Give ridge="):
        se.SparseLDA(cardinality=2).fit(X, y)
    lda = se.SparseLDA(cardinality=2, ridge=0.5, certify=False).fit(X, y)
    assert 7 in lda.results_[0].support
    assert lda.results_[0].certificate is None


def test_refusals(rng) -> None:
    X = rng.standard_normal((10, 4))
    for y, parameters, error, message in (
        (
            np.ones(10),
            {},
            errors.OptionError,
            "y has 1 class (np.float64(1.0)); a discriminant needs two classes at least.",
        ),
        (
            np.repeat([0, 1], 5),
            {"n_components": 2},
            errors.OptionError,
            "n_components=2; 2 classes and 4 variables have 1 at most.",
        ),
        (
            np.arange(10),
            {},
            errors.TooFewSamplesError,
            "10 samples in 10 classes leave nothing that varies within them. Give more samples.",
        ),
    ):
        with pytest.raises(error) as refused:
            se.SparseLDA(**parameters).fit(X, y)
        assert str(refused.value) == message
