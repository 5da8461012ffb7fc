"""Table 5: the terms of five sparse components of 20 Newsgroups, beside the authors'."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import sparseigen as se
from benchmarks.paper import objective
from benchmarks.paper.datasets import newsgroups
from benchmarks.paper.pieces import Outcome, Piece, Settings
from benchmarks.paper.solvers.components import COMPONENTS

CARDINALITIES = [20, 20, 10, 10, 10]
SOLVERS = ("tpower", "pathspca")
TOPICS = {
    "computing": ("comp.",),
    "religion": ("alt.atheism", "soc.religion.christian", "talk.religion."),
    "politics": ("talk.politics.",),
    "recreation": ("rec.",),
    "science": ("sci.",),
    "for sale": ("misc.forsale",),
}
"""Topic -> how the names of its newsgroups begin."""
DOCUMENTS_LOOKED_AT = 500
HALF = 0.5
"""A component has the topic of more than this share of the documents that score highest on it."""


def run(version: str, solver: str, settings: Settings, block: int) -> dict[str, Any]:
    documents = newsgroups.VERSIONS[version]()
    operator = se.covariance(documents.weights).prepared_for(100_000)
    vectors = objective.checked(COMPONENTS[solver].find(operator, CARDINALITIES), CARDINALITIES)
    # Scores and variances from the vectors and the data alone; the centred data are never formed.
    scores = np.asarray(documents.weights @ vectors.T)
    scores -= scores.mean(axis=0)
    squares = np.asarray(documents.weights.multiply(documents.weights).sum(axis=0)).ravel()
    means = np.asarray(documents.weights.mean(axis=0)).ravel()
    total = float((squares - len(scores) * means**2).sum())
    orders = [np.flatnonzero(v)[np.argsort(-np.abs(v[v != 0.0]), kind="stable")] for v in vectors]
    topics = [_topics(documents.groups, column * np.sign(v.sum())) for column, v in zip(scores.T, vectors, strict=True)]
    return {
        "terms": [[documents.terms[j] for j in order] for order in orders],
        "share": float((scores**2).sum() / total),
        "topics": topics,
        "documents": len(scores),
        "groups": sorted(set(documents.groups.tolist())),
        "sizes": [int((documents.groups == g).sum()) for g in sorted(set(documents.groups.tolist()))],
        "columns": documents.weights.shape[1],
    }


def _topics(groups: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Of the documents that score highest on a component, the share that is from the newsgroups of a topic."""
    highest = groups[np.argsort(-scores, kind="stable")[:DOCUMENTS_LOOKED_AT]]
    return {t: float(np.mean([str(g).startswith(names) for g in highest])) for t, names in TOPICS.items()}


def score(version: str, settings: Settings, raws: list[dict[str, Any]]) -> Outcome:
    raw, outcome, reference = raws[0], Outcome(), newsgroups.authors_terms()
    terms = raw["terms"]
    overlap = np.array([[len(set(a) & set(b)) for b in reference] for a in terms])
    rows, columns = linear_sum_assignment(-overlap)
    outcome.add("shared", int(overlap[rows, columns].sum()), detail="Terms shared after matching components.")
    for j in range(len(reference)):
        mine = int(rows[columns == j][0])
        outcome.add(f"PC{j + 1} terms", int(overlap[mine, j]), detail=f"Ours: {' '.join(terms[mine])}.")
    outcome.add("share", raw["share"])
    figures = [sum(term.isdigit() for term in found) for found in terms]
    outcome.add("figures", figures[0], detail=f"PC1: {' '.join(terms[0])}.")
    outcome.add("PC1 is figures", 2 * figures[0] > len(terms[0]), detail=f"PC1: {' '.join(terms[0])}.")
    for j, (found, shares) in enumerate(zip(terms, raw["topics"], strict=True)):
        topic = max(shares, key=lambda t: shares[t])
        verdict = topic if shares[topic] > HALF else "mixed"
        detail = f"{shares[topic]:.0%} of the {DOCUMENTS_LOOKED_AT} documents that score highest are from groups on "
        detail += f"{topic}. Terms: {' '.join(found)}."
        outcome.add(f"PC{j + 1} topic", verdict, detail=detail)
    outcome.add("documents", raw["documents"])
    outcome.add("classes", len(raw["groups"]))
    outcome.add("smallest class", min(raw["sizes"]), detail=f"Largest {max(raw['sizes'])}.")
    outcome.add("terms used", raw["columns"])
    outcome.add("cardinalities", "-".join(str(len(found)) for found in terms))
    outcome.table("terms", ["component", "ours", "authors"], [
        [j + 1, " ".join(a), " ".join(b)] for j, (a, b) in enumerate(zip(terms, reference, strict=True))
    ])  # fmt: skip
    return outcome


def compare_methods(version: str, settings: Settings, block: int) -> dict[str, Any]:
    return {solver: run(version, solver, settings, block)["terms"] for solver in ("tpower", "pathspca")}


def score_methods(settings: Settings, raws: list[dict[str, Any]]) -> Outcome:
    outcome = Outcome()
    ours = [len(set(a) & set(b)) for a, b in zip(raws[0]["tpower"], raws[0]["pathspca"], strict=True)]
    pairs = zip(newsgroups.authors_terms(), newsgroups.authors_terms("pathspca"), strict=True)
    theirs = [len(set(a) & set(b)) for a, b in pairs]
    best = _matched(raws[0]["tpower"], raws[0]["pathspca"])
    detail = f"By component {ours}; authors' arrays {theirs}."
    outcome.add("alike", best, detail=detail)
    return outcome


def _matched(first: list[list[str]], second: list[list[str]]) -> int:
    overlap = np.array([[len(set(a) & set(b)) for b in second] for a in first])
    return int(overlap[linear_sum_assignment(-overlap)].sum())


PIECES = [
    *(
        Piece("T5", version, solver, partial(run, version, solver), partial(score, version), files=newsgroups.FILES)
        for version in newsgroups.VERSIONS
        for solver in SOLVERS
    ),
    Piece("T5", "counts-body", "both", partial(compare_methods, "counts-body"), score_methods, files=newsgroups.FILES),
]
