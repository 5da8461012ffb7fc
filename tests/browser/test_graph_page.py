"""The page about dense subgraphs, used as a person would."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import sparseigen as se
from sparseigen.report import graph_report

HOSTILE = "<b onclick=alert(1)>zero</b>"


@pytest.fixture(scope="module")
def club():
    graph = nx.relabel_nodes(nx.karate_club_graph(), {0: HOSTILE})
    return graph, se.density_curve(graph, range(3, 12))


@pytest.fixture(scope="module")
def files(club, tmp_path_factory) -> dict[str, Path]:
    graph, curve = club
    folder = tmp_path_factory.mktemp("graph")
    positions = {node: (40.0 + 5.0 * np.sin(i), -100.0 + 10.0 * np.cos(i)) for i, node in enumerate(graph)}
    pages = {
        "forces": graph_report(curve, graph=graph, title="Karate club"),
        "map": graph_report(curve, graph=graph, positions=positions, chosen=5),
        "bare": graph_report(curve[3]),
    }
    return {name: report.save(folder / f"{name}.html") for name, report in pages.items()}


def members(page) -> list[str]:
    return page.locator("#members tbody th").all_inner_texts()


@pytest.mark.parametrize("kind", ["forces", "map"])
def test_slider_changes_members_and_drawing(open_page, files, club, kind: str) -> None:
    _, curve = club
    page = open_page(files[kind])
    page.get_by_role("slider", name="Number of members k").focus()
    page.keyboard.press("Home")
    for i, result in enumerate(curve):
        if i:
            page.keyboard.press("ArrowRight")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
        assert sorted(members(page)) == sorted(str(node) for node in result.nodes)
        drawn = page.evaluate("document.getElementById('drawing').data.at(-1).x.length")
        assert drawn == result.k
    inside = [float(t) for t in page.locator("#members tbody tr td:nth-child(2)").all_inner_texts()]
    assert sum(inside) == pytest.approx(curve[11].weight, rel=1e-4)


def test_members_sort_and_download(open_page, files, club) -> None:
    _, curve = club
    page = open_page(files["map"])
    page.get_by_role("button", name="weight to all").click()
    weights = [float(t) for t in page.locator("#members tbody tr td:nth-child(3)").all_inner_texts()]
    assert weights == sorted(weights, reverse=True)
    with page.expect_download() as download:
        page.locator("#members-csv").click()
    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text())))
    assert rows[0] == ["member", "weight to the others", "weight to all", "latitude", "longitude"]
    assert sorted(row[0] for row in rows[1:]) == sorted(str(node) for node in curve[5].nodes)
    with page.expect_download() as download:
        page.locator("#answer-json").click()
    stored = json.loads(Path(download.value.path()).read_text())
    assert [one["density"] for one in stored] == [result.density for result in curve]


def test_names_are_text(open_page, files) -> None:
    page = open_page(files["forces"])
    assert HOSTILE in members(page)
    texts = page.locator("#drawing .textpoint").all_text_contents()
    assert any(text.startswith("<b onclick") for text in texts)


@pytest.mark.parametrize("kind", ["forces", "map", "bare"])
def test_phone_width_in_the_dark(open_page, files, kind: str) -> None:
    page = open_page(files[kind], width=360, height=740, scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(19, 22, 26)"


def test_the_drawing_is_fitted_to_every_k_with_lines_by_weight(open_page, tmp_path) -> None:
    graph = nx.powerlaw_cluster_graph(120, 4, 0.5, seed=1)
    for place, (u, v) in enumerate(graph.edges()):
        graph[u][v]["weight"] = 1.0 + place % 9
    curve = se.density_curve(graph, [5, 60], certify=False)
    page = open_page(graph_report(curve, graph=graph, chosen=60).save(tmp_path / "page.html"))

    def view() -> list[float]:
        return page.evaluate("byId('drawing').layout.xaxis.range")

    wide = view()
    slider = page.get_by_role("slider", name="Number of members k")
    slider.focus()
    page.keyboard.press("Home")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
    assert view()[1] - view()[0] < wide[1] - wide[0]
    places = page.evaluate("byId('drawing').data.at(-1).x")
    assert max(places) - min(places) > 0.8 * (view()[1] - view()[0])
    widths = page.evaluate(
        "byId('drawing').data.filter((t) => t.mode === 'lines' && t.x.length).map((t) => t.line.width)"
    )
    assert widths == sorted(widths)
    assert len(widths) > 1
