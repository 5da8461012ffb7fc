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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_step_of_a_split(rng, dtype):
    """Ceilings, slopes and moved numbers of the compiled kernel are those of the reference."""
    size, floor, momentum = 75, 0.2, 0.6
    matrix, rest, turns = rng.standard_normal((3, size, size))
    matrix, rest = (matrix + matrix.T).astype(dtype), (rest + rest.T).astype(dtype)
    ratios = np.exp(turns - turns.T).astype(dtype)
    density = rng.standard_normal((size, size))
    density = (density @ density.T).astype(dtype)
    others = np.abs(rng.standard_normal((size, 9))).astype(dtype)
    tolerance = 1e-11 if dtype is np.float64 else 2e-4
    none = np.zeros(size, dtype=dtype)
    wanted, thresholds = numpy_reference.split_ceilings(matrix, rest, ratios, others, 12, none)
    found, used = kernels.split_ceilings(matrix, rest, ratios, others, 12, none)
    np.testing.assert_allclose(found, wanted, rtol=tolerance)
    assert (kernels.split_ceilings(matrix, rest, ratios, others, 12, used)[0] >= wanted * (1.0 - 1e-6)).all()

    slopes = [np.triu(rng.standard_normal((size, size)), 1).astype(dtype) for _ in range(2)]
    mine, theirs = [part.copy() for part in slopes], [part.copy() for part in slopes]
    norms = kernels.split_slopes(matrix, rest, ratios, thresholds, density, floor, momentum, *mine)
    expected = numpy_reference.split_slopes(matrix, rest, ratios, thresholds, density, floor, momentum, *theirs)
    np.testing.assert_allclose(norms, expected, rtol=tolerance)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(np.triu(one, 1), np.triu(other, 1), rtol=tolerance, atol=10 * tolerance)

    moved, still = (rest.copy(), ratios.copy()), (rest.copy(), ratios.copy())
    kernels.split_update(matrix, *moved, *mine, floor, 0.01, 50.0)
    numpy_reference.split_update(matrix, *still, *theirs, floor, 0.01, 50.0)
    off = ~np.eye(size, dtype=bool)
    np.testing.assert_allclose(moved[0][off], still[0][off], rtol=tolerance, atol=10 * tolerance)
    np.testing.assert_allclose(moved[1], still[1], rtol=50 * tolerance)
    assert 0.019 <= moved[1].min() < moved[1].max() <= 50.0


@pytest.mark.parametrize(("width", "count"), [(5, 1), (40, 39), (300, 7), (1500, 300)])
def test_row_ceilings_are_never_too_small_and_hardly_too_large(rng, width, count):
    """Whatever the guess, a ceiling lies above the sum of the largest; with many rounds it meets it."""
    block = (rng.standard_normal((20, width)) * np.exp(rng.standard_normal((20, 1)))).astype(np.float32)
    block[3], block[4, 1:] = 0.0, 1.0  # rows of ties
    weights = rng.uniform(0.5, 2.0, width).astype(np.float32)
    own = rng.integers(0, width, 20)
    sums, _ = numpy_reference.top_row_sums(block.astype(float), own, weights.astype(float), min(count, width - 1))
    for guesses in (np.zeros(20), np.full(20, 1e-3), np.full(20, 3.0), np.full(20, 1e6)):
        guesses = guesses.astype(np.float32)
        ceilings, used = kernels.row_ceilings(block, own, weights, count, guesses)
        assert (ceilings >= sums * (1.0 - 1e-6)).all()
        np.testing.assert_allclose(ceilings, sums, rtol=1e-3, atol=1e-3)
        again = kernels.row_ceilings(block, own, weights, count, used)[0]
        np.testing.assert_allclose(again, sums, rtol=1e-3, atol=1e-3)
        plain, _ = numpy_reference.row_ceilings(block, own, weights, count, guesses)
        np.testing.assert_allclose(plain, sums, rtol=1e-5)
