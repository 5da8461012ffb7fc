"""Tables 3 and 4 of the paper: six components of PitProps, every method and parameter."""

from __future__ import annotations

import numpy as np

import sparseigen as se
from benchmarks.pca.tables import Table

CARDINALITIES = ([8, 8, 4, 2, 2, 2], [7, 2, 3, 1, 1, 1], [7, 2, 1, 1, 1, 1])
GAMMAS = (0.22, 0.30, 0.40)
ZOU_PENALTIES = [0.06, 0.16, 0.1, 0.5, 0.5, 0.5]
TOTAL = 13.0

PAPER = {
    ("TPower (Algorithm 1)", "8-8-4-2-2-2"): 0.8636,
    ("TPower (Algorithm 1)", "7-2-3-1-1-1"): 0.8230,
    ("TPower (Algorithm 1)", "7-2-1-1-1-1"): 0.7599,
    ("PathSPCA", "8-8-4-2-2-2"): 0.8615,
    ("PathSPCA", "7-2-3-1-1-1"): 0.8230,
    ("PathSPCA", "7-2-1-1-1-1"): 0.7599,
    ("GPower l1, single", "gamma=0.22"): 0.8438,
    ("GPower l1, single", "gamma=0.3"): 0.8230,
    ("GPower l1, single", "gamma=0.4"): 0.7599,
    ("SPCA", "lambda1 of Zou et al."): 0.7580,
}
"""The paper's "proportion of explained variance": the plain sum (for SPCA the adjusted one, from Zou et al.)."""

BY_CARDINALITY: dict[str, dict[str, object]] = {
    "TPower (Algorithm 1)": {"method": "tpower", "start": "max-variance", "polish": None},
    "TPower (default)": {"method": "tpower"},
    "PathSPCA": {"method": "pathspca"},
    "PathSPCA, full greedy": {"method": "pathspca", "method_options": {"greedy": "full"}},
    "GPower l1, single": {"method": "gpower-l1"},
    "GPower l0, single": {"method": "gpower-l0"},
    "GPower l1, block": {"method": "gpower-l1", "deflation": "block"},
    "GPower l0, block": {"method": "gpower-l0", "deflation": "block"},
    "SPCA, block": {"method": "spca", "deflation": "block"},
    "sPCA-rSVD": {"method": "rsvd"},
    "DSPCA": {"method": "dspca"},
    "backward": {"method": "backward"},
    "threshold": {"method": "threshold"},
    "TPower, Schur deflation": {"method": "tpower", "deflation": "schur"},
    "TPower, Hotelling deflation": {"method": "tpower", "deflation": "hotelling"},
    "TPower, orthogonalised Hotelling": {"method": "tpower", "deflation": "orthogonal-hotelling"},
}


def vectors_of(cardinalities: list[int], **options: object) -> np.ndarray:
    matrix = se.datasets.load_pitprops().matrix
    return np.array([r.vector for r in se.sparse_components(matrix, cardinalities, certify=False, **options)])


def shares(vectors: np.ndarray) -> dict[str, float]:
    """Total explained share in the three definitions."""
    matrix = se.datasets.load_pitprops().matrix
    return {
        name: float(se.explained_variance(matrix, vectors, definition=name).sum()) / TOTAL
        for name in ("plain", "adjusted", "span")
    }


def run() -> Table:
    matrix = se.datasets.load_pitprops().matrix
    table = Table(
        "T3: PitProps, six components",
        ["method", "parameter", "non-zeros", "total", "plain", "adjusted", "span", "paper"],
    )

    def row(method: str, parameter: str, vectors: np.ndarray) -> None:
        counts = (vectors != 0.0).sum(axis=1)
        found = shares(vectors)
        cells = (f"{found[name]:.4f}" for name in ("plain", "adjusted", "span"))
        listed = "-".join(str(c) for c in counts)
        table.add(method, parameter, listed, int(counts.sum()), *cells, PAPER.get((method, parameter)))

    for method, options in BY_CARDINALITY.items():
        for cardinalities in CARDINALITIES:
            row(method, "-".join(map(str, cardinalities)), vectors_of(cardinalities, **options))
    for cardinalities in CARDINALITIES:
        refined = se.refine_components(matrix, vectors_of(cardinalities))
        row("TPower (default), refined", "-".join(map(str, cardinalities)), refined)
    for name, deflation in (("single", "projection"), ("block", "block")):
        for method in ("l1", "l0"):
            for gamma in GAMMAS:
                options = {"method": f"gpower-{method}", "deflation": deflation, "method_options": {"gamma": gamma}}
                row(f"GPower {method}, {name}", f"gamma={gamma}", vectors_of([13] * 6, **options))
    zou = {"method": "spca", "deflation": "block", "method_options": {"penalty": ZOU_PENALTIES, "ridge": 1e-6}}
    row("SPCA", "lambda1 of Zou et al.", vectors_of([13] * 6, **zou))
    row("PCA", "-", vectors_of([13] * 6, method="pca"))
    table.notes.append("The paper's proportion is the plain sum; for SPCA it is Zou's adjusted variance.")
    return table


def loadings() -> Table:
    """Table 4: the loadings for 7-2-1-1-1-1 by Algorithm 1."""
    data = se.datasets.load_pitprops()
    vectors = vectors_of(CARDINALITIES[2], method="tpower", start="max-variance", polish=None)
    table = Table("T4: PitProps loadings for 7-2-1-1-1-1", ["variable", *(f"PC{j + 1}" for j in range(6))])
    for i, name in enumerate(data.names):
        table.add(name, *(f"{v[i]:.4f}" if v[i] else "" for v in vectors))
    return table
