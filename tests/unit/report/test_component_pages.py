"""The page about components: its data and words are the results', and what it refuses."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.checks.frames import as_scores, fingerprint
from sparseigen.errors import DtypeError, NonFiniteError, OptionError, ShapeError
from sparseigen.report import component_report
from tests.unit.report.outline import HOSTILE, Outline, payload


def test_data_inside_are_the_results(full, pitprops) -> None:
    data, results, path = pitprops
    inside = payload(full)
    assert inside["results"] == json.loads(json.dumps([result.to_dict() for result in results]))
    for point, result in zip([inside["answer"], *inside["path"]], [results[0], *path], strict=True):
        part = point["parts"][0]
        vector = np.zeros(13)
        order = {name: i for i, name in enumerate([HOSTILE, *data.names[1:]])}
        vector[[order[inside["variables"][v]] for v in part["variables"]]] = part["loadings"]
        np.testing.assert_allclose(vector, result.vector, rtol=1e-5)
        assert part["value"] == pytest.approx(result.value, rel=1e-5)
        assert part["upper"] == pytest.approx(result.certificate.upper_bound, rel=1e-5)
        assert point["k"] == result.cardinality
    assert inside["total"] == pytest.approx(13.0)
    assert inside["scores"]["labels"] == {"names": ["a", "b", "c"], "codes": [0, 1, 2] * 3}
    assert inside["resamples"] == 7


def test_words_of_the_page(full, pitprops) -> None:
    text = " ".join("".join(Outline(full.html).text).split())
    assert "Which 2 combinations, one after the other, of at most 3 to 5 of the 13 variables vary most" in text
    assert "Component 1: 5 variables, 26.20% of the total variance" in text
    assert fingerprint(pitprops[0].matrix)["sha256"] in text


def test_the_page_says_what_components_add_and_of_which_matrix_proofs_are(pitprops) -> None:
    data, results, _ = pitprops
    overlap = se.components.find_overlap(data.matrix, [result.vector for result in results])
    page = component_report(results, total_variance=13.0, overlap=overlap)
    text = " ".join("".join(Outline(page.html).text).split())
    added = f"{overlap.adjusted[1] / 13.0:.2%}"
    assert f"of which it adds {added} to the components before it" in text
    assert f"with those of component 1 ({overlap.correlations[1, 0]:+.2f})" in text
    assert "what component 1 leaves (Schur complement)" in text
    assert payload(page)["overlap"] == [overlap.to_dict(j) for j in range(2)]
    with pytest.raises(ShapeError, match="overlap is about 2 components, results about 1"):
        component_report(results[:1], overlap=overlap)


def test_path_alone_chooses_the_elbow(pitprops) -> None:
    _, _, path = pitprops
    assert payload(component_report([], path=path))["answer"]["k"] == path.suggest("elbow")
    with pytest.raises(OptionError, match="results is empty; give at least one component, or a SparsePath"):
        component_report([])


def test_path_of_several_components(pitprops) -> None:
    data, results, _ = pitprops
    points = [se.sparse_components(data.operator(), [k, k]) for k in (6, 2, 4)]
    inside = payload(component_report(results, path=points, total_variance=13.0))
    assert [point["k"] for point in inside["path"]] == [2, 4, 6]
    assert [len(point["parts"]) for point in inside["path"]] == [2, 2, 2]
    assert inside["dense"] is None
    with pytest.raises(OptionError, match="path holds an empty list"):
        component_report(results, path=[[]])


def test_long_components_of_a_path_are_cut_and_say_so() -> None:
    vector = np.linspace(1.0, 2.0, 900)
    matrix = sp.csr_array(sp.diags_array(vector))
    result = se.sparse_eigenvector(matrix, 900, method="pca", certify=False)
    long = se.results.SparseEigResult(
        vector / np.linalg.norm(vector), 1.0, 900, result.stop_reason, 1, np.ones(1), None, "x", {}, 0.0
    )
    inside = payload(component_report([long], path=[long]))
    part = inside["path"][0]["parts"][0]
    assert (part["nonzeros"], len(part["loadings"])) == (900, 600)
    assert min(part["loadings"]) == pytest.approx(long.vector[300], rel=1e-5)
    assert len(inside["answer"]["parts"][0]["loadings"]) == 900


def test_bad_input_is_refused(pitprops) -> None:
    _, results, _ = pitprops
    other = se.sparse_eigenvector(np.eye(3), 1)
    with pytest.raises(ShapeError, match=r"the components are over \[3, 13\] variables"):
        component_report([*results, other])
    with pytest.raises(ShapeError, match="names has 2 entries for 13 variables"):
        component_report(results, names=["a", "b"])
    with pytest.raises(ShapeError, match="labels has 2 entries for 3 samples"):
        component_report(results, scores=np.zeros((3, 2)), labels=["a", "b"])
    with pytest.raises(ShapeError, match=r"scores has shape \(0, 1\)"):
        as_scores([])
    with pytest.raises(NonFiniteError, match="scores has NaN"):
        as_scores([1.0, np.nan])
    with pytest.raises(DtypeError, match="scores cannot be read as numbers"):
        as_scores(["a"])
    with pytest.raises(DtypeError, match="data has dtype <U1"):
        fingerprint(np.array([["a"]]))


def test_stability_of_other_data_is_refused(pitprops) -> None:
    _, results, _ = pitprops
    other = se.components.SelectionStability(np.ones((1, 4)), np.ones((1, 4), dtype=bool), 3, None)
    with pytest.raises(ShapeError, match="stability is about 4 variables, the components about 13"):
        component_report(results, stability=other)


def test_infinite_bounds_and_odd_settings_do_not_break_the_page(pitprops) -> None:
    _, results, _ = pitprops
    odd = dataclasses.replace(
        results[0],
        certificate=se.results.Certificate(1.0, float("inf"), "none"),
        settings={"time_limit": float("inf"), "seed": np.int64(3), "rng": object},
    )
    report = component_report([odd], path=[odd])
    assert "without a proof" in report.html
    part = payload(report)["path"][0]["parts"][0]
    assert (part["upper"], part["gap"]) == (None, None)
    assert payload(report)["results"][0]["settings"]["seed"] == 3


def test_a_set_is_said_as_a_whole() -> None:
    pitprops = se.datasets.load_pitprops()
    found = se.sparse_components(pitprops.operator(), [4, 4], constraint="orthogonal")
    page = component_report(found, total_variance=found.total_variance).html
    assert "Proven: no set of 2 x 4 orthogonal components explains more than this one, 40.4 %" in page
    assert "The largest inner product of two components is" in page
    assert "span (what each adds to the components before)" in page
    assert "taken together" in page
    assert "The set as a whole" not in component_report(list(found)).html


def test_the_page_tells_the_variance_that_the_vector_has(pitprops) -> None:
    """The value of a later component is that of a deflated matrix, which its vector does not have in the data."""
    data, _, _ = pitprops
    results = se.sparse_components(data.operator(), [4, 4, 4])
    overlap = se.components.find_overlap(data.matrix, [result.vector for result in results])
    assert f"{overlap.plain[2] / 13.0:.2%}" != f"{results[2].value / 13.0:.2%}"
    text = " ".join("".join(Outline(component_report(results, total_variance=13.0, overlap=overlap).html).text).split())
    plain, adjusted = f"{overlap.plain[2] / 13.0:.2%}", f"{overlap.adjusted[2] / 13.0:.2%}"
    assert f"Component 3: 4 variables, {plain} of the total variance (adjusted {adjusted})" in text
    assert "of the total variance there." in text
    bare = " ".join("".join(Outline(component_report(results, total_variance=13.0).html).text).split())
    assert f"{results[2].value / 13.0:.2%} of the total variance beyond the components before it" in bare


def test_names_of_samples_and_of_labels_reach_the_page(pitprops) -> None:
    pandas = pytest.importorskip("pandas")
    _, results, _ = pitprops
    scores = pandas.DataFrame(np.arange(6.0).reshape(3, 2), index=["s1", "s2", "s3"])
    inside = payload(component_report(results, scores=scores, labels=pandas.Series(["10", "2", "10"], name="cluster")))
    assert inside["scores"]["names"] == ["s1", "s2", "s3"]
    assert inside["scores"]["title"] == "cluster"
    assert inside["scores"]["labels"] == {"names": ["2", "10"], "codes": [1, 0, 1]}
    inside = payload(component_report(results, scores=scores.to_numpy(), sample_names="abc", label_title="type"))
    assert (inside["scores"]["names"], inside["scores"]["title"]) == (["a", "b", "c"], "type")
    with pytest.raises(ShapeError, match="sample_names has 2 entries for 3 samples; give one per sample"):
        component_report(results, scores=scores, sample_names=["a", "b"])


@pytest.mark.parametrize("names", [None, ["a", "b", "c", "d"]])
def test_the_table_says_what_share_of_a_chosen_variable_was_missing(names, rng) -> None:
    X = rng.standard_normal((40, 4)) * [3.0, 2.0, 0.1, 0.1]
    X[:10, 0] = np.nan
    results = se.sparse_components(se.covariance(X, missing="mean", names=names), [2])
    text = " ".join("".join(Outline(component_report(results).html).text).split())
    assert "missing" in text
    assert "25.00%" in text
    assert "0.00%" in text
    whole = component_report(se.sparse_components(se.covariance(np.nan_to_num(X)), [2])).html
    assert "25.00%" not in whole
