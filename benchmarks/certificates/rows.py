"""The rows of the table "default": data by name, and what is asked of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sparseigen as se
from benchmarks.certificates.instances import colon_intensities, colon_log2, drawn_from
from benchmarks.gpu.problems import genes
from benchmarks.gpu.problems import spiked as ten_spikes
from benchmarks.speed.cells import newsgroups, planted
from sparseigen.datasets import data_folder, load_pitprops

CARDINALITIES = (5, 20, 100, 500)
PATH = tuple(int(k) for k in np.geomspace(5, 500, 24).round())


@dataclass(frozen=True)
class Data:
    """Samples x variables, dense or sparse; or, without samples, a matrix."""

    n: int | None
    p: int
    make: Callable[[], Any]
    scale: bool = False
    real: bool = False
    """Measured by somebody, or drawn from a covariance that was."""

    def operator(self, made: Any) -> Any:
        return made if self.n is None else se.covariance(made, scale=self.scale)


@dataclass(frozen=True)
class Row:
    """``task`` is "solve", "exact", "components" or "path"; ``k`` is the only cardinality, or the largest of a path."""

    task: str
    data: str
    k: int
    quick: bool = False

    def __str__(self) -> str:
        return f"{self.data} k={self.k}" if self.task == "solve" else f"{self.task}: {self.data} k={self.k}"


def lymphoma() -> np.ndarray:
    return np.ascontiguousarray(genes(data_folder())["lymphoma"])


def noise(n: int, p: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, p))


def _with_correlation(name: str, n: int, p: int, make: Callable[[], Any]) -> dict[str, Data]:
    return {name: Data(n, p, make, real=True), f"{name}, correlation": Data(n, p, make, scale=True, real=True)}


DRAWN = ("drawn from colon log2 (7,129)", "drawn from lymphoma (12,600)", "drawn from colon (7,129)")
REAL: dict[str, Data] = {
    **_with_correlation("colon", 62, 2000, colon_intensities),
    **_with_correlation("colon log2", 62, 2000, colon_log2),
    **_with_correlation("lymphoma", 62, 4026, lymphoma),
    **_with_correlation("newsgroups", 18846, 5000, lambda: newsgroups(18846, 5000)().data),
    **_with_correlation(DRAWN[0], 72, 7129, lambda: drawn_from(colon_log2(), 72, 7129)),
    **_with_correlation(DRAWN[1], 102, 12600, lambda: drawn_from(lymphoma(), 102, 12600)),
    DRAWN[2]: Data(72, 7129, lambda: drawn_from(colon_intensities(), 72, 7129), real=True),
}
SHAPES: dict[int, dict[int, tuple[int, ...]]] = {
    1_000: {60: (5, 100), 200: CARDINALITIES, 500: (20, 500)},
    4_000: {60: (5, 100), 200: CARDINALITIES, 500: (20, 500)},
    16_000: {60: (5, 100), 200: CARDINALITIES, 500: (20, 500)},
    64_000: {60: (5, 100), 200: (20, 500), 500: (100,)},
    256_000: {60: (5, 100), 200: (20, 500)},
}
"""Variables -> samples -> cardinalities of spiked data and of noise: what half an hour and 8 GB of memory allow."""


def _drawn_at(n: int, p: int) -> dict[str, Data]:
    return {
        f"spiked {n} x {p:,}": Data(n, p, lambda: ten_spikes(n, p, 0)),
        f"noise {n} x {p:,}": Data(n, p, lambda: noise(n, p)),
    }


DATA: dict[str, Data] = {
    "PitProps": Data(None, 13, lambda: load_pitprops().matrix, real=True),
    **REAL,
    **{name: data for p, shapes in SHAPES.items() for n in shapes for name, data in _drawn_at(n, p).items()},
    **{
        f"{count} planted, 200 x {p:,}": Data(200, p, lambda p=p, count=count: planted(p, count)().data)
        for p in (4_000, 16_000)
        for count in (1, 5)
    },
}

QUICK = {
    ("PitProps", 7), ("colon", 100), ("colon log2", 20), ("colon log2", 500), ("colon log2, correlation", 20),
    ("lymphoma", 20), ("lymphoma", 100), ("lymphoma, correlation", 5), (DRAWN[0], 20), (DRAWN[0], 500),
    ("newsgroups", 20), ("noise 200 x 1,000", 20), ("spiked 200 x 4,000", 20), ("noise 200 x 4,000", 100),
    ("spiked 200 x 16,000", 500), ("noise 60 x 16,000", 5), ("spiked 60 x 64,000", 5),
}  # fmt: skip


def _solves() -> Iterable[tuple[str, int]]:
    yield from (("PitProps", k) for k in (3, 5, 7, 10))
    yield from ((name, k) for name in REAL for k in CARDINALITIES)
    for p, shapes in SHAPES.items():
        for n, cardinalities in shapes.items():
            yield from ((name, k) for name in _drawn_at(n, p) for k in cardinalities)


ROWS = (
    *(Row("solve", name, k, (name, k) in QUICK) for name, k in _solves()),
    *(
        Row("exact", name, k, quick=k == 5 and name in ("colon log2", DRAWN[0]))
        for name in ("colon", "colon log2", "lymphoma", *DRAWN)
        for k in (5, 10, 20)
    ),
    *(Row("components", name, 30, quick=name == "1 planted, 200 x 4,000") for name in DATA if "planted" in name),
    *(
        Row("path", name, PATH[-1], quick=name == "colon log2")
        for name in ("colon log2", "lymphoma", "spiked 200 x 4,000", "noise 200 x 4,000")
    ),
)


def chosen(*, quick: bool = False, named: str = "") -> list[Row]:
    """The quick rows or all, of those the ones whose text the regular expression finds."""
    return [row for row in ROWS if (row.quick or not quick) and re.search(named, str(row))]
