"""`python -m benchmarks.pca`: other packages on Gaussian data. The paper's tables are in `benchmarks.paper`."""

from __future__ import annotations

import sys

from benchmarks.pca import peers


def main(wanted: list[str]) -> None:
    unknown = [part for part in wanted if part != "peers"]
    if unknown:
        sys.exit(f"unknown part {unknown[0]!r}; choose peers, or python -m benchmarks.paper for the paper's tables")
    print(peers.run(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
