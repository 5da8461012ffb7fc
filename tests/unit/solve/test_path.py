"""Paths of cardinalities: what is found and proven, and what an interruption keeps."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import sparseigen as se
from fuzzing.truth import Truth
from sparseigen.errors import CardinalityError, OptionError, SolveInterrupted
from sparseigen.results import SparsePath
from sparseigen.solvers import SOLVERS
from tests.common.interruption import interrupting

MATRIX = se.datasets.load_pitprops().matrix


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


def test_looking_up_and_errors(path, pitprops) -> None:
    assert path[5].cardinality == 5
    assert len(path) == 13
    with pytest.raises(KeyError, match="cardinality 20 is not on the path"):
        path[20]
    with pytest.raises(CardinalityError, match="cardinalities=14"):
        se.cardinality_path(pitprops, [14])
    with pytest.raises(OptionError, match="cardinalities is empty"):
        se.cardinality_path(pitprops, [])


def test_results_come_in_the_order_asked_for(path, pitprops) -> None:
    found = se.cardinality_path(pitprops, [10, 3, 5, 3])
    assert found.cardinalities.tolist() == [result.cardinality for result in found] == [10, 3, 5, 3]
    np.testing.assert_allclose(found.values, [path[k].value for k in (10, 3, 5, 3)], rtol=1e-12)
    np.testing.assert_array_equal(found[3].vector, list(found)[1].vector)
    assert found.upper_bounds is not None
    assert found.upper_bounds[1] <= found.upper_bounds[2] <= found.upper_bounds[0]
    assert se.cardinality_path(pitprops, (k for k in (4, 2)), certify=False).cardinalities.tolist() == [4, 2]


@pytest.mark.parametrize("method", ["tpower", "backward"])
def test_interruption_keeps_what_was_found(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.solvers import warm_path

    def limit(calls: int) -> None:
        if method == "tpower":
            monkeypatch.setattr(
                warm_path, "solve_truncated_power", interrupting(warm_path.solve_truncated_power, calls)
            )
        else:
            spec = SOLVERS[method]
            monkeypatch.setitem(SOLVERS, method, replace(spec, solve=interrupting(spec.solve, calls)))

    limit(2)
    with pytest.raises(SolveInterrupted) as stop:
        se.cardinality_path(MATRIX, [2, 5, 9], method=method)
    found = stop.value.result
    assert isinstance(found, SparsePath)
    assert found.cardinalities.tolist() == [2, 5]
    assert [result.stop_reason.value for result in found] == ["interrupted"] * 2
    whole = se.cardinality_path(MATRIX, [2, 5], method="tpower", certify=False) if method == "backward" else None
    assert whole is None or found.values[0] <= whole.values[0] + 1e-12
    limit(0)
    with pytest.raises(SolveInterrupted) as stop:
        se.cardinality_path(MATRIX, [2, 5, 9], method=method)
    assert stop.value.result is None


def test_interruption_during_the_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.solve import path

    monkeypatch.setattr(path, "_prove_path", interrupting())
    with pytest.raises(SolveInterrupted) as stop:
        se.cardinality_path(MATRIX, [2, 5])
    found = stop.value.result
    assert isinstance(found, SparsePath)
    assert found.upper_bounds is None
    assert found.values[1] == pytest.approx(3.406155, abs=1e-6)


def test_on_iteration_of_a_path() -> None:
    seen: list[int] = []
    se.cardinality_path(
        MATRIX, [3], candidates=[0, 1, 2, 3], on_iteration=lambda i, vector, value: seen.append(len(vector))
    )
    assert set(seen) == {13}


@pytest.mark.parametrize("kind", ["covariance", "indefinite"])
def test_the_smallest_end(kind, rng) -> None:
    matrix = np.cov(rng.standard_normal((30, 9)).T) if kind == "covariance" else rng.standard_normal((9, 9))
    matrix = matrix + matrix.T
    found = se.cardinality_path(matrix, range(1, 10), which="smallest")
    expected = [-best_by_brute_force(-matrix, k) for k in range(1, 10)]
    assert found.which == "smallest"
    assert (np.diff(found.values) <= 0.0).all()
    assert (found.values >= np.array(expected) - 1e-12).all()
    assert found.values[-1] == pytest.approx(expected[-1])
    assert found.dense_optimum == pytest.approx(np.linalg.eigvalsh(matrix)[0])
    assert (found.lower_bounds <= expected).all()
    assert (np.diff(found.lower_bounds) <= 0.0).all()
    assert (np.abs(found.upper_bounds - found.values) <= 1e-9).all()
    for result in found:
        assert result.settings["which"] == "smallest"
        assert result.value == pytest.approx(result.vector @ matrix @ result.vector)


def test_the_smallest_end_is_that_of_single_solves() -> None:
    found = se.cardinality_path(MATRIX, [3, 5], which="smallest", method="backward", certify=False)
    for result in found:
        single = se.sparse_eigenvector(MATRIX, result.cardinality, which="smallest", method="backward", certify=False)
        assert result.value <= single.value
        assert result.history.size == result.n_iterations or result.history[-1] == pytest.approx(result.value)


def test_methods_for_covariances_refuse_the_smallest_end() -> None:
    with pytest.raises(se.errors.UnsupportedOperatorError, match="positive semidefinite"):
        se.cardinality_path(MATRIX, [2], which="smallest", method="rsvd")
    with pytest.raises(OptionError, match="which='middle' is not known"):
        se.cardinality_path(MATRIX, [2], which="middle")


def test_an_exact_path_keeps_its_proofs(rng) -> None:
    matrix = np.cov(rng.standard_normal((25, 14)).T)
    found = se.cardinality_path(matrix, [2, 4, 6], method="exact")
    assert all(result.certificate.optimal for result in found)
    np.testing.assert_allclose(found.values, [best_by_brute_force(matrix, k) for k in (2, 4, 6)])


def test_a_limit_on_iterations_is_said_once() -> None:
    with pytest.warns(se.errors.ConvergenceWarning, match="max_iterations=1") as caught:
        se.cardinality_path(MATRIX, [4, 6], method="rsvd", max_iterations=1, certify=False)
    assert [warning.filename for warning in caught] == [__file__]


def test_callbacks_that_are_none_are_refused() -> None:
    with pytest.raises(OptionError, match="on_iteration=5 must be a function"):
        se.cardinality_path(MATRIX, [2], on_iteration=5)


def test_lapack_gives_up_on_a_huge_entry_and_the_path_does_not():
    failing = 0
    for seed in range(120):
        square = np.random.default_rng(seed).standard_normal((5, 5))
        matrix = np.triu(square) + np.triu(square, 1).T
        matrix[0, 3] = matrix[3, 0] = 1e290
        try:
            np.linalg.eigh(matrix)
        except np.linalg.LinAlgError:
            failing += 1
            assert se.cardinality_path(matrix, [1, 5]).values[1] == pytest.approx(1e290)
    assert failing < 120  # most often none: it depends on the LAPACK at hand


def test_a_path_of_a_huge_matrix_has_its_values(rng):
    square = rng.standard_normal((6, 6))
    plain = se.cardinality_path(square @ square.T, range(1, 7), certify=False)
    huge = se.cardinality_path(np.ldexp(square @ square.T, 900), range(1, 7), certify=False)
    np.testing.assert_allclose(np.ldexp(huge.values, -900), plain.values, rtol=1e-12)


def test_efforts_and_a_time_limit_leave_every_point_an_answer_and_a_bound(rng):
    operator = se.covariance(rng.standard_normal((30, 40)))
    ks = [1, 3, 6, 12, 24]
    paths = {effort: se.cardinality_path(operator, ks, effort=effort) for effort in ("quick", "default", "thorough")}
    for k in ks:
        gaps = [path[k].certificate.relative_gap for path in paths.values()]
        assert gaps[2] <= gaps[1] + 1e-12
        assert paths["default"][k].value >= paths["quick"][k].value * (1.0 - 1e-12)
    hurried = se.cardinality_path(operator, ks, time_limit=1e-9)
    assert {result.stop_reason for result in hurried} == {se.results.StopReason.TIME_LIMIT}
    assert all(np.isfinite(result.certificate.upper_bound) for result in hurried)
    long = se.cardinality_path(operator, range(1, 41), effort="thorough")
    short = se.cardinality_path(operator, range(1, 41))
    for tight, usual in zip(long, short, strict=True):
        assert tight.certificate.upper_bound <= usual.certificate.upper_bound * (1.0 + 1e-9)


def exact_quotient(matrix: np.ndarray, vector: np.ndarray) -> Fraction:
    inside = np.flatnonzero(vector).tolist()
    entries = [Fraction(float(vector[i])) for i in inside]
    form = sum(
        a * b * Fraction(float(matrix[i, j]))
        for i, a in zip(inside, entries, strict=True)
        for j, b in zip(inside, entries, strict=True)
    )
    return form / sum(a * a for a in entries)


@pytest.mark.parametrize("seed", [11, 35, 42, 207])
def test_many_equal_blocks_one_of_them_a_hair_larger(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, count = int(rng.integers(2, 7)), int(rng.integers(10, 60))
    block = np.round(8.0 * rng.standard_normal((size, size))) / 8.0
    block = np.triu(block) + np.triu(block, 1).T
    raised = block + 2.0**-40 * np.eye(size)
    matrix = np.kron(np.eye(count), block)
    matrix[:size, :size] = raised
    order = rng.permutation(len(matrix))
    matrix = matrix[np.ix_(order, order)]
    for which in ("largest", "smallest"):
        sign = 1.0 if which == "largest" else -1.0
        truths = [Truth.of_matrix(sign * block), Truth.of_matrix(sign * raised)]
        for point in se.cardinality_path(matrix, [1, 2, size, 10, 20, 24, 28, 30], which=which):
            k, ends = min(point.cardinality, size), (point.certificate.lower_bound, point.certificate.upper_bound)
            low, high = sorted(sign * end for end in ends)
            assert all(truth.is_upper_bound(high, k)[0] for truth in truths)
            assert any(truth.is_reached(low, k)[0] for truth in truths)
            exact = exact_quotient(matrix, point.vector)
            assert ends[0] <= exact <= ends[1]
            assert abs(Fraction(point.value) - exact) < Fraction(1, 10**13)


@pytest.mark.parametrize("size", [40, 300])
def test_two_samples_with_columns_of_all_sizes(size: int) -> None:
    data = np.random.default_rng(size).standard_normal((2, size)) * 10.0 ** np.linspace(0.0, 149.0, size)
    away = [Fraction(float(a)) - Fraction(float(b)) for a, b in data.T]
    squares = sorted((number * number / 2 for number in away), reverse=True)
    path = se.cardinality_path(se.covariance(data), range(1, 25))
    for point in path:
        best = sum(squares[: point.cardinality])
        assert point.certificate.lower_bound <= best <= point.certificate.upper_bound
        assert abs(Fraction(point.value) / best - 1) < Fraction(1, 10**12)
    assert path.dense_optimum == pytest.approx(float(sum(squares)), rel=1e-12)


@pytest.mark.parametrize("place", [(3, 7), (3, 3)])
def test_a_huge_negative_entry_in_float32(place: tuple[int, int]) -> None:
    matrix = np.ones((30, 30), dtype=np.float32)
    matrix[place] = matrix[place[::-1]] = -1e16
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = se.cardinality_path(matrix, range(1, 25))
    for point in path:
        exact = exact_quotient(matrix, point.vector)
        assert point.certificate.lower_bound <= exact <= point.certificate.upper_bound
        assert abs(Fraction(point.value) / exact - 1) < Fraction(1, 10**12)


@pytest.mark.parametrize("which", ["largest", "smallest"])
def test_values_are_inside_their_brackets(which: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        data = rng.standard_normal((3, 30)) * 10.0 ** rng.uniform(-60.0, 60.0, 30)
        matrix = data.T @ data
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        for point in [
            *se.cardinality_path(matrix, [1, 4, 9], which=which),
            se.sparse_eigenvector(matrix, 7, which=which),
        ]:
            assert point.certificate.lower_bound <= point.value <= point.certificate.upper_bound
