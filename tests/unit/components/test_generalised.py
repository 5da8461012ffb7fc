"""Pencils made of data, and several vectors one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

import sparseigen as se
from sparseigen import errors
from sparseigen.components import generalised
from sparseigen.components.generalised import canonical_pencil, discriminant_pencil, generalised_components


def draw_blocks(rng, samples=80):
    X, Y = rng.standard_normal((samples, 6)), rng.standard_normal((samples, 5))
    Y[:, 0] += 2.0 * X[:, 1] + X[:, 2]
    Y[:, 3] += X[:, 4]
    return X * np.arange(1, 7), Y + 3.0


def test_all_variables_give_the_canonical_correlations(rng) -> None:
    """After each pair is taken out, the next one is that of the dense problem."""
    X, Y = draw_blocks(rng)
    own, other = np.linalg.qr(X - X.mean(0))[0], np.linalg.qr(Y - Y.mean(0))[0]
    expected = np.linalg.svd(own.T @ other, compute_uv=False)
    found = generalised_components(canonical_pencil(X, Y), 4, (6, 5))
    np.testing.assert_allclose([result.value for result in found], expected[:4], rtol=1e-6)


def test_all_variables_give_fishers_discriminants(rng) -> None:
    X, y = rng.standard_normal((90, 5)), np.repeat([0, 1, 2], 30)
    X[y == 1, 0] += 3.0
    X[y == 2, 3] -= 2.0
    pencil = discriminant_pencil(X, y, 3)
    found = generalised_components(pencil, 2, (5, 0))
    expected = eigh(pencil.form.matrix, pencil.metric.matrix, eigvals_only=True)[::-1][:2]
    np.testing.assert_allclose([result.value for result in found], expected, rtol=1e-6)
    within = sum(np.cov(X[y == c].T) * 29 for c in range(3)) / 87
    np.testing.assert_allclose(pencil.metric.matrix * np.outer(pencil.scales, pencil.scales), within, atol=1e-12)


def test_few_variables_are_proven_and_verified(rng) -> None:
    X, Y = draw_blocks(rng)
    pencil = canonical_pencil(X, Y)
    first, second = generalised_components(pencil, 2, (2, 1), ridge=0.1)
    assert first.support.tolist() == [1, 2, 6]
    assert 4 in second.support
    assert first.certificate.optimal
    assert se.verify(first, pencil.form, metric=pencil.metric)
    assert generalised_components(pencil, 1, (2, 1), certify=False)[0].certificate is None


def refusal(error, call) -> str:
    with pytest.raises(error) as refused:
        call()
    return str(refused.value)


@pytest.mark.filterwarnings("ignore::sparseigen.errors.ConstantColumnWarning")
def test_refusals(rng, monkeypatch) -> None:
    X, Y = draw_blocks(rng)
    X[:, 2] = 7.0
    assert refusal(errors.ConstantColumnError, lambda: canonical_pencil(X, Y)) == (
        "X[:, 2] is constant, so that it has no correlation with anything. Leave the column out."
    )
    X, Y = draw_blocks(rng)
    Y[:, 1] = -2.0
    assert "Y[:, 1] is constant" in refusal(errors.ConstantColumnError, lambda: canonical_pencil(X, Y))
    y = np.repeat([0, 1], 40)
    X[:, 3] = y
    assert refusal(errors.ConstantColumnError, lambda: discriminant_pencil(X, y, 2)) == (
        "X[:, 3] is constant within every class, so that nothing is to be divided by. Leave it out."
    )
    monkeypatch.setattr(generalised, "LARGEST_MATERIALISED", 8)
    assert refusal(errors.ShapeError, lambda: canonical_pencil(X, Y)) == (
        "11 variables in all; canonical correlations and discriminants are found among up to 8. Choose some first, for "
        "example those of largest variance."
    )
