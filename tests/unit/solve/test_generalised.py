"""x'Ax / x'Bx through the public functions: answers, brackets, both ends, candidates, refusals, verification."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import eigh

import sparseigen as se
from sparseigen import errors
from sparseigen.certificates import pencil as room
from sparseigen.results import StopReason
from sparseigen.solve import generalised
from sparseigen.solve.generalised import PencilRequest, prove_again


def draw(rng, size=8, kind="gram"):
    first, second = rng.standard_normal((2, size + 4, size))
    form = first.T @ first if kind == "gram" else first[:size] + first[:size].T
    return form, second.T @ second / size


def best(form, metric, k, members=None):
    members = range(len(form)) if members is None else members
    supports = [list(s) for s in combinations(members, k)]
    return max(eigh(form[np.ix_(s, s)], metric[np.ix_(s, s)], eigvals_only=True)[-1] for s in supports)


@pytest.mark.parametrize("kind", ["gram", "indefinite"])
@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_exact_answers_are_those_of_all_supports(kind, k, rng) -> None:
    form, metric = draw(rng, 8, kind)
    truth = best(form, metric, k)
    result = se.solve_exact(form, k, metric=metric)
    assert result.value == pytest.approx(truth, rel=1e-9)
    assert result.certificate.optimal
    assert result.stop_reason is StopReason.BRACKET_CLOSED
    assert np.linalg.norm(result.vector) == pytest.approx(1.0)
    x = result.vector
    assert (x @ form @ x) / (x @ metric @ x) == pytest.approx(truth, rel=1e-9)
    lowest = se.solve_exact(form, k, metric=metric, which="smallest")
    assert lowest.value == pytest.approx(-best(-form, metric, k), rel=1e-9)
    assert lowest.certificate.lower_bound <= lowest.value <= lowest.certificate.upper_bound + 1e-12 * abs(lowest.value)
    for found in (result, lowest):
        assert se.verify(found, form, metric=metric)


@pytest.mark.parametrize("method", ["backward", "dspca", "pathspca", "pca", "rifle", "threshold", "tpower"])
def test_every_method_gets_a_bracket_that_holds(method, rng) -> None:
    form, metric = draw(rng)
    result = se.sparse_eigenvector(form, 3, metric=metric, method=method)
    truth = best(form, metric, 3)
    assert result.value <= truth * (1.0 + 1e-9)
    assert result.certificate.lower_bound <= truth <= result.certificate.upper_bound
    assert se.verify(result, form, metric=metric)


def test_the_identity_as_metric_changes_nothing(rng) -> None:
    form, _ = draw(rng)
    with_metric = se.sparse_eigenvector(form, 3, metric=np.eye(8))
    plain = se.sparse_eigenvector(form, 3)
    assert with_metric.value == pytest.approx(plain.value)
    np.testing.assert_allclose(np.abs(with_metric.vector), np.abs(plain.vector), atol=1e-6)


def test_a_ridge_is_added_to_the_metric_and_kept_in_the_settings(rng) -> None:
    form, metric = draw(rng)
    result = se.sparse_eigenvector(form, 3, metric=metric, ridge=0.5)
    assert result.value == pytest.approx(best(form, metric + 0.5 * np.eye(8), 3))
    assert result.settings["ridge"] == 0.5
    assert se.verify(result, form, metric=metric)
    singular = np.ones((8, 8))
    assert se.sparse_eigenvector(form, 2, metric=singular, ridge=0.1).certificate.optimal


def test_candidates_restrict_both_matrices(rng) -> None:
    form, metric = draw(rng)
    result = se.sparse_eigenvector(form, 2, metric=metric, candidates=[1, 4, 6, 7])
    assert result.value == pytest.approx(best(form, metric, 2, [1, 4, 6, 7]))
    assert set(result.support) <= {1, 4, 6, 7}
    assert se.verify(result, form, metric=metric, candidates=[1, 4, 6, 7])


def test_covariances_stand_for_both(rng) -> None:
    first, second = rng.standard_normal((2, 60, 7))
    result = se.solve_exact(se.covariance(first), 2, metric=se.covariance(second))
    assert result.value == pytest.approx(best(np.cov(first.T), np.cov(second.T), 2))
    assert se.verify(result, np.cov(first.T), metric=se.covariance(second))


def test_matrices_too_large_to_be_held(rng, monkeypatch) -> None:
    for place in (room, generalised):
        if hasattr(place, "LARGEST_MATERIALISED"):
            monkeypatch.setattr(place, "LARGEST_MATERIALISED", 5)
    first, second = rng.standard_normal((2, 60, 9))
    first[:, :2] += 4.0 * rng.standard_normal((60, 1))
    form, metric = se.covariance(first), se.covariance(second)
    for method in ("tpower", "rifle"):
        result = se.sparse_eigenvector(form, 2, metric=metric, ridge=0.5, method=method)
        truth = best(np.cov(first.T), np.cov(second.T) + 0.5 * np.eye(9), 2)
        assert result.value == pytest.approx(truth, rel=1e-6)
        assert result.certificate.upper_bound >= truth
        assert np.isfinite(result.certificate.upper_bound)
        assert se.verify(result, form, metric=metric)


def test_an_open_bracket_is_narrowed_with_more_work(rng, monkeypatch) -> None:
    """Without work for a search the largest quotient of all variables is the bound; with some it comes down."""
    form, metric = draw(rng, 30)
    starve(monkeypatch)
    wide = se.sparse_eigenvector(form, 3, metric=metric)
    assert wide.certificate.method in ("largest quotient", "sparse eigenvalue of A")
    monkeypatch.setattr(generalised, "SEARCH_WORK", dict.fromkeys(("quick", "default", "thorough"), 1e9))
    narrow = se.sparse_eigenvector(form, 3, metric=metric)
    assert narrow.certificate.optimal
    assert wide.certificate.upper_bound > narrow.certificate.upper_bound
    assert se.verify(wide, form, metric=metric)


def test_the_exact_search_stops_at_its_limit(rng, monkeypatch) -> None:
    form, metric = draw(rng, 30)
    starve(monkeypatch)
    result = se.solve_exact(form, 6, metric=metric, time_limit=1e-6)
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert not result.certificate.optimal
    assert se.solve_exact(form, 6, metric=metric, gap=10.0).stop_reason is StopReason.GAP


def test_a_start_and_a_callback(rng) -> None:
    form, metric = draw(rng)
    seen = []
    first = se.sparse_eigenvector(form, 3, metric=metric)
    again = se.solve_exact(form, 3, metric=metric, warm_start=first, on_iteration=lambda *call: seen.append(call))
    assert again.value == pytest.approx(first.value)
    assert seen[-1][1].shape == (8,)
    assert seen[-1][2] == pytest.approx(again.value)
    uncertified = se.sparse_eigenvector(form, 3, metric=metric, certify=False, time_limit=1e-9)
    assert uncertified.certificate is None
    assert uncertified.stop_reason is StopReason.TIME_LIMIT


def test_ctrl_c_leaves_the_best_answer_so_far(rng) -> None:
    form, metric = draw(rng)

    def stop(*call):
        raise KeyboardInterrupt

    with pytest.raises(errors.SolveInterrupted) as stopped:
        se.sparse_eigenvector(form, 3, metric=metric, on_iteration=stop)
    assert stopped.value.result.stop_reason is StopReason.INTERRUPTED
    assert np.count_nonzero(stopped.value.result.vector) == 3


def test_two_groups_keep_to_their_numbers(rng) -> None:
    form, metric = draw(rng, 9)
    result = PencilRequest(form, metric, boundary=4, method="exact").answer(2, others=1)
    supports = [[*a, b] for a in combinations(range(4), 2) for b in range(4, 9)]
    truth = max(eigh(form[np.ix_(s, s)], metric[np.ix_(s, s)], eigvals_only=True)[-1] for s in supports)
    assert result.value == pytest.approx(truth)
    assert result.certificate.optimal
    assert result.settings["cardinalities"] == (2, 1)
    assert se.verify(result, form, metric=metric)
    wrong = replace(result, settings={**result.settings, "cardinalities": (1, 2)})
    assert "cardinalities" in [check.claim for check in se.verify(wrong, form, metric=metric).failures]


def test_wrong_claims_are_found(rng) -> None:
    form, metric = draw(rng)
    result = se.solve_exact(form, 3, metric=metric)
    proof = result.certificate
    assert not se.verify(result, form, metric=2.0 * metric)
    for wrong, claim in (
        (replace(proof, upper_bound=result.value * (1.0 - 1e-6)), "proven end"),
        (replace(proof, lower_bound=result.value * (1.0 + 1e-6)), "attained end"),
        (replace(proof, tolerance=0.1), "meaning of optimal"),
    ):
        failures = se.verify(replace(result, certificate=wrong), form, metric=metric).failures
        assert claim in [check.claim for check in failures]
    assert se.verify(replace(result, certificate=None), form, metric=metric)
    moved = replace(result, value=result.value * 1.01)
    assert [check.claim for check in se.verify(moved, form, metric=metric).failures] == ["value"]


def test_a_claim_is_not_proven_again_without_time(rng) -> None:
    form, metric = draw(rng, 12)
    request = PencilRequest(form, metric)
    result = request.answer(3)
    upper, how = prove_again(request.pencil, result.certificate.upper_bound * request.pencil.unit, 0.0)
    assert how == "largest quotient"
    assert upper > result.certificate.upper_bound


def starve(monkeypatch) -> None:
    """Leave the search over blocks hardly any work."""
    monkeypatch.setattr(room, "NARROW", 0)
    monkeypatch.setattr(generalised, "PER_ENTRY", 0.0)
    monkeypatch.setattr(generalised, "SEARCH_WORK", dict.fromkeys(("quick", "default", "thorough"), 10.0))


def refusal(error, call) -> str:
    with pytest.raises(error) as refused:
        call()
    return str(refused.value)


def test_refusals(rng) -> None:
    form, metric = draw(rng)
    assert refusal(errors.ShapeError, lambda: se.sparse_eigenvector(form, 2, metric=np.eye(3))) == (
        "metric has 3 variables and A has 8; they must be of one size."
    )
    for ask in (se.sparse_eigenvector, se.solve_exact):
        assert refusal(errors.OptionError, lambda ask=ask: ask(form, 2, ridge=0.5)) == (
            "ridge=0.5 is added to the diagonal of metric=, and there is none. Leave it out."
        )
    assert refusal(errors.OptionError, lambda: se.sparse_eigenvector(form, 2, metric=metric, nonnegative=True)) == (
        "nonnegative=True is not for a metric; leave one of the two out."
    )
    assert refusal(errors.OptionError, lambda: se.sparse_eigenvector(form, 2, metric=metric, method="spca")) == (
        "method='spca' needs a covariance, and A - tB is none. Use 'tpower', 'exact' or 'rifle'."
    )
    result, plain = se.sparse_eigenvector(form, 2, metric=metric), se.sparse_eigenvector(form, 2)
    assert refusal(errors.OptionError, lambda: se.verify(result, form)) == (
        "the result is of x'Ax / x'Bx, and no metric is given. Pass metric=B."
    )
    assert refusal(errors.OptionError, lambda: se.verify(plain, form, metric=metric)) == (
        "the result is of x'Ax alone, and a metric is given. Leave metric out."
    )
    huge = 1e290 * np.diag(np.arange(1.0, 4.0))
    with pytest.raises(errors.RangeError, match="leave the range of float64"):
        se.sparse_eigenvector(huge, 1, metric=1e-9 * np.diag([1.0, 1.0, 1e-9]))
