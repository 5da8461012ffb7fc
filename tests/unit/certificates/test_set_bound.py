"""The bound for orthogonal sets holds for any multipliers, whatever the supports."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.set_bound import (
    assess_split,
    empty_split,
    find_violators,
    ky_fan_split,
    prove_set,
    split_from,
    surround,
)
from sparseigen.certificates.set_relaxation import Group, Multipliers, group_cardinalities
from sparseigen.operators import as_operator


def draw_set(rng, size, cardinalities, overlapping):
    """Orthonormal components on random supports: disjoint, or two on the same support."""
    columns = np.zeros((size, len(cardinalities)))
    order = rng.permutation(size)
    if overlapping:
        both = order[: min(cardinalities[:2])]
        columns[both, :2] = np.linalg.qr(rng.standard_normal((len(both), 2)))[0]
        order = order[len(both) :]
        start = 2
    else:
        start = 0
    for t in range(start, len(cardinalities)):
        members, order = order[: cardinalities[t]], order[cardinalities[t] :]
        columns[members, t] = rng.standard_normal(len(members))
    return columns / np.linalg.norm(columns, axis=0)


@pytest.mark.parametrize("cardinalities", [(3, 3), (2, 4, 3), (2, 2, 2)])
@pytest.mark.parametrize("heavy", [10, 6])
def test_random_multipliers_never_lie_below_a_set(rng, cardinalities, heavy) -> None:
    """Unequal cardinalities, indefinite matrices, variables outside of H, overlapping supports: all hold."""
    groups = group_cardinalities(cardinalities)
    total = sum(cardinalities)
    for _ in range(12):
        matrix = rng.standard_normal((10, 10))
        matrix = matrix + matrix.T
        problem = BoundProblem(as_operator(matrix), max(cardinalities))
        chosen = np.sort(rng.permutation(10)[:heavy])
        around = surround(problem, chosen, max(cardinalities))
        within = np.ascontiguousarray(problem.dense[np.ix_(chosen, chosen)])
        shape = (len(groups), heavy, heavy)
        part = rng.standard_normal(shape) * 0.3
        part = part + part.transpose(0, 2, 1)
        part[:, *np.diag_indices(heavy)] = 0.0
        price = rng.standard_normal((heavy, 2))
        found = Multipliers(part, np.abs(rng.standard_normal(shape)), 0.2 * rng.random(heavy), price @ price.T)
        split = assess_split(split_from(within, groups, total, found), around, found.price)
        bound = problem.unscale_bound(prove_set(split, around))
        assert bound >= problem.unscale_bound(split.value) * (1.0 - 1e-9)
        assert (find_violators(split, around) >= 0.0).all()
        for overlapping in (False, True):
            columns = draw_set(rng, 10, cardinalities, overlapping)
            assert np.einsum("ij,ij->", columns, matrix @ columns) <= bound


def test_without_multipliers_it_is_ky_fan(rng) -> None:
    data = rng.standard_normal((30, 12))
    matrix = data.T @ data
    problem = BoundProblem(as_operator(matrix), 12)
    around = surround(problem, np.arange(12), 12)
    groups = (Group(3, 12),)
    expected = np.linalg.eigvalsh(matrix)[-3:].sum()
    for split in (
        ky_fan_split(problem.dense, groups, 12),
        assess_split(empty_split(problem.dense, groups, 12), around),
    ):
        assert problem.unscale_bound(prove_set(split, around)) == pytest.approx(expected, rel=1e-9)
        assert problem.unscale_bound(prove_set(split, around)) >= expected * (1.0 - 1e-14)


def test_a_split_that_was_not_assessed_proves_nothing(rng) -> None:
    matrix = np.eye(4)
    problem = BoundProblem(as_operator(matrix), 2)
    around = surround(problem, np.arange(4), 2)
    assert prove_set(empty_split(problem.dense, (Group(2, 2),), 4), around) == np.inf
