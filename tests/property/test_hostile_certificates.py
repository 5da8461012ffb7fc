"""The families of `make fuzz`, a few of each: every certificate against exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzing.carriers import DATA_CARRIERS, MATRIX_CARRIERS
from fuzzing.certificates import graph_findings, matrix_findings
from fuzzing.elsewhere import CARRIERS, NEEDS
from fuzzing.families import DATA, MATRICES
from fuzzing.graphs import WEIGHTS

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=90, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def wrong(findings):
    return [one for one in findings[0] if one.how == "violation"]


@FEW
@given(SEEDS, st.sampled_from(sorted(MATRICES)), st.sampled_from(sorted(MATRIX_CARRIERS)))
def test_certificates_of_hostile_matrices_hold(seed, family, carrier):
    assert wrong(matrix_findings(np.random.default_rng(seed), family, carrier)) == []


@FEW
@given(SEEDS, st.sampled_from(sorted(DATA)), st.sampled_from(sorted(DATA_CARRIERS)))
def test_certificates_of_hostile_data_hold(seed, family, carrier):
    assert wrong(matrix_findings(np.random.default_rng(seed), family, carrier)) == []


@pytest.mark.parametrize("carrier", sorted(CARRIERS))
@settings(FEW, max_examples=20)
@given(seed=SEEDS, family=st.sampled_from(sorted(DATA)))
def test_certificates_of_hostile_data_elsewhere_hold(seed, family, carrier):
    pytest.importorskip(NEEDS[carrier])
    assert wrong(matrix_findings(np.random.default_rng(seed), family, carrier)) == []


@FEW
@given(SEEDS, st.sampled_from(sorted(WEIGHTS)))
def test_certificates_of_hostile_graphs_hold(seed, family):
    assert wrong(graph_findings(np.random.default_rng(seed), family)) == []
