"""Options that say where data are: told apart from the statistics, checked in one place."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import OptionError, UnknownOptionError
from sparseigen.operators.storage import Storage, StorageOptions


def test_unknown_options_are_refused_with_those_there_are(rng) -> None:
    with pytest.raises(UnknownOptionError, match=r"no option 'memory_limt'.*'checkpoint', 'client'.*'shape'\."):
        se.covariance(rng.standard_normal((5, 3)), memory_limt="1GB")
    with pytest.raises(TypeError):
        se.covariance(rng.standard_normal((5, 3)), centre=True)


def test_the_typed_options_are_those_of_the_dataclass() -> None:
    assert [field.name for field in fields(Storage)] == list(StorageOptions.__annotations__)
    assert Storage.from_options({}) == Storage()


@pytest.mark.parametrize(("name", "value"), [("keep", 1), ("keep", None), ("on_block", "loud")])
def test_values_that_cannot_be(name, value, rng) -> None:
    with pytest.raises(OptionError, match=f"{name}="):
        se.covariance(rng.standard_normal((5, 3)), **{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("memory_limit", "1GB"), ("checkpoint", "x"), ("dataset", "X"), ("on_block", print)]
)
def test_options_for_data_elsewhere_are_refused_for_arrays(name, value, rng) -> None:
    with pytest.raises(OptionError, match=f"{name} is for data read in passes"):
        se.covariance(rng.standard_normal((5, 3)), **{name: value})


def test_the_same_numbers_wherever_the_data_are(tmp_path, rng) -> None:
    data = rng.standard_normal((30, 4))
    np.save(tmp_path / "x.npy", data)
    blocks: list[int] = []
    options = {"memory_limit": "64MB", "on_block": lambda number, done, rows: blocks.append(done)}
    operator = se.covariance(tmp_path / "x.npy", scale=True, **options)
    np.testing.assert_allclose(operator.to_dense(), np.corrcoef(data.T))
    assert blocks
