"""The two kernels behind the bounds: both twins against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen import errors, kernels
from sparseigen.kernels import numpy_reference
from sparseigen.kernels import numpy_reference as numpy_bounds

TWINS = [numpy_bounds]
if kernels.active.NAME == "compiled":
    from sparseigen.kernels import compiled as compiled_bounds

    TWINS.append(compiled_bounds)


def top_sum(products, count):
    largest = sorted(products, reverse=True)[:count]
    return sum(largest), (largest[-1] if largest else 0.0)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__.rsplit(".", 1)[-1])
@pytest.mark.parametrize(
    ("size", "count"), [(1, 0), (2, 1), (5, 0), (5, 4), (40, 3), (300, 2), (300, 9), (300, 150), (300, 299)]
)
def test_top_row_sums(twin, size, count, rng):
    block = rng.standard_normal((size, size))
    block[:, ::3] = 0.0  # ties at zero
    weights = rng.random(size)
    own = np.arange(size, dtype=np.int64)
    sums, least = twin.top_row_sums(block, own, weights, count)
    for i in range(size):
        expected, smallest = top_sum([abs(block[i, j]) * weights[j] for j in range(size) if j != i], count)
        assert sums[i] == pytest.approx(expected, rel=1e-13)
        assert least[i] == smallest


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__.rsplit(".", 1)[-1])
@pytest.mark.parametrize(("n_inside", "picks"), [(0, 1), (0, 6), (3, 0), (3, 1), (3, 4), (12, 0), (2, 10)])
def test_node_row_sums(twin, n_inside, picks, rng):
    matrix = rng.standard_normal((20, 20))
    members = rng.permutation(20)[:12].astype(np.int64)
    weights = rng.random(12)
    sums, least = twin.node_row_sums(matrix, members, n_inside, picks, weights)
    for i in range(12):
        product = [abs(matrix[members[i], members[j]]) * weights[j] for j in range(12)]
        inside = sum(product[j] for j in range(n_inside) if j != i)
        others = [product[j] for j in range(n_inside, 12) if j != i]
        expected, smallest = top_sum(others, max(0, picks - 1) if i >= n_inside else picks)
        assert sums[i] == pytest.approx(inside + expected, rel=1e-13)
        # A free row among exactly `picks` others may count its own zero: never more than the true smallest.
        assert least[i] == smallest


def test_threads_do_not_change_a_bit(rng):
    block, weights = rng.standard_normal((700, 700)), rng.random(700)
    own = np.arange(700, dtype=np.int64)
    before = kernels.thread_count()
    try:
        kernels.set_thread_count(1)
        one = kernels.top_row_sums(block, own, weights, 60)
        kernels.set_thread_count(3)
        three = kernels.top_row_sums(block, own, weights, 60)
    finally:
        kernels.set_thread_count(before)
    assert np.array_equal(one[0], three[0])
    assert np.array_equal(one[1], three[1])


@pytest.mark.skipif(kernels.active.NAME != "compiled", reason="checks of the compiled binding")
def test_binding_refuses_what_would_leave_memory(rng):
    matrix = rng.standard_normal((4, 4))
    with pytest.raises(ValueError, match="index out of range"):
        kernels.top_row_sums(matrix, np.array([0, 1, 2, 9]), np.ones(4), 2)
    with pytest.raises(ValueError, match="more entries asked for"):
        kernels.top_row_sums(matrix, np.arange(4), np.ones(4), 4)
    with pytest.raises(ValueError, match="counts do not fit"):
        kernels.node_row_sums(matrix, np.arange(3), 1, 3, np.ones(3))


@pytest.mark.parametrize("count", ["x", -1, None, 1.5, True, 2**40])
def test_thread_counts_that_are_none(count):
    before = kernels.thread_count()
    for set_thread_count in (kernels.set_thread_count, numpy_reference.set_thread_count):
        with pytest.raises(errors.OptionError, match="threads"):
            set_thread_count(count)
    assert kernels.thread_count() == before


def test_a_step_of_a_split(rng):
    """Slopes and moved numbers of the compiled kernel are those of the reference."""
    size = 75
    part, turns = rng.standard_normal((2, size, size))
    part, ratios = part + part.T, np.exp(turns - turns.T)
    np.fill_diagonal(part, 0.0)
    density, scale = rng.standard_normal((2, size, size))
    density, scale = density @ density.T, np.abs(scale + scale.T)
    least, weight = np.abs(rng.standard_normal((2, size)))
    expected = numpy_reference.split_slopes(part, ratios, least, weight, density, scale)
    found = kernels.split_slopes(part, ratios, least, weight, density, scale)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-13)
    moved, wanted = (part.copy(), ratios.copy()), (part.copy(), ratios.copy())
    kernels.split_update(*moved, found[0], found[1], scale, 0.1, 50.0)
    numpy_reference.split_update(*wanted, expected[0], expected[1], scale, 0.1, 50.0)
    np.testing.assert_allclose(moved[0], wanted[0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(moved[1], wanted[1], rtol=1e-11)
    assert 0.02 <= moved[1].min() < moved[1].max() <= 50.0
