"""The Triton kernels, run by Triton's interpreter on CPU tensors, against their torch twins.

The interpreter executes the kernels' own code with NumPy: it checks indices, masks, ties and arithmetic. What it cannot
check (compilation, memory races, CUDA graphs) `benchmarks/gpu/checks.py` does on a device.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np
import pytest

from sparseigen import covariance
from sparseigen.kernels import torch_kernels
from sparseigen.operators import Operator
from sparseigen.operators import torch_iteration as torch_loop
from sparseigen.operators.torch_data import TorchData
from sparseigen.results import StopReason
from sparseigen.solvers.starts import _energies
from tests.common.runs import run_from

REASON = "triton is not installed; `make test-torch` installs it"
DTYPES = ["float32", "float64"]


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton reads the variable when a kernel is defined: nothing may have imported the kernels before."""
    if importlib.util.find_spec("triton") is None:
        if os.environ.get("SPARSEIGEN_TORCH_REQUIRED") == "1":
            pytest.fail(f"SPARSEIGEN_TORCH_REQUIRED=1, but {REASON}")
        pytest.skip(REASON)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(torch_kernels, "usable", lambda tensor: True)
    # The interpreter takes its time for each program: fewer of them, and fewer steps a chunk.
    monkeypatch.setattr(torch_kernels, "PARTS", 4)
    monkeypatch.setitem(torch_loop.CHUNK, "short", 3)


def random_tensor(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    import torch

    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=getattr(torch, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "width"), [(1, 4), (37, 24), (9, 300), (20, 515)])
def test_row_product(rows: int, width: int, dtype: str) -> None:
    import torch

    storage = torch.zeros(rows, torch_kernels.pad_width(width), dtype=getattr(torch, dtype))
    matrix = storage[:, :width]
    matrix.copy_(random_tensor((rows, width), dtype))
    vector = torch.zeros(torch_kernels.pad_width(width), dtype=matrix.dtype)
    vector[:width] = random_tensor((width,), dtype, 1)
    out = torch.empty(rows, dtype=matrix.dtype)
    torch_kernels.RowProduct(matrix)(vector, out)
    expected = torch_kernels.row_dots(matrix.double(), vector[:width].double())
    np.testing.assert_allclose(out.double(), expected, atol=1e-4 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_row_combination(dtype: str, extra: bool) -> None:
    import torch

    matrix, divisor, count = random_tensor((40, 36), dtype), 35, 11
    indices = torch.randperm(40, generator=torch.Generator().manual_seed(0)).int()
    weights, taken = random_tensor((40,), dtype, 1), random_tensor((36,), dtype, 2)
    combine = torch_kernels.RowCombination(matrix, divisor, extra=extra)
    norms = torch.tensor([1.5, 2.5], dtype=torch.float64)
    scores = torch.zeros(36, dtype=matrix.dtype)
    values, norm = torch.zeros(combine.n_values, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    if extra:
        combine.subtract(taken)
    combine(indices, weights, torch.tensor([count], dtype=torch.int32), norms, scores, values, norm)
    total = torch_kernels.combine_rows(matrix.double(), indices[:count].long(), weights[:count].double())
    total = (total - taken.double() if extra else total) / 2.0
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(scores.double(), total / divisor, atol=tolerance)
    assert float(values.sum()) == pytest.approx(float(total @ total) / divisor, rel=tolerance)
    assert float(norm) == 4.0


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_selection(dtype: str, tied: bool, nonnegative: bool) -> None:
    import torch

    size, counts = 1500, [1, 7, 700, 1500]
    values = random_tensor((len(counts), size), dtype)
    values = values.round() if tied else values
    select = torch_kernels.Selection(values, len(counts), size, nonnegative=nonnegative)
    wanted = torch.tensor(counts, dtype=torch.int32)
    expected = torch_kernels.kept_mask(values, wanted.long(), size, nonnegative=nonnegative)
    shown = values.clamp(min=0) if nonnegative else values
    for _ in range(2):  # the second use finds the work space as the first left it
        kept, norms = torch.empty_like(values), torch.zeros(len(counts), select.n_blocks, dtype=torch.float64)
        select.mask(values, wanted, kept, norms)
        np.testing.assert_array_equal(kept, shown * expected)
        np.testing.assert_allclose(norms.sum(dim=1), (kept.double() ** 2).sum(dim=1), rtol=1e-12)
    magnitudes = values.abs()
    sums, least = torch_kernels.Selection(values, len(counts), size).top_sums(magnitudes, wanted)
    for row, count in enumerate(counts):
        expected_sums, expected_least = torch_kernels.top_sums(magnitudes, count)
        assert float(sums[row]) == pytest.approx(float(expected_sums[row]), rel=1e-12)
        assert float(least[row]) == float(expected_least[row])


@pytest.mark.parametrize("dtype", DTYPES)
def test_compact_selection(dtype: str) -> None:
    import torch

    size, count = 1500, 40
    values = random_tensor((1, size), dtype).round(decimals=1)
    select = torch_kernels.Selection(values, 1, size)
    expected = torch_kernels.largest_magnitudes(values[0], count)
    previous = torch.zeros(size, dtype=torch.int32)
    previous[:count] = expected.int()
    previous[3] += 1
    indices, kept = torch.zeros(size, dtype=torch.int32), torch.zeros(size, dtype=values.dtype)
    norms, changes = torch.zeros(select.n_blocks, dtype=torch.float64), torch.zeros(select.n_blocks, dtype=torch.int32)
    select.compact(values, torch.tensor([count], dtype=torch.int32), previous, indices, kept, norms, changes)
    np.testing.assert_array_equal(indices[:count], expected)
    np.testing.assert_array_equal(kept[:count], values[0, expected])
    assert int(changes.sum()) == 1


def pair(dtype: str, components: int, **options: Any) -> tuple[Any, Any]:
    """The same data twice, deflated so often: the kernels work space is an operator's own."""
    import torch

    values = np.random.default_rng(5).standard_normal((21, 60))
    values[:, :9] += 2.0 * np.random.default_rng(6).standard_normal((21, 1))
    operators = [covariance(torch.tensor(values.astype(dtype)), **options) for _ in range(2)]
    for seed in range(components):
        x = np.zeros(60)
        x[np.random.default_rng(seed).choice(60, 5, replace=False)] = 5**-0.5
        operators = [operator.deflated(x) for operator in operators]
    return operators[0], operators[1]


@pytest.mark.parametrize(
    ("dtype", "components", "nonnegative"),
    [("float32", 0, False), ("float64", 0, True), ("float32", 2, False), ("float64", 2, False)],
)
def test_the_whole_loop(dtype: str, components: int, nonnegative: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with_triton, without = pair(dtype, components)
    rule: dict[str, Any] = {"rtol": 1e-6, "atol": 0.0, "max_iterations": 7, "nonnegative": nonnegative}
    for cardinality, start in ((4, 2), (11, 7)) if dtype == "float32" else ((7, 7),):
        monkeypatch.setattr(torch_kernels, "usable", lambda tensor: True)
        ours = run_from(with_triton, [start], cardinality, **rule)
        monkeypatch.setattr(torch_kernels, "usable", lambda tensor: False)
        reference = run_from(without, [start], cardinality, **rule)
        np.testing.assert_array_equal(ours.vector.indices, reference.vector.indices)
        tolerance = 1e-4 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(ours.vector.weights, reference.vector.weights, atol=tolerance)
        assert ours.history[-1] == pytest.approx(reference.history[-1], rel=tolerance)
        if dtype == "float64":
            assert ours.n_iterations == reference.n_iterations


def test_limits_inside_and_between_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    with_triton, without = pair("float64", 0)
    for limit in (1, 4):
        rule: dict[str, Any] = {"rtol": -1.0, "atol": -1.0, "max_iterations": limit}
        monkeypatch.setattr(torch_kernels, "usable", lambda tensor: True)
        ours = run_from(with_triton, [3], 6, **rule)
        monkeypatch.setattr(torch_kernels, "usable", lambda tensor: False)
        reference = run_from(without, [3], 6, **rule)
        assert ours.stop_reason == StopReason.ITERATION_LIMIT
        np.testing.assert_allclose(ours.history, reference.history, rtol=1e-12)
        np.testing.assert_allclose(ours.vector.weights, reference.vector.weights, atol=1e-10)


def test_bound_and_energies(monkeypatch: pytest.MonkeyPatch) -> None:
    with_triton, without = pair("float32", 1)
    assert isinstance(with_triton, TorchData)
    columns = np.array([3, 0, 59])
    everything = np.arange(60)
    ours = *with_triton.top_row_sums(everything, np.ones(60), 6), *_energies(with_triton, columns, 7)
    monkeypatch.setattr(torch_kernels, "usable", lambda tensor: False)
    reference = *without.top_row_sums(everything, np.ones(60), 6), *_energies(without, columns, 7)
    for a, b in zip(ours, reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize(("size", "width"), [(5, 8), (150, 40), (300, 72)])
def test_sums_above_thresholds(size: int, width: int) -> None:
    import torch

    matrix, rows = random_tensor((size, width), "float16"), torch.arange(0, size, 2, dtype=torch.int32)
    scaling, thresholds = random_tensor((size,), "float32", 1).abs(), random_tensor((len(rows),), "float32", 2).abs()
    found = torch_kernels.sum_above(matrix, rows, scaling, thresholds)
    entries = (matrix[rows].double() @ matrix.double().T).abs() * scaling
    entries[torch.arange(len(rows)), rows] = 0.0
    expected = (entries - thresholds[:, None]).clamp(min=0.0).sum(dim=1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("magnitude", [1e-12, 1.0, 1e12])
def test_ceilings_lie_above_the_sums_and_close_to_them(
    magnitude: float, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr("sparseigen.operators.torch_rows.SAMPLE", 8)
    monkeypatch.setattr("sparseigen.operators.torch_rows.LEAST_ROUGH", 0.0)
    rng = np.random.default_rng(3)
    data = magnitude * rng.standard_normal((40, 140)) * 2.0 ** rng.uniform(-9.0, 9.0, 140)
    operator, rows = covariance(torch.tensor(data.astype(dtype))), np.arange(0, 140, 2)
    weights = 1.0 / np.sqrt(operator.diagonal())
    weights *= rng.uniform(0.5, 1.0, 140) / weights.max()
    for count in (1, 7, 60):
        sums, _, _ = Operator.top_row_sums(operator, rows, weights, count)
        ceilings = operator.row_sum_ceilings(rows, weights, count)
        assert (ceilings >= sums * (1.0 - 1e-13)).all()
        assert np.median(ceilings / sums) < 1.15
    assert np.isinf(operator.row_sum_ceilings(np.arange(3), weights, 7)).all()
