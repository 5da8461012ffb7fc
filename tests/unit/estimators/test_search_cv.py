"""The cardinality chosen by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparseigen as se
from sparseigen import errors
from sparseigen.errors import OptionError
from sparseigen.estimators import CardinalitySearchCV


def test_cardinality_search_finds_the_true_variables(rng) -> None:
    data = rng.standard_normal((120, 25)) + 2.0 * rng.standard_normal((120, 1)) * (np.arange(25) < 6)
    search = CardinalitySearchCV(cardinalities=range(1, 26)).fit(data)
    assert search.cardinality_ == [6]
    assert set(np.flatnonzero(search.best_estimator_.components_[0])) == set(range(6))
    assert search.cv_results_["split_test_share"].shape == (5, 25)
    assert search.transform(data).shape == (120, 1)


def test_cardinality_search_for_several_components_and_sparse_data(data) -> None:
    base = se.SparsePCA(2, certify=False)
    search = CardinalitySearchCV(base, cardinalities=[2, 4, 8], cv=3, rule="best").fit(sp.csr_matrix(data))
    assert len(search.cardinality_) == 2
    with pytest.raises(OptionError, match="rule='median'"):
        CardinalitySearchCV(rule="median").fit(data)


@pytest.mark.parametrize(
    "options",
    [
        {"cardinalities": 5},
        {"cardinalities": []},
        {"cardinalities": [1, "a"]},
        {"cv": 1},
        {"cv": "x"},
        {"cv": 100},
        {"estimator": 5},
        {"estimator": se.SparsePCA},
        {"estimator": se.SparsePCA(n_components="x")},
    ],
)
def test_searches_that_cannot_be_made(options, data):
    with pytest.raises(errors.InputError):
        CardinalitySearchCV(**options).fit(data)


def test_cardinalities_chosen_are_plain_numbers(data):
    chosen = CardinalitySearchCV(cardinalities=np.array([1, 3])).fit(data).cardinality_
    assert [type(k) for k in chosen] == [int]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([CardinalitySearchCV(cv=2)])
def test_scikit_learn_check(estimator, check) -> None:
    """All of scikit-learn's own checks: no expected failures."""
    check(estimator)
