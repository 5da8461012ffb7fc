"""The benchmark of quotients: its truth holds, its peers are scored as we are, its data are of the shape told."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.generalised.blocks import run_rifle, value_of
from benchmarks.generalised.discriminants import count_centroid_genes, list_classifiers
from benchmarks.generalised.slow_modes import draw_trajectory, show_slow_modes
from benchmarks.generalised.truth import draw_metric, show_truth
from sparseigen.components.generalised import canonical_pencil, generalised_components


def test_enumeration_agrees(capsys) -> None:
    targets = show_truth(3)
    assert [target.holds for target in targets] == [True, True, True]
    assert "3 instances" in capsys.readouterr().out


def test_metrics_are_definite_and_some_nearly_singular(rng) -> None:
    for kind in ("plain", "singular", "scaled"):
        assert np.linalg.eigvalsh(draw_metric(rng, 6, kind))[0] > 0.0
    smallest = np.linalg.eigvalsh(draw_metric(rng, 6, "singular"))[0]
    assert smallest < 2e-4


def test_a_peer_is_scored_by_the_best_weights_on_its_variables(rng) -> None:
    X, Y = rng.standard_normal((60, 5)), rng.standard_normal((60, 4))
    Y[:, 0] += X[:, 2]
    pencil = canonical_pencil(X, Y)
    best = generalised_components(pencil, 1, (2, 2), ridge=0.1)[0]
    assert value_of(pencil, best.support, 0.1) == pytest.approx(best.value)
    name, value, seconds = run_rifle(pencil, 2, 0.1)
    assert value <= best.value * (1.0 + 1e-9)
    assert value > 0.5
    assert name.startswith("Rifle")
    assert seconds >= 0.0


def test_slow_modes_are_slow(capsys, rng) -> None:
    trajectory = draw_trajectory(rng, 400, 60)
    assert trajectory.shape == (400, 60)
    assert np.abs(trajectory.mean(axis=0)).max() < 1e-12
    show_slow_modes(60)
    assert "eigh" in capsys.readouterr().out


def test_classifiers_are_compared_by_the_variables_they_use(rng) -> None:
    X, y = rng.standard_normal((40, 30)), np.repeat([0, 1], 20)
    X[y == 1, :3] += 5.0
    assert count_centroid_genes(X, y, 3.0) < count_centroid_genes(X, y, 0.1) <= 30
    assert {"SparseLDA, k = 10", "SparseLDA, k = 50"} <= set(list_classifiers())
