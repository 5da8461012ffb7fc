"""Ctrl-C inside long kernels, from outside: the exception comes, and the pool works afterwards.

The limit is generous, because tests share the machine; `python -m fuzzing signals` measures against half a second.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from fuzzing.signals import interrupt
from sparseigen import kernels
from tests.common.interruption import interrupting

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or kernels.active.NAME == "numpy", reason="needs POSIX signals and the compiled kernels"
)
GENEROUS = 5.0


@pytest.mark.parametrize("name", ["combining rows", "fair loads", "WebGraph decoding"])
def test_a_long_kernel_is_interrupted(name: str) -> None:
    found = interrupt(name, [0.2, 0.05], GENEROUS)
    assert not found.violations
    assert len(found.latencies) == 2


class Raised(Exception):
    pass


@contextmanager
def raised_soon() -> Iterator[None]:
    """A signal whose handler raises comes a tenth of a second later."""

    def handler(number: int, frame: object) -> None:
        raise Raised

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_what_a_handler_raises_comes_through() -> None:
    matrix, rows = np.ones((500, 8000)), np.tile(np.arange(500), 40_000)
    weights = np.ones(len(rows))  # one call would take minutes

    with pytest.raises(Raised), raised_soon():
        kernels.combine_rows(matrix, rows, weights)


def test_a_handler_that_returns_changes_nothing() -> None:
    """It may even call kernels itself, in the middle of one."""
    matrix, rows = np.ones((500, 8000)), np.tile(np.arange(500), 400)
    calls = []

    def handler(number: int, frame: object) -> None:
        calls.append(kernels.row_dots(np.ones((400, 2000)), np.ones(2000)))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        while not calls:
            found = kernels.combine_rows(matrix, rows, np.ones(len(rows)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(found, np.full(8000, float(len(rows))))
    np.testing.assert_array_equal(calls[0], np.full(400, 2000.0))


def test_an_interrupted_exchange_leaves_a_whole_set() -> None:
    from sparseigen.kernels import graph
    from sparseigen.kernels.graph import Rows

    matrix = sp.random(20_000, 20_000, 0.001, format="csr", random_state=np.random.default_rng(0))
    matrix = (matrix + matrix.T).tocsr()
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    rows = Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), np.zeros(0, dtype=np.int32))
    loops, fixed = np.zeros(rows.size, dtype=np.int64), np.zeros(rows.size, dtype=np.uint8)
    members, product = fixed.copy(), loops.copy()
    chosen = np.arange(500, dtype=np.int64)
    members[chosen] = 1
    graph.add_rows(rows, chosen, 1, product)
    began = int(product[chosen].sum())

    with pytest.raises(Raised), raised_soon():
        graph.exchange(rows, loops, fixed, members, product, patience=10**6, max_steps=10**9, width=32, seed=1)
    right = np.zeros_like(product)
    inside = np.flatnonzero(members)
    graph.add_rows(rows, inside, 1, right)
    np.testing.assert_array_equal(product, right)
    assert len(inside) == 500
    assert int(product[inside].sum()) >= began


def test_a_search_interrupted_in_its_first_polish_keeps_its_best_set(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.graphs.search import Searcher

    monkeypatch.setattr(Searcher, "finish", interrupting())
    graph = sp.random(60, 60, 0.2, format="csr", random_state=np.random.default_rng(0))
    with pytest.raises(se.errors.SolveInterrupted) as stop:
        se.densest_k_subgraph(graph, 5)
    found = stop.value.result
    assert len(found.nodes) == 5
    assert found.stop_reason.value == "interrupted"
    chosen = np.flatnonzero(found.indicator)
    symmetric = ((graph + graph.T) / 2).toarray()
    np.fill_diagonal(symmetric, 0.0)
    assert found.weight == pytest.approx(symmetric[np.ix_(chosen, chosen)].sum())


@pytest.mark.parametrize("start", ["auto", "degree"])
def test_a_curve_interrupted_in_plain_runs_keeps_what_it_has(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.graphs import methods

    place, name = (methods, "truncated_power") if start == "degree" else (methods.Searcher, "search")
    monkeypatch.setattr(place, name, interrupting(getattr(place, name), 2))
    graph = sp.random(60, 60, 0.2, format="csr", random_state=np.random.default_rng(0))
    with pytest.raises(se.errors.SolveInterrupted) as stop:
        se.density_curve(graph, [4, 5, 6], start=start, polish=None if start == "degree" else "swap")
    assert stop.value.result.ks == [4, 5]


def test_the_command_shows_the_best_set_so_far(tmp_path: Path) -> None:
    """Ctrl-C in the first search of `sparseigen dks`: a set, and exit code 4."""
    rng = np.random.default_rng(0)
    ends = (rng.random((2, 300_000)) ** 2 * 30_000).astype(np.int64)
    np.savetxt(tmp_path / "edges.csv", ends.T, fmt="%d", delimiter=",", header="source,target", comments="")
    code = """
import os, signal, sys, threading
from sparseigen.graphs import search
run_power, seen = search.Searcher._run_power, []
def watched(self, *given):
    found = run_power(self, *given)
    seen.append(1)
    if len(seen) == 3:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    return found
search.Searcher._run_power = watched
sys.argv = ["sparseigen", "dks", sys.argv[1], "-k", "40", "--json"]
from sparseigen.cli.commands import run
run()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "edges.csv")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 4, ended.stderr
    answer = json.loads(ended.stdout)
    assert len(answer["nodes"]) == 40
    assert answer["stop_reason"] == "interrupted"


def test_two_threads_of_a_forked_child_share_the_pool() -> None:
    """Both once took it: the flag inherited from the parent looked free to each of them."""
    from concurrent.futures import ThreadPoolExecutor

    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    from fuzzing.forked import exit_code, in_child

    matrix = np.random.default_rng(0).standard_normal((2000, 400))
    vector = np.ones(400)
    right = kernels.row_dots(matrix, vector)

    def work() -> None:
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(lambda _: kernels.row_dots(matrix, vector), range(200)):
                assert np.array_equal(found, right)

    assert exit_code(in_child(work)) == 0
