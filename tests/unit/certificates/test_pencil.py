"""The pencil of A and B: units, definiteness, and each way to a bound alone."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh

import sparseigen as se
from sparseigen import errors
from sparseigen.certificates import pencil as room
from sparseigen.certificates.pencil import Pencil, Quota
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector


def draw(rng, size=8):
    first, second = rng.standard_normal((2, size + 4, size))
    return first.T @ first, second.T @ second * np.outer(np.arange(1, size + 1), np.arange(1, size + 1)) ** 2.0


def best(form, metric, cardinality):
    supports = [list(s) for s in combinations(range(len(form)), cardinality)]
    return max(eigh(form[np.ix_(s, s)], metric[np.ix_(s, s)], eigvals_only=True)[-1] for s in supports)


def pencil_of(form, metric, k, **options):
    return Pencil(as_operator(form), as_operator(metric), Quota(k), **options)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_each_way_to_a_bound_holds_alone(k, rng) -> None:
    form, metric = draw(rng)
    pencil, truth = pencil_of(form, metric, k), best(form, metric, k)
    truth *= pencil.unit
    assert pencil.search(truth * 1.001, 1e8).upper == pytest.approx(truth * 1.001)
    below = pencil.search(truth * 0.999, 1e8)
    assert below.upper == np.inf
    assert len(below.better) == k
    assert pencil.search(truth * 1.001, 0.0).allowance > 0.0
    assert pencil.bound_whole() >= truth
    assert pencil.bound_whole() == pytest.approx(best(form, metric, 8) * pencil.unit, rel=1e-6)
    assert pencil.prove_whole(best(form, metric, 8) * pencil.unit * 0.99) == np.inf
    assert pencil.prove_whole(-1.0) == np.inf
    for t in (0.0, truth, 2.0 * truth):
        assert pencil.bound_products(t, None) >= truth


def test_the_largest_quotient_of_many_variables_comes_from_lanczos(rng, monkeypatch) -> None:
    form, metric = draw(rng, 30)
    pencil = pencil_of(form, metric, 3)
    direct = pencil.bound_whole()
    monkeypatch.setattr(room, "NARROW", 10)
    assert pencil_of(form, metric, 3).bound_whole() == pytest.approx(direct, rel=1e-4)
    monkeypatch.setattr(room, "run_arpack", lambda *rest, **options: (np.empty(0), np.empty((30, 0))))
    assert pencil_of(form, metric, 3).bound_whole() == np.inf


def test_scales_bring_the_metric_near_one(rng) -> None:
    form, metric = draw(rng)
    pencil = pencil_of(form, metric, 2)
    assert (np.log2(pencil.scales) % 1.0 == 0.0).all()
    assert (pencil.b.diagonal() >= 0.49).all()
    assert (pencil.b.diagonal() <= 2.01).all()
    assert 0.0 < pencil.definite <= np.linalg.eigvalsh(pencil.b)[0]


def test_a_covariance_with_a_ridge_needs_no_factorisation(rng) -> None:
    metric = se.covariance(rng.standard_normal((5, 9)), scale=True).shifted(0.5)
    pencil = Pencil(as_operator(np.eye(9)), metric, Quota(2))
    assert "factorised" not in pencil.__dict__
    assert 0.1 < pencil.definite <= np.linalg.eigvalsh(pencil.b)[0]


def test_matrices_too_large_to_be_held_need_a_ridge(rng, monkeypatch) -> None:
    monkeypatch.setattr(room, "LARGEST_MATERIALISED", 6)
    data, metric = rng.standard_normal((40, 9)), se.covariance(rng.standard_normal((40, 9)))
    pencil = Pencil(se.covariance(data), metric.shifted(0.1), Quota(2))
    assert not pencil.held
    truth = best(np.cov(data.T), metric.to_dense() + 0.1 * np.eye(9), 2)
    assert pencil.bound_products(0.0, None) >= truth
    assert np.isfinite(pencil.bound_products(truth, None))
    with pytest.raises(errors.NotDefiniteError) as refused:
        Pencil(se.covariance(data), metric, Quota(2))
    assert str(refused.value) == (
        "the metric has 9 variables, and above 6 it is proven positive definite only as a covariance plus a ridge. "
        "Give ridge= (a number above 0, in the units of the metric's diagonal), or fewer variables by candidates=."
    )


def test_the_quotient_reached_is_below_the_computed_one(rng) -> None:
    form, metric = draw(rng)
    vector = SparseVector(np.array([1, 5]), np.array([0.6, 0.8]))
    for unit in (1.0, -1.0):
        value, low = pencil_of(form, metric, 2, unit=unit).measure(vector)
        assert low < value
        assert low == pytest.approx(value, rel=1e-12)
    pencil = pencil_of(form, metric, 2)
    pencil.metric = as_operator(np.array([[1.0, 1.0], [1.0, 1.0 + 2**-52]]))
    pencil.form = as_operator(np.eye(2))
    assert pencil.measure(SparseVector(np.array([0, 1]), np.array([1.0, -1.0]) * 0.5**0.5))[1] == -np.inf


@pytest.mark.parametrize("power", [-280, 280])
def test_extreme_sizes_are_scaled_away(power, rng) -> None:
    form, metric = draw(rng, 5)
    truth = best(form, metric, 2)
    for first, second in ((10.0**power, 1.0), (1.0, 10.0**power)):
        pencil = pencil_of(form * first, metric * second, 2)
        assert pencil.search(truth * first / second * pencil.unit * 1.001, 1e8).upper < np.inf


def test_refusals_of_metrics(rng) -> None:
    form = np.eye(3)
    with pytest.raises(errors.NotDefiniteError) as refused:
        pencil_of(form, np.diag([1.0, 0.0, 2.0]), 2)
    assert str(refused.value) == (
        "the metric is not positive definite: variable 1 has 0 on its diagonal. Leave such variables out by "
        "candidates=, or give ridge= (a number above 0, added to the diagonal)."
    )
    named = pd.DataFrame(np.diag([1.0, -1.0, 2.0]), columns=list("abc"))
    with pytest.raises(errors.NotDefiniteError, match="variable 'b' has -1 on its diagonal"):
        pencil_of(form, named, 2)
    with pytest.raises(errors.NotDefiniteError) as refused:
        pencil_of(form, np.ones((3, 3)) - 1e-3 * np.eye(3), 2)
    assert str(refused.value) == (
        "the metric is singular or indefinite when its diagonal is scaled to one; proofs need 1e-10 at least. Give "
        "ridge= (a number above 0, added to the metric's diagonal), or leave out variables that depend on others by "
        "candidates=. With more variables than samples a covariance is always singular."
    )
    with pytest.raises(errors.NotDefiniteError, match=r"has a smallest eigenvalue of about 1\.0e-12 when"):
        pencil_of(form, np.ones((3, 3)) + 1e-12 * np.eye(3), 2)
    with pytest.raises(errors.RangeError) as refused:
        pencil_of(1e300 * form, 1e-300 * np.eye(3), 2)
    assert str(refused.value) == (
        "the quotients x'Ax / x'Bx leave the range of float64: A and the metric have entries of very different size. "
        "Scale the variables, or one of the matrices, to entries of like size."
    )
