"""Questions nobody should ask: each is refused in one sentence, and none gets an answer to another question."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors, kernels
from sparseigen.kernels import numpy_reference
from sparseigen.report import graph_report

MATRIX = se.datasets.load_pitprops().matrix
NAMES = list(se.datasets.load_pitprops().names)


@pytest.fixture
def data(rng):
    return rng.standard_normal((40, 6)) + 2.0 * rng.standard_normal((40, 1)) * (np.arange(6) < 3)


def test_held_out_is_the_covariance_of_the_same_variables_in_the_same_order():
    frame = pd.DataFrame(MATRIX, columns=NAMES, index=NAMES)
    path = se.cardinality_path(frame, [1, 3, 6], certify=False)
    expected = path.suggest("held-out", held_out=MATRIX)
    for same in (frame, sp.csr_array(MATRIX), MATRIX.tolist(), frame.reset_index(drop=True)):
        assert path.suggest("held-out", held_out=same) == expected
    refused = [
        (errors.OptionError, frame.iloc[::-1, ::-1]),
        (errors.OptionError, frame.iloc[::-1]),
        (errors.NotSymmetricError, np.triu(MATRIX)),
        (errors.DtypeError, MATRIX.astype(complex)),
        (errors.DtypeError, MATRIX.astype(str)),
        (errors.NonFiniteError, np.full_like(MATRIX, np.nan)),
    ]
    for error, held_out in refused:
        with pytest.raises(error, match="held_out"):
            path.suggest("held-out", held_out=held_out)


@pytest.mark.parametrize("share", ["x", None, [0.5], True, 7, -1, float("nan")])
def test_shares_are_numbers_above_0_and_at_most_1(share, data):
    path = se.cardinality_path(MATRIX, [1, 3], certify=False)
    asked = [
        lambda: path.suggest(share=share),
        lambda: se.SparsePCA(cardinality=2, share=share).fit(data),
        lambda: se.SparsePCA(cardinality="auto", share=share).fit(data),
        lambda: se.selection_stability(data, 2, share=share, n_resamples=2),
    ]
    for ask in asked:
        with pytest.raises(errors.OptionError, match="share"):
            ask()


def test_questions_about_stability(data):
    stability = se.selection_stability(data, 2, n_resamples=3)
    for component in (1, -2, "x", None, 0.0):
        with pytest.raises(errors.OptionError, match="component"):
            stability.stable(component)
    for threshold in ("x", None, float("nan"), -1):
        with pytest.raises(errors.OptionError, match="threshold"):
            stability.stable(threshold=threshold)


@pytest.mark.parametrize(
    "options",
    [
        {"cardinalities": 5},
        {"cardinalities": []},
        {"cardinalities": [1, "a"]},
        {"cv": 1},
        {"cv": "x"},
        {"cv": 100},
        {"estimator": 5},
        {"estimator": se.SparsePCA},
        {"estimator": se.SparsePCA(n_components="x")},
    ],
)
def test_searches_that_cannot_be_made(options, data):
    with pytest.raises(errors.InputError):
        se.CardinalitySearchCV(**options).fit(data)


def test_cardinalities_chosen_are_plain_numbers(data):
    chosen = se.CardinalitySearchCV(cardinalities=np.array([1, 3])).fit(data).cardinality_
    assert [type(k) for k in chosen] == [int]


@pytest.mark.parametrize("how", [copy.deepcopy, copy.copy, lambda value: pickle.loads(pickle.dumps(value))])
def test_answers_stay_as_they_are_in_copies(how):
    """An answer does not change after it was given: pickle and deepcopy would make its arrays writable."""
    result = se.sparse_eigenvector(MATRIX, 3)
    other = how(result)
    assert np.array_equal(other.vector, result.vector)
    assert (other.value, other.certificate, other.settings) == (result.value, result.certificate, result.settings)
    graph = how(se.density_curve(nx.karate_club_graph(), [4]))[0]
    assert graph.indicator.sum() == 4
    assert how(se.cardinality_path(MATRIX, [2]))[2].cardinality == 2
    for array in (other.vector, other.history, graph.indicator, graph.history):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("count", ["x", -1, None, 1.5, True, 2**40])
def test_thread_counts_that_are_none(count):
    before = kernels.thread_count()
    for set_thread_count in (kernels.set_thread_count, numpy_reference.set_thread_count):
        with pytest.raises(errors.OptionError, match="threads"):
            set_thread_count(count)
    assert kernels.thread_count() == before


@pytest.mark.parametrize("given", [None, 5, "x", [5], [se.sparse_eigenvector(MATRIX, 2)]])
def test_pages_about_what_is_no_subgraph(given):
    with pytest.raises(errors.OptionError, match="curve_or_result"):
        graph_report(given)
