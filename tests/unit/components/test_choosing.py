"""The number of components and of their variables, found by significance."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.components.choosing import _weigh_by_noise, choose_components, choose_one
from sparseigen.components.significance import MatrixTests, RowTests
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector


def plant(rng, n: int, p: int, sizes: list[int], loading: float = 1.0):
    data, begin = rng.standard_normal((n, p)), 0
    for size in sizes:
        data[:, begin : begin + size] += loading * rng.standard_normal((n, 1))
        begin += size
    return data


def make_tests(data, scale: bool = False) -> RowTests:
    return RowTests(se.covariance(data, center=True, scale=scale).samples)


@pytest.mark.parametrize("scale", [False, True])
def test_planted_components_are_found_with_their_variables(scale, rng) -> None:
    chosen = choose_components(make_tests(plant(rng, 200, 1000, [30, 30, 30]), scale))
    assert len(chosen) == 3
    found = sorted(int(component.significant.min()) // 30 for component in chosen)
    assert found == [0, 1, 2]
    for component in chosen:
        block = int(np.median(component.significant)) // 30
        inside = (component.significant // 30 == block).sum()
        assert inside >= 28
        assert len(component.significant) - inside <= 3
        assert 25 <= component.cardinality <= 35
        assert np.linalg.norm(component.weights) == pytest.approx(1.0)
        assert set(component.significant) <= set(component.candidates)
        assert component.evidence >= 5


@pytest.mark.parametrize("noise", ["normal", "t3", "lognormal", "unequal"])
def test_noise_has_none(noise, rng) -> None:
    for _ in range(5):
        data = {
            "normal": lambda: rng.standard_normal((100, 300)),
            "t3": lambda: rng.standard_t(3, (100, 300)),
            "lognormal": lambda: np.exp(rng.standard_normal((100, 300))),
            "unequal": lambda: rng.standard_normal((100, 300)) * np.exp(rng.standard_normal(300)),
        }[noise]()
        assert choose_components(make_tests(data)) == []


def test_weak_small_variables_are_found_behind_strong_noise(rng) -> None:
    data = rng.standard_normal((200, 100))
    data[:, :20] *= 30.0
    data[:, 50:70] += rng.standard_normal((200, 1))
    chosen = choose_components(make_tests(data))
    assert len(chosen) == 1
    assert set(chosen[0].significant) >= set(range(50, 70))


def test_a_broad_component_is_one_component(rng) -> None:
    loadings = np.concatenate([np.linspace(1.0, 0.2, 150), np.zeros(150)])
    data = rng.standard_normal((150, 300)) + rng.standard_normal((150, 1)) * loadings
    chosen = choose_components(make_tests(data))
    assert len(chosen) == 1
    assert len(chosen[0].significant) > 100
    assert chosen[0].cardinality <= len(chosen[0].significant)


def test_unequal_noise_leaves_nothing_of_a_component_behind(rng) -> None:
    for _ in range(5):
        deviations = np.exp(0.7 * rng.standard_normal(200))
        data = rng.standard_normal((300, 200)) * deviations
        data[:, :20] += rng.standard_normal((300, 1))
        chosen = choose_components(make_tests(data))
        assert len(chosen) == 1


def test_scores_weighted_by_noise_are_along_the_loadings(rng) -> None:
    loadings, noise = rng.uniform(0.5, 1.5, 12), np.exp(rng.standard_normal(12))
    matrix = np.outer(loadings, loadings) + np.diag(noise)
    tests = MatrixTests(as_operator(matrix), 1000)
    members = np.arange(12)
    weighted = _weigh_by_noise(tests, SparseVector(members, np.linalg.eigh(matrix)[1][:, -1]))
    np.testing.assert_allclose(weighted.weights, (loadings / noise) / np.linalg.norm(loadings / noise), atol=0.02)
    tests.take_out(weighted)
    left = tests.submatrix(members)
    assert (left - np.diag(left.diagonal())).max() < 0.02  # nothing that varies together is left


def test_outliers_in_one_sample_are_not_pairs(rng) -> None:
    data = rng.standard_normal((100, 400))
    data[:, :4] += 1.2 * rng.standard_normal((100, 1))
    data[0, 200:260] = 40.0
    strengths = make_tests(data, scale=True).scan_pairs()
    assert set(np.argsort(-strengths)[:4]) == set(range(4))


def test_a_share_of_the_variance_gives_fewer_variables(rng) -> None:
    loadings = np.concatenate([np.linspace(1.0, 0.2, 150), np.zeros(150)])
    data = rng.standard_normal((150, 300)) + rng.standard_normal((150, 1)) * loadings
    counts = [choose_components(make_tests(data), share=share)[0].cardinality for share in (0.5, 0.9, 1.0)]
    assert counts[0] < counts[1] < counts[2]


def test_at_most_as_many_as_asked_for(rng) -> None:
    data = plant(rng, 100, 200, [20, 20, 20])
    assert len(choose_components(make_tests(data), 2)) == 2


def test_too_few_samples_find_nothing(rng) -> None:
    assert choose_components(make_tests(plant(rng, 5, 50, [10], 5.0))) == []
    assert choose_one(make_tests(rng.standard_normal((20, 2)) * [1.0, 0.0])) is None


def test_a_covariance_matrix_gives_the_same_choice_on_normal_data(rng) -> None:
    data = plant(rng, 200, 300, [20, 20])
    rows = choose_components(make_tests(data))
    matrix = choose_components(MatrixTests(as_operator(np.cov(data, rowvar=False)), 200))
    assert len(rows) == len(matrix) == 2
    for one, other in zip(rows, matrix, strict=True):
        assert len(set(one.significant) ^ set(other.significant)) <= 3


@pytest.mark.parametrize("matrix", [False, True])
def test_a_few_variables_among_many_are_found_where_variances_say_nothing(matrix, rng) -> None:
    data = plant(rng, 150, 1200, [5, 5])
    tests = make_tests(data, scale=True)
    if matrix:
        tests = MatrixTests(as_operator(np.corrcoef(data, rowvar=False)), 150)
    strengths = tests.scan_pairs()
    assert strengths[:10].min() > np.sort(strengths[10:])[-20]
    chosen = choose_components(tests)
    assert sorted(component.significant.tolist() for component in chosen) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_all_pairs_are_left_alone_where_they_cost_too_much(rng, monkeypatch) -> None:
    monkeypatch.setattr("sparseigen.components.significance.LARGEST_SCAN", 1e5)
    tests = make_tests(plant(rng, 150, 1200, [5]), scale=True)
    assert tests.scan_pairs() is None
    choose_components(tests)  # whatever is found, it ends
