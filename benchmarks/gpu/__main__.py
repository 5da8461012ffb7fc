"""Checks, then timings, on a CUDA device; a table in markdown.

    PYTHONPATH=src python3 -m benchmarks.gpu [--out FILE] [--genes FOLDER]

Runs from a source tree: nothing has to be installed or compiled. It needs numpy, scipy, torch with CUDA, and triton
(comes with torch on Linux).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Iterable
from pathlib import Path


def missing() -> list[str]:
    return [name for name in ("numpy", "scipy", "torch", "triton") if importlib.util.find_spec(name) is None]


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """A markdown table, each row also printed as it comes, so that a run cut short is not lost."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for row in rows:
        lines.append("| " + " | ".join(row) + " |")
        print(lines[-1], flush=True)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the markdown page")
    parser.add_argument("--genes", type=Path, help="folder with colon/ and lymphoma/")
    parser.add_argument("--skip-checks", action="store_true")
    arguments = parser.parse_args()
    if lacking := missing():
        print(f"CANNOT RUN: {', '.join(lacking)} not installed here.", file=sys.stderr)
        return 2
    import numpy
    import scipy
    import torch
    import triton

    if not torch.cuda.is_available():
        print("CANNOT RUN: torch sees no CUDA device.", file=sys.stderr)
        return 2
    from benchmarks.gpu import checks, timings

    machine = (
        f"{torch.cuda.get_device_name()}, {time.strftime('%Y-%m-%d')}; torch {torch.__version__}, triton "
        f"{triton.__version__}, numpy {numpy.__version__}, scipy {scipy.__version__}, Python {sys.version.split()[0]}"
    )
    print(machine, flush=True)
    lines = ["# On a GPU", "", machine, "", "Made by `PYTHONPATH=src python3 -m benchmarks.gpu`.", ""]
    failed: list[str] = []
    if not arguments.skip_checks:
        rows = []
        for name, holds, detail in checks.all_checks(arguments.genes):
            rows.append((name, "yes" if holds else "NO", detail))
            failed += [] if holds else [name]
            print(rows[-1], flush=True)
        lines += ["## Equal answers", "", *table(("check", "holds", "what was seen"), rows), ""]
    bandwidth = timings.copy_bandwidth()
    lines += ["## Times", "", f"Copy bandwidth in the same run: {bandwidth / 1e12:.2f} TB/s (read and written).", ""]
    print(lines[-2])
    torch.cuda.empty_cache()
    heads = ("what", "time", "ratio", "goal")
    for part in (timings.iterations(bandwidth), timings.paths(), timings.certificates()):
        lines += [*table(heads, part), ""]
        if arguments.out:
            arguments.out.write_text("\n".join(lines))
    for name in failed:
        print(f"FAILED: {name}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
