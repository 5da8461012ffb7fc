"""20 Newsgroups: counts of terms in 18,846 messages, our own tokenisation, in several weightings."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseigen.config import require
from sparseigen.datasets import data_folder

TERMS = 1000
MOST_REPEATED = 400
"""A message that repeats one term more often than this is an encoded file, not text."""
FILES = (
    "newsgroups20/authors_terms.csv",
    *(
        f"newsgroups20/{name}"
        for suffix in ("", "_body")
        for name in (f"counts{suffix}_18846x5000.npz", f"vocabulary{suffix}.csv", f"documents{suffix}.csv.gz")
    ),
)


class Documents(NamedTuple):
    """Documents x terms, the terms, and the newsgroup of each document."""

    weights: sp.csr_matrix
    terms: list[str]
    groups: np.ndarray


def authors_terms(algorithm: str = "tpower") -> list[list[str]]:
    """The terms of the authors' five components."""
    terms: dict[int, list[str]] = defaultdict(list)
    with open(data_folder() / "newsgroups20" / "authors_terms.csv") as file:
        for row in csv.DictReader(file):
            if row["algorithm"] == algorithm:
                terms[int(row["component"])].append(row["term"])
    return [terms[j] for j in sorted(terms)]


def _read(suffix: str) -> tuple[Documents, np.ndarray]:
    """All counts, and the Euclidean length of each document over all terms of the corpus."""
    folder = data_folder() / "newsgroups20"
    counts = sp.csr_matrix(sp.load_npz(folder / f"counts{suffix}_18846x5000.npz").astype(float))
    with open(folder / f"vocabulary{suffix}.csv") as file:
        names = [row["term"] for row in csv.DictReader(file)]
    with gzip.open(folder / f"documents{suffix}.csv.gz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    return Documents(counts, names, np.array([row[2] for row in rows])), np.array([float(row[-1]) for row in rows])


def unit_length(suffix: str) -> Documents:
    """The paper's words: term frequencies of unit length, the 1000 terms of largest document frequency."""
    whole, lengths = _read(suffix)
    scaled = sp.csr_matrix(sp.diags_array(1.0 / np.maximum(lengths, 1.0)) @ whole.weights[:, :TERMS])
    return Documents(scaled, whole.terms[:TERMS], whole.groups)


def _is_stop_word(stem: str, words: frozenset[str]) -> bool:
    return any(candidate in words for candidate in (stem, f"{stem}e", f"{stem}s", f"{stem[:-1]}y"))


def plain_counts(suffix: str) -> Documents:
    """Counts as they are, without encoded files, single letters and the stop words of scikit-learn."""
    text = require("sklearn.feature_extraction.text", purpose="its list of English stop words")
    whole, _ = _read(suffix)
    kept = [
        column
        for column, term in enumerate(whole.terms)
        if term.isdigit() or (len(term) > 1 and not _is_stop_word(term, text.ENGLISH_STOP_WORDS))
    ][:TERMS]
    readable = whole.weights.max(axis=1).toarray().ravel() <= MOST_REPEATED
    return Documents(whole.weights[readable][:, kept], [whole.terms[j] for j in kept], whole.groups[readable])


VERSIONS: dict[str, Callable[[], Documents]] = {
    "counts-body": lambda: plain_counts("_body"),
    "counts-whole": lambda: plain_counts(""),
    "unit-body": lambda: unit_length("_body"),
    "unit-whole": lambda: unit_length(""),
}
"""Name of the data set -> loader: the text of the message alone or with its headers, and two weightings."""
