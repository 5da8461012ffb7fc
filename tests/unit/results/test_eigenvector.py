"""Answers: frozen, one-line repr, JSON-ready."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from sparseigen import sparse_eigenvector
from sparseigen.datasets import load_pitprops
from sparseigen.results import Certificate, SparseEigResult, StopReason


@pytest.fixture
def result() -> SparseEigResult:
    return SparseEigResult(
        vector=np.array([0.0, 0.8, -0.6]),
        value=0.147481,
        cardinality=4,
        stop_reason=StopReason.VALUE_STALLED,
        n_iterations=20,
        history=np.array([0.1, 0.147481]),
        certificate=Certificate(0.147481, 0.150429, "trace"),
        solver="tpower",
        settings={"start": "auto"},
        seconds=0.5,
        names=("a", "<script>", "c"),
    )


def test_repr_is_one_line(result: SparseEigResult) -> None:
    assert repr(result) == "SparseEigResult(value=0.147481, cardinality=4, value_stalled after 20, gap 1.96%)"


def test_no_certificate_prints_uncertified(result: SparseEigResult) -> None:
    assert "uncertified" in repr(dataclasses.replace(result, certificate=None))


def test_frozen(result: SparseEigResult) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.value = 1.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        sparse_eigenvector(np.eye(3), 1).vector[0] = 2.0


def test_support_and_loadings(result: SparseEigResult) -> None:
    assert result.support.tolist() == [1, 2]
    assert result.loadings == {"<script>": 0.8, "c": -0.6}
    assert list(dataclasses.replace(result, names=None).loadings) == ["x1", "x2"]


def test_to_dict_is_json(result: SparseEigResult) -> None:
    real = sparse_eigenvector(pd.DataFrame(np.diag([1.0, 2.0]), columns=["a", "b"]), 1)
    for one in (result, real):
        plain = json.loads(json.dumps(one.to_dict()))
        assert plain["support"] == one.support.tolist()
        assert plain["certificate"]["upper_bound"] >= plain["certificate"]["lower_bound"]
        assert plain["stop_reason"] == one.stop_reason.value


def test_html_escapes_names(result: SparseEigResult) -> None:
    page = result._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_loadings_as_a_frame() -> None:
    found = sparse_eigenvector(load_pitprops().operator(), 3)
    frame = found.to_frame()
    assert dict(zip(frame["variable"], frame["loading"], strict=True)) == found.loadings
