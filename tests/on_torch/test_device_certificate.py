"""Bounds made where the data are: never below the optimum, and nothing large comes to the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparseigen import cardinality_path, covariance, sparse_eigenvector, upper_bound
from sparseigen.certificates.dual_points import dual_values, measure, remainders, search_penalty, support_points
from sparseigen.certificates.paths import certify_streamed_path
from sparseigen.certificates.penalised_dual import closed_form_bound, converged_penalised_bound, penalised_bound
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.scaled_rows import scaled_row_bound, trace_bound
from sparseigen.operators.contract import SparseVector
from sparseigen.problems.known import brute_force
from tests.on_torch.tensors import build_deflated

BOUNDS = {
    "rows": scaled_row_bound,
    "dual": closed_form_bound,
    "ascent": penalised_bound,
    "converged": converged_penalised_bound,
}


@pytest.fixture
def nothing_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems are treated like large ones: no matrix and no factor on the host."""
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_FETCHED", 2)
    monkeypatch.setattr("sparseigen.certificates.factor.LARGEST_MATERIALISED", 2)


@pytest.mark.usefixtures("nothing_formed")
@pytest.mark.parametrize("components", [0, 3])
@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}], ids=str)
@pytest.mark.parametrize("magnitude", [1e-12, 1e12])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bounds_hold_against_enumeration(
    dtype: str, magnitude: float, options: dict[str, Any], components: int
) -> None:
    for seed in range(2):
        operator, exact = build_deflated(seed, dtype, magnitude, options, components)
        unit = 1.0 if options.get("scale") else magnitude**2
        for k in (1, 2, 4, 9):
            optimum = brute_force(exact, k)[0]
            found = sparse_eigenvector(operator, k, certify=False)
            vector = SparseVector(found.support, found.vector[found.support])
            for name, bound in BOUNDS.items():
                problem = BoundProblem(operator, k, vector, achieved=achieved_value(operator, vector))
                assert problem.dense is None
                value = problem.unscale_bound(bound(problem)) / unit
                assert value >= optimum * (1.0 - 1e-13) - 1e-14 * np.trace(exact), (name, k, seed)
                if name == "dual" and k == 9 and dtype == "float64":
                    assert value == pytest.approx(optimum, rel=1e-6)
            low = achieved_value(operator, vector) / unit
            assert low <= optimum * (1.0 + 1e-13) + 1e-14 * np.trace(exact)


@pytest.mark.usefixtures("nothing_formed")
@pytest.mark.parametrize("variables", [1, 3, 6])
def test_ascent_on_few_variables_holds_against_enumeration(variables: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that the ascent leaves out count with their variance."""
    for seed in range(6):
        operator, exact = build_deflated(seed, "float32", 1.0, {}, 0)
        rank = int(operator.factor_rank)
        monkeypatch.setattr("sparseigen.certificates.penalised_dual.LEADING_ENTRIES", variables * rank + rank - 1)
        for k in (1, 2, 4, 8):
            found = sparse_eigenvector(operator, k, certify=False)
            vector = SparseVector(found.support, found.vector[found.support])
            problem = BoundProblem(operator, k, vector, achieved=achieved_value(operator, vector))
            bound = problem.unscale_bound(penalised_bound(problem))
            assert bound >= brute_force(exact, k)[0] * (1.0 - 1e-13)


def test_ascent_proves_more_than_the_trace_where_few_variables_vary_much() -> None:
    import torch

    rng = np.random.default_rng(2)
    data = rng.standard_normal((40, 6000))
    data[:, :30] += rng.uniform(1.0, 3.0, 30) * rng.standard_normal((40, 1))
    operator: Any = covariance(torch.tensor(data))
    for k in (15, 30):
        found = sparse_eigenvector(operator, k, certify=False)
        vector = SparseVector(found.support, found.vector[found.support])
        problem = BoundProblem(operator, k, vector, achieved=achieved_value(operator, vector))
        assert problem.achieved <= penalised_bound(problem) <= 1.02 * problem.achieved
        assert trace_bound(problem) > 1.1 * problem.achieved


@pytest.mark.parametrize("components", [0, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_entry_errors_cover_what_is_returned(dtype: str, components: int) -> None:
    for seed in range(10):
        operator, exact = build_deflated(seed, dtype, 1.0, {}, components)
        room = np.sqrt(operator.entry_errors())
        everything = np.arange(9)
        slack = 1e-14 * np.abs(exact).max()  # the reference is itself rounded
        assert (np.abs(operator.accurate_columns(everything) - exact) <= np.outer(room, room) + slack).all()
        assert (np.abs(operator.diagonal() - np.diag(exact)) <= room**2 + slack).all()


@pytest.mark.usefixtures("nothing_formed")
def test_quadratic_form_is_as_close_as_it_says() -> None:
    operator, exact = build_deflated(3, "float64", 1.0, {}, 1)
    x = np.random.default_rng(0).standard_normal(9)
    form, error = operator.quadratic_form(np.arange(9), x)
    room = (np.abs(x) @ np.sqrt(operator.entry_errors())) ** 2
    assert abs(form - x @ exact @ x) <= error + room + 1e-13
    assert error <= 1e-12 * max(form, 1.0)


@pytest.mark.usefixtures("nothing_formed")
def test_path_bounds_hold_against_enumeration() -> None:
    operator, exact = build_deflated(1, "float32", 1.0, {}, 0)
    ks = list(range(1, 10))
    path = cardinality_path(operator, ks, certify=False)
    vectors = [SparseVector(one.support, one.vector[one.support]) for one in path.results]
    for k, certificate in zip(ks, certify_streamed_path(operator, ks, vectors), strict=True):
        optimum = brute_force(exact, k)[0]
        assert certificate.lower_bound <= optimum * (1.0 + 1e-12) <= certificate.upper_bound * (1.0 + 2e-12)
        assert certificate.method != "none"


class Transfers:
    """Every tensor that is brought to the host, by its number of entries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch

        self.sizes: list[int] = []
        original = torch.Tensor.cpu

        def counted(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            self.sizes.append(tensor.numel())
            return original(tensor, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, "cpu", counted)


@pytest.mark.parametrize("call", ["solve", "path", "components", "cheap"])
def test_neither_the_data_nor_the_matrix_come_to_the_host(
    call: str, wide: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    operator: Any = covariance(torch.tensor(wide))
    transfers = Transfers(monkeypatch)
    if call == "solve":
        results = [sparse_eigenvector(operator, 20)]
    elif call == "path":
        results = list(cardinality_path(operator, range(2, 40, 2)).results)
    elif call == "components":
        first = sparse_eigenvector(operator, 20, certify=False)
        results = [sparse_eigenvector(operator.deflated(first.vector), 20)]
    else:
        assert np.isfinite(upper_bound(operator, 20, effort="cheap").upper_bound)
        results = []
    assert all(result.certificate is not None and np.isfinite(result.certificate.upper_bound) for result in results)
    n_samples, size = wide.shape
    assert transfers.sizes
    assert max(transfers.sizes) < n_samples * size / 2
    assert sum(transfers.sizes) < size**2


@pytest.mark.parametrize("magnitude", [1e-152, 1e152])
def test_bounds_hold_at_the_ends_of_the_range(magnitude: float) -> None:
    """Squares of such data leave float64: a scale of the dual points once overflowed (or would have become zero)."""
    import torch

    values = np.random.default_rng(1).standard_normal((6, 5))
    expected = cardinality_path(covariance(values), range(1, 6))
    found = cardinality_path(covariance(torch.tensor(values * magnitude)), range(1, 6))
    for result, ordinary in zip(found, expected, strict=True):
        assert result.certificate is not None
        assert result.certificate.upper_bound / magnitude / magnitude >= ordinary.value * (1.0 - 1e-12)
        assert result.value / magnitude / magnitude == pytest.approx(ordinary.value, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_dual_points_of_tensors_are_those_of_arrays(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One text for both; also in blocks, and with a direction that is a variable."""
    import torch

    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((30, 5)) * rng.uniform(0.0, 1.0, (30, 1))
    direction = rows[0] / np.linalg.norm(rows[0])
    on_device = torch.tensor(rows), torch.tensor(direction)
    for penalty in (1e-3, 0.1, 0.5):
        points, tensors = support_points(rows, direction, penalty), support_points(*on_device, penalty)
        np.testing.assert_allclose(tensors.numpy(), points, rtol=1e-9, atol=1e-12)
        found = remainders(on_device[0], torch.tensor(points)).numpy()
        np.testing.assert_allclose(found, remainders(rows, points), rtol=1e-9, atol=1e-12)
    whole = search_penalty(rows, direction, 6, 6, 9)
    monkeypatch.setattr("sparseigen.certificates.dual_points.BLOCK_ENTRIES", 5 * 7)
    for factor, along in ((rows, direction), on_device):
        form = search_penalty(factor, along, 6, 6, 9)
        assert form.promise == pytest.approx(whole.promise, rel=1e-3)
        parts = measure(factor, form)
        assert parts.squares == pytest.approx(float(np.trace(parts.gram)), rel=1e-12)
        assert dual_values(parts)[5] == pytest.approx(dual_values(measure(rows, whole))[5], rel=1e-3)
