"""scikit-learn's own checks of our estimators, all of them: no expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseigen.estimators.search_cv import CardinalitySearchCV
from sparseigen.estimators.sparse_pca import SparsePCA


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        SparsePCA(),
        SparsePCA(cardinality=1, method="pathspca"),
        SparsePCA(cardinality=0.5, scale=True),
        CardinalitySearchCV(cv=2),
    ]
)
def test_scikit_learn_check(estimator, check) -> None:
    check(estimator)
