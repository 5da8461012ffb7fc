"""Any dual points prove a valid bound, and what is computed is never below what they prove."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sparseigen.certificates import dual_points
from sparseigen.certificates.dual_points import (
    DualParts,
    dual_value,
    dual_values,
    measure,
    mix_parts,
    prove,
    raise_shares,
    remainders,
    search_penalty,
    support_points,
)
from sparseigen.certificates.factor import find_factor
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import gamma
from sparseigen.operators import as_operator
from tests.brute_force import brute_force
from tests.unit.certificates.exact_arithmetic import SEEDS, bounds_eigenvalues, exact, gram, random_gram


def test_any_dual_points_give_a_valid_bound(rng):
    matrix = random_gram(rng)
    for cardinality in range(1, 10):
        problem = BoundProblem(as_operator(matrix), cardinality)
        factor = find_factor(problem)
        optimum = brute_force(matrix, cardinality)
        for scale in (0.0, 0.1, 1.0, 10.0):
            points = factor.rows + scale * rng.standard_normal(factor.rows.shape)
            assert problem.unscale_bound(dual_value(factor, points, cardinality)) >= optimum
        assert problem.unscale_bound(dual_value(factor, 0.0 * factor.rows, cardinality)) >= optimum


@pytest.mark.parametrize("seed", SEEDS)
def test_mixed_points_cover_what_their_exact_mixture_proves(seed):
    """In fractions: weights of sum one at least, and no sum too small by more than the slack added for it."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((7, 3))
    parts = [measure(rows, rows + scale * rng.standard_normal(rows.shape)) for scale in (0.0, 0.3, 2.0)]
    weights = rng.random(3) + 0.01
    mixed, shares = mix_parts(parts, weights), [Fraction(share) for share in raise_shares(weights)]
    assert 1 <= sum(shares) < 1 + Fraction(1, 10**13)

    def mix(numbers):
        return sum(share * Fraction(float(number)) for share, number in zip(shares, numbers, strict=True))

    for at, remainder in enumerate(mixed.remainders.tolist()):
        assert Fraction(remainder) >= mix(part.remainders[at] for part in parts)
    added = Fraction(mixed.squares) - mix(part.squares for part in parts)
    assert added > 0
    apart = [
        Fraction(float(mixed.gram[i, j])) - mix(part.gram[i, j] for part in parts) for i in range(3) for j in range(3)
    ]
    assert sum(entry**2 for entry in apart) <= (Fraction(2.0 * gamma(7)) * added) ** 2


def test_mixtures_give_valid_bounds(rng):
    matrix = random_gram(rng)
    for cardinality in range(1, 9):
        problem = BoundProblem(as_operator(matrix), cardinality)
        factor, optimum = find_factor(problem), brute_force(matrix, cardinality)
        parts = [
            measure(factor.rows, factor.rows + scale * rng.standard_normal(factor.rows.shape))
            for scale in (0.0, 0.1, 1.0)
        ]
        for _ in range(5):
            mixed = mix_parts(parts, rng.random(3))
            assert problem.unscale_bound(prove(mixed, factor.rest, cardinality)) >= optimum


def test_a_set_of_points_out_of_range_spoils_its_mixture(rng):
    rows = rng.standard_normal((5, 2))
    good, bad = measure(rows, rows), measure(rows, 1e200 * rows)
    assert prove(mix_parts([good, bad], np.array([0.5, 0.5])), 0.0, 2) == np.inf


def test_closed_form_is_exact_on_a_planted_block():
    matrix = 0.01 * np.eye(12)
    matrix[:4, :4] += 1.0
    problem = BoundProblem(as_operator(matrix), 4)
    factor = find_factor(problem)
    direction = factor.rows[:4].sum(axis=0)
    direction /= np.linalg.norm(direction)
    shares = np.sort((factor.rows @ direction) ** 2)[::-1]
    points = support_points(factor.rows, direction, 0.5 * (shares[3] + shares[4]))
    assert problem.unscale_bound(dual_value(factor, points, 4)) == pytest.approx(4.01, rel=1e-9)


def test_points_that_never_come_twice_the_same_prove_a_valid_bound(rng, monkeypatch):
    """Matrix products need not give the same bits twice, and near a tie the closed form jumps: no proof may need it."""

    def unsteady_points(rows, direction, penalty):
        return support_points(rows, direction, penalty) * rng.uniform(0.2, 1.0, (len(rows), 1))

    monkeypatch.setattr(dual_points, "support_points", unsteady_points)
    matrix = random_gram(rng)
    for cardinality in range(1, 9):
        problem = BoundProblem(as_operator(matrix), cardinality)
        factor, optimum = find_factor(problem), brute_force(matrix, cardinality)
        for _ in range(20):
            direction = rng.standard_normal(factor.rows.shape[1])
            direction /= np.linalg.norm(direction)
            form = search_penalty(factor.rows, direction, cardinality, cardinality, 4)
            assert problem.unscale_bound(dual_value(factor, form, cardinality)) >= optimum


@pytest.mark.parametrize("seed", SEEDS)
def test_remainders_are_above_the_exact_roots(seed):
    """rho bounds f f' - z z' when it is above the larger root of a quadratic equation with rational coefficients."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((6, 3))
    for points in (rows * (1.0 + 1e-9), rows * 0.5, rows + rng.standard_normal((6, 3)), 2.0 * rows, 0.0 * rows):
        found = remainders(rows, points)
        for f, z, rho in zip(exact(rows), exact(points), exact(found), strict=True):
            square, size = sum(a * a for a in f), sum(a * a for a in z)
            across = square * size - sum(a * b for a, b in zip(f, z, strict=True)) ** 2
            assert rho * rho - (square - size) * rho - across > 0
            assert 2 * rho > square - size
            close = rho * (1 - Fraction(1, 10**11)) - (square + size) / 10**13
            assert close <= 0 or close * close - (square - size) * close - across < 0


@pytest.mark.parametrize("seed", SEEDS)
def test_dual_bound_is_above_what_its_points_prove(seed):
    """Against the exact Gram matrix and remainders, and above the optimum without a tolerance."""
    rng = np.random.default_rng(seed)
    matrix = gram(seed)
    problem = BoundProblem(as_operator(matrix), 2)
    factor = find_factor(problem)
    for points in (factor.rows, factor.rows * 0.7, factor.rows + 0.1 * rng.standard_normal(factor.rows.shape)):
        rho = remainders(factor.rows, points)
        every = dual_values(measure(factor.rows, points), factor.rest)
        for cardinality in (1, 2, 5):
            z, total = exact(points), sum(sorted(exact(rho))[-cardinality:]) + exact(factor.rest)
            rank = range(len(z[0]))
            products = [[sum(row[i] * row[j] for row in z) for j in rank] for i in rank]
            scale = float(sum(products[i][i] for i in rank))
            for bound in (dual_value(factor, points, cardinality), float(every[cardinality - 1])):
                assert bounds_eigenvalues(exact(bound) - total, products)
                assert not bounds_eigenvalues(exact(bound - 1e-11 * scale) - total, products)


def test_streamed_dual_bound_is_above_what_its_parts_prove():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        points, rho = rng.standard_normal((40, 3)), rng.random(40)
        parts = DualParts(points.T @ points, float((points**2).sum()), rho)
        z = exact(points)
        products = [[sum(row[i] * row[j] for row in z) for j in range(3)] for i in range(3)]
        values = dual_values(parts)
        for cardinality in (1, 7, 40):
            total = sum(sorted(exact(rho))[-cardinality:])
            bound = float(values[cardinality - 1])
            assert bounds_eigenvalues(exact(bound) - total, products)
            assert not bounds_eigenvalues(exact(bound - 1e-10 * bound) - total, products)
    for broken in (parts._replace(squares=np.inf), parts._replace(gram=parts.gram * np.nan)):
        assert np.isinf(dual_values(broken)).all()
    rho[3] = np.nan
    assert np.isinf(dual_values(parts._replace(remainders=rho))).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_mixtures_are_above_what_their_points_prove_together(seed):
    """Against the exact combination with weights of sum one, however the given ones add up."""
    rng = np.random.default_rng(seed)
    sets = [rng.standard_normal((7, 3)) * 10.0**shift for shift in (0, 1, -1)]
    parts = [DualParts(points.T @ points, float((points**2).sum()), rng.random(7)) for points in sets]
    for weights in (rng.random(3), np.array([0.0, 1.0, 0.0]), np.array([1e-9, 0.3, 7.0])):
        shares = [share / sum(exact(weights)) for share in exact(weights)]
        sums = zip(*(exact(part.remainders) for part in parts), strict=True)
        mixed = sorted(sum(share * rho for share, rho in zip(shares, rhos, strict=True)) for rhos in sums)
        grams = [[[sum(row[i] * row[j] for row in exact(z)) for j in range(3)] for i in range(3)] for z in sets]
        products = [
            [sum(w * one[i][j] for w, one in zip(shares, grams, strict=True)) for j in range(3)] for i in range(3)
        ]
        values = dual_values(mix_parts(parts, weights))
        for cardinality in (1, 4, 7):
            total, bound = sum(mixed[-cardinality:]), float(values[cardinality - 1])
            assert bounds_eigenvalues(exact(bound) - total, products)
            assert not bounds_eigenvalues(exact(bound * (1.0 - 1e-12)) - total, products)


def test_unusable_dual_points_without_weight_do_not_spoil_a_mixture(rng):
    points = rng.standard_normal((5, 2))
    good = DualParts(points.T @ points, float((points**2).sum()), rng.random(5))
    bad = good._replace(squares=np.inf, remainders=np.full(5, np.inf))
    assert np.isfinite(dual_values(mix_parts([good, bad], np.array([1.0, 0.0])))).all()
    assert np.isinf(dual_values(mix_parts([good, bad], np.array([0.5, 0.5])))).all()
