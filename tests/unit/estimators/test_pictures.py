"""Frames and pictures of a fit, by either engine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sparseigen as se
from sparseigen.errors import OptionError
from sparseigen.estimators.pictures import KINDS


@pytest.fixture
def fitted(data):
    frame = pd.DataFrame(data).rename(columns="v{}".format)
    return se.SparsePCA(2, 4).fit(frame), frame


def test_loadings_as_a_frame(fitted) -> None:
    pca, frame = fitted
    loadings = pca.loadings_frame()
    assert list(loadings.columns) == ["PC1", "PC2"]
    assert set(loadings.index) == set(frame.columns[pca.components_.any(axis=0)])
    assert pca.loadings_frame(all_variables=True).shape == (frame.shape[1], 2)
    np.testing.assert_array_equal(pca.loadings_frame(all_variables=True).to_numpy(), pca.components_.T)


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_by_plotly(kind: str, fitted) -> None:
    pca, frame = fitted
    labels = ["a", "b"] * (len(frame) // 2) if kind in ("scores", "biplot") else None
    figure = pca.plot(kind, frame, labels=labels)
    if kind == "loadings":
        np.testing.assert_allclose(sorted(figure.data[0].x), sorted(pca.components_[0][pca.components_[0] != 0]))
    if kind == "scree":
        np.testing.assert_allclose(figure.data[0].y, pca.explained_variance_ratio_)
    if kind == "scores":
        scores = pca.transform(frame)
        np.testing.assert_allclose(sorted([*figure.data[0].x, *figure.data[1].x]), sorted(scores[:, 0]))
        assert [trace.name for trace in figure.data] == ["a", "b"]
    if kind == "biplot":
        assert len(figure.layout.annotations) == 2 * np.count_nonzero(pca.components_.any(axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_by_matplotlib(kind: str, fitted) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    pca, frame = fitted
    _, axes = plt.subplots()
    assert pca.plot(kind, frame, ax=axes) is axes
    assert axes.has_data()
    assert pca.plot(kind, frame, engine="matplotlib") is not axes
    plt.close("all")


def test_what_cannot_be_shown(fitted, rng) -> None:
    pca, _ = fitted
    with pytest.raises(OptionError, match=r"pass them: pca.plot\('scores', X\)"):
        pca.plot("scores")
    with pytest.raises(OptionError, match="kind='pie' is not known"):
        pca.plot("pie")
    with pytest.raises(OptionError, match=r"components\[0\]=7 must be a whole number from 0 to 1"):
        pca.plot("loadings", components=[7])
    with pytest.raises(OptionError, match="ax= takes axes of matplotlib, engine='plotly' has none"):
        pca.plot(ax=object(), engine="plotly")
    with pytest.raises(OptionError, match=r"engine='gnuplot' is not known. Allowed: 'matplotlib', 'plotly'"):
        pca.plot(engine="gnuplot")
