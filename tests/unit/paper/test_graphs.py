"""The paper's graph experiments: the authors' Greedy-Ravi, loaders of the real files, stand-ins, comparisons."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.paper import curves, objective
from benchmarks.paper.claims import load as load_claims
from benchmarks.paper.datasets import airline, stand_ins, web_graphs
from benchmarks.paper.parts import air_travel, all_figures, all_pieces
from benchmarks.paper.parts import web_graphs as web_part
from benchmarks.paper.pieces import Settings
from benchmarks.paper.solvers.authors_ravi import authors_ravi, first_entry
from benchmarks.paper.solvers.graphs import GRAPH_SOLVERS, prepare
from benchmarks.paper.verdicts import BETTER, DIFFERS, NOT_RUNNABLE, REPRODUCED, judge
from sparseigen.errors import MissingDataError

ROOT = Path(__file__).resolve().parents[3]


def slow_ravi(matrix: np.ndarray, k: int) -> list[int]:
    """The same rules, written down as they are read: every gain anew in every step."""
    columns = np.asarray(matrix).T
    entry = int(np.argmax(columns))
    order = [entry % len(matrix), entry // len(matrix)]
    while len(order) < k + 1:
        gains = np.sum([matrix[:, v] for v in order], axis=0)
        gains[order] = -1.0
        order.append(int(np.argmax(gains)))
    return order


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["weighted", "unweighted", "self-loops", "falls apart"])
def test_authors_ravi_is_the_slow_rule(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    density = 0.05 if kind == "falls apart" else 0.3
    matrix = (rng.random((25, 25)) < density) * (1.0 if kind != "weighted" else rng.integers(1, 5, (25, 25)))
    matrix = (matrix + matrix.T) / 2
    if kind != "self-loops":
        np.fill_diagonal(matrix, 0.0)
    matrix[3, 7] = matrix[7, 3] = matrix.max() or 1.0
    sets, seconds = authors_ravi(sp.csc_array(matrix), [3, 8, 20])
    for k, chosen in sets.items():
        assert chosen == slow_ravi(matrix, k)
        assert seconds[k] >= 0.0


def test_authors_ravi_starts_at_a_self_loop_twice() -> None:
    matrix = np.array([[5.0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 3], [0, 0, 3, 0]])
    sets, _ = authors_ravi(sp.csc_array(matrix), [2])
    assert sets[2] == [0, 0, 1]
    assert objective.density(sp.csr_array(matrix), sets[2], 2, extra=1) == pytest.approx((5 + 2) / 2)


def test_start_of_large_graphs_is_looked_for_in_a_block() -> None:
    matrix = sp.csc_array(([2.0, 1, 1, 2], ([5, 0, 1, 4], [4, 1, 0, 5])), shape=(6, 6))
    assert first_entry(matrix) == (5, 4)
    assert first_entry(matrix, large=6, block=3) == (1, 0)
    assert first_entry(matrix, large=6, block=1) == (5, 4)  # nothing in the block
    with pytest.raises(ValueError, match="starts from an edge; the graph has none"):
        first_entry(sp.csc_array((6, 6)))


def test_density_checks_the_set() -> None:
    matrix = sp.csr_array(np.ones((5, 5)))
    assert objective.density(matrix, [0, 1, 2], 3) == 3.0
    assert objective.density(matrix, [0, 1, 2, 3], 3, extra=1) == pytest.approx(16 / 3)
    for wrong in ([0, 1], [0, 1, 1], [0, 1, 2, 3]):
        with pytest.raises(ValueError, match="were returned; 3 are expected"):
            objective.density(matrix, wrong, 3)


def natural(number: int) -> int:
    return 2 * number if number >= 0 else -2 * number - 1


def write_webgraph(folder: Path, name: str, matrix: sp.csr_array) -> None:
    """A plain BV file: gamma codes, no references, no intervals."""

    def gamma(number: int) -> str:
        text = bin(number + 1)[2:]
        return "0" * (len(text) - 1) + text

    bits = []
    for node in range(matrix.shape[0]):
        row = np.sort(matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]]).tolist()
        bits.append(gamma(len(row)))
        if row:
            bits.append(gamma(natural(row[0] - node)))
            bits += [gamma(later - earlier - 1) for earlier, later in pairwise(row)]
    content = np.packbits(np.array(list("".join(bits)), dtype=np.uint8)).tobytes()
    (folder / name).mkdir()
    (folder / name / f"{name}.graph").write_bytes(content)
    (folder / name / f"{name}.properties").write_text(
        f"nodes={matrix.shape[0]}\narcs={matrix.nnz}\nwindowsize=0\nminintervallength=0\n"
        "compressionflags=RESIDUALS_GAMMA\ngraphclass=it.unimi.dsi.webgraph.BVGraph\n"
    )


@pytest.fixture
def small_amazon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sp.csr_array:
    """A folder with a small graph in the place of amazon-2008, and curves of the authors for it."""
    rng = np.random.default_rng(5)
    matrix = sp.csr_array((rng.random((60, 60)) < 0.15).astype(np.int8))
    write_webgraph(tmp_path, "amazon-2008", matrix)
    (tmp_path / "webgraphs").mkdir()
    rows = [
        f"amazon2008,{algorithm},{k},{1.5},{1000.0}"
        for algorithm in ("tpower", "greedy_ravi", "greedy_feige")
        for k in (5, 10)
    ]
    header = "graph,algorithm,cardinality,density,seconds_matlab_2011"
    (tmp_path / "webgraphs" / "authors_curves.csv").write_text("\n".join([header, *rows]) + "\n")
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path))
    return matrix


def amazon_claims() -> list:
    return [
        claim
        for table in load_claims()
        for claim in table.claims
        if claim.id.startswith(("F2.amazon-2008", "T6.amazon-2008")) or claim.id.endswith(".amazon-2008")
    ]


def test_wrong_graph_is_refused_with_the_reason(small_amazon: sp.csr_array) -> None:
    assert (web_graphs.read("amazon-2008").matrix != small_amazon).nnz == 0
    message = rf"has 60 nodes and {small_amazon.nnz} arcs; the paper's amazon-2008 has 735,323 and 5,158,388"
    with pytest.raises(MissingDataError, match=message):
        web_graphs.load("amazon-2008")
    with pytest.raises(
        MissingDataError, match=r"hollywood-2009.graph does not exist; 'sparseigen datasets fetch holly"
    ):
        web_graphs.load("hollywood-2009")


def test_claims_of_a_graph_run_where_its_file_is(small_amazon: sp.csr_array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(web_graphs.GRAPHS, "amazon-2008", web_graphs.Size(60, small_amazon.nnz))
    monkeypatch.setattr(web_graphs, "SIZES", (5, 10))
    pieces, outcomes = all_pieces(), {}
    for name in {claim.run for claim in amazon_claims()}:
        outcomes[name] = pieces[name].score(Settings(), [pieces[name].run(Settings(), 0)])
    rows = {claim.id: judge(claim, outcomes) for claim in amazon_claims()}
    assert len(rows) == 14
    assert rows["T6.amazon-2008.nodes"].verdict == DIFFERS
    assert rows["T6.amazon-2008.nodes"].ours == "60"
    assert not [row for row in rows.values() if row.verdict == NOT_RUNNABLE]
    assert rows["F2.amazon-2008.tpower.density"].ours.endswith("of 2, 2 better")
    assert rows["F2.amazon-2008.tpower.seconds"].verdict == BETTER


def test_command_with_a_wrong_graph(small_amazon: sp.csr_array, tmp_path: Path) -> None:
    """`--data DIR` finds DIR/amazon-2008/amazon-2008.graph; that it is another graph is said, not compared."""
    command = [sys.executable, "-m", "benchmarks.paper", "T6.amazon-2008.nodes", "F2.amazon-2008.greedy-feige.density"]
    environment = {name: value for name, value in os.environ.items() if name != "SPARSEIGEN_DATA"}
    answer = subprocess.run(
        [*command, "--data", str(tmp_path), "--fresh"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    said = " ".join(answer.stdout.split())
    assert "T6.amazon-2008.nodes paper 735,323 ours 60 differs" in said
    assert "it is another graph, so its curves are not compared" in said
    assert "1 differs, 1 not runnable here" in said


def test_missing_graph_says_how_to_get_it() -> None:
    from benchmarks.paper.runner import missing_files

    piece = all_pieces()["F2/ljournal-2008/tpower"]
    reason = missing_files(piece, ROOT)
    assert reason is not None
    assert "'sparseigen datasets fetch ljournal-2008' gets it" in reason


def test_stand_in_has_the_size_and_is_no_multigraph() -> None:
    graph = stand_ins.draw("amazon-2008", 1, shrink=100)
    rows = graph.rows
    assert graph.size == 7353
    assert len(rows.neighbours) == 2 * (51_583 // 2)
    matrix = sp.csr_array((np.ones(len(rows.neighbours)), rows.neighbours, rows.starts), shape=(7353, 7353))
    assert (matrix != matrix.T).nnz == 0
    assert matrix.diagonal().sum() == 0
    assert matrix.has_canonical_format
    assert graph.degrees.max() > 20 * np.median(graph.degrees)
    again, other = (stand_ins.draw("amazon-2008", seed, shrink=100).rows.neighbours for seed in (1, 2))
    assert np.array_equal(again, rows.neighbours)
    assert not np.array_equal(other, rows.neighbours)


def test_stand_in_measures_seconds_and_no_density(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path))  # it needs no data
    whole = stand_ins.draw
    monkeypatch.setattr(web_part.stand_ins, "draw", lambda name, seed: whole(name, seed, shrink=70))
    monkeypatch.setattr(web_graphs, "SIZES", (5, 10))
    outcome = web_part.score_stand_in("amazon-2008", Settings(), [web_part.stand_in("amazon-2008", Settings(), 0)])
    assert all("synthetic stand-in" in measure["value"] for measure in outcome.measures.values())
    assert not [header for header in outcome.tables["stand-in-seconds"]["header"] if "density" in header]
    assert all("speed only" in measure["value"] for measure in outcome.measures.values())


def test_every_solver_answers_on_a_small_graph() -> None:
    rng = np.random.default_rng(3)
    matrix = sp.csr_array((rng.random((40, 40)) < 0.2) * rng.integers(1, 4, (40, 40)))
    prepared = prepare(matrix, by_outgoing=True)
    best = curves.column(curves.points(prepared, "default", [5, 12]), "density")
    for name in GRAPH_SOLVERS:
        points = curves.points(prepared, name, [5, 12], repeats=1)
        assert curves.column(points, "k") == [5, 12]
        if not GRAPH_SOLVERS[name].extra_vertices:
            assert all(np.array(curves.column(points, "density")) <= np.array(best) + 1e-12)


@pytest.mark.needs_data
def test_authors_ravi_gives_all_their_points_on_cnr_2000(real_data: Path) -> None:
    prepared = prepare(web_graphs.load("cnr-2000"))
    points = curves.points(prepared, "greedy-ravi", web_graphs.SIZES, repeats=1)
    authors = [density for density, _ in web_graphs.authors_curves("cnr-2000")["greedy_ravi"]]
    assert curves.column(points, "density") == pytest.approx(authors, rel=1e-12)


@pytest.mark.needs_data
def test_air_travel_claims_that_need_no_clock(real_data: Path) -> None:
    pieces, outcomes = all_pieces(), {}
    for solver in ("tpower", "greedy-ravi", "greedy-feige", "facts"):
        piece = pieces[f"F3/airline/{solver}"]
        outcomes[piece.name] = piece.score(Settings(), [piece.run(Settings(), 0)])
    claims = [claim for table in load_claims() for claim in table.claims if claim.run in outcomes]
    rows = {claim.id: judge(claim, outcomes) for claim in claims if claim.id.startswith("F3.")}
    differing = [name for name, row in rows.items() if row.verdict != REPRODUCED]
    assert len(rows) > 25
    assert differing == ["F3.greedy-ravi.number"]
    assert rows["F3.greedy-ravi.number"].ours == "31"


@pytest.mark.needs_data
def test_figures_are_drawn(real_data: Path) -> None:
    pytest.importorskip("matplotlib")
    maps = next(figure for figure in all_figures() if figure.name == "F3")
    raw = {"points": [_point(k) for k in airline.SIZES], "six": airline.authors_subgraphs()["tpower"]}
    outcomes = {name: air_travel.score("tpower", Settings(), [raw]) for name in maps.pieces[:1]}
    assert len(maps.draw(outcomes).axes) == 4


def _point(k: int) -> dict:
    return {"k": k, "density": 0.1, "seconds": 0.1, "start": None, "rising": True, "shifts": 0, "upper_bound": None}
