"""Paths of cardinalities and the rules that choose one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import CardinalityError, OptionError
from sparseigen.solvers import SOLVERS


@pytest.fixture(scope="module")
def pitprops():
    return se.datasets.load_pitprops().matrix


@pytest.fixture(scope="module")
def path(pitprops):
    return se.cardinality_path(pitprops, range(1, 14))


def best_by_brute_force(matrix, k):
    return max(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in combinations(range(len(matrix)), k))


def test_every_point_is_the_optimum_on_pitprops(path, pitprops) -> None:
    expected = [best_by_brute_force(pitprops, k) for k in range(1, 14)]
    np.testing.assert_allclose(path.values, expected, rtol=1e-10)


def test_certificates_bracket_the_optimum_and_never_rise_as_k_falls(path) -> None:
    assert all(r.certificate.lower_bound <= r.certificate.upper_bound for r in path)
    assert (np.diff(path.upper_bounds) >= 0.0).all()
    assert (path.upper_bounds >= path.values).all()


@pytest.mark.parametrize("method", sorted(SOLVERS))
def test_values_never_fall_for_any_method(method, rng) -> None:
    data = rng.standard_normal((25, 14))
    found = se.cardinality_path(se.covariance(data), [2, 3, 5, 8, 13], method=method, certify=False)
    assert (np.diff(found.values) >= 0.0).all()
    dense = np.cov(data.T)
    for result in found:
        assert len(result.support) <= result.cardinality
        assert result.value == pytest.approx(result.vector @ dense @ result.vector)


def test_a_path_over_candidates_stays_within_them(pitprops) -> None:
    found = se.cardinality_path(pitprops, [1, 2, 3], candidates=[2, 3, 4, 9], certify=False)
    assert {int(j) for result in found for j in result.support} <= {2, 3, 4, 9}
    expected = best_by_brute_force(pitprops[np.ix_([2, 3, 4, 9], [2, 3, 4, 9])], 3)
    assert found[3].value == pytest.approx(expected)


def test_nonnegative_path(pitprops) -> None:
    found = se.cardinality_path(pitprops, [2, 4, 8], nonnegative=True, certify=False)
    assert all((result.vector >= 0.0).all() for result in found)


def test_indefinite_matrix(rng) -> None:
    matrix = rng.standard_normal((10, 10))
    matrix = matrix + matrix.T
    found = se.cardinality_path(matrix, range(1, 11), certify=False)
    assert found.values[-1] == pytest.approx(np.linalg.eigvalsh(matrix)[-1])
    assert (np.diff(found.values) >= 0.0).all()


def test_share_rule_takes_the_smallest_k_that_reaches_it(path) -> None:
    dense = np.linalg.eigvalsh(se.datasets.load_pitprops().matrix)[-1]
    k = path.suggest("share", share=0.8)
    assert path[k].value >= 0.8 * dense > path[k - 1].value
    assert path.suggest("share", share=1.0) == 13


def test_elbow_rule_finds_the_kink() -> None:
    matrix = np.diag([1.0] * 12)
    matrix[:4, :4] += 3.0
    assert se.cardinality_path(matrix, range(1, 13), certify=False).suggest("elbow") == 4


def test_held_out_rule_prefers_the_true_variables(rng) -> None:
    def sample():
        return rng.standard_normal((60, 30)) + 2.0 * rng.standard_normal((60, 1)) * (np.arange(30) < 5)

    found = se.cardinality_path(se.covariance(sample()), range(1, 31), certify=False)
    assert 4 <= found.suggest("held-out", held_out=se.covariance(sample())) <= 6


def test_suggest_errors(path) -> None:
    with pytest.raises(OptionError, match="'elbow', 'held-out', 'share'"):
        path.suggest("scree")
    with pytest.raises(OptionError, match="needs held_out"):
        path.suggest("held-out")
    short = se.cardinality_path(se.datasets.load_pitprops().matrix, [1, 2], certify=False)
    with pytest.raises(OptionError, match=r"no cardinality on the path reaches 0.9"):
        short.suggest("share")


def test_frame_rows_and_figure(path) -> None:
    frame = path.to_frame()
    assert list(frame["cardinality"]) == list(range(1, 14))
    assert frame["share"].iloc[-1] == pytest.approx(path.shares[-1])
    figure = path.plot()
    assert [trace.name for trace in figure.data] == ["proven limit", "found", "without limit on k"]
    np.testing.assert_allclose(figure.data[1].y, path.shares)


def test_looking_up_and_errors(path, pitprops) -> None:
    assert path[5].cardinality == 5
    assert len(path) == 13
    with pytest.raises(KeyError, match="cardinality 20 is not on the path"):
        path[20]
    with pytest.raises(CardinalityError, match="cardinalities=14"):
        se.cardinality_path(pitprops, [14])
    with pytest.raises(OptionError, match="cardinalities is empty"):
        se.cardinality_path(pitprops, [])
