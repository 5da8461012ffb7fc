"""A set is checked from the matrix alone, and what is wrong with it is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sparseigen as se


@pytest.fixture(scope="module")
def matrix():
    return se.datasets.load_pitprops().matrix


@pytest.mark.parametrize(
    "options", [{"constraint": "orthogonal"}, {"constraint": "uncorrelated"}, {"disjoint": True}, {"refine": True}, {}]
)
def test_what_was_found_holds(matrix, options) -> None:
    found = se.sparse_components(matrix, [3, 3], effort="quick", **options)
    verification = se.verify(found, matrix)
    assert verification, str(verification)
    assert {"plain variance", "adjusted variance", "span variance", "proven end"} <= {
        c.claim for c in verification.checks
    }


def failing(found, matrix):
    return [check.claim for check in se.verify(found, matrix).failures]


def test_false_claims_are_found(matrix) -> None:
    found = se.sparse_components(matrix, [4, 4], constraint="orthogonal", effort="quick")
    proof = found.certificate
    assert failing(replace(found, certificate=replace(proof, upper_bound=0.9 * proof.lower_bound)), matrix) == [
        "ordered",
        "proven end",
    ]
    assert failing(replace(found, certificate=replace(proof, lower_bound=proof.upper_bound)), matrix) == [
        "attained end"
    ]
    assert failing(replace(found, constraint="uncorrelated"), matrix)[0] == "uncorrelated"
    doubled = {name: 2.0 * values for name, values in found.variances.items()}
    assert failing(replace(found, variances=doubled), matrix) == [
        "plain variance",
        "adjusted variance",
        "span variance",
    ]
    twice = replace(found, results=(found[0], found[0]), disjoint=True)
    assert {"orthogonal", "disjoint"} <= set(failing(twice, matrix))
    short = replace(found[0], vector=found[0].vector[:5])
    assert failing(replace(found, results=(short, short)), matrix) == ["length"]
    assert (
        failing(replace(found, results=tuple(replace(r, cardinality=2) for r in found)), matrix)[0] == "cardinalities"
    )
    with pytest.raises(se.errors.OptionError, match="must be a SparseEigResult"):
        se.verify(list(found), matrix)


def test_float32_data(rng) -> None:
    data = rng.standard_normal((30, 8)).astype(np.float32)
    found = se.sparse_components(se.covariance(data), [3, 3], constraint="orthogonal", effort="quick")
    assert se.verify(found, se.covariance(data))
