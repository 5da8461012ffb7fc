"""Theorem 1 as a checker."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import CardinalityError, DtypeError, InputError, NonFiniteError, NotSymmetricError, ShapeError
from sparseigen.solve.recovery import _build_terms


def wishart(rng, covariance_root, samples):
    """A sample covariance of that many Gaussian vectors, drawn by Bartlett's decomposition."""
    size = len(covariance_root)
    lower = np.tril(rng.standard_normal((size, size)), -1)
    lower[np.diag_indices(size)] = np.sqrt(rng.chisquare(samples - np.arange(size)))
    factor = covariance_root @ lower
    return factor @ factor.T / samples


def test_restricted_norm_brackets_brute_force(rng):
    for s in (1, 2, 4, 7):
        matrix = rng.standard_normal((7, 7))
        matrix = matrix + matrix.T
        exact = max(np.abs(np.linalg.eigvalsh(matrix[np.ix_(c, c)])).max() for c in combinations(range(7), s))
        low, high = se.restricted_norm(matrix, s)
        assert low <= exact * (1 + 1e-12)
        assert high >= exact * (1 - 1e-12)
        assert low >= 0.9 * exact
    assert se.restricted_norm(np.zeros((4, 4)), 2) == (0.0, 0.0)
    with pytest.raises(CardinalityError, match="s=9 must be between 1"):
        se.restricted_norm(np.eye(4), 9)


@pytest.fixture(scope="module")
def spiked():
    """The model of the documentation where the theorem applies: p = 300, n = 200,000, one spike of 50."""
    rng = np.random.default_rng(2)
    root = np.eye(300)
    root[0, 0] = math.sqrt(51.0)
    return root @ root, wishart(rng, root, 200_000)


@pytest.mark.parametrize("weight", [0.65, 0.9])
def test_observed_error_obeys_the_bound_at_every_iteration(spiked, weight):
    true, observed = spiked
    start = np.zeros(300)
    start[0] = weight
    start[1:60] = math.sqrt((1.0 - weight**2) / 59)
    check = se.recovery_check(true, observed, 60, start)
    assert (check.verdict, check.sparsity, check.s, check.condition) == ("applies", 1, 121, None)
    assert 0.0 < check.at_high.mu_1 < 1.0
    assert check.at_high.mu_2 < 1.0
    errors = [math.sqrt(1.0 - weight)]

    def follow(iteration, vector, value):
        errors.append(math.sqrt(max(0.0, 1.0 - abs(vector[0]))))

    se.sparse_eigenvector(observed, 60, start=start, polish=None, rtol=1e-14, certify=False, on_iteration=follow)
    assert len(errors) >= 4
    for iteration, error in enumerate(errors):
        assert error <= check.error_bound(iteration)
    assert check.error_bound(200) < 0.6 * errors[0]  # the bound says something


def test_toy_model_of_the_paper_cannot_apply():
    """Ten non-zeros and k = 10: k >= 4 * 10 fails; with any k <= 270, mu_1 > 0 fails without any noise."""
    true = np.eye(500)
    first, second = np.zeros(500), np.zeros(500)
    first[:10] = second[10:20] = 10.0**-0.5
    true += 399.0 * np.outer(first, first) + 299.0 * np.outer(second, second)
    check = se.recovery_check(true, true, 10, first)
    assert (check.verdict, check.condition) == ("fails", "k >= 4 times the true sparsity")
    assert se.recovery_check(true, true, 240, first).condition == "mu_1 > 0"


def test_noiseless_limit_is_twenty_seven(rng):
    true = np.eye(40)
    true[0, 0] = 1e9  # gamma -> 0
    start = np.eye(40)[0]
    assert se.recovery_check(true, true, 27, start).condition == "mu_1 > 0"
    assert se.recovery_check(true, true, 28, start).verdict == "applies"


def test_undecided_names_the_condition_that_may_fail(spiked):
    """The same noise, enlarged until the bracket for rho(E, s) straddles the value where mu_1 reaches zero."""
    true, observed = spiked
    start = np.eye(300)[0]
    plain = se.recovery_check(true, observed, 60, start)
    low, high = plain.at_low.restricted_norm, plain.at_high.restricted_norm
    assert low < high
    inside, outside = high, 25.0
    for _ in range(40):
        middle = 0.5 * (inside + outside)
        fails = _build_terms(middle, plain.eigenvalue, plain.gap, 1, 60, 1.0, True).failed is not None
        inside, outside = (inside, middle) if fails else (middle, outside)
    check = se.recovery_check(true, true + inside / math.sqrt(low * high) * (observed - true), 60, start)
    assert (check.verdict, check.condition) == ("undecided", "mu_1 > 0")
    assert check.at_low.failed is None
    assert math.isnan(check.error_bound(3))
    assert str(check) == "undecided: mu_1 > 0"
    assert check.to_dict()["at_high"]["failed"] == "mu_1 > 0"


def test_bad_input():
    with pytest.raises(InputError, match="leading eigenvalue of A_true"):
        se.recovery_check(np.eye(4), np.eye(4), 2, np.eye(4)[0])
    with pytest.raises(ShapeError, match="they must be equal"):
        se.recovery_check(np.eye(4), np.eye(5), 2, np.eye(4)[0])
    with pytest.raises(ShapeError, match="must be a square matrix"):
        se.recovery_check(np.ones(4), np.eye(5), 2, np.eye(4)[0])


@pytest.mark.parametrize(
    ("gap", "sparsity", "k", "slower"), [(10.0, 1, 100, "the step"), (1.0, 9, 10_000, "the spectrum")]
)
def test_rate_is_the_slower_of_the_two(gap, sparsity, k, slower):
    """Without noise, so that gamma = 1 - gap / 10, delta = 0 and u = 3^-1/2 can be put in by hand."""
    terms = _build_terms(0.0, 10.0, gap, sparsity, k, 1.0, True)
    contraction = 1.0 - (1.0 - gap / 10.0) ** 2
    mu_1 = contraction * 3.0**-1.5 - math.sqrt(sparsity / k)
    mu_2 = math.sqrt((1.0 + 3.0 * math.sqrt(sparsity / k)) * (1.0 - 0.45 * contraction))
    rates = {"the step": math.sqrt(1.0 - mu_1), "the spectrum": mu_2}
    assert terms.failed is None
    assert terms.rate == pytest.approx(rates[slower], rel=1e-12)
    assert max(rates, key=rates.__getitem__) == slower


@pytest.mark.parametrize("overlap", [0.4, 0.5, 0.9])
def test_terms_are_those_of_the_theorem(overlap):
    """With numbers put in by hand: rho(E, s) = 0.25, eigenvalue 50, gap 49, one true non-zero and k = 400."""
    terms = _build_terms(0.25, 50.0, 49.0, 1, 400, overlap, True)
    gamma = 1.25 / 49.75
    delta = math.sqrt(2.0) * 0.25 / math.sqrt(0.25**2 + 48.5**2)
    u = overlap - delta if overlap < 0.57 else 1.0 / math.sqrt(3.0)
    assert 0.0 < delta < 0.01
    assert terms.gamma == pytest.approx(gamma, rel=1e-12)
    assert terms.delta == pytest.approx(delta, rel=1e-12)
    assert terms.u == pytest.approx(u, rel=1e-12)
    mu_1 = 0.5 * u * (1.0 - gamma * gamma) * (1.0 - u * u) - 2.0 * delta - 0.05
    mu_2 = math.sqrt(1.15 * (0.55 + 0.45 * gamma * gamma))
    assert terms.mu_1 == pytest.approx(mu_1, rel=1e-12)
    assert terms.mu_2 == pytest.approx(mu_2, rel=1e-12)
    assert terms.failed is None
    assert terms.rate == pytest.approx(max(math.sqrt(1.0 - mu_1), mu_2), rel=1e-12)
    assert terms.error_level == pytest.approx(math.sqrt(5.0) * delta / (1.0 - mu_2), rel=1e-12)


def test_every_condition_of_the_theorem_is_named_when_it_alone_fails():
    cases = {
        "k >= 4 times the true sparsity": (0.0, 10.0, 9.0, 3, 11, 1.0, True),
        "the start has at most k non-zeros": (0.0, 10.0, 9.0, 1, 400, 1.0, False),
        "rho(E, s) <= gap / 2": (0.26, 10.0, 0.5, 1, 400, 1.0, True),
        "the start's overlap is at least u + delta": (0.1, 10.0, 9.0, 1, 400, 0.01, True),
        "mu_1 > 0": (0.0, 10.0, 9.0, 1, 16, 1.0, True),
    }
    for condition, given in cases.items():
        terms = _build_terms(*given)
        assert terms.failed == condition
        assert math.isnan(terms.rate)
    # Half the gap is allowed, and gamma is then one: the next condition fails.
    assert _build_terms(0.25, 10.0, 0.5, 1, 400, 1.0, True).failed == "gamma < 1"


def test_matrices_for_the_theorem_must_be_square_and_not_empty():
    for matrix in (np.empty((0, 0)), np.ones((1, 2)), np.ones((2, 2, 2))):
        with pytest.raises(ShapeError, match=r"A_true has shape .*; it must be a square matrix"):
            se.recovery_check(matrix, np.eye(1), 1, [1.0])
    one = se.recovery_check([[2.0]], [[2.0]], 1, [1.0])  # one variable is a matrix, too small for the theorem
    assert (one.verdict, one.eigenvalue, one.gap) == ("fails", 2.0, 2.0)
    with pytest.raises(InputError, match="its distance to the other magnitudes"):
        se.recovery_check(np.diag([1.0, -1.0]), np.eye(2), 1, [1.0, 0.0])


def test_matrices_for_the_theorem_are_read_as_they_are_meant():
    """eigh looks at one triangle, NumPy through masks and at the real parts: each gave another matrix's answer."""
    true = np.diag([9.0, 1.0, 1.0])
    lopsided = true + np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    start = [1.0, 0.0, 0.0]
    refused = {
        NotSymmetricError: lopsided,
        DtypeError: true.astype(complex),
        NonFiniteError: np.ma.masked_equal(true, 1.0),
    }
    for error, matrix in refused.items():
        with pytest.raises(error, match="A_true"):
            se.recovery_check(matrix, matrix, 1, start)
    for matrix in ("abc", se.covariance(np.eye(3))):
        with pytest.raises(DtypeError, match="A_true"):
            se.recovery_check(matrix, true, 1, start)
    frame = pd.DataFrame(true, columns=list("abc"), index=list("abc"))
    with pytest.raises(InputError, match="in another order"):
        se.recovery_check(frame, frame.iloc[::-1, ::-1], 1, start)
    sparse = se.recovery_check(sp.csr_array(true), frame, 1, start)
    assert sparse.to_dict() == se.recovery_check(true, true, 1, start).to_dict()  # rates that do not apply are NaN
    json.dumps(sparse.to_dict(), allow_nan=False)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_restricted_norm_at_the_ends_of_the_range(scale, rng):
    square = rng.standard_normal((5, 5))
    low, high = se.restricted_norm((square + square.T) * scale, 2)
    plain_low, plain_high = se.restricted_norm(square + square.T, 2)
    assert low == pytest.approx(plain_low * scale, rel=1e-9)
    assert high == pytest.approx(plain_high * scale, rel=1e-9)
