"""Answers and pages that several test modules look at."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import sparseigen as se
from sparseigen.components.automatic import assess_components
from sparseigen.components.significance import MatrixTests
from sparseigen.report import Report, component_report
from tests.unit.report.outline import HOSTILE


@pytest.fixture(scope="package")
def pitprops():
    data = se.datasets.load_pitprops()
    path = se.cardinality_path(data.matrix, range(1, 14))
    return data, se.sparse_components(data.operator(), [5, 3]), path


@pytest.fixture(scope="package")
def full(pitprops) -> Report:
    data, results, path = pitprops
    names = [HOSTILE, *data.names[1:]]
    rng = np.random.default_rng(0)
    stability = se.components.SelectionStability(
        rng.random((2, 13)), np.array([r.vector != 0 for r in results]), 7, None
    )
    tests = MatrixTests(data.operator(), 180)
    return component_report(
        results,
        path=path,
        significance=assess_components(tests, results, None),
        names=names,
        data=data.matrix,
        scores=rng.standard_normal((9, 2)),
        labels=list("abcabcabc"),
        stability=stability,
        title=HOSTILE,
        settings={"file": HOSTILE},
    )


@pytest.fixture(scope="package")
def club():
    graph = nx.relabel_nodes(nx.karate_club_graph(), {0: HOSTILE})
    return graph, se.density_curve(graph, [3, 5, 8])
