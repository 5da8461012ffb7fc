"""The same pictures by matplotlib, into the caller's axes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import sparseigen as se

plt = pytest.importorskip("matplotlib.pyplot", reason="`make test-ecosystem` installs matplotlib and runs these")


@pytest.fixture(autouse=True)
def no_window():
    plt.switch_backend("agg")
    yield
    plt.close("all")


def test_results_draw_into_axes() -> None:
    pitprops = se.datasets.load_pitprops()
    path = se.cardinality_path(pitprops.matrix, range(1, 14))
    _, axes = plt.subplots()
    assert path.plot(chosen=5, ax=axes) is axes
    np.testing.assert_allclose(axes.lines[1].get_ydata(), path.shares)
    bars = path[5].plot(engine="matplotlib")
    assert sorted(bar.get_width() for bar in bars.patches) == pytest.approx(sorted(path[5].loadings.values()))
    club = nx.karate_club_graph()
    curve = se.density_curve(club, [3, 5, 8])
    np.testing.assert_allclose(curve.plot(engine="matplotlib").lines[1].get_ydata(), curve.densities)
    drawn = curve[5].plot(club, engine="matplotlib")
    assert len(drawn.collections[0].get_segments()) == 10


def test_stability_and_names_with_dollars(rng: np.random.Generator) -> None:
    stability = se.components.SelectionStability(np.array([[1.0, 0.25]]), np.array([[True, False]]), 4, ("US$ a$", "b"))
    axes = stability.plot(engine="matplotlib")
    assert [bar.get_width() for bar in axes.patches] == [1.0, 0.25]
    assert axes.get_yticklabels()[0].get_text() == r"US\$ a\$"
    axes.figure.canvas.draw()
