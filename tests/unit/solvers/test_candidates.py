"""Which columns a scan finds, beside the top-k energies of all of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sparseigen as se
from sparseigen import kernels
from sparseigen.operators import as_operator
from sparseigen.solvers.candidates import find_candidates


def clustered(rng: np.random.Generator, n_samples: int, size: int) -> np.ndarray:
    """Noise, with ten groups of twelve correlated variables at random places."""
    data = rng.standard_normal((n_samples, size))
    for group in rng.permutation(size)[:120].reshape(10, 12):
        data[:, group] = 0.5 * data[:, group] + rng.standard_normal((n_samples, 1))
    return data


@pytest.mark.parametrize(("n_samples", "size"), [(40, 700), (1500, 700), (60, 5000), (900, 2500)])
def test_the_strongest_columns_are_among_those_found(rng, n_samples, size) -> None:
    operator = se.covariance(clustered(rng, n_samples, size), scale=True)
    matrix = np.corrcoef(operator.variables)
    everything = np.arange(size)
    strongest = np.argsort(-kernels.column_energies(matrix, everything, 12)[0])[:20]
    found, directions = find_candidates(operator, 12, 96)
    assert len(np.unique(found)) == len(found) <= 96
    pool = 4 * 5000 // 5 if size > 4096 else size  # larger matrices are not looked at as a whole
    assert np.isin(strongest, found).sum() >= (18 if pool == size else 5)
    assert directions.shape[0] == size
    lead = np.linalg.eigh(matrix)[1][:, -4:] if size <= 1000 else None
    if lead is not None:
        captured = np.linalg.norm(lead.T @ (directions / np.linalg.norm(directions, axis=0)), axis=0)
        assert captured[0] > 0.7


def test_an_explicit_matrix_is_looked_at_as_it_is(rng) -> None:
    matrix = np.corrcoef(clustered(rng, 50, 300), rowvar=False)
    exact = np.argsort(-kernels.column_energies(matrix, np.arange(300), 12)[0])[:20]
    found, _ = find_candidates(as_operator(matrix), 12, 64)
    assert np.isin(exact, found).sum() >= 18


def test_the_same_question_has_the_same_answer(rng) -> None:
    operator = se.covariance(rng.standard_normal((300, 800)))
    first, again = find_candidates(operator, 9, 48), find_candidates(operator, 9, 48)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


def test_columns_too_large_for_float32_are_no_warning(rng) -> None:
    data = rng.standard_normal((3, 120)) * 10.0 ** np.linspace(-40.0, 40.0, 120)
    operator = se.covariance(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        columns, _ = find_candidates(operator, 5, 8)
    assert np.isin(columns, np.arange(120)).all()
    assert columns.max() > 100
