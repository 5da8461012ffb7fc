"""The optima that the other tests lean on, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.problems.known import PROBLEMS, brute_force


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_optima_are_those_of_enumeration(name: str) -> None:
    known = PROBLEMS[name]()
    assert known.name == name
    np.testing.assert_array_equal(known.matrix, known.matrix.T)
    assert np.linalg.eigvalsh(known.matrix)[0] > -1e-12
    value, support = brute_force(known.matrix, known.cardinality)
    assert value == pytest.approx(known.optimum, rel=1e-12)
    if known.unique_support is not None:
        assert support == known.unique_support
        without = np.delete(np.arange(len(known.matrix)), support[0])
        assert brute_force(known.matrix[np.ix_(without, without)], known.cardinality)[0] < value * (1.0 - 1e-9)


def test_enumeration_in_more_than_one_chunk(rng: np.random.Generator) -> None:
    """5005 supports; the best one is the last."""
    matrix = np.diag(np.arange(15.0))
    matrix[9:, 9:] += np.ones((6, 6))
    value, support = brute_force(matrix, 6)
    assert support == (9, 10, 11, 12, 13, 14)
    assert value == pytest.approx(np.linalg.eigvalsh(matrix)[-1])
