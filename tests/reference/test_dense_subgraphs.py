"""The paper's graph experiments against the authors' own numbers."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se

WEB_SIZES = [100, 500, *range(1000, 10_001, 1000)]


@pytest.fixture(scope="module")
def airline(real_data):
    table = np.loadtxt(real_data / "airline" / "weights.csv.gz", delimiter=",", skiprows=1)
    ends = table[:, :2].astype(int).T
    return sp.csr_array((table[:, 2], tuple(ends)), shape=(456, 456))


@pytest.fixture(scope="module")
def airline_curve(real_data):
    return np.loadtxt(real_data / "airline" / "authors_curve.csv", delimiter=",", skiprows=1)


@pytest.fixture(scope="module")
def web(real_data):
    return se.read_graph(real_data / "cnr-2000" / "cnr-2000.graph")


def authors_web(real_data, algorithm):
    with (real_data / "webgraphs" / "authors_curves.csv").open() as file:
        rows = [row for row in csv.reader(file) if row[:2] == ["cnr2000", algorithm]]
    return {int(row[2]): float(row[3]) for row in rows}


def test_airline_tpower_is_the_authors(airline, airline_curve):
    curve = se.density_curve(airline, airline_curve[:, 0].astype(int).tolist(), start="degree", polish=None)
    assert np.abs(curve.densities - airline_curve[:, 1]).max() < 1e-6
    assert all((np.diff(result.history) >= 0).all() for result in curve)


def test_airline_greedy_is_the_authors(airline, airline_curve):
    # Their greedy runs look at outgoing weights alone, and their Greedy-Ravi keeps k + 1 vertices.
    sizes = airline_curve[:, 0].astype(int)
    feige = se.density_curve(airline, sizes.tolist(), method="greedy-feige", directed="outgoing", certify=False)
    assert np.abs(feige.densities - airline_curve[:, 3]).max() < 1e-6
    one_more = se.density_curve(airline, (sizes + 1).tolist(), method="greedy-ravi", directed="outgoing", certify=False)
    weights = np.array([result.weight for result in one_more])
    assert np.abs(weights / sizes - airline_curve[:, 2]).max() < 1e-6
    exact = se.density_curve(airline, sizes.tolist(), method="greedy-ravi", directed="outgoing", certify=False)
    assert (exact.densities < airline_curve[:, 2]).all()


def test_airline_default_is_nowhere_below(airline, airline_curve):
    sizes = airline_curve[:, 0].astype(int).tolist()
    default = se.density_curve(airline, sizes).densities
    ravi = [
        se.density_curve(airline, sizes, method="greedy-ravi", directed=how, certify=False).densities
        for how in ("average", "outgoing")
    ]
    assert (default >= np.max([airline_curve[:, 1], airline_curve[:, 3], *ravi], axis=0) - 1e-12).all()
    assert (default > airline_curve[:, 1] * (1 + 1e-6)).sum() >= 5


@pytest.mark.parametrize(
    ("name", "arguments", "total"),
    [
        ("tpower", {"start": "degree", "polish": None}, 1.144),
        ("greedy_feige", {"method": "greedy-feige", "directed": "outgoing"}, 0.902),
    ],
)
def test_airline_six_sequential_subgraphs(real_data, airline, name, arguments, total):
    found = se.disjoint_dense_subgraphs(airline, 30, 6, certify=False, **arguments)
    assert sum(result.density for result in found) == pytest.approx(total, abs=5e-4)
    with (real_data / "airline" / "authors_subgraphs.csv").open() as file:
        theirs = [set(map(int, row[3].split())) for row in csv.reader(file) if row[0] == name]
    assert [set(result.nodes) for result in found] == theirs


def test_webgraph_decodes_to_the_known_arcs(real_data, web):
    with np.load(real_data / "cnr-2000" / "cnr-2000-edges.npz") as known:
        assert np.array_equal(web.matrix.indices, known["dst"])
        assert np.array_equal(np.diff(web.matrix.indptr), np.bincount(known["src"], minlength=web.n_vertices))


def test_webgraph_python_twin_decodes_the_same(real_data, web):
    from sparseigen.io.webgraph import _read_properties, decode_webgraph

    form = _read_properties(real_data / "cnr-2000" / "cnr-2000.properties")
    data = np.fromfile(real_data / "cnr-2000" / "cnr-2000.graph", dtype=np.uint8)
    starts, successors = np.zeros(form.nodes + 1, dtype=np.int64), np.zeros(form.arcs, dtype=np.int32)
    decode_webgraph(data, 0, form, 0, 5000, starts, successors)
    assert np.array_equal(starts[:5001], web.matrix.indptr[:5001])
    assert np.array_equal(successors[: starts[5000]], web.matrix.indices[: starts[5000]])


@pytest.mark.parametrize(
    ("algorithm", "arguments"),
    [("tpower", {"start": "degree", "polish": None}), ("greedy_feige", {"method": "greedy-feige"})],
)
def test_web_curves_are_the_authors(real_data, web, algorithm, arguments):
    theirs = authors_web(real_data, algorithm)
    curve = se.density_curve(web, WEB_SIZES, self_loops="keep", certify=False, **arguments)
    assert np.abs(curve.densities - [theirs[k] for k in WEB_SIZES]).max() < 1e-6


@pytest.mark.slow
def test_web_default_and_its_certificates(web):
    # Density to two places, and the largest relative gap.
    promised = {
        100: (74.26, 0.09),
        500: (72.49, 0.004),
        1000: (67.94, 1e-4),
        3000: (56.43, 5e-4),
        5000: (48.84, 1e-4),
        10_000: (41.74, 2e-4),
    }
    curve = se.density_curve(web, WEB_SIZES, self_loops="keep")
    for result in curve:
        if result.k in promised:
            density, gap = promised[result.k]
            assert round(result.density, 2) >= density
            assert result.certificate.relative_gap <= gap
            chosen = np.flatnonzero(result.indicator)
            assert web.matrix[chosen][:, chosen].sum() == pytest.approx(result.weight, abs=0)
