"""Stages of the default solve: they stop when the bracket closes, and a limit or Ctrl-C leaves answer and bracket."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import OptionError, SolveInterrupted
from sparseigen.operators.build import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.results import StopReason
from sparseigen.solvers.interface import EFFORTS, Progress, SolverOptions
from sparseigen.solvers.steered import STAGES, Steering, proof_seconds, solve_steered
from tests.brute_force import KINDS, brute_force, small_matrix


@pytest.fixture
def noise():
    """Data without structure, where no bound closes the gap."""
    return se.covariance(np.random.default_rng(5).standard_normal((40, 300)))


def stage_names(result):
    return [stage.name for stage in result.stages]


def options_for(operator, **wishes):
    return SolverOptions(progress=Progress(operator.size), **wishes)


def test_an_answer_that_a_cheap_bound_proves_costs_no_more_stages(data):
    result = se.sparse_eigenvector(se.covariance(data), 5)
    assert stage_names(result) == ["plain run", "bound"]
    assert result.certificate.optimal
    assert (result.settings["start"], result.settings["polish"]) == ("max-variance", "solve")


def test_a_hard_problem_gets_every_stage_and_the_answer_of_all_starts(noise):
    result = se.sparse_eigenvector(noise, 8)
    searched = {"plain run", "more starts", "swaps"}
    proven = {"bound", "rows", "dual ascent", "split rows", "block search", "other bounds"}
    assert set(stage_names(result)) == searched | proven
    named = se.sparse_eigenvector(noise, 8, start="auto", polish="swap")
    assert result.value >= named.value * (1.0 - 1e-12)
    assert result.certificate.upper_bound <= named.certificate.upper_bound * (1.0 + 1e-9)
    assert [stage.name for stage in named.stages] == ["search", "bound"]


@pytest.mark.parametrize("which", ["largest", "smallest"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effort", EFFORTS)
def test_brackets_hold_at_every_effort_and_small_matrices_are_proven(rng, which, kind, effort):
    matrix = small_matrix(rng, 9, kind)
    sign = 1.0 if which == "largest" else -1.0
    for k in (1, 3, 8):
        result = se.sparse_eigenvector(matrix, k, which=which, effort=effort)
        optimum = sign * brute_force(sign * matrix, k)
        proof = result.certificate
        slack = 1e-9 * np.abs(matrix).max()
        assert proof.lower_bound - slack <= optimum <= proof.upper_bound + slack
        if effort != "quick":
            # An optimum of zero has no relative precision: there the bracket is as narrow as rounding allows.
            assert proof.optimal or proof.upper_bound - proof.lower_bound < 1e-12 * np.abs(matrix).max()
            assert result.value == pytest.approx(optimum, abs=1e-6 * np.abs(matrix).max())


def test_stages_are_told_in_the_units_of_the_caller(noise):
    for which, scale in (("largest", 1.0), ("smallest", 1.0), ("largest", 2.0**300)):
        matrix = noise.to_dense() * scale
        result = se.sparse_eigenvector(matrix, 4, which=which)
        proven = result.certificate.upper_bound if which == "largest" else result.certificate.lower_bound
        assert result.stages[-1].value == pytest.approx(result.value)
        assert result.stages[-1].bound == pytest.approx(proven, rel=1e-12)
        told = result.to_dict()["stages"]
        assert [stage["name"] for stage in told] == stage_names(result)
        assert set(told[0]) == {"name", "seconds", "value", "bound"}


def test_efforts_say_how_far_the_stages_go(noise):
    found = {effort: se.sparse_eigenvector(noise, 6, effort=effort) for effort in EFFORTS}
    assert stage_names(found["quick"]) == ["plain run", "bound"]
    assert "swaps" in stage_names(found["default"])
    gaps = [max(found[effort].certificate.relative_gap, 1e-6) for effort in EFFORTS]  # closed is closed
    assert gaps == sorted(gaps, reverse=True)
    values = [found[effort].value * (1.0 + 1e-12 * place) for place, effort in enumerate(EFFORTS)]
    assert values == sorted(values)
    with pytest.raises(OptionError, match="effort='fast'"):
        se.sparse_eigenvector(noise, 6, effort="fast")


def test_whoever_names_start_or_polish_gets_that(noise):
    plain = se.sparse_eigenvector(noise, 6, start="max-variance", polish=None, effort="quick")
    assert plain.stop_reason is StopReason.VALUE_STALLED
    assert (plain.settings["start"], plain.settings["polish"]) == ("max-variance", None)
    swapped = se.sparse_eigenvector(noise, 6, start="max-variance")
    assert swapped.settings["polish"] == "swap"
    assert "swaps" in swapped.settings
    solved = se.sparse_eigenvector(noise, 6, polish="solve")
    assert solved.settings["start"] == "auto"
    assert "swaps" not in solved.settings


def test_without_certificates_there_is_no_proof_among_the_stages(noise):
    result = se.sparse_eigenvector(noise, 6, certify=False)
    assert stage_names(result) == ["plain run", "more starts", "swaps"]
    assert result.certificate is None
    assert all(stage.bound is None for stage in result.stages)
    assert proof_seconds(result.stages) == 0.0
    assert stage_names(se.sparse_eigenvector(noise, 6, certify=False, effort="quick")) == ["plain run"]


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_time_limit_leaves_an_answer_and_a_bracket(noise, nonnegative):
    result = se.sparse_eigenvector(noise, 6, time_limit=1e-9, nonnegative=nonnegative)
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert stage_names(result) == ["plain run", "bound"]
    assert result.certificate.lower_bound <= result.certificate.upper_bound < np.inf
    with pytest.raises(OptionError, match="time_limit"):
        se.sparse_eigenvector(noise, 6, time_limit=0.0)


def test_a_time_limit_that_is_long_enough_changes_nothing(noise):
    free, limited = se.sparse_eigenvector(noise, 6), se.sparse_eigenvector(noise, 6, time_limit=600.0)
    np.testing.assert_array_equal(free.support, limited.support)
    assert stage_names(free) == stage_names(limited)
    assert limited.stop_reason is not StopReason.TIME_LIMIT


def test_the_time_limit_ends_a_search_that_is_under_way(noise, monkeypatch):
    operator = as_operator(noise)
    options = options_for(operator, deadline=time.perf_counter() + 3600.0)
    steering = Steering(operator, 6, options)
    swap = steering.search.swap

    def swap_past_the_limit():
        swap()
        object.__setattr__(options, "deadline", 0.0)

    monkeypatch.setattr(steering.search, "swap", swap_past_the_limit)
    steering.run()
    assert [stage.name for stage in steering.stages][-1] == "swaps"
    outcome = steering.outcome()
    assert outcome.stop_reason is StopReason.TIME_LIMIT
    assert outcome.proven.upper_bound < np.inf


class Listener:
    """Hears stages, and presses Ctrl-C in one of them."""

    def __init__(self, stop_in=None):
        self.stages, self.stop_in = [], stop_in

    def __call__(self, iteration, vector, value):
        if self.stages[-1] == self.stop_in:
            raise KeyboardInterrupt

    def on_stage(self, name):
        self.stages.append(name)


@pytest.mark.parametrize("candidates", [None, range(280)])
def test_callbacks_hear_of_every_stage(noise, candidates):
    listener = Listener()
    result = se.sparse_eigenvector(noise, 6, on_iteration=listener, candidates=candidates)
    stages = [name.removeprefix("proving: ") for name in listener.stages if ", bound " not in name]
    assert stages == stage_names(result)
    assert any(re.fullmatch(r"proving: [a-z -]+, bound 1 of \d+", name) for name in listener.stages)
    assert "proving: bound" in listener.stages


def test_ctrl_c_keeps_the_best_answer_and_the_best_bracket(noise):
    with pytest.raises(SolveInterrupted) as caught:
        se.sparse_eigenvector(noise, 6, on_iteration=Listener("swaps"))
    kept = caught.value.result
    assert kept.stop_reason is StopReason.INTERRUPTED
    assert kept.certificate.lower_bound <= kept.certificate.upper_bound < np.inf
    assert kept.value >= kept.stages[-1].value
    with pytest.raises(SolveInterrupted) as caught:
        se.sparse_eigenvector(noise, 6, on_iteration=Listener("plain run"))
    assert caught.value.result.certificate is None
    assert caught.value.result.value > 0.0


def test_the_search_over_blocks_may_find_the_answer(rng, monkeypatch):
    """From a poor answer the search of a small matrix goes on to the optimum."""
    matrix = small_matrix(rng, 12, "indefinite")
    operator = as_operator(matrix)
    poor = STAGES[0]._replace(work=lambda steering: steering.search.run([("poor", worst_start(matrix))]))
    rest = [spec for spec in STAGES if spec.proves]
    monkeypatch.setattr("sparseigen.solvers.steered.STAGES", (poor, *rest))
    outcome = solve_steered(operator, 4, options_for(operator))
    assert outcome.value == pytest.approx(brute_force(matrix, 4))
    assert [stage.name for stage in outcome.stages][-1] == "block search"
    assert outcome.stages[-1].value > outcome.stages[0].value


def worst_start(matrix):

    return SparseVector(np.array([int(matrix.diagonal().argmin())], dtype=np.int64), np.ones(1))


def test_answers_do_not_depend_on_the_clock(noise, monkeypatch):
    first = se.sparse_eigenvector(noise, 6)
    ticks = iter(range(10**9))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    second = se.sparse_eigenvector(noise, 6)
    assert first.certificate == second.certificate
    np.testing.assert_array_equal(first.vector, second.vector)
    assert stage_names(first) == stage_names(second)


def test_no_bound_leaves_an_infinite_end(monkeypatch, noise):
    monkeypatch.setattr("sparseigen.solvers.steered.try_bounds", lambda problem, names, say: None)
    monkeypatch.setattr("sparseigen.solvers.steered.search_small", lambda problem, work: (np.inf, None))
    monkeypatch.setattr("sparseigen.solvers.steered.split_and_search", lambda *question: (np.inf, None))
    result = se.sparse_eigenvector(noise, 6)
    assert result.certificate.upper_bound == np.inf
    assert all(stage.bound is None for stage in result.stages)


@pytest.mark.parametrize("effort", EFFORTS)
def test_what_is_claimed_can_be_proven_again(data, effort):
    pitprops = se.datasets.load_pitprops().matrix
    for matrix, ks in ((pitprops, range(1, 14)), (se.covariance(data), (1, 4, 5, 15))):
        for k in ks:
            assert se.verify(se.sparse_eigenvector(matrix, k, effort=effort), matrix)
