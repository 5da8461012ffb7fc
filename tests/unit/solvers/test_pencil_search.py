"""The search over supports of a pencil: quotas, exchanges, starts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sparseigen.certificates.pencil import Pencil, Quota
from sparseigen.operators import as_operator
from sparseigen.solvers import pencil_search
from sparseigen.solvers.pencil_search import PencilSearch, solve_pair


def draw(rng, size, quota):
    first, second = rng.standard_normal((2, size + 6, size))
    return Pencil(as_operator(first.T @ first), as_operator(second.T @ second), quota)


def best_of_all(search, pencil):
    first = pencil.size if pencil.quota.boundary is None else pencil.quota.boundary
    return max(
        search.solve(np.array([*own, *other]))[0]
        for own in combinations(range(first), pencil.quota.picks)
        for other in combinations(range(first, pencil.size), pencil.quota.others)
    )


@pytest.mark.parametrize("quota", [Quota(3), Quota(2, 3, 5)])
@pytest.mark.parametrize("few", [True, False])
def test_exchanges_end_where_none_is_better(quota, few, rng, monkeypatch) -> None:
    monkeypatch.setattr(pencil_search, "ALL_EXCHANGES", 1500 if few else 0)
    for _ in range(5):
        pencil = draw(rng, 11, quota)
        seen = []
        search = PencilSearch(pencil, lambda vector, value, seen=seen: seen.append(value))
        for seed in search.seeds():
            search.climb(search.fill(seed))
        search.climb(search.support, every=True)
        assert 0.9 * best_of_all(search, pencil) <= search.value <= best_of_all(search, pencil) * (1.0 + 1e-9)
        assert not few or search._exchange(search.support, search.value, every=True) is None
        assert seen == sorted(seen) == search.history
        assert search.room(search.support) == [0, 0]
        vector = search.best_vector()
        assert np.linalg.norm(vector.weights) == pytest.approx(1.0)
        assert pencil.measure(vector)[0] == pytest.approx(search.value)


def test_truncation_keeps_to_the_quota(rng) -> None:
    search = PencilSearch(draw(rng, 6, Quota(1, 2, 3)))
    assert search.truncate(np.array([3.0, -4.0, 1.0, 0.1, 0.5, -0.2])).tolist() == [1, 4, 5]


def test_pairs_to_start_from_are_different(rng) -> None:
    search = PencilSearch(draw(rng, 40, Quota(2, 2, 20)))
    starts = [tuple(seed) for seed in search.seeds()]
    assert len(starts) > 3
    assert len(set(np.concatenate(starts))) == 2 * len(starts)


def test_supports_that_were_seen_are_forgotten_in_time(rng) -> None:
    search = PencilSearch(draw(rng, 6, Quota(2)))
    search.seen = {str(i).encode(): (0.0, np.ones(1)) for i in range(5000)}
    search.solve(np.array([0, 1]))
    assert len(search.seen) == 1


def test_the_search_needs_only_products_of_large_matrices(rng) -> None:
    pencil = draw(rng, 9, Quota(3))
    held = PencilSearch(pencil)
    held.climb(held.fill(next(held.seeds())))
    pencil.held = False
    search = PencilSearch(pencil)
    search.climb(search.fill(next(search.seeds())))
    assert search.value == pytest.approx(held.value)


def test_a_pair_without_a_factor_is_worth_nothing() -> None:
    assert solve_pair(np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]]))[0] == -np.inf
