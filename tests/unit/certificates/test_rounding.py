"""Margins against exact rational arithmetic, and the value that a vector certainly reaches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sparseigen.certificates import rounding
from sparseigen.certificates.rounding import achieved_value
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from tests.unit.certificates.exact_arithmetic import SEEDS, U, exact, gram, random_gram, symmetric
from tests.unit.certificates.streamed import WithForms


def test_margins_cover_every_sum_of_so_many_terms():
    assert exact(rounding.UNIT) == U
    for terms in (1, 2, 3, 10, 1000, 2**20, 2**40):
        classical = terms * U / (1 - terms * U)
        assert classical < exact(rounding.gamma(terms)) < 10 * classical
        # One and many halves of its last place: every addition rounds them away.
        assert exact(rounding.raised_sum(1.0, terms + 1)) > 1 + terms * U
        assert rounding.raised_sum(1.0, terms + 1) < 1.0 + 20.0 * terms * 2.0**-53
    assert 2.0**60 * np.finfo(float).smallest_normal < rounding.TINY < 1e-280
    assert rounding.raised_sum(0.0, 1) > 0.0


def test_sum_of_largest_takes_the_largest():
    values = np.array([3.0, -1.0, 7.0, 2.0])
    assert [rounding.sum_of_largest(values, count) for count in (1, 2, 3, 4, 5)] == [7.0, 10.0, 12.0, 11.0, 11.0]


@pytest.mark.parametrize("seed", SEEDS)
def test_achieved_value_is_below_the_exact_quotient(seed):
    rng = np.random.default_rng(seed)
    for matrix in (symmetric(seed), -gram(seed)):
        chosen = np.sort(rng.permutation(5)[:3]).astype(np.int64)
        weights = rng.standard_normal(3)
        block, parts = exact(matrix[np.ix_(chosen, chosen)]), exact(weights)
        form = sum(parts[i] * block[i][j] * parts[j] for i in range(3) for j in range(3))
        quotient = form / sum(part**2 for part in parts)
        low = exact(achieved_value(as_operator(matrix), SparseVector(chosen, weights)))
        assert 0 < quotient - low < Fraction(1, 10**12)


def test_entry_errors_lower_what_a_vector_reaches():
    matrix, error = gram(1), 1e-3
    vector = SparseVector(np.array([0, 2, 3]), np.array([0.5, -2.0, 1.0]))
    rough = as_operator(matrix)
    rough.entry_errors = lambda: np.full(5, error)
    lost = achieved_value(as_operator(matrix), vector) - achieved_value(rough, vector)
    assert lost == pytest.approx(error * 3.5**2 / 5.25, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_entry_errors_far_above_the_entries_are_covered_to_the_last_bit(seed):
    """Errors that are powers of four have exact roots, so what they can take away is known exactly."""
    rng = np.random.default_rng(seed)
    matrix, roots = gram(seed) * 2.0**-40, 2.0 ** -rng.integers(0, 4, 5)
    operator = as_operator(matrix)
    operator.entry_errors = lambda: roots**2
    for chosen in ([1, 3], [0, 2, 3], [0, 1, 2, 4]):
        weights = rng.standard_normal(len(chosen))
        parts, block = exact(weights), exact(matrix[np.ix_(chosen, chosen)])
        size = range(len(chosen))
        form = sum(parts[i] * block[i][j] * parts[j] for i in size for j in size)
        own = sum(abs(part) * exact(roots[i]) for part, i in zip(parts, chosen, strict=True)) ** 2
        lowest = (form - own) / sum(part**2 for part in parts)
        low = exact(achieved_value(operator, SparseVector(np.array(chosen), weights)))
        assert lowest * (1 + Fraction(1, 10**13)) < low <= lowest < 0


def test_achieved_value_is_below_the_quotient_of_any_length(rng):
    matrix = random_gram(rng)
    operator = as_operator(matrix)
    for scale in (1.0, 3.0, 1e-3):
        indices = np.array([0, 3, 5], dtype=np.int64)
        weights = rng.standard_normal(3) * scale
        exact = weights @ matrix[np.ix_(indices, indices)] @ weights / (weights @ weights)
        reached = achieved_value(operator, SparseVector(indices, weights))
        assert exact * (1.0 - 1e-13) <= reached < exact


def test_operators_own_form_is_lowered_by_its_error(streamed):
    made, vector = WithForms(streamed.rows), SparseVector(np.array([0, 1, 4]), np.array([1.0, -2.0, 2.0]))
    form, _ = made.quadratic_form(vector.indices, vector.weights)
    assert achieved_value(made, vector) == pytest.approx((form - 0.25) / 9.0, rel=1e-12)
    made.error = np.inf  # then the host forms the block
    assert achieved_value(made, vector) == pytest.approx(form / 9.0, rel=1e-12)
    assert achieved_value(made, vector) < form / 9.0
