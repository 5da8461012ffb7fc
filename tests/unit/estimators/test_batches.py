"""Batches of samples: the covariance of all of them, whatever their sizes and order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import NonFiniteError, OptionError, ShapeError, TooFewSamplesError

pytest.importorskip("sklearn")
from sparseigen.estimators.batches import Batches


@pytest.fixture
def data(rng):
    return rng.standard_normal((90, 12)) + 100.0 + 2.0 * rng.standard_normal((90, 1)) * (np.arange(12) < 4)


@pytest.mark.parametrize("sizes", [[90], [1, 89], [30, 30, 30], [1] * 90], ids=len)
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_moments_are_those_of_all_samples(data, sizes, scale, kind):
    batches = Batches(12)
    for part in np.split(data, np.cumsum(sizes)[:-1]):
        batches.add(kind(part))
    operator, means, deviations = batches.operator(scale=scale, names=None)
    exact = np.corrcoef(data.T) if scale else np.cov(data.T)
    errors = np.sqrt(np.outer(operator.entry_errors(), operator.entry_errors()))
    assert (np.abs(operator.to_dense() - exact) <= errors + 1e-15).all()
    np.testing.assert_allclose(means, data.mean(axis=0), rtol=1e-14)
    if scale:
        np.testing.assert_allclose(deviations, data.std(axis=0, ddof=1), rtol=1e-12)


def test_partial_fit_and_iterators_are_fits(data):
    whole = se.SparsePCA(2, cardinality=4).fit(data)
    growing = se.SparsePCA(2, cardinality=4)
    for part in np.split(data, 3):
        growing.partial_fit(part)
    streamed = se.SparsePCA(2, cardinality=4).fit(part for part in np.split(data, 9))
    for model in (growing, streamed):
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-9)
        np.testing.assert_allclose(model.transform(data), whole.transform(data), atol=1e-8)
        assert model.n_samples_ == 90
        assert model.results_[0].certificate.optimal


def test_fit_begins_anew(data):
    model = se.SparsePCA(1, cardinality=4).partial_fit(data[:50])
    assert model.fit(iter([data[50:]])).n_samples_ == 40
    assert model.partial_fit(data[:50]).n_samples_ == 90


def test_rows_are_kept_where_moments_are_too_large(rng):
    data = rng.standard_normal((12, 4100))
    data[:, 7:10] += 5.0 * rng.standard_normal((12, 1))
    for kind in (np.asarray, sp.csr_array):
        model = se.SparsePCA(1, cardinality=3).fit(kind(part) for part in np.split(data, 3))
        assert model.results_[0].support.tolist() == [7, 8, 9]
        assert model.n_samples_ == 12


def test_wrong_batches_are_refused(data):
    model = se.SparsePCA(1, cardinality=2)
    with pytest.raises(ShapeError, match=r"the iterator gave no batch; it must give arrays of shape"):
        model.fit(iter([]))
    with pytest.raises(TooFewSamplesError, match=r"1 sample was seen; a covariance needs at least 2\. Pass more batch"):
        model.partial_fit(data[:1])
    batches = Batches(12)
    with pytest.raises(ShapeError, match=r"this batch has 5 variables; those before it had 12\."):
        batches.add(data[:, :5])
    holed = data.copy()
    holed[0, 0] = np.nan
    with pytest.raises(NonFiniteError, match=r"Fill the gaps: SparsePCA\(missing='mean'\) takes the mean of each"):
        se.SparsePCA(1, cardinality=2).partial_fit(holed)
    with pytest.raises(OptionError, match=r"missing='mean' needs the means of all samples before the first product"):
        se.SparsePCA(1, cardinality=2, missing="mean").partial_fit(data)
    batches.add(data)
    with pytest.raises(OptionError, match=r"scale='patterson' is not for batches; write the genotypes to one file"):
        batches.operator(scale="patterson", names=None)


def test_errors_of_correlations_cover_a_deviation_that_is_worse_known_than_the_others(rng):
    """The first batch lies far from the others in one variable: its variance is a difference of larger numbers."""
    rows = rng.standard_normal((400, 3))
    rows[0] = [50.0, 0.0, 0.0]
    batches = Batches(3)
    batches.add(rows[:1])
    batches.add(rows[1:])
    plain = batches.operator(scale=False, names=None)[0]
    operator, _, deviations = batches.operator(scale=True, names=None)
    relative = plain.entry_errors() / deviations**2
    assert relative[0] > 3.0 * relative[1]
    least = np.sqrt(np.outer(relative, relative)) + 0.5 * np.add.outer(relative, relative)
    assert (np.sqrt(np.outer(operator.entry_errors(), operator.entry_errors())) >= least).all()
