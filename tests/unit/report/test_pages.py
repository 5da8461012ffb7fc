"""Report pages without a browser: what is in them, what is escaped, how they are written, what they refuse."""

from __future__ import annotations

import dataclasses
import html.parser
import json
import os
import re

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.checks.frames import as_labels, as_positions, as_scores, fingerprint
from sparseigen.errors import DtypeError, NonFiniteError, OptionError, ShapeError
from sparseigen.report import Report, component_report, graph_report
from sparseigen.report.page import unpack
from sparseigen.report.words import component_sentence, subgraph_sentence

HOSTILE = "</script><script>alert(1)</script><!--"
VOID = {"meta", "input", "br", "link"}


class Outline(html.parser.HTMLParser):
    """Checks that every element is closed, and collects ids, labels and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.scripts = 0
        self.text: list[str] = []
        self.outside: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes) -> None:
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.scripts += tag == "script"
        self.outside += [v for k, v in attributes if k in ("src", "href") and not (v or "").startswith("#")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def pitprops():
    data = se.datasets.load_pitprops()
    path = se.cardinality_path(data.matrix, range(1, 14))
    return data, se.sparse_components(data.operator(), [5, 3]), path


@pytest.fixture(scope="module")
def full(pitprops) -> Report:
    data, results, path = pitprops
    names = [HOSTILE, *data.names[1:]]
    rng = np.random.default_rng(0)
    stability = se.components.SelectionStability(
        rng.random((2, 13)), np.array([r.vector != 0 for r in results]), 7, None
    )
    return component_report(
        results,
        path=path,
        names=names,
        data=data.matrix,
        scores=rng.standard_normal((9, 2)),
        labels=list("abcabcabc"),
        stability=stability,
        title=HOSTILE,
        settings={"file": HOSTILE},
    )


def payload(report: Report) -> dict:
    return unpack(re.search(r'id="payload">([^<]+)<', report.html).group(1))


def test_page_is_whole_and_loads_nothing(full) -> None:
    outline = Outline(full.html)
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.outside == []
    assert outline.scripts == 3
    for used in re.findall(r'byId\("([a-z-]+)"\)', full.html):
        assert used in outline.ids
    assert "default-src 'none'" in full.html
    assert len(full.html.encode()) < 3_000_000


def test_names_are_escaped(full) -> None:
    assert HOSTILE not in full.html
    text = "".join(Outline(full.html).text)
    assert text.count(HOSTILE) >= 4  # title, heading, settings, members, table


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
    assert "Component 1: 5 variables, 26.20 % of the total variance" in text
    assert fingerprint(pitprops[0].matrix)["sha256"] in text


def test_sentences_never_claim_more_than_is_proven(pitprops) -> None:
    _, _, path = pitprops
    for result in path:
        said = component_sentence(result, path.total_variance, after_others=False)
        if result.certificate.optimal:
            assert said.startswith("Proven best: no")
            continue
        limit, reached = (float(n) for n in re.search(r"more than ([\d.]+) %.*at least ([\d.]+) %", said).groups())
        assert limit / 100.0 >= result.certificate.upper_bound / path.total_variance - 1e-12
        assert reached / 100.0 <= 1.0 - result.certificate.relative_gap + 1e-12
    bare = se.sparse_eigenvector(np.diag([1.0, 2.0, 3.0]), 1, certify=False)
    assert "without a proof" in component_sentence(bare, 6.0, after_others=False)
    least = se.sparse_eigenvector(np.diag([1.0, 2.0, 3.0]), 1, which="smallest")
    assert "varies less" in component_sentence(least, 6.0, after_others=False)


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


def test_save_is_all_or_nothing(full, tmp_path, monkeypatch) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    assert full.save(target) == target
    assert target.read_text(encoding="utf-8") == full.html
    assert full.save(str(target)) == target
    target.write_text("old")

    def no_rename(old, new):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", no_rename)
    with pytest.raises(OSError, match="disk full"):
        full.save(target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_save_says_what_is_wrong_with_the_name(full, tmp_path) -> None:
    with pytest.raises(OptionError, match=r"the folder .*nowhere does not exist; create it first"):
        full.save(tmp_path / "nowhere" / "page.html")
    with pytest.raises(OptionError, match="is a folder; give the name of a file"):
        full.save(tmp_path)


def test_notebook_form_is_one_escaped_frame(full) -> None:
    frame = full._repr_html_()
    assert frame.startswith("<iframe ")
    assert frame.count("<") == 2
    assert "MB" in repr(full)


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


def test_labels_are_names_or_a_scale() -> None:
    assert as_labels([1, 0, 1], 3) == {"names": ["0", "1"], "codes": [1, 0, 1]}
    assert as_labels([True, None], 2)["names"] == ["True", "missing"]
    assert as_labels(range(20), 20)["numbers"][:2] == [0.0, 1.0]
    assert as_labels([0.5, float("nan")], 2) == {"numbers": [0.5, None]}


def test_fingerprint_sees_every_number_and_not_the_layout() -> None:
    values = np.arange(12.0).reshape(3, 4)
    same = [values, np.asfortranarray(values), values[::-1][::-1]]
    assert len({fingerprint(v)["sha256"] for v in same}) == 1
    changed = values.copy()
    changed[2, 3] += 1e-12
    assert fingerprint(changed)["sha256"] != fingerprint(values)["sha256"]
    assert fingerprint(values.T)["sha256"] != fingerprint(values)["sha256"]
    assert fingerprint(sp.csr_array(values))["sha256"] == fingerprint(sp.csc_array(values))["sha256"]


@pytest.fixture(scope="module")
def club():
    graph = nx.relabel_nodes(nx.karate_club_graph(), {0: HOSTILE})
    return graph, se.density_curve(graph, [3, 5, 8])


def test_graph_page_holds_the_curve(club) -> None:
    graph, curve = club
    report = graph_report(curve, graph=graph, title=HOSTILE)
    outline = Outline(report.html)
    assert HOSTILE not in report.html
    assert outline.outside == []
    for used in re.findall(r'byId\("([a-z-]+)"\)', report.html):
        assert used in outline.ids
    inside = payload(report)
    for point, result in zip(inside["points"], curve, strict=True):
        assert {inside["nodes"][v] for v in point["members"]} == {str(node) for node in result.nodes}
        assert sum(point["inside"]) == pytest.approx(result.weight, rel=1e-5)
        assert sum(w for _, _, w in point["edges"]) * 2 == pytest.approx(result.weight, rel=1e-5)
        assert point["density"] == pytest.approx(result.density, rel=1e-5)
    assert all(place is not None for place in inside["xy"])
    assert inside["opening"] == int(np.argmax(curve.densities))
    assert payload(graph_report(curve, graph=graph))["xy"] == inside["xy"]  # the layout is always the same


def test_graph_page_on_a_map_and_without_a_graph(club) -> None:
    graph, curve = club
    positions = {node: (10.0 + i, 20.0) for i, node in enumerate(graph)}
    inside = payload(graph_report(curve, graph=graph, positions=positions, chosen=5))
    assert inside["isMap"]
    assert inside["points"][inside["opening"]]["k"] == 5
    node = inside["points"][0]["members"][0]
    label = next(label for label in graph if str(label) == inside["nodes"][node])
    assert inside["xy"][node] == [20.0, positions[label][0]]
    assert len(inside["background"]) == len(graph) - len(inside["nodes"])
    bare = payload(graph_report(curve[3]))
    assert bare["xy"] is None
    assert bare["points"][0]["edges"] == []


def test_graph_page_of_separate_groups() -> None:
    groups = se.disjoint_dense_subgraphs(nx.caveman_graph(3, 4), k=4, count=3)
    report = graph_report(groups)
    assert "Which 3 separate groups of 4 of the 12 vertices" in report.html
    assert "no group of 4 members is more tightly connected" in subgraph_sentence(groups[0])


def test_graph_page_refuses(club) -> None:
    _, curve = club
    with pytest.raises(OptionError, match="there is no result to report on"):
        graph_report([])
    with pytest.raises(OptionError, match=r"chosen=4 is not among the k of the results \(3, 5, 8\)"):
        graph_report(curve, chosen=4)
    with pytest.raises(ShapeError, match="graph has 5 vertices; the results are about one with 34"):
        graph_report(curve, graph=nx.path_graph(5))
    with pytest.raises(OptionError, match="positions has none of the chosen nodes"):
        graph_report(curve, positions={"elsewhere": (0.0, 0.0)})
    with pytest.raises(OptionError, match="Were they swapped"):
        as_positions({"a": (-120.0, 45.0)})
    with pytest.raises(OptionError, match="it must be two numbers"):
        as_positions({"a": "north"})
    with pytest.raises(OptionError, match="give a mapping from node"):
        as_positions([1, 2])


def test_plots_of_results(pitprops, club) -> None:
    _, results, path = pitprops
    bars = results[0].plot().data[0]
    np.testing.assert_allclose(list(bars.x)[::-1], list(results[0].loadings.values()))
    figure = path.plot(chosen=5)
    assert [trace.name for trace in figure.data] == ["proven limit", "found", "without limit on k", "k = 5"]
    np.testing.assert_allclose(figure.data[0].y, path.upper_bounds / path.total_variance)
    with pytest.raises(KeyError, match="cardinality 99 is not on the path"):
        path.plot(chosen=99)
    curve = club[1].plot()
    np.testing.assert_allclose(curve.data[1].y, club[1].densities)
    named = se.sparse_eigenvector(np.diag([2.0, 1.0]), 1)
    hostile = se.results.SparseEigResult(
        named.vector, 1.0, 1, named.stop_reason, 1, np.ones(1), None, "x", {}, 0.0, ("<b>", "c")
    )
    assert hostile.plot().layout.yaxis.ticktext == ("&lt;b&gt;",)


@pytest.mark.parametrize("given", [None, 5, "x", [5], [se.sparse_eigenvector(np.eye(3), 2)]])
def test_pages_about_what_is_no_subgraph(given):
    with pytest.raises(OptionError, match="curve_or_result"):
        graph_report(given)
