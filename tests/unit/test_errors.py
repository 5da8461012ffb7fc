"""Errors carry the name of the parameter at fault, through pickles and copies too."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sparseigen import errors
from sparseigen.checks import arguments
from sparseigen.errors import SparseigenError

CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SparseigenError)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_carries_its_parameter(kind: type[SparseigenError]) -> None:
    error = kind("what is wrong", parameter="cardinalities[3]")
    for twin in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(twin), twin.args, twin.parameter) == ("what is wrong", ("what is wrong",), "cardinalities")
    assert kind("what is wrong").parameter is None
    assert kind("what is wrong", parameter="result.vector").parameter == "result"


REFUSALS: dict[str, list[Callable[[], Any]]] = {
    "cardinality": [
        lambda: arguments.check_cardinality(0, 3),
        lambda: arguments.check_cardinality(2.0, 3),
        lambda: arguments.check_sparsity("all", 3, 1),
        lambda: arguments.check_sparsity(1.5, 3, 1),
        lambda: arguments.check_sparsity([1, 2], 3, 1),
        lambda: arguments.check_sparsity([1, 9], 3, 2),
    ],
    "k": [lambda: arguments.check_cardinality(4, 3, subject="k", of="vertices")],
    "method": [lambda: arguments.check_choice("magic", ["tpower"], "method")],
    "gap": [lambda: arguments.check_tolerance(-1.0, "gap"), lambda: arguments.check_tolerance("a", "gap")],
    "time_limit": [lambda: arguments.check_positive(0.0, "time_limit")],
    "count": [lambda: arguments.check_count(0, "count"), lambda: arguments.check_position(5, 3, "count")],
    "method_options": [
        lambda: arguments.check_method_options(3, [], "tpower"),
        lambda: arguments.check_method_options({"a": 1}, [], "tpower"),
    ],
    "penalty": [lambda: arguments.check_numbers("x", "penalty", 2), lambda: arguments.check_numbers(-1, "penalty", 2)],
    "certify": [lambda: arguments.check_flag("yes", "certify")],
    "rng": [lambda: arguments.check_rng("seed")],
    "start": [
        lambda: arguments.check_start_vector(np.array(["a"]), 1),
        lambda: arguments.check_start_vector(np.ones(2), 3),
        lambda: arguments.check_start_vector(np.array([np.nan]), 1),
        lambda: arguments.check_start_vector(np.zeros(3), 3),
    ],
    "result": [lambda: arguments.check_result(3, "result")],
    "cardinalities": [lambda: arguments.check_many(3, "cardinalities", "[1]")],
    "candidates": [
        lambda: arguments.check_candidates(np.ones((2, 2)), 3, None),
        lambda: arguments.check_candidates(np.array([True]), 3, None),
        lambda: arguments.check_candidates([0.5], 3, None),
        lambda: arguments.check_candidates([], 3, None),
        lambda: arguments.check_candidates([7], 3, None),
        lambda: arguments.check_candidates(["a"], 3, None),
        lambda: arguments.check_candidates(["a"], 1, ["b"]),
    ],
}


@pytest.mark.parametrize(("parameter", "refuse"), [(name, call) for name, calls in REFUSALS.items() for call in calls])
def test_checks_of_arguments_name_the_argument(parameter: str, refuse: Callable[[], Any]) -> None:
    with pytest.raises(SparseigenError) as refused:
        refuse()
    assert refused.value.parameter == parameter
    assert parameter in str(refused.value)


def test_errors_are_the_built_ins_callers_expect() -> None:
    assert issubclass(errors.CardinalityError, ValueError)
    assert issubclass(errors.UnsupportedOperatorError, TypeError)
    assert issubclass(errors.MissingDependencyError, ImportError)
    assert issubclass(errors.DtypeError, TypeError)
    assert issubclass(errors.SolveInterrupted, KeyboardInterrupt)
