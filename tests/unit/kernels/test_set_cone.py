"""The projections of rows: both twins give the nearest point of the cone."""

import numpy as np
import pytest

from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels import set_cone

RELAXATION = 1.6


def split(twin, point, count, thresholds=None, heights=None):
    """Projections Y and rests D of the rows of a matrix."""
    size = len(point)
    first, mirror = point.astype(np.float32), np.empty((size, size), dtype=np.float32)
    thresholds = np.zeros(size) if thresholds is None else thresholds
    heights = np.zeros(size) if heights is None else heights
    twin.project_rows(first, mirror, count, RELAXATION, thresholds, heights)
    projected = (first + mirror) / (2.0 - RELAXATION)
    return projected, projected - mirror


def draw(rng, size):
    spread = rng.choice([0.1, 1.0, 30.0])
    point = spread * rng.standard_normal((size, size)) + rng.normal()
    if rng.random() < 0.3:
        point = np.round(point)  # ties
    point[np.diag_indices(size)] += rng.normal() * 5.0
    return point


@pytest.mark.parametrize("twin", [set_cone, graph_kernels], ids=["numpy", "active"])
@pytest.mark.parametrize("seed", range(12))
def test_a_projection_is_in_the_cone_and_leaves_a_rest_in_its_polar(twin, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 40))
    count = int(rng.integers(1, size + 1))
    point = draw(rng, size)
    projected, rest = split(twin, point, count)
    scale = 1.0 + np.abs(point).max()
    off = ~np.eye(size, dtype=bool)
    own = projected.diagonal()
    assert np.allclose(projected + rest, point, atol=1e-4 * scale)
    assert (projected >= -1e-4 * scale).all()
    assert (projected <= own[:, None] + 1e-4 * scale).all()
    assert np.allclose(np.where(off, projected, 0.0).sum(axis=1), (count - 1) * own, atol=1e-3 * scale * count)
    largest = -np.sort(-np.where(off, rest, -np.inf), axis=1)[:, : count - 1].sum(axis=1)
    assert (rest.diagonal() + largest <= 1e-3 * scale * count).all()
    assert np.allclose((projected * rest).sum(axis=1), 0.0, atol=2e-3 * scale * scale * count)


@pytest.mark.parametrize("seed", range(8))
def test_twins_agree_also_from_a_wrong_start(seed):
    rng = np.random.default_rng(100 + seed)
    size, count = int(rng.integers(3, 60)), 0
    count = int(rng.integers(2, size + 1))
    point = draw(rng, size)
    start = rng.normal(size=size) * 10.0, np.abs(rng.normal(size=size)) * rng.choice([0.0, 0.01, 10.0])
    answers = [split(twin, point, count, *(part.copy() for part in start)) for twin in (set_cone, graph_kernels)]
    scale = 1.0 + np.abs(point).max()
    assert np.allclose(answers[0][0], answers[1][0], atol=1e-3 * scale)


def test_symmetrise_adds_to_the_average_with_the_transpose():
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((131, 131)).astype(np.float32)
    added = rng.standard_normal((131, 131)).astype(np.float32)
    added += added.T
    wanted = 0.5 * (matrix + matrix.T) + 0.25 * added
    for twin in (set_cone, graph_kernels):
        changed = matrix.copy()
        twin.symmetrise(changed, added, 0.25)
        assert np.allclose(changed, wanted, atol=1e-5)
        assert np.array_equal(changed, changed.T)
