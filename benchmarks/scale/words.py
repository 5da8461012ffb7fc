"""A Zipf bag of words as text, 300,000 documents x 102,660 words: five components of ten words with certificates.

Beside it the newsgroups of the data folder, which are in memory.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

import sparseigen as se
from sparseigen.datasets import data_folder

DOCUMENTS, WORDS, LENGTH = 300_000, 102_660, 480
"""About 70 million counts are not zero."""
TOPICS, TOPIC_WORDS = 8, 40
COMPONENTS, CARDINALITY = 5, 10
AT_ONCE = 5_000


def write_words(path: Path, documents: int, words: int, length: int, seed: int = 0) -> int:
    """docword.txt and its vocabulary: words by Zipf's law, and a topic for each document; the counts written."""
    rng = np.random.default_rng(seed)
    zipf = 1.0 / (np.arange(words) + 2.7)
    ends = np.cumsum(zipf / zipf.sum())
    topics = [rng.choice(np.arange(50, 3000), TOPIC_WORDS, replace=False) for _ in range(TOPICS)]
    body, total = path.with_suffix(".part"), 0
    with body.open("wb") as file:
        for begin in range(0, documents, AT_ONCE):
            count = min(AT_ONCE, documents - begin)
            lengths = rng.poisson(rng.gamma(4.0, length / 4.0, count)) + 1
            document = np.repeat(np.arange(count), lengths)
            drawn = np.searchsorted(ends, rng.random(len(document))).clip(0, words - 1)
            topic = rng.integers(0, TOPICS, count)[document]
            moved = rng.random(len(document)) < 0.08
            drawn[moved] = np.array(topics)[topic[moved], rng.integers(0, TOPIC_WORDS, int(moved.sum()))]
            keys, counts = np.unique(document * words + drawn, return_counts=True)
            lines = np.column_stack([keys // words + begin + 1, keys % words + 1, counts])
            file.write(b"\n".join(b"%d %d %d" % tuple(line) for line in lines.tolist()) + b"\n")
            total += len(keys)
    with path.open("wb") as file, body.open("rb") as part:
        file.write(f"{documents}\n{words}\n{total}\n".encode())
        while text := part.read(1 << 24):
            file.write(text)
    body.unlink()
    name = path.name.replace("docword", "vocab")
    path.with_name(name).write_text("".join(f"word{i}\n" for i in range(words)))
    return total


def measure(X: Any, label: str) -> None:
    """Open, solve, and print what each took."""
    began, cpu = time.perf_counter(), time.process_time()
    operator: Any = se.covariance(X)
    read = time.perf_counter() - began
    found = se.sparse_components(operator, [CARDINALITY] * COMPONENTS)
    seconds = time.perf_counter() - began - read
    gaps = ", ".join(f"{result.certificate.relative_gap:.1e}" for result in found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    passes = f", {operator.passes_made} passes" if hasattr(operator, "passes_made") else ""
    print(
        f"{label}: read {read:.1f} s, five components {seconds:.1f} s "
        f"({time.process_time() - cpu:.1f} s of processor in all){passes}, peak {peak:.2f} GB, gaps {gaps}",
        flush=True,
    )


def show_words(documents: int = DOCUMENTS, words: int = WORDS, length: int = LENGTH) -> None:
    """The text, and the newsgroups."""
    folder = Path(os.environ.get("SPARSEIGEN_SCRATCH", "build/scratch"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"docword.zipf{documents}.txt"
    if not path.exists():
        print(f"{write_words(path, documents, words, length):,} counts written")
    measure(path, f"bag of words {documents:,} x {words:,}")
    news = data_folder() / "newsgroups20" / "counts_18846x5000.npz"
    if news.is_file():
        import scipy.sparse as sp

        measure(sp.load_npz(news).astype(np.float64), "newsgroups 18,846 x 5,000, covariance()")
        began = time.perf_counter()
        model = se.SparsePCA(COMPONENTS, cardinality=CARDINALITY).fit(sp.load_npz(news).astype(np.float64))
        worst = max(result.certificate.relative_gap for result in model.results_)
        print(f"newsgroups, SparsePCA with its statistics: {time.perf_counter() - began:.1f} s, gaps to {worst:.1e}")
