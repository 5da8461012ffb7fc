"""Figures show the numbers of the results, and names as they are."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import sparseigen as se


def test_plots_of_results() -> None:
    pitprops = se.datasets.load_pitprops()
    first = se.sparse_components(pitprops.operator(), [5, 3])[0]
    path = se.cardinality_path(pitprops.matrix, range(1, 14))
    bars = first.plot().data[0]
    np.testing.assert_allclose(list(bars.x)[::-1], list(first.loadings.values()))
    figure = path.plot(chosen=5)
    assert [trace.name for trace in figure.data] == ["proven limit", "found", "without limit on k", "k = 5"]
    np.testing.assert_allclose(figure.data[0].y, path.upper_bounds / path.total_variance)
    with pytest.raises(KeyError, match="cardinality 99 is not on the path"):
        path.plot(chosen=99)
    curve = se.density_curve(nx.karate_club_graph(), [3, 5, 8])
    np.testing.assert_allclose(curve.plot().data[1].y, curve.densities)
    named = se.sparse_eigenvector(np.diag([2.0, 1.0]), 1)
    hostile = se.results.SparseEigResult(
        named.vector, 1.0, 1, named.stop_reason, 1, np.ones(1), None, "x", {}, 0.0, ("<b>", "c")
    )
    assert hostile.plot().layout.yaxis.ticktext == ("&lt;b&gt;",)
