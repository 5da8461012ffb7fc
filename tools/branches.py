"""Branches that the tests took, by package, from what ``make coverage`` measured; fails under ``--least`` percent."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("--missing", action="store_true", help="name the branches that no test takes")
    options = parser.parse_args()
    out = ROOT / "build" / "coverage" / "report.json"
    data = ROOT / "build" / "coverage" / "data"
    command = [
        sys.executable,
        "-m",
        "coverage",
        "json",
        "--data-file",
        os.environ.get("COVERAGE_FILE", str(data)),
        "--quiet",
        "-o",
        str(out),
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    packages: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, file in json.loads(out.read_text())["files"].items():
        inside = name.split("sparseigen/", 1)[1].split("/")
        summary = file["summary"]
        values = ("covered_branches", "num_branches", "covered_lines", "num_statements")
        for package in (inside[0] if len(inside) > 1 else "(top)", "all"):
            packages[package] = [have + summary[value] for have, value in zip(packages[package], values, strict=True)]
        if options.missing and file["missing_branches"]:
            print(f"{name}: {' '.join(f'{start}>{end}' for start, end in file['missing_branches'])}")
    print(f"{'package':<14}{'branches':>15}{'%':>8}{'lines':>15}{'%':>8}")
    for package, (branches, of_branches, lines, of_lines) in sorted(
        packages.items(), key=lambda item: item[0] == "all"
    ):
        percent = 100 * branches / max(of_branches, 1), 100 * lines / max(of_lines, 1)
        print(
            f"{package:<14}{f'{branches}/{of_branches}':>15}{percent[0]:>8.1f}{f'{lines}/{of_lines}':>15}{percent[1]:>8.1f}"
        )
    share = 100 * packages["all"][0] / packages["all"][1]
    if share < options.least:
        sys.exit(f"coverage: {share:.1f} % of branches, wanted {options.least:g} %")


if __name__ == "__main__":
    main()
