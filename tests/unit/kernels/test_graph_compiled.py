"""The compiled graph kernels give what their NumPy twins give, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.kernels import graph_reference as reference
from sparseigen.kernels.graph_reference import Rows
from tests.unit.kernels.random_rows import WEIGHTS, make_rows

compiled = pytest.importorskip("sparseigen.kernels.graph_compiled")


@pytest.fixture(params=sorted(WEIGHTS))
def case(request, rng):
    rows, matrix = make_rows(rng, 60, request.param)
    loops = rng.integers(0, 3, 60).astype(np.int64)
    fixed = np.zeros(60, dtype=np.uint8)
    fixed[[7, 31]] = 1
    return rows, matrix, loops, fixed


def test_products_and_selection_agree(case, rng):
    rows, matrix, loops, fixed = case
    chosen = np.sort(rng.choice(60, 12, replace=False)).astype(np.int64)
    first, second = np.zeros(60, dtype=np.int64), np.zeros(60, dtype=np.int64)
    reference.add_rows(rows, chosen, 1, first)
    compiled.add_rows(rows, chosen, 1, second)
    assert np.array_equal(first, matrix[:, chosen].sum(axis=1))
    assert np.array_equal(first, second)
    members = np.zeros(60, dtype=np.uint8)
    members[chosen] = 1
    for shift in (0, 1, 50):
        for count in (2, 20, 60):
            wanted = reference.top_vertices(first, members, loops, fixed, shift, count)
            assert {7, 31} <= set(wanted.tolist())
            assert np.array_equal(wanted, compiled.top_vertices(first, members, loops, fixed, shift, count))


@pytest.mark.parametrize("count", [3, 40, 60])
def test_signed_weights_agree(case, count, rng):
    rows, matrix, _, _ = case
    vertices = rng.permutation(60)[:count].astype(np.int64)
    signs = rng.choice([-1, 1], count).astype(np.int64)
    wanted = signs @ matrix[np.ix_(vertices, vertices)] @ signs
    assert reference.signed_weight(rows, vertices, signs) == wanted
    assert compiled.signed_weight(rows, vertices, signs) == wanted


def test_products_made_block_by_block_agree(rng):
    size = 200_000
    columns = np.sort(rng.integers(0, size, (50, 8000)), axis=1).astype(np.int32)
    starts = np.minimum(np.arange(size + 1, dtype=np.int64), 50) * 8000
    rows = Rows(starts, columns.ravel(), np.zeros(0, dtype=np.int32))
    first, second = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    reference.add_rows(rows, np.arange(50), -1, first)
    compiled.add_rows(rows, np.arange(50), -1, second)
    assert first.sum() == -400_000
    assert np.array_equal(first, second)


def test_selection_agrees_on_many_ties(rng):
    product = rng.integers(0, 4, 20_000).astype(np.int64)
    flags, loops = np.zeros(20_000, dtype=np.uint8), np.zeros(20_000, dtype=np.int64)
    for count in (1, 100, 9000, 19_999):
        wanted = reference.top_vertices(product, flags, loops, flags, 0, count)
        assert np.array_equal(wanted, compiled.top_vertices(product, flags, loops, flags, 0, count))


def test_orders_agree(case):
    rows, matrix, loops, fixed = case
    for flags in (fixed, np.zeros_like(fixed)):
        wanted = reference.peel(rows, loops, flags)
        found = compiled.peel(rows, loops, flags)
        assert np.array_equal(wanted[0], found[0])
        assert np.array_equal(wanted[1], found[1])
        assert wanted[1].sum() == matrix.sum() + loops.sum()
    priority = matrix.sum(axis=1).astype(np.int64)
    seeds = np.array([3, 9, 3], dtype=np.int64)
    wanted = reference.grow(rows, loops, priority, seeds, 40)
    assert np.array_equal(wanted, compiled.grow(rows, loops, priority, seeds, 40))
    assert len(set(wanted.tolist())) == 40


def test_loads_agree_and_carry_everything(case):
    rows, matrix, loops, _ = case
    wanted, sweeps = reference.fair_loads(rows, loops, 15, 8)
    found, made = compiled.fair_loads(rows, loops, 15, 8)
    assert np.array_equal(wanted, found)
    assert sweeps == made
    assert wanted.sum() == (matrix.sum() + loops.sum()) << 8


@pytest.mark.parametrize("patience", [0, 30])
def test_exchanges_agree_and_count_their_gain(case, patience, rng):
    rows, matrix, loops, fixed = case
    outcomes = []
    chosen = np.union1d(rng.choice(60, 15, replace=False), [7, 31])
    for kernels in (reference, compiled):
        members = np.zeros(60, dtype=np.uint8)
        members[chosen] = 1
        product = matrix[:, chosen].sum(axis=1).astype(np.int64)
        gain = kernels.exchange(
            rows, loops, fixed, members, product, patience=patience, max_steps=500, width=16, seed=5
        )
        after = np.flatnonzero(members)
        assert members[7]
        assert members[31]
        whole = matrix + np.diag(loops)
        assert whole[np.ix_(after, after)].sum() - whole[np.ix_(chosen, chosen)].sum() == gain[0] > 0
        assert np.array_equal(product, matrix[:, after].sum(axis=1))
        outcomes.append((gain, members.tobytes()))
    assert outcomes[0] == outcomes[1]


def test_structure_agrees(case):
    rows, _, _, _ = case
    vertices = np.array([0, 5, 6, 20, 59], dtype=np.int64)
    for wanted, found in zip(reference.induced(rows, vertices), compiled.induced(rows, vertices), strict=True):
        assert np.array_equal(wanted, found)
    assert reference.is_symmetric(rows)
    assert compiled.is_symmetric(rows)
    changed = rows.neighbours.copy()
    changed[int(rows.starts[1]) - 1] = 59 if changed[int(rows.starts[1]) - 1] != 59 else 58
    broken = Rows(rows.starts, changed, rows.weights)
    assert not reference.is_symmetric(broken)
    assert not compiled.is_symmetric(broken)


def test_wrong_shapes_are_refused(case):
    rows, _, loops, fixed = case
    with pytest.raises(ValueError, match="vertex out of range"):
        compiled.add_rows(rows, np.array([60], dtype=np.int64), 1, np.zeros(60, dtype=np.int64))
    with pytest.raises(ValueError, match="lengths do not match"):
        compiled.peel(rows, loops[:-1], fixed)
