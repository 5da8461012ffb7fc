"""Brackets, and what all results share."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import numpy as np
import pytest

import sparseigen as se
from sparseigen.results import Certificate

MATRIX = se.datasets.load_pitprops().matrix


def test_certificate_gap_and_optimality() -> None:
    assert Certificate(1.0, 2.0, "trace").relative_gap == 0.5
    assert not Certificate(1.0, 2.0, "trace").optimal
    assert Certificate(1.0, 1.0 + 1e-9, "trace").optimal
    assert str(Certificate(1.0, 1.0, "trace")) == "proven optimal"
    assert str(Certificate(1.0, 1.00001, "trace")) == "gap < 0.01%"
    assert Certificate(0.0, 0.0, "trace").relative_gap == 0.0
    assert Certificate(-2.0, -1.0, "trace").relative_gap == 0.5


@pytest.mark.parametrize("how", [copy.deepcopy, copy.copy, lambda value: pickle.loads(pickle.dumps(value))])
def test_answers_stay_as_they_are_in_copies(how):
    """An answer does not change after it was given: pickle and deepcopy would make its arrays writable."""
    result = se.sparse_eigenvector(MATRIX, 3)
    other = how(result)
    assert np.array_equal(other.vector, result.vector)
    assert (other.value, other.certificate, other.settings) == (result.value, result.certificate, result.settings)
    graph = how(se.density_curve(nx.karate_club_graph(), [4]))[4]
    assert graph.indicator.sum() == 4
    assert how(se.cardinality_path(MATRIX, [2]))[2].cardinality == 2
    for array in (other.vector, other.history, graph.indicator, graph.history):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
