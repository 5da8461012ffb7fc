"""Blocks of near variables, and the way back to all of them."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.interface import Progress
from sparseigen.solvers.near import PlacedProgress, count_near, count_samples, find_base, form_block


def test_the_block_keeps_names_errors_and_variances(rng):
    data = rng.standard_normal((30, 12))
    operator = se.covariance(data, names=[f"v{i}" for i in range(12)])
    near = np.array([0, 5, 11])
    block = form_block(operator, near)
    assert block.names == ("v0", "v5", "v11")
    assert block.entry_errors().tolist() == operator.entry_errors()[near].tolist()
    assert block.to_dense() == pytest.approx(np.cov(data[:, near].T))


def test_samples_are_counted_through_deflations(rng):
    operator = se.covariance(rng.standard_normal((60, 20)).astype(np.float32))
    deflated = operator.deflated(np.eye(20)[0])
    assert find_base(deflated) is operator
    assert count_samples(deflated) == 60
    assert count_samples(se.operators.as_operator(np.eye(3))) == 0


@pytest.mark.parametrize(("samples", "near"), [(10, 2048), (300_000, 1000), (10**9, 512)])
def test_many_samples_make_the_block_smaller(samples, near):
    operator = se.operators.as_operator(np.eye(3))
    operator.n_samples = samples
    assert count_near(operator) == near


def test_progress_is_told_in_the_numbers_of_all_variables():
    outer = Progress(9)
    inner = PlacedProgress(outer, np.array([2, 7]))
    inner.report(SparseVector(np.array([1]), np.ones(1)), 3.0)
    assert inner.best.indices.tolist() == [1]
    assert outer.best.indices.tolist() == [7]
    assert (outer.iterations, outer.best_value) == (1, 3.0)
