"""``dks`` and ``curve``: dense subgraphs with the names of their vertices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.running import check_refused, run


def test_dks_with_names(graph: Path, tmp_path: Path) -> None:
    text = run("dks", graph, "-k", "5").stdout
    assert "members: p; q; r; s; t" in text
    assert "optimal" in text
    (tmp_path / "who.csv").write_text(
        "id,name,lat,lon\n" + "".join(f"{c},Town {c},{i},{i}\n" for i, c in enumerate("pqrstuvwx"))
    )
    named = run("dks", graph, "-k", "5", "--vertices", tmp_path / "who.csv", "--report", tmp_path / "map.html")
    assert "Town p; Town q" in named.stdout
    assert "Town p" in (tmp_path / "map.html").read_text()
    rows = run("dks", graph, "-k", "5", "--csv", "--vertices", tmp_path / "who.csv").stdout.splitlines()
    assert rows[1] == "1,5,p,Town p,4.0"
    assert "members: p; q; r; s; t; u" in run("dks", graph, "-k", "6", "--include", "u").stdout
    check_refused(run("dks", graph, "-k", "2", "--include", "zz"), 3, "'zz', which is not a vertex")
    check_refused(run("dks", graph, "-k", "2", "--vertices", tmp_path / "none.csv"), 3, "does not exist")
    (tmp_path / "who.csv").write_text("id,lat,lon\np,1,2\n")
    check_refused(
        run("dks", graph, "-k", "2", "--vertices", tmp_path / "who.csv", "--report", tmp_path / "m.html"),
        3,
        "vertex 'q'",
    )


def test_disjoint_sets_and_standard_input(graph: Path) -> None:
    answer = json.loads(run("dks", graph, "-k", "3", "--count", "2", "--json").stdout)
    assert not set(answer[0]["nodes"]) & set(answer[1]["nodes"])
    piped = json.loads(run("dks", "-", "-k", "5", "--json", input=graph.read_bytes()).stdout)
    assert piped["nodes"] == list("pqrst")


def test_curve(graph: Path, tmp_path: Path) -> None:
    result = run("curve", graph, "--k", "2:6:2", "--out", tmp_path / "out", "--report", tmp_path / "c.html")
    assert result.exit_code == 0, result.stderr
    rows = (tmp_path / "out" / "curve.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["k", "2", "4", "6"]
    assert (tmp_path / "out" / "members.csv").read_text().count("\n") == 13
    assert (tmp_path / "c.html").stat().st_size > 1000


@pytest.mark.parametrize("same", [False, True], ids=["distinct", "repeated"])
def test_names_of_vertices_in_reports(same: bool, numbered_graph: Path, tmp_path: Path) -> None:
    """Vertices of the same name keep their numbers: a report must not show two as one."""
    pytest.importorskip("plotly")
    places, page = tmp_path / "places.csv", tmp_path / "page.html"
    places.write_text("vertex,name\n" + "".join(f"{i},city{'abcdefg'[0 if same else i]}\n" for i in range(7)))
    for command in (("dks", "-k", "5"), ("dks", "-k", "2", "--count", "2"), ("curve", "-k", "2:5")):
        answer = run(command[0], numbered_graph, *command[1:], "--vertices", places, "--report", page)
        assert answer.exit_code == 0, answer.stderr
        assert ("cityb" in page.read_text()) is not same


def read_weights(*arguments: object) -> dict[str, float]:
    """Member to its weight inside, as ``dks --csv`` prints it."""
    header, *rows = run("dks", *arguments, "--csv").stdout.splitlines()
    assert header == "set,k,node,name,weight_inside"
    return {row.split(",")[2]: float(row.split(",")[-1]) for row in rows}


def test_weights_of_members_are_those_of_the_density(tmp_path: Path) -> None:
    """An edge list and the GraphML of one graph tell the same; so do weights and density, however arcs are joined."""
    networkx = pytest.importorskip("networkx")
    club = networkx.les_miserables_graph()
    networkx.write_graphml(club, tmp_path / "mis.graphml")
    lines = [f"{u},{v},{data['weight']}" for u, v, data in club.edges(data=True)]
    (tmp_path / "mis.csv").write_text("source,target,weight\n" + "\n".join(lines) + "\n")
    listed = read_weights(tmp_path / "mis.csv", "-k", "5")
    assert listed == read_weights(tmp_path / "mis.graphml", "-k", "5")
    assert listed["Valjean"] == 69.0
    (tmp_path / "arcs.csv").write_text("source,target,weight\na,b,4\nb,a,2\nb,c,6\nc,d,1\n")
    assert read_weights(tmp_path / "arcs.csv", "-k", "3") == {"a": 3.0, "b": 6.0, "c": 3.0}
    assert read_weights(tmp_path / "arcs.csv", "-k", "3", "--directed", "either") == {"a": 4.0, "b": 10.0, "c": 6.0}
    (tmp_path / "loops.csv").write_text("source,target,weight\na,b,4\nb,b,3\n")
    assert read_weights(tmp_path / "loops.csv", "-k", "2", "--self-loops", "keep") == {"a": 4.0, "b": 7.0}


def test_numbers_of_edges_that_are_not_used_are_told(tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    calls = networkx.Graph()
    calls.add_edge("a", "b", calls=7)
    calls.add_edge("b", "c", calls=2)
    file, page = tmp_path / "calls.graphml", tmp_path / "page.html"
    networkx.write_graphml(calls, file)
    told = run("dks", file, "-k", "2", "--report", page)
    assert told.exit_code == 0
    assert (
        "every edge counts 1: the numbers of the edges are not used ('calls'); --weight calls uses one" in told.stderr
    )
    assert "Every edge counts 1: the numbers that edges carry as calls are not used." in page.read_text()
    assert "--weight calls" in run("curve", file, "-k", "2:3").stderr
    assert run("dks", file, "-k", "2", "--weight", "calls").stderr == ""
