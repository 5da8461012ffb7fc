"""SparseCCA: scikit-learn's own checks, weights and scores, evidence, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparseigen as se
from sparseigen import errors


@parametrize_with_checks([se.SparseCCA()])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


def draw(rng, samples=80, strength=1.0):
    X, Y = rng.standard_normal((samples, 6)), rng.standard_normal((samples, 4))
    Y[:, 1] += strength * (X[:, 2] + X[:, 5])
    return X, Y


def test_scores_have_unit_variance_and_the_correlation_told(rng) -> None:
    X, Y = draw(rng)
    cca = se.SparseCCA(2, (2, 1)).fit(X, Y)
    own, other = cca.transform(X, Y)
    np.testing.assert_allclose(own.std(axis=0, ddof=1), 1.0)
    np.testing.assert_allclose(other.std(axis=0, ddof=1), 1.0)
    expected = [np.corrcoef(own[:, i], other[:, i])[0, 1] for i in range(2)]
    np.testing.assert_allclose(cca.correlations_, expected)
    assert cca.correlations_[0] == pytest.approx(cca.values_[0])
    assert np.flatnonzero(cca.x_weights_[:, 0]).tolist() == [2, 5]
    assert np.flatnonzero(cca.y_weights_[:, 0]).tolist() == [1]
    assert cca.score(X, Y) == pytest.approx(expected[0])
    np.testing.assert_allclose(cca.fit_transform(X, Y), own)
    np.testing.assert_allclose(clone(cca).fit(X, Y=Y).correlations_, cca.correlations_)
    assert cca.results_[0].certificate.optimal
    assert cca.verify(X, Y)
    assert not cca.verify(X[::-1], Y)
    assert cca.get_feature_names_out().tolist() == ["sparsecca0", "sparsecca1"]


def test_names_of_both_frames_are_kept(rng) -> None:
    X, Y = draw(rng)
    cca = se.SparseCCA(cardinality=(2, 1)).fit(
        pd.DataFrame(X, columns=list("abcdef")), pd.DataFrame(Y, columns=list("abcd"))
    )
    assert set(cca.results_[0].loadings) == {"c", "f", "Y:b"}
    cca = se.SparseCCA(cardinality=(2, 1)).fit(pd.DataFrame(X, columns=list("abcdef")), Y)
    assert set(cca.results_[0].loadings) == {"c", "f", "Y:1"}


def test_one_target_is_a_column(rng) -> None:
    X, Y = draw(rng)
    single = se.SparseCCA(cardinality=(2, 1)).fit(X, Y[:, 1])
    assert single.correlations_[0] == pytest.approx(se.SparseCCA(cardinality=(2, 1)).fit(X, Y[:, [1]]).correlations_[0])
    assert single.evidence(X, Y[:, 1], permutations=0).p_value is None
    assert single.transform(X, Y[:, 1])[1].shape == (80, 1)


def test_evidence_tells_a_real_correlation_from_noise(rng) -> None:
    X, Y = draw(rng)
    quick = se.SparseCCA(cardinality=(2, 1), effort="quick")
    real = quick.evidence(X, Y, permutations=9, folds=3)
    assert real.held_out[0] > 0.6
    assert real.p_value == pytest.approx(0.1)
    assert str(real) == f"fitted {real.fitted[0]:.3f}, held out {real.held_out[0]:.3f}, p = 0.1"
    wide, other = rng.standard_normal((30, 40)), rng.standard_normal((30, 40))
    noise = se.SparseCCA(cardinality=3, ridge=0.1, effort="quick").evidence(wide, other, permutations=2, folds=3)
    assert noise.fitted[0] > 0.8
    assert noise.held_out[0] < 0.5
    assert noise.permuted.shape == (2,)
    np.testing.assert_array_equal(real.permuted[:2], quick.evidence(X, Y, permutations=2, folds=3).permuted)


def test_refusals(rng) -> None:
    X, Y = draw(rng)
    with pytest.raises(errors.OptionError) as refused:
        se.SparseCCA().fit(X)
    assert str(refused.value) == (
        "requires y to be passed, but the target y is None: SparseCCA needs the second block, fit(X, Y)."
    )
    with pytest.raises(errors.CardinalityError) as refused:
        se.SparseCCA(cardinality=(1, 2, 3)).fit(X, Y)
    assert str(refused.value) == (
        "cardinality=(1, 2, 3) must be one number, or a pair: variables of X and variables of Y."
    )
    with pytest.raises(errors.CardinalityError, match="cardinality of Y"):
        se.SparseCCA(cardinality=(3, 5)).fit(X, Y)
    with pytest.raises(errors.NotDefiniteError, match="Give ridge="):
        se.SparseCCA(cardinality=1).fit(rng.standard_normal((5, 9)), rng.standard_normal((5, 9)))
