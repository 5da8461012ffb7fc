"""The search over principal blocks, compiled and in NumPy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sparseigen import kernels
from sparseigen.kernels import block_search
from sparseigen.kernels.block_search import FOUND, OVERSPENT, PROVEN, search_blocks
from tests.brute_force import small_matrix

SEARCHES = {
    "numpy": search_blocks,
    "active": lambda matrix, *rest, **options: kernels.search_blocks(matrix.copy(), *rest, **options),
}
"""The compiled one overwrites its matrix."""


def smallest_eigenvalue(matrix, picks):
    return min(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[0] for s in combinations(range(len(matrix)), picks))


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("kind", ["gram", "low rank", "indefinite", "negative", "ties", "duplicated", "diagonal"])
def test_verdicts_are_those_of_all_blocks(name, kind, rng):
    """Just above the smallest eigenvalue of any block, and just below it."""
    matrix = small_matrix(rng, 9, kind)
    for picks in range(1, 10):
        lowest = smallest_eigenvalue(matrix, picks)
        for shift, expected in ((1e-9, PROVEN), (0.3, PROVEN), (-1e-9, FOUND), (-0.3, FOUND)):
            shifted = matrix + (shift - lowest) * np.eye(9)
            report = SEARCHES[name](shifted, picks, 1e9, rng.uniform(0.1, 1.0, 9))
            assert report.verdict == expected
            if expected == FOUND:
                assert len(set(report.support.tolist())) == picks
                assert np.linalg.eigvalsh(shifted[np.ix_(report.support, report.support)])[0] < 1e-12


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_ends_when_its_work_is_done(name, rng):
    matrix = small_matrix(rng, 12, "gram")
    shifted = matrix + (1e-9 - smallest_eigenvalue(matrix, 5)) * np.eye(12)
    report = SEARCHES[name](shifted, 5, 100.0, np.ones(12))
    assert report.verdict == OVERSPENT
    assert report.work < 1e5
    assert SEARCHES[name](shifted, 5, 1e9, np.ones(12)).verdict == PROVEN


def test_the_twins_go_the_same_way(rng):
    for size, picks in ((12, 5), (30, 4), (40, 6)):
        matrix = np.cov(rng.standard_normal((2 * size, size)), rowvar=False)
        shifted = 2.5 * np.eye(size) - matrix
        ours = kernels.search_blocks(shifted.copy(), picks, 1e9, np.ones(size))
        twin = search_blocks(shifted, picks, 1e9, np.ones(size))
        assert (ours.verdict, ours.nodes) == (twin.verdict, twin.nodes)
        assert ours.work == pytest.approx(twin.work, rel=1e-9)


@pytest.mark.parametrize("name", SEARCHES)
def test_weights_that_say_nothing_are_forgotten(name):
    """Rows without anything off the diagonal have no weights of their own."""
    matrix = np.eye(30)
    matrix[0, 1] = matrix[1, 0] = 0.5
    assert SEARCHES[name](matrix, 4, 1e9, np.full(30, 1e-7)).verdict == PROVEN
    matrix[0, 1] = matrix[1, 0] = 1.5
    found = SEARCHES[name](matrix, 4, 1e9, np.full(30, 1e-7))
    assert found.verdict == FOUND
    assert {0, 1} <= set(found.support.tolist())
    assert (block_search._improve(np.ones(3), np.zeros(3)) == 1.0).all()


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_ends_where_too_much_would_be_held(name, rng):
    matrix = small_matrix(rng, 12, "gram")
    shifted = matrix + (1e-9 - smallest_eigenvalue(matrix, 5)) * np.eye(12)
    assert SEARCHES[name](shifted, 5, 1e9, np.ones(12), most_held=120).verdict == OVERSPENT
    assert SEARCHES[name](shifted, 5, 1e9, np.ones(12), most_held=11**2 + 10**2 + 9**2).verdict == PROVEN


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("narrow", [0, 24])
def test_two_groups_have_numbers_of_their_own(name, narrow, rng):
    """Just above the smallest eigenvalue of any block with so many variables of each group, and just below it."""
    matrix, boundary = small_matrix(rng, 9, "gram"), 4
    for picks, others in ((1, 1), (1, 4), (2, 2), (4, 1), (3, 3), (4, 5)):
        supports = [
            [*own, *other]
            for own in combinations(range(boundary), picks)
            for other in combinations(range(boundary, 9), others)
        ]
        lowest = min(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[0] for s in supports)
        for shift, expected in ((1e-9, PROVEN), (0.3, PROVEN), (-1e-9, FOUND), (-0.3, FOUND)):
            shifted = matrix + (shift - lowest) * np.eye(9)
            options = {"others": others, "boundary": boundary, "narrow": narrow}
            report = SEARCHES[name](shifted, picks, 1e9, rng.uniform(0.1, 1.0, 9), **options)
            assert report.verdict == expected
            if expected == FOUND:
                assert len(set(report.support.tolist())) == picks + others
                assert (report.support < boundary).sum() == picks
                assert np.linalg.eigvalsh(shifted[np.ix_(report.support, report.support)])[0] < 1e-12


def test_the_twins_go_the_same_way_with_two_groups(rng):
    for size, picks, others in ((14, 3, 4), (30, 2, 3), (40, 3, 2)):
        matrix = np.cov(rng.standard_normal((2 * size, size)), rowvar=False)
        shifted = 2.5 * np.eye(size) - matrix
        options = {"others": others, "boundary": size // 2, "narrow": 0}
        ours = kernels.search_blocks(shifted.copy(), picks, 1e9, np.ones(size), **options)
        twin = search_blocks(shifted, picks, 1e9, np.ones(size), **options)
        assert (ours.verdict, ours.nodes) == (twin.verdict, twin.nodes)
        assert ours.work == pytest.approx(twin.work, rel=1e-9)
