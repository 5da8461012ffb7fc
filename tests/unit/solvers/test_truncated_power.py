"""Algorithm 1 and what surrounds it: stop rules, shifts, wishes of the caller, interruption."""

from __future__ import annotations

import signal
import threading
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import covariance, kernels, sparse_eigenvector
from sparseigen.errors import ConvergenceWarning, SolveInterrupted
from sparseigen.operators import as_operator
from sparseigen.operators.iteration import Iteration
from sparseigen.problems import brute_force
from sparseigen.results import StopReason
from tests.common.checks import check_result


def test_a_start_that_leads_nowhere_is_cut_to_its_largest_entries() -> None:
    start = np.array([0.0, 0.0, 0.1, -0.9, 0.4])
    result = se.sparse_eigenvector(
        np.diag([2.0, 1.0, 0.0, 0.0, 0.0]), 2, start=start, polish=None, certify=False
    )  # A x = 0
    assert result.stop_reason is se.results.StopReason.FIXED_POINT
    np.testing.assert_allclose(np.abs(result.vector), np.array([0.0, 0.0, 0.0, 0.9, 0.4]) / 0.97**0.5)


def test_an_operators_own_steps_are_driven_by_the_one_loop(data, monkeypatch) -> None:
    """Chunks that nobody looks into end where the rule says, inside or between them; a callback hears every iterate."""
    matrix = np.cov(data.T)
    operator, fetched = se.covariance(data), []
    monkeypatch.setattr(type(operator), "prepared_for", lambda self, n_products: self)
    options = {"start": "max-variance", "polish": None, "certify": False, "max_iterations": 700}
    plain = se.sparse_eigenvector(operator, 2, **options)

    class Elsewhere(Iteration):
        """Three steps at a time, whose iterates have to be fetched."""

        on_host = False

        def advance(self, runs, most, *, ahead=True):
            assert most == 700 - 3 * len(self.chunks)
            self.chunks.append([])
            looks = []
            for look in self._make_steps(runs[0], 3):
                looks.append(look)
                self.chunks[-1].append(self.vectors[0])
            return [looks]

        def begin(self, starts):
            self.chunks = []
            return super().begin(starts)

        def iterate(self, run, step):
            fetched.append(step)
            return self.chunks[-1][step - 1]

    monkeypatch.setattr(
        type(operator), "iteration", lambda self, ks, *, nonnegative=False: Elsewhere(self, ks, nonnegative=nonnegative)
    )
    result = se.sparse_eigenvector(operator, 2, **options)
    assert len(fetched) == 1
    assert (result.stop_reason, result.n_iterations) == (plain.stop_reason, plain.n_iterations)
    np.testing.assert_array_equal(result.vector, plain.vector)
    np.testing.assert_array_equal(result.history, plain.history)
    heard = []
    watched = se.sparse_eigenvector(operator, 2, on_iteration=lambda *step: heard.append(step), **options)
    assert len(heard) == watched.n_iterations == len(fetched) - 2 >= 1
    assert watched.value == pytest.approx(watched.vector @ matrix @ watched.vector)


def test_settings_name_the_start_where_there_was_a_choice(data) -> None:
    matrix = np.cov(data.T)
    one = se.sparse_eigenvector(matrix, 4, start="max-variance", certify=False).settings
    assert one["start"] == "max-variance"
    assert not {"start_used", "starts_tried"} & one.keys()
    many = se.sparse_eigenvector(matrix, 4, certify=False).settings
    assert many["start_used"] in many["starts_tried"]


@pytest.mark.parametrize("seed", range(6))
def test_without_polishing_every_start_is_carried_on_until_it_settles(seed) -> None:
    """Whichever start wins, its vector is the leading eigenvector of its variables."""
    matrix = np.cov(np.random.default_rng(seed).standard_normal((20, 30)), rowvar=False)
    result = se.sparse_eigenvector(matrix, 6, polish=None, rtol=1e-13, max_iterations=5000, certify=False)
    best = np.linalg.eigvalsh(matrix[np.ix_(result.support, result.support)])[-1]
    assert result.value == pytest.approx(best, rel=1e-8)


def reference_iterates(matrix: np.ndarray, cardinality: int, count: int) -> list[np.ndarray]:
    """Algorithm 1 as the paper prints it."""
    x = np.zeros(len(matrix))
    x[np.diag(matrix).argmax()] = 1.0
    iterates = []
    for _ in range(count):
        y = matrix @ x
        kept = np.argsort(-np.abs(y), kind="stable")[:cardinality]
        x = np.zeros(len(matrix))
        x[kept] = y[kept]
        x /= np.linalg.norm(x)
        iterates.append(x)
    return iterates


def covariance_matrix(rng: np.random.Generator, size: int = 40) -> np.ndarray:
    data = rng.standard_normal((30, size)) * rng.uniform(0.5, 2.0, size)
    return np.cov(data.T)


def test_is_algorithm_1_iterate_by_iterate(rng: np.random.Generator) -> None:
    matrix = covariance_matrix(rng)
    seen: list[np.ndarray] = []
    result = sparse_eigenvector(
        matrix,
        7,
        start="max-variance",
        polish=None,
        certify=False,
        on_iteration=lambda iteration, vector, value: seen.append(vector),
    )
    assert len(seen) == result.n_iterations > 2
    for ours, papers in zip(seen, reference_iterates(matrix, 7, len(seen)), strict=True):
        np.testing.assert_allclose(ours, papers, rtol=0, atol=1e-13)
    assert len(result.history) == result.n_iterations + 1
    assert result.value == result.history[-1]


def test_papers_stop_rule_compares_the_objective(rng: np.random.Generator) -> None:
    matrix = covariance_matrix(rng)
    result = sparse_eigenvector(matrix, 7, start="max-variance", polish=None, rtol=0, atol=1e-4, certify=False)
    assert result.stop_reason is StopReason.VALUE_STALLED
    steps = np.abs(np.diff(result.history))
    assert steps[-1] <= 1e-4
    assert (steps[:-1] > 1e-4).all()


def test_iteration_limit_is_said_and_warned(rng: np.random.Generator) -> None:
    with pytest.warns(ConvergenceWarning, match="stopped at max_iterations=2"):
        result = sparse_eigenvector(
            covariance_matrix(rng), 7, start="max-variance", polish=None, rtol=0, max_iterations=2, certify=False
        )
    assert result.stop_reason is StopReason.ITERATION_LIMIT
    assert result.n_iterations == 2


def test_settled_answer_is_a_fixed_point(rng: np.random.Generator) -> None:
    matrix = covariance_matrix(rng)
    result = sparse_eigenvector(matrix, 7, polish="solve", start="max-variance", certify=False)
    assert result.stop_reason is StopReason.FIXED_POINT
    y = matrix @ result.vector
    assert set(np.argsort(-np.abs(y))[:7]) == set(result.support)
    np.testing.assert_allclose(y[result.support], result.value * result.vector[result.support], rtol=1e-9)


@pytest.mark.parametrize("start", ["max-variance", "top-k-variance", "warm", "backward", "columns", "random", "auto"])
@pytest.mark.parametrize("polish", [None, "solve", "swap"])
def test_every_start_and_polish(start: str, polish: str | None, rng: np.random.Generator) -> None:
    operator = covariance(rng.standard_normal((30, 40)) * rng.uniform(0.5, 2.0, 40))
    result = sparse_eigenvector(operator, 6, start=start, polish=polish)
    check_result(result, operator)
    assert (np.diff(result.history) >= -1e-12 * result.value).all()
    if start != "columns" and start != "auto":
        assert result.settings["start"] == start


def test_start_with_more_than_k_non_zeros_still_gives_k(rng: np.random.Generator) -> None:
    result = sparse_eigenvector(np.diag([3.0, 2.0, 1.0]), 1, start=[1.0, 1.0, 1.0], polish=None)
    assert tuple(result.support) == (0,)


def test_default_is_never_below_the_plain_run(rng: np.random.Generator) -> None:
    for _ in range(10):
        matrix = covariance_matrix(rng, 25)
        for cardinality in (2, 5, 12):
            plain = sparse_eigenvector(matrix, cardinality, start="max-variance", polish=None, certify=False)
            default = sparse_eigenvector(matrix, cardinality, certify=False)
            assert default.value >= plain.value * (1.0 - 1e-14)


def test_swapping_reaches_the_optimum_where_the_start_misses_it() -> None:
    matrix = np.eye(6)
    matrix[0, 0] = 1.05  # the largest variance stands alone
    matrix[3:, 3:] += 0.5 * (1.0 - np.eye(3))
    matrix[0, 1] = matrix[1, 0] = 0.3
    optimum, support = brute_force(matrix, 3)
    plain = sparse_eigenvector(matrix, 3, start="max-variance", polish=None, certify=False)
    assert plain.value < optimum - 0.1
    default = sparse_eigenvector(matrix, 3, certify=False)
    assert default.value == pytest.approx(optimum)
    assert tuple(default.support) == support


@pytest.mark.parametrize("exponent", [-1060, -900, -400, 400, 900, 980])
@pytest.mark.parametrize("which", ["largest", "smallest"])
def test_extreme_scales_give_the_same_answer(exponent: int, which: str, rng: np.random.Generator) -> None:
    matrix = np.round(covariance_matrix(rng, 10) * 2**10)  # integers below 2**14: exact at every scale
    ordinary = sparse_eigenvector(matrix, 4, which=which, certify=False)
    scaled = sparse_eigenvector(np.ldexp(matrix, exponent), 4, which=which, certify=False)
    np.testing.assert_allclose(scaled.vector, ordinary.vector, rtol=1e-12, atol=1e-14)
    assert scaled.value == pytest.approx(np.ldexp(ordinary.value, exponent), rel=1e-12)


def test_smallest_matrix() -> None:
    result = sparse_eigenvector([[7]], 1)
    assert result.value == 7.0
    assert result.vector.tolist() == [1.0]


class TestIndefinite:
    """Indefinite matrices: detected, shifted, reported; never the wrong end of the spectrum."""

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    def test_star_graph(self, form: Any) -> None:
        # Plain iterations jump between the hub and the leaves for ever, at value 0.
        star = np.zeros((5, 5))
        star[0, 1:] = star[1:, 0] = 1.0
        result = sparse_eigenvector(form(star), 3)
        assert result.value == pytest.approx(np.sqrt(2.0))
        assert result.settings["shift"] > 0

    def test_wrong_end_is_not_taken(self) -> None:
        matrix = np.diag([1.0, -5.0, 0.5])
        matrix[0, 2] = matrix[2, 0] = 0.2
        result = sparse_eigenvector(matrix, 2)
        assert result.value == pytest.approx(np.linalg.eigvalsh(matrix[np.ix_([0, 2], [0, 2])])[-1])
        assert result.settings["shift"] >= 5.0 - 1e-9

    def test_random_against_brute_force(self, rng: np.random.Generator) -> None:
        missed = 0
        for _ in range(40):
            matrix = rng.standard_normal((9, 9))
            matrix = matrix + matrix.T
            result = sparse_eigenvector(matrix, 3, certify=False)
            optimum, _ = brute_force(matrix, 3)
            assert result.value <= optimum * (1 + 1e-12)
            missed += result.value < optimum * (1 - 1e-9)
        assert missed <= 2

    def test_negative_definite(self) -> None:
        result = sparse_eigenvector(-np.diag([3.0, 2.0, 1.0]), 2)
        assert result.value == pytest.approx(-1.0)

    def test_larger_than_the_dense_limit(self, rng: np.random.Generator) -> None:
        matrix = rng.standard_normal((600, 600))
        matrix = matrix + matrix.T
        result = sparse_eigenvector(matrix, 5, start="max-variance", polish=None, certify=False)
        shift = result.settings["shift"]
        assert shift >= -np.linalg.eigvalsh(matrix)[0] * (1 - 1e-6)
        assert (np.diff(result.history) >= -1e-9 * shift).all()


class TestSmallest:
    def test_against_brute_force(self, rng: np.random.Generator) -> None:
        for _ in range(10):
            matrix = np.cov(rng.standard_normal((12, 8)).T)
            result = sparse_eigenvector(matrix, 3, which="smallest")
            optimum = -brute_force(-matrix, 3)[0]
            assert result.value >= optimum - 1e-12
            assert result.value == pytest.approx(optimum, rel=1e-6)
            assert result.certificate is not None
            assert result.certificate.lower_bound <= optimum + 1e-12
            assert result.certificate.upper_bound >= result.value - 1e-12
            assert (np.diff(result.history) <= 1e-9).all()

    def test_from_data(self, rng: np.random.Generator) -> None:
        data = rng.standard_normal((50, 8))
        data[:, 3] = data[:, 1] + 1e-3 * rng.standard_normal(50)
        result = sparse_eigenvector(covariance(data), 2, which="smallest")
        assert set(result.support) == {1, 3}
        assert 0 <= result.value < 1e-5


def test_nonnegative(rng: np.random.Generator) -> None:
    matrix = covariance_matrix(rng, 12)
    for polish in (None, "solve", "swap"):
        result = sparse_eigenvector(matrix, 4, nonnegative=True, polish=polish)
        assert (result.vector >= 0).all()
        assert result.value <= sparse_eigenvector(matrix, 4).value + 1e-12
    best = max(brute_nonnegative(matrix[np.ix_(chosen, chosen)]) for chosen in combinations(range(12), 4))
    assert sparse_eigenvector(matrix, 4, nonnegative=True).value >= 0.98 * best


def brute_nonnegative(block: np.ndarray) -> float:
    """max x'Bx over x >= 0: the best leading eigenvector of one sign over all faces."""
    best = 0.0
    for mask in range(1, 2 ** len(block)):
        face = [i for i in range(len(block)) if mask >> i & 1]
        values, vectors = np.linalg.eigh(block[np.ix_(face, face)])
        for value, vector in zip(values, vectors.T, strict=True):
            if (vector >= 0).all() or (vector <= 0).all():
                best = max(best, float(value))
    return best


def test_candidates_restrict_the_choice(rng: np.random.Generator) -> None:
    frame = pd.DataFrame(covariance_matrix(rng, 10), columns=list("abcdefghij"))
    by_name = sparse_eigenvector(frame, 3, candidates=["b", "d", "f", "g", "h"])
    by_index = sparse_eigenvector(frame, 3, candidates=[7, 6, 5, 3, 1])
    by_mask = sparse_eigenvector(frame, 3, candidates=np.isin(np.arange(10), [1, 3, 5, 6, 7]))
    assert set(by_name.support) <= {1, 3, 5, 6, 7}
    for other in (by_index, by_mask):
        np.testing.assert_array_equal(other.vector, by_name.vector)
    inner = frame.to_numpy()[np.ix_([1, 3, 5, 6, 7], [1, 3, 5, 6, 7])]
    assert by_name.value == pytest.approx(brute_force(inner, 3)[0])
    assert set(by_name.loadings) <= {"b", "d", "f", "g", "h"}
    assert len(by_name.vector) == 10


def test_callback_sees_full_vectors_with_candidates(rng: np.random.Generator) -> None:
    shapes = set()
    sparse_eigenvector(
        covariance_matrix(rng, 10),
        2,
        candidates=[1, 2, 3],
        on_iteration=lambda iteration, vector, value: shapes.add((vector.shape, bool(vector[4:].any()))),
    )
    assert shapes == {((10,), False)}


def test_ties_go_to_the_lowest_index() -> None:
    result = sparse_eigenvector(np.eye(5), 2, start="max-variance", polish=None)
    assert tuple(result.support) == (0,)
    duplicated = np.ones((6, 6))
    assert tuple(sparse_eigenvector(duplicated, 3, start="max-variance", polish=None).support) == (0, 1, 2)
    assert tuple(sparse_eigenvector(duplicated, 3).support) == (0, 1, 2)


def test_same_seed_same_answer(rng: np.random.Generator) -> None:
    operator = covariance(rng.standard_normal((20, 60)))
    first = sparse_eigenvector(operator, 5, start="random", rng=3)
    again = sparse_eigenvector(operator, 5, start="random", rng=np.random.default_rng(3))
    np.testing.assert_array_equal(first.vector, again.vector)
    without = sparse_eigenvector(operator, 5, start="random")
    np.testing.assert_array_equal(without.vector, sparse_eigenvector(operator, 5, start="random", rng=0).vector)


def test_same_answer_on_one_or_two_threads(rng: np.random.Generator) -> None:
    data = rng.standard_normal((300, 3000))
    answers = []
    try:
        for threads in (1, 2):
            kernels.set_thread_count(threads)
            answers.append(sparse_eigenvector(covariance(data), 30, start="max-variance", certify=False))
    finally:
        kernels.set_thread_count(0)
    np.testing.assert_array_equal(answers[0].vector, answers[1].vector)
    np.testing.assert_array_equal(answers[0].history, answers[1].history)


def test_float32_stays_float32_and_values_are_float64(rng: np.random.Generator) -> None:
    data = rng.standard_normal((40, 30)).astype(np.float32)
    operator = covariance(data)
    product = operator.apply_support(np.array([1, 4]), np.array([0.6, 0.8]))
    assert product.dtype == np.float32
    assert operator.diagonal().dtype == np.float64
    single = sparse_eigenvector(operator, 4)
    double = sparse_eigenvector(covariance(data.astype(np.float64)), 4)
    assert tuple(single.support) == tuple(double.support)
    assert single.value == pytest.approx(double.value, rel=1e-5)
    assert isinstance(single.value, float)


class TestInterruption:
    """Ctrl-C: the library raises cleanly with the best answer; nothing is left in a bad state."""

    def interrupt_at(self, wanted: int) -> Any:
        def callback(iteration: int, vector: np.ndarray, value: float) -> None:
            if iteration == wanted:
                raise KeyboardInterrupt

        return callback

    def test_result_travels_with_the_exception(self, rng: np.random.Generator) -> None:
        matrix = covariance_matrix(rng)
        with pytest.raises(SolveInterrupted) as caught:
            sparse_eigenvector(matrix, 6, on_iteration=self.interrupt_at(3))
        result = caught.value.result
        assert result is not None
        assert result.stop_reason is StopReason.INTERRUPTED  # type: ignore[attr-defined]
        check_result(result, as_operator(matrix))  # type: ignore[arg-type]
        assert isinstance(caught.value, KeyboardInterrupt)

    def test_an_interrupted_proof_keeps_the_answer(
        self, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*arguments: Any, **options: Any) -> Any:
            raise KeyboardInterrupt

        matrix = covariance_matrix(rng)
        answer = sparse_eigenvector(matrix, 6, certify=False)
        monkeypatch.setattr("sparseigen.solve.eigenvector.certify", interrupted)
        with pytest.raises(SolveInterrupted) as caught:
            sparse_eigenvector(matrix, 6)
        np.testing.assert_array_equal(caught.value.result.vector, answer.vector)  # type: ignore[attr-defined]

    def test_state_is_not_corrupted(self, rng: np.random.Generator) -> None:
        operator = covariance(rng.standard_normal((30, 50)))
        before = sparse_eigenvector(operator, 6)
        with pytest.raises(SolveInterrupted):
            sparse_eigenvector(operator, 6, on_iteration=self.interrupt_at(4))
        np.testing.assert_array_equal(sparse_eigenvector(operator, 6).vector, before.vector)

    @pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
    )
    def test_a_real_signal(self, rng: np.random.Generator) -> None:
        operator = covariance(rng.standard_normal((100, 400)))

        def raise_signal(iteration: int, vector: np.ndarray, value: float) -> None:
            if iteration == 2:
                signal.raise_signal(signal.SIGINT)

        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in processes started with "&"
        try:
            with pytest.raises(SolveInterrupted) as caught:
                sparse_eigenvector(operator, 20, on_iteration=raise_signal)
        finally:
            signal.signal(signal.SIGINT, before)
        assert caught.value.result is not None
