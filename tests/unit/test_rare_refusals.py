"""Refusals that only unusual requests meet, each with its sentence; and what is allowed just beside them."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen import errors
from sparseigen.components.sequential import cardinality_grid, choose_cardinalities
from sparseigen.operators import as_operator
from sparseigen.solve.eigenvector import solve_exact, sparse_eigenvector_block

MATRIX = se.datasets.load_pitprops().matrix


@pytest.fixture(scope="module")
def path() -> se.SparsePath:
    return se.cardinality_path(MATRIX, [1, 2, 4], certify=False)


# ---- which k ----


def test_rules_that_need_more(path: se.SparsePath) -> None:
    for share in (0.0, 1.5, float("nan")):
        with pytest.raises(errors.OptionError, match=r"share=.* must be above 0 and at most 1"):
            path.suggest("share", share=share)
    with pytest.raises(errors.OptionError, match="no cardinality on the path reaches 1 of the dense optimum"):
        path.suggest("share", share=1.0)
    with pytest.raises(errors.OptionError, match="rule='held-out' needs held_out, the covariance of other data"):
        path.suggest("held-out")
    data = np.ones((9, len(MATRIX)))
    for wrong in (data, MATRIX[:-1, :-1], as_operator(MATRIX[:-1, :-1]), MATRIX[0]):
        with pytest.raises(errors.ShapeError, match=r"must be the covariance of the same .* held_out=covariance"):
            path.suggest("held-out", held_out=wrong)
    with pytest.raises(errors.NonFiniteError, match="held_out has entries that are not finite"):
        path.suggest("held-out", held_out=np.full_like(MATRIX, np.nan))
    assert path.suggest("held-out", held_out=MATRIX) == path.suggest("held-out", held_out=as_operator(MATRIX)) == 4
    short = se.cardinality_path(MATRIX, [2, 3], certify=False)
    assert short.suggest("elbow") == 2  # two points have no elbow: the first


def test_choosing_by_itself() -> None:
    operator = as_operator(MATRIX)
    with pytest.raises(errors.OptionError, match="chooses component by component; with deflation='block' give numbers"):
        choose_cardinalities(operator, "auto", 2, deflation="block")
    with pytest.raises(errors.OptionError, match=r"share=0\.0 must be above 0 and at most 1"):
        choose_cardinalities(operator, "auto", 1, share=0.0)
    with pytest.raises(errors.CardinalityError, match="a grid of cardinalities needs at least one variable, got 0"):
        cardinality_grid(0)
    assert cardinality_grid(1) == [1]


def test_stability_of_a_choice(rng: np.random.Generator) -> None:
    data = rng.standard_normal((10, 4))
    with pytest.raises(errors.OptionError, match="cardinality='auto' would choose anew for every resample"):
        se.selection_stability(data, "auto")
    for share in (0.1, 1.2):
        with pytest.raises(errors.OptionError, match=r"of 10 samples is \d+; it must leave between 2 and 10"):
            se.selection_stability(data, 2, share=share)


def test_methods_without_blocks() -> None:
    with pytest.raises(errors.OptionError, match="method='tpower' finds one component at a time; deflation='block'"):
        sparse_eigenvector_block(MATRIX, [2, 2], method="tpower")


@pytest.mark.parametrize("name", ["time_limit"])
def test_exact_limits(name: str) -> None:
    with pytest.raises(errors.OptionError, match=f"{name}=0 must be above 0"):
        solve_exact(MATRIX, 3, **{name: 0})


# ---- arguments ----


# ---- reports ----


# ---- sources of rows ----


# ---- clusters ----
