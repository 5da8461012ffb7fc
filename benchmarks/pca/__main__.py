"""`python -m benchmarks.pca [part ...]`: T1 T3 T4 F1 T5, or all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks.pca import genes, newsgroups, pitprops, toy
from benchmarks.pca.tables import Table

PARTS: dict[str, Callable[[], Table]] = {
    "T1": toy.run,
    "T3": pitprops.run,
    "T4": pitprops.loadings,
    "F1": genes.run,
    "T5": newsgroups.run,
}


def main(wanted: list[str]) -> None:
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        sys.exit(f"unknown part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    for part in wanted or PARTS:
        print(PARTS[part](), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
