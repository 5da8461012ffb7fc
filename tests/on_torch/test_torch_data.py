"""The torch operator answers the contract like NumPy, keeps to the caller's memory, and refuses what it must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sparseigen import covariance, errors, sparse_components, sparse_eigenvector
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.deflated import DEFLATIONS
from sparseigen.operators.torch_data import TorchData
from sparseigen.solvers import starts

OPTIONS = [{}, {"scale": True}, {"center": False}, {"ddof": 0}, {"scale": True, "center": False}]
TOLERANCE = {"float64": 1e-12, "float32": 2e-5}


def tensor(values: np.ndarray, **kwargs: Any) -> Any:
    import torch

    return torch.tensor(values, **kwargs)


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((21, 10)) * rng.uniform(0.5, 2.0, 10) + np.arange(10)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", ["tensor", "transposed tensor", "array", "fortran", "read-only", "memmap", "frame"])
def test_contract(form: str, dtype: str, options: dict[str, bool], data: np.ndarray, tmp_path: Path) -> None:
    data = data.astype(dtype)
    read_only = data.copy()
    read_only.flags.writeable = False
    mapped = np.memmap(tmp_path / "x.bin", dtype=dtype, mode="w+", shape=data.shape)
    mapped[:] = data
    forms: dict[str, tuple[Any, dict[str, str]]] = {
        "tensor": (tensor(data), {}),
        "transposed tensor": (tensor(data.T.copy()).T, {}),
        "array": (data, {"device": "cpu"}),
        "fortran": (np.asfortranarray(data), {"device": "cpu"}),
        "read-only": (read_only, {"device": "cpu"}),
        "memmap": (mapped, {"device": "cpu"}),
        "frame": (pd.DataFrame(data, columns=list("abcdefghij")), {"device": "cpu"}),
    }
    given, where = forms[form]
    operator = covariance(given, **where, **options)
    reference = covariance(data.astype(np.float64), **options)  # type: ignore[arg-type]
    assert type(operator).__name__ == "TorchData"
    assert operator.dtype == np.dtype(dtype)
    chosen, weights = np.array([1, 4, 7]), np.array([0.6, -0.3, 0.2])
    assert operator.magnitude == pytest.approx(reference.magnitude, rel=TOLERANCE[dtype])
    for what in ("diagonal", "to_dense"):
        ours, expected = getattr(operator, what)(), getattr(reference, what)()
        np.testing.assert_allclose(ours, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], err_msg=what)
    calls: dict[str, tuple[Any, ...]] = {
        "apply_support": (chosen, weights),
        "columns": (chosen,),
        "submatrix": (chosen,),
        "block_apply": (np.eye(10)[:, :4],),
    }
    scale = 100 * TOLERANCE[dtype]
    for what, arguments in calls.items():
        ours, expected = getattr(operator, what)(*arguments), getattr(reference, what)(*arguments)
        assert isinstance(ours, np.ndarray), what
        np.testing.assert_allclose(ours, expected, rtol=scale, atol=scale, err_msg=what)
    vector = SparseVector(chosen, weights)
    ours, expected = (which.iteration([4]).step(vector, 4) for which in (operator, reference))
    np.testing.assert_array_equal(ours.indices, expected.indices)
    np.testing.assert_allclose(ours.values, expected.values, rtol=scale, atol=scale)
    assert ours.quadratic_form == pytest.approx(expected.quadratic_form, rel=scale)
    np.testing.assert_array_equal(np.asarray(given), data)  # the caller's numbers are as they were
    assert operator.names == (tuple("abcdefghij") if form == "frame" else None)


def test_data_one_row_a_variable_are_not_copied(data: np.ndarray) -> None:
    given = tensor(data.T.copy()).T
    operator: Any = covariance(given, center=False)
    assert operator.variables.data_ptr() == given.data_ptr()
    assert covariance(given).variables.data_ptr() != given.data_ptr()  # type: ignore[attr-defined]
    assert covariance(given, center=False, scale=True).variables.data_ptr() != given.data_ptr()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("given", "kept"), [("float16", "float32"), ("bfloat16", "float32"), ("int32", "float64")])
def test_other_precisions_are_converted(given: str, kept: str, data: np.ndarray) -> None:
    import torch

    operator = covariance(tensor(data).to(getattr(torch, given)))
    assert operator.dtype == np.dtype(kept)


def test_gradients_are_left_behind(data: np.ndarray) -> None:
    operator = covariance(tensor(data, requires_grad=True))
    np.testing.assert_allclose(operator.to_dense(), np.cov(data.T), atol=1e-12)


def with_value(data: np.ndarray, value: float) -> np.ndarray:
    data = data.copy()
    data[3, 5] = data[7, 2] = value
    return data


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_found(value: float, center: bool, data: np.ndarray) -> None:
    with pytest.raises(errors.NonFiniteError, match="X has 2 NaN or infinite values, the first at row 3, column 5;"):
        covariance(tensor(with_value(data, value)), center=center)


def test_bad_tensors_are_refused(data: np.ndarray) -> None:
    with pytest.raises(errors.ShapeError, match="X has 1 dimensions"):
        covariance(tensor(data[0]))
    with pytest.raises(errors.TooFewSamplesError, match="X has 1 sample"):
        covariance(tensor(data[:1]))
    with pytest.raises(errors.DtypeError, match=r"X is complex \(torch.complex128\)"):
        covariance(tensor(data.astype(complex)))
    with pytest.raises(errors.DtypeError, match=r"layout torch.sparse_coo; .* Use X.to_dense\(\)"):
        covariance(tensor(data).to_sparse())
    with pytest.raises(errors.ZeroMatrixError, match="all columns are constant"):
        covariance(tensor(np.ones((5, 3))))
    with pytest.warns(errors.ConstantColumnWarning, match=r"1 of 10 column is constant and left out.*column 4"):
        left_out = covariance(tensor(data * (np.arange(10) != 4)), scale=True)
    assert left_out.diagonal()[4] == 0.0
    with pytest.raises(errors.NonFiniteError, match="squares overflow"):
        covariance(tensor(data * 1e200))


def test_bad_devices_are_refused(data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(errors.OptionError, match=r"device='cuda:7' is not there: torch .* sees 1 CUDA devices"):
        covariance(data, device="cuda:7")
    with pytest.raises(errors.OptionError, match="device='gpu' is not a device torch knows; use 'cuda'"):
        covariance(data, device="gpu")
    with pytest.raises(errors.OptionError, match="device='meta' is not supported"):
        covariance(data, device="meta")
    with pytest.raises(errors.OptionError, match="device='cpu' takes dense data; X is scipy sparse"):
        covariance(sp.csr_array(data), device="cpu")


def test_out_of_device_memory_says_how_much_is_needed(data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def full(*args: Any, **kwargs: Any) -> None:
        raise torch.cuda.OutOfMemoryError("no memory")

    monkeypatch.setattr(torch, "empty", full)
    expected = r"data of 21 samples x 10 variables need about 0.00 GiB on cpu, .* Use float32, free"
    with pytest.raises(errors.DeviceMemoryError, match=expected) as caught:
        covariance(tensor(data))
    assert isinstance(caught.value, MemoryError)


def test_other_libraries_come_in_through_dlpack(data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    class Foreign:
        """As much of a cupy array as the door looks at."""

        def __init__(self) -> None:
            self.tensor = tensor(data)

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.tensor.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> Any:
            return self.tensor.__dlpack_device__()

    monkeypatch.setattr(Foreign, "__module__", "cupy")
    operator: Any = covariance(Foreign())
    assert type(operator).__name__ == "TorchData"
    np.testing.assert_allclose(operator.to_dense(), np.cov(data.T), atol=1e-12)


@pytest.mark.parametrize("stage", ["solve", "bound", "deflation"])
def test_out_of_device_memory_later_says_so_too(stage: str, data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    operator = covariance(tensor(data))

    def full(*args: Any, **kwargs: Any) -> None:
        raise torch.OutOfMemoryError("no memory")

    if stage == "bound":
        monkeypatch.setattr("sparseigen.kernels.torch_kernels.top_sums", full)
    else:
        monkeypatch.setattr(torch, "as_tensor", full)
    calls = {
        "solve": lambda: sparse_eigenvector(operator, 3, certify=False),
        "bound": lambda: operator.top_row_sums(np.arange(10), np.ones(10), 2),
        "deflation": lambda: operator.deflated(np.ones(10)),
    }
    with pytest.raises(errors.DeviceMemoryError, match=r"need about \d+\.\d\d GiB on cpu, which has .* free"):
        calls[stage]()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_components_are_those_of_the_cpu_and_share_the_data(dtype: str, rng: np.random.Generator) -> None:
    values = rng.standard_normal((30, 80)).astype(dtype)
    for block in range(3):
        values[:, 10 * block : 10 * block + 8] += (3 - block) * rng.standard_normal((30, 1)).astype(dtype)
    ours: Any = covariance(tensor(values))
    pair = [sparse_components(operator, [8, 8, 8], certify=False) for operator in (ours, covariance(values))]
    for mine, reference in zip(*pair, strict=True):
        np.testing.assert_array_equal(mine.support, reference.support)
        assert mine.value == pytest.approx(reference.value, rel=1e-10 if dtype == "float64" else 1e-5)
    deflated = ours
    for result in pair[0]:
        deflated = deflated.deflated(result.vector)
    assert type(deflated) is type(ours)
    assert deflated.variables.data_ptr() == ours.variables.data_ptr()
    assert deflated.describe()["deflation_rank"] == 3
    assert ours.projection is None
    for result in pair[0]:
        assert np.abs(deflated.block_apply(result.vector[:, None])).max() < (1e-10 if dtype == "float64" else 1e-4)


def test_deflation_needs_a_vector(data: np.ndarray) -> None:
    with pytest.raises(errors.StartError, match="non-zero vector of length 10, got shape"):
        covariance(tensor(data)).deflated(np.zeros(10))


def test_candidates_are_chosen_on_the_device(data: np.ndarray) -> None:
    chosen = [1, 3, 4, 8, 9]
    pair = [sparse_eigenvector(o, 2, candidates=chosen) for o in (covariance(tensor(data)), covariance(data))]
    np.testing.assert_array_equal(pair[0].support, pair[1].support)
    assert pair[0].settings["candidates"] == 5
    deflated = covariance(tensor(data)).deflated(pair[0].vector)
    again = sparse_eigenvector(deflated, 2, candidates=chosen)
    reference = sparse_eigenvector(covariance(data).deflated(pair[0].vector), 2, candidates=chosen)
    assert again.value == pytest.approx(reference.value, rel=1e-10)


@pytest.mark.parametrize("deflation", sorted(DEFLATIONS))
def test_deflation(deflation: str, data: np.ndarray) -> None:
    ours, reference = covariance(tensor(data)), covariance(data)
    for _ in range(2):
        x = sparse_eigenvector(reference, 3, certify=False).vector
        ours, reference = DEFLATIONS[deflation](ours, x), DEFLATIONS[deflation](reference, x)
    np.testing.assert_allclose(ours.to_dense(), reference.to_dense(), atol=1e-11)
    assert isinstance(ours, TorchData) == (deflation in ("projection", "schur"))
    assert ours.describe()["components_taken_out"] == 2
    pair = [sparse_eigenvector(operator, 3, certify=False) for operator in (ours, reference)]
    np.testing.assert_array_equal(pair[0].support, pair[1].support)


def test_import_leaves_torch_alone() -> None:
    import subprocess
    import sys

    code = (
        "import sys, numpy, sparseigen as se; se.sparse_eigenvector(se.covariance(numpy.eye(5)), 2); "
        "print('torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


@pytest.mark.parametrize("how", ["largest", "smallest", "shifted", "hotelling"])
def test_whole_columns_stay_on_the_device_through_wrappers(
    how: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrappers keep what access costs: a search of large data fetches the columns that it starts from and no others."""
    monkeypatch.setattr(starts, "LARGEST_FETCHED", 0)
    data = rng.standard_normal((40, 600))
    data[:, :15] += 1.5 * rng.standard_normal((40, 1))
    operator, reference = covariance(tensor(data)), covariance(data)
    fetched: list[int] = []
    for name in ("columns", "accurate_columns"):
        original = getattr(TorchData, name)

        def counted(self: TorchData, indices: np.ndarray, original: Any = original) -> Any:
            fetched.append(len(indices))
            return original(self, indices)

        monkeypatch.setattr(TorchData, name, counted)
    if how == "shifted":
        operator, reference = operator.shifted(0.5), reference.shifted(0.5)
    if how == "hotelling":
        first = np.eye(600)[0]
        operator, reference = (DEFLATIONS["hotelling"](which, first) for which in (operator, reference))
    assert operator.costs.transfers
    options: dict[str, Any] = {"which": "smallest" if how == "smallest" else "largest", "certify": False}
    found = sparse_eigenvector(operator, 12, **options)
    assert found.value == pytest.approx(sparse_eigenvector(reference, 12, **options).value, rel=1e-9, abs=1e-9)
    # An indefinite matrix is searched twice; a change made on the host has no columns on the device.
    most = {"smallest": 2 * 15, "hotelling": 2 * 615}.get(how, 15)
    assert sum(fetched) <= most
