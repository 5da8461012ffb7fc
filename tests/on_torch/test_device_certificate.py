"""Bounds made where the data are: never below the optimum, and nothing large comes to the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparseigen import cardinality_path, covariance, sparse_eigenvector, upper_bound
from sparseigen.certificates.dual_points import dual_values, measure, remainders, search_penalty, support_points
from sparseigen.certificates.paths import certify_streamed_path
from sparseigen.certificates.penalised_dual import closed_form_bound
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.scaled_rows import improve_weights, scaled_row_bound, scaled_row_values
from sparseigen.errors import RangeError
from sparseigen.operators import Operator
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.torch_data import TorchData
from sparseigen.operators.wrapped import RestrictedOperator
from sparseigen.problems.known import brute_force

BOUNDS = {"rows": scaled_row_bound, "dual": closed_form_bound}


@pytest.fixture
def nothing_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems are treated like large ones: no matrix and no factor on the host."""
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_FETCHED", 2)
    monkeypatch.setattr("sparseigen.certificates.factor.LARGEST_MATERIALISED", 2)


def made(seed: int, dtype: str, magnitude: float, options: dict[str, Any], components: int) -> tuple[TorchData, Any]:
    """An operator on torch, deflated so often, and the exact matrix (to float64) that it stands for."""
    import torch

    rng = np.random.default_rng(seed)
    values = rng.standard_normal((7, 9)) * rng.uniform(0.3, 3.0, 9) + rng.uniform(-5.0, 5.0, 9)
    values = (values * magnitude).astype(dtype)
    operator: Any = covariance(torch.tensor(values), **options)
    exact = covariance(values.astype(np.float64), **options).to_dense() / magnitude**2  # type: ignore[arg-type]
    if options.get("scale"):
        exact *= magnitude**2
    for _ in range(components):
        x = np.where(rng.uniform(size=9) < 0.5, rng.standard_normal(9), 0.0) + np.eye(9)[0]
        x /= np.linalg.norm(x)
        operator = operator.deflated(x)
        away = np.eye(9) - np.outer(x, x)
        exact = away @ exact @ away
    assert isinstance(operator, TorchData)
    return operator, exact


@pytest.mark.usefixtures("nothing_formed")
@pytest.mark.parametrize("components", [0, 3])
@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}], ids=str)
@pytest.mark.parametrize("magnitude", [1e-12, 1e12])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bounds_hold_against_enumeration(
    dtype: str, magnitude: float, options: dict[str, Any], components: int
) -> None:
    for seed in range(2):
        operator, exact = made(seed, dtype, magnitude, options, components)
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


@pytest.mark.parametrize("components", [0, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_entry_errors_cover_what_is_returned(dtype: str, components: int) -> None:
    for seed in range(10):
        operator, exact = made(seed, dtype, 1.0, {}, components)
        room = np.sqrt(operator.entry_errors())
        everything = np.arange(9)
        slack = 1e-14 * np.abs(exact).max()  # the reference is itself rounded
        assert (np.abs(operator.accurate_columns(everything) - exact) <= np.outer(room, room) + slack).all()
        assert (np.abs(operator.diagonal() - np.diag(exact)) <= room**2 + slack).all()


@pytest.mark.usefixtures("nothing_formed")
def test_quadratic_form_is_as_close_as_it_says() -> None:
    operator, exact = made(3, "float64", 1.0, {}, 1)
    x = np.random.default_rng(0).standard_normal(9)
    form, error = operator.quadratic_form(np.arange(9), x)
    room = (np.abs(x) @ np.sqrt(operator.entry_errors())) ** 2
    assert abs(form - x @ exact @ x) <= error + room + 1e-13
    assert error <= 1e-12 * max(form, 1.0)


@pytest.mark.usefixtures("nothing_formed")
def test_path_bounds_hold_against_enumeration() -> None:
    operator, exact = made(1, "float32", 1.0, {}, 0)
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


@pytest.fixture(scope="module")
def wide() -> np.ndarray:
    """More variables than any matrix is formed for."""
    rng = np.random.default_rng(4)
    data = rng.standard_normal((80, 4500)).astype(np.float32)
    data[:, :30] += 1.5 * rng.standard_normal((80, 1)).astype(np.float32)
    return data


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


def test_a_row_bound_that_would_take_too_long_is_not_offered(wide: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setitem(__import__("sparseigen.operators.torch_rows", fromlist=["x"]).MOST_OPERATIONS, "cpu", 1e6)
    operator = covariance(torch.tensor(wide))
    assert np.isinf(operator.top_row_sums(np.arange(4500), np.ones(4500), 19)[2]).all()
    certificate = sparse_eigenvector(operator, 20, start="max-variance", polish="solve").certificate
    assert certificate is not None
    assert certificate.method in {"closed-form dual", "trace"}


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


def iterated_rows(operator: TorchData, cardinality: int, scaling: np.ndarray, passes: int) -> float:
    """The scaled row bound over so many passes, rows made where the data live."""
    problem, best = BoundProblem(operator, cardinality), np.inf
    problem.dense, weights = None, improve_weights(np.ones(operator.size), scaling)
    for _ in range(passes):
        bound, rows = scaled_row_values(problem, weights)
        best, weights = min(best, bound), improve_weights(weights, rows)
    return problem.unscale_bound(best)


def on_torch(values: np.ndarray, **options: Any) -> TorchData:
    import torch

    operator = covariance(torch.tensor(values), **options)
    assert isinstance(operator, TorchData)
    return operator


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    values = rng.standard_normal((30, 120))
    values[:, :15] += 1.5 * rng.standard_normal((30, 1))
    return values


def plain_bound(matrix: np.ndarray, cardinality: int, scaling: np.ndarray, passes: int) -> float:
    best, size = np.inf, len(matrix)
    for _ in range(passes):
        scaling = np.maximum(scaling / scaling.max(), 1e-7)
        weighted = np.abs(matrix) * scaling
        np.fill_diagonal(weighted, 0.0)
        sums = scaling * np.diag(matrix) + np.sort(weighted, axis=1)[:, size - cardinality + 1 :].sum(axis=1)
        best, scaling = min(best, float((sums / scaling).max())), sums
    return best


def scaling_of(operator: Operator, cardinality: int) -> np.ndarray:
    result = sparse_eigenvector(operator, cardinality, certify=False)
    product = np.abs(operator.block_apply(result.vector[:, None])[:, 0]).astype(float)
    return np.maximum(product, np.sort(product)[-cardinality])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("cardinality", [1, 2, 5, 30, 120])
def test_scaled_gershgorin_equals_its_formula(cardinality: int, dtype: str, data: np.ndarray) -> None:
    data = data.astype(dtype)
    operator, matrix = on_torch(data), covariance(data.astype(np.float64)).to_dense()
    scaling = scaling_of(operator, cardinality)
    bound = iterated_rows(operator, cardinality, scaling, 4)
    exact = plain_bound(matrix, cardinality, scaling, 4)
    slack = {"float64": 1e-10, "float32": 2e-4}[dtype]
    assert exact * (1.0 - 1e-6) <= bound <= exact * (1.0 + slack)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("magnitude", [1e-30, 1e-19, 1e-14, 1.0, 1e15])
@pytest.mark.parametrize("seed", range(5))
def test_scaled_gershgorin_holds_against_enumeration(seed: int, magnitude: float, dtype: str) -> None:
    """Also at the ends of float32's range: beyond them, data are refused."""
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal((6, 9)) * magnitude).astype(dtype)
    if dtype == "float32" and magnitude < 1e-15:
        with pytest.raises(RangeError, match="float32"):
            on_torch(values, center=False, ddof=0)
        return
    stored = values.astype(np.float64) / magnitude
    optimum = brute_force(stored.T @ stored / 6, 3)[0] * magnitude**2
    operator = on_torch(values, center=False, ddof=0)
    for scaling in (np.ones(9), rng.uniform(0.0, 1.0, 9), np.zeros(9)):
        bound = iterated_rows(operator, 3, scaling, 3)
        assert bound >= optimum * (1.0 - 1e-14)


def test_scaled_gershgorin_in_row_blocks(data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = on_torch(data)
    whole = iterated_rows(operator, 9, np.ones(120), 3)
    monkeypatch.setattr("sparseigen.operators.torch_rows.BLOCK_ENTRIES", 120 * 7)
    in_blocks = iterated_rows(operator, 9, np.ones(120), 3)
    assert in_blocks == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize("components", [0, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_row_sums_are_within_what_they_say(dtype: str, components: int) -> None:
    """Against the default, which forms columns in float64; some rows of all, and of candidates alone."""
    operator, _ = made(5, dtype, 1.0, {}, components)
    weights = np.random.default_rng(1).uniform(0.1, 1.0, 9)
    for count in (0, 1, 3, 8):
        for rows in (np.arange(9), np.array([1, 2, 3]), np.array([0, 4, 7])):
            sums, least, shortfall = operator.top_row_sums(rows, weights, count)
            exact_sums, exact_least, _ = Operator.top_row_sums(operator, rows, weights, count)
            room = shortfall + 1e-14 * exact_sums
            assert (np.abs(sums - exact_sums) <= room).all()
            assert (np.abs(least - exact_least) <= room).all()
            assert (shortfall <= 1e-4 * operator.diagonal().sum()).all()
    chosen = np.array([0, 2, 3, 5, 8])
    restricted = RestrictedOperator(operator, chosen)
    sums, _, shortfall = restricted.top_row_sums(np.arange(5), weights[chosen], 2)
    exact_sums, _, _ = Operator.top_row_sums(restricted, np.arange(5), weights[chosen], 2)
    assert (np.abs(sums - exact_sums) <= shortfall + 1e-14 * exact_sums).all()


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
