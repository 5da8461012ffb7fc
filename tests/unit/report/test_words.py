"""Sentences claim no more than is proven; figures show the results."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sparseigen as se
from sparseigen.report.words import component_sentence


def test_sentences_never_claim_more_than_is_proven(pitprops) -> None:
    _, _, path = pitprops
    for result in path:
        said = component_sentence(result, path.total_variance, after_others=False)
        if result.certificate.optimal:
            assert said.startswith("Proven best: no")
            continue
        limit, reached = (float(n) for n in re.search(r"more than ([\d.]+) %.*at least ([\d.]+) %", said).groups())
        assert limit / 100.0 >= result.certificate.upper_bound / path.total_variance - 1e-12
        assert reached / 100.0 <= 1.0 - result.certificate.relative_gap + 1e-12
    bare = se.sparse_eigenvector(np.diag([1.0, 2.0, 3.0]), 1, certify=False)
    assert "without a proof" in component_sentence(bare, 6.0, after_others=False)
    least = se.sparse_eigenvector(np.diag([1.0, 2.0, 3.0]), 1, which="smallest")
    assert "varies less" in component_sentence(least, 6.0, after_others=False)


def test_plots_of_results(pitprops, club) -> None:
    _, results, path = pitprops
    bars = results[0].plot().data[0]
    np.testing.assert_allclose(list(bars.x)[::-1], list(results[0].loadings.values()))
    figure = path.plot(chosen=5)
    assert [trace.name for trace in figure.data] == ["proven limit", "found", "without limit on k", "k = 5"]
    np.testing.assert_allclose(figure.data[0].y, path.upper_bounds / path.total_variance)
    with pytest.raises(KeyError, match="cardinality 99 is not on the path"):
        path.plot(chosen=99)
    curve = club[1].plot()
    np.testing.assert_allclose(curve.data[1].y, club[1].densities)
    named = se.sparse_eigenvector(np.diag([2.0, 1.0]), 1)
    hostile = se.results.SparseEigResult(
        named.vector, 1.0, 1, named.stop_reason, 1, np.ones(1), None, "x", {}, 0.0, ("<b>", "c")
    )
    assert hostile.plot().layout.yaxis.ticktext == ("&lt;b&gt;",)
