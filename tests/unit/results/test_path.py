"""Paths as objects: looking up, rules that choose a cardinality, tables and figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.errors import OptionError
from sparseigen.operators import as_operator
from sparseigen.report import component_report
from sparseigen.report.words import path_table
from tests.unit.report.outline import payload

MATRIX = se.datasets.load_pitprops().matrix
NAMES = list(se.datasets.load_pitprops().names)


@pytest.fixture(scope="module")
def path():
    return se.cardinality_path(MATRIX, range(1, 14))


@pytest.fixture
def data(rng):
    return rng.standard_normal((40, 6)) + 2.0 * rng.standard_normal((40, 1)) * (np.arange(6) < 3)


def test_share_rule_takes_the_smallest_k_that_reaches_it(path) -> None:
    dense = np.linalg.eigvalsh(se.datasets.load_pitprops().matrix)[-1]
    k = path.suggest("share", share=0.8)
    assert path[k].value >= 0.8 * dense > path[k - 1].value
    assert path.suggest("share", share=1.0) == 13


def test_elbow_rule_finds_the_kink() -> None:
    matrix = np.diag([1.0] * 12)
    matrix[:4, :4] += 3.0
    assert se.cardinality_path(matrix, range(1, 13), certify=False).suggest("elbow") == 4


def test_held_out_rule_prefers_the_true_variables(rng) -> None:
    def sample():
        return rng.standard_normal((60, 30)) + 2.0 * rng.standard_normal((60, 1)) * (np.arange(30) < 5)

    found = se.cardinality_path(se.covariance(sample()), range(1, 31), certify=False)
    assert 4 <= found.suggest("held-out", held_out=se.covariance(sample())) <= 6


def test_suggest_errors(path) -> None:
    with pytest.raises(OptionError, match="'elbow', 'held-out', 'share'"):
        path.suggest("scree")
    with pytest.raises(OptionError, match="needs held_out"):
        path.suggest("held-out")
    short = se.cardinality_path(se.datasets.load_pitprops().matrix, [1, 2], certify=False)
    with pytest.raises(OptionError, match=r"no cardinality on the path reaches 0.9"):
        short.suggest("share")


def test_frame_rows_and_figure(path) -> None:
    frame = path.to_frame()
    assert list(frame["cardinality"]) == list(range(1, 14))
    assert frame["share"].iloc[-1] == pytest.approx(path.shares[-1])
    figure = path.plot()
    assert [trace.name for trace in figure.data] == ["proven limit", "found", "without limit on k"]
    np.testing.assert_allclose(figure.data[1].y, path.shares)


def test_rules_tables_and_figures_do_not_depend_on_the_order_asked_for(path) -> None:
    mixed = replace(path, results=(*path.results[::-1], path.results[4]))
    assert len(mixed) == 14
    assert repr(mixed) == repr(path)
    for rule, options in (("share", {"share": 0.8}), ("elbow", {}), ("held-out", {"held_out": MATRIX})):
        assert mixed.suggest(rule, **options) == path.suggest(rule, **options)
    assert mixed.to_rows() == path.to_rows()
    assert mixed.plot(chosen=5).to_dict() == path.plot(chosen=5).to_dict()
    assert path_table(mixed) == path_table(path)
    assert payload(component_report([], path=mixed))["path"] == payload(component_report([], path=path))["path"]


def test_only_cardinalities_are_looked_up(path) -> None:
    assert path[np.int32(5)] is path[5]
    for wrong in (0, -1, "5", None, slice(1, 3), [5], np.array([5, 6])):
        with pytest.raises(KeyError, match=r"is not on the path; it has 1, 2, 3, 4, 5, 6, 7, 8, \.\.\. 13\."):
            path[wrong]


def test_the_line_about_a_path_says_which_end() -> None:
    path = se.cardinality_path(MATRIX, [3, 1], which="smallest", certify=False)
    assert repr(path).startswith("SparsePath(2 cardinalities 1 to 3, smallest, share 0.0769 to 0.0033")


def test_rules_that_need_more() -> None:
    path = se.cardinality_path(MATRIX, [1, 2, 4], certify=False)
    for share in (0.0, 1.5, float("nan")):
        with pytest.raises(errors.OptionError, match=r"share=.* must be above 0 and at most 1"):
            path.suggest("share", share=share)
    with pytest.raises(errors.OptionError, match="no cardinality on the path reaches 1 of the dense optimum"):
        path.suggest("share", share=1.0)
    with pytest.raises(errors.OptionError, match="rule='held-out' needs held_out, the covariance of other data"):
        path.suggest("held-out")
    data = np.ones((9, len(MATRIX)))
    for wrong in (data, MATRIX[:-1, :-1], as_operator(MATRIX[:-1, :-1]), MATRIX[0]):
        with pytest.raises(errors.ShapeError, match=r"must be the covariance of the same .* held_out=covariance"):
            path.suggest("held-out", held_out=wrong)
    with pytest.raises(errors.NonFiniteError, match="held_out has entries that are not finite"):
        path.suggest("held-out", held_out=np.full_like(MATRIX, np.nan))
    assert path.suggest("held-out", held_out=MATRIX) == path.suggest("held-out", held_out=as_operator(MATRIX)) == 4
    short = se.cardinality_path(MATRIX, [2, 3], certify=False)
    assert short.suggest("elbow") == 2  # two points have no elbow: the first


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
        lambda: se.components.selection_stability(data, 2, share=share, n_resamples=2),
    ]
    if share is not None:  # no share: the estimator's variables that matter
        asked += [
            lambda: se.SparsePCA(cardinality=2, share=share).fit(data),
            lambda: se.SparsePCA(cardinality="auto", share=share).fit(data),
        ]
    for ask in asked:
        with pytest.raises(errors.OptionError, match="share"):
            ask()
