"""The peers: one row each. To add one, write a function `(problem, cardinality or penalty, seed) -> loadings`."""

from __future__ import annotations

from benchmarks.speed.peers import (
    abess_package,
    networkx_package,
    ours,
    plain_numpy,
    r_packages,
    scikit_learn,
    sparsepca_package,
)
from benchmarks.speed.peers.interface import Peer, Timed

DEFAULT, PLAIN, GRAPH_DEFAULT = "sparseigen", "sparseigen, Algorithm 1", "sparseigen, graph"
SPARSE_PCA = "scikit-learn SparsePCA"

_ROWS = (
    Peer(PLAIN, "sparseigen", ours.plain, ours=True),
    Peer("sparseigen, no certificate", "sparseigen", ours.uncertified, ours=True),
    Peer(DEFAULT, "sparseigen", ours.default, ours=True),
    Peer("NumPy TPower", "numpy", plain_numpy.tpower),
    Peer("scipy eigsh, cut to k", "scipy", plain_numpy.dense_component),
    Peer(
        SPARSE_PCA,
        "scikit-learn",
        scikit_learn.sparse_pca,
        tuning="penalty",
        largest_penalty=scikit_learn.largest_penalty,
    ),
    Peer(
        "scikit-learn MiniBatchSparsePCA",
        "scikit-learn",
        scikit_learn.mini_batch,
        tuning="penalty",
        largest_penalty=scikit_learn.largest_penalty,
        seeds=3,
    ),
    Peer(
        "scikit-learn DictionaryLearning",
        "scikit-learn",
        scikit_learn.dictionary("DictionaryLearning", fit_algorithm="cd"),
        tuning="penalty",
        largest_penalty=scikit_learn.largest_penalty,
        quick=False,  # it would take a fifth of the three minutes
    ),
    Peer(
        "scikit-learn MiniBatchDictionaryLearning",
        "scikit-learn",
        scikit_learn.dictionary("MiniBatchDictionaryLearning", fit_algorithm="cd"),
        tuning="penalty",
        largest_penalty=scikit_learn.largest_penalty,
        seeds=3,
        quick=False,
    ),
    Peer("abess SparsePCA", "abess", abess_package.fit),
    Peer(
        "sparsepca (AManPG)",
        "sparsepca",
        sparsepca_package.fit,
        tuning="penalty",
        largest_penalty=sparsepca_package.largest_penalty,
    ),
    *r_packages.PEERS,
    Peer(GRAPH_DEFAULT, "sparseigen", ours.densest, graphs=True, ours=True),
    Peer("networkx greedy++", "networkx", networkx_package.densest("greedy++", 20), tuning="own size", graphs=True),
    Peer("networkx fista", "networkx", networkx_package.densest("fista", 100), tuning="own size", graphs=True),
)

PEERS: dict[str, Peer] = {peer.name: peer for peer in _ROWS}

__all__ = ["DEFAULT", "GRAPH_DEFAULT", "PEERS", "PLAIN", "SPARSE_PCA", "Peer", "Timed"]
