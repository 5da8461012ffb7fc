"""Brackets on x'Ax / x'Bx in exact arithmetic: every support, one and two cardinalities, metrics near singularity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzing.families import MATRICES
from fuzzing.pencils import PencilQuestion, problems_of

pytestmark = pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")
PLAIN = sorted(name for name in MATRICES)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1), st.sampled_from(PLAIN))
def test_brackets_hold_without_rounding(seed: int, family: str) -> None:
    question = PencilQuestion(np.random.default_rng(seed), family)
    for name, wrong in problems_of(question):
        assert not wrong, (name, family, question.condition, question.form, question.metric)


def test_a_planted_fault_is_found() -> None:
    question = PencilQuestion(np.random.default_rng(3), "gram")
    result = question.solve()
    proof = result.certificate
    if question.which == "largest":
        assert question.is_bound(proof.upper_bound)
        assert not question.is_bound(result.value * (1.0 - 1e-9))
        assert not question.reaches(result.vector, result.value * (1.0 + 1e-9))
    else:
        assert question.is_bound(proof.lower_bound)
        assert not question.is_bound(result.value * (1.0 + 1e-9))
        assert not question.reaches(result.vector, result.value * (1.0 - 1e-9))
