"""Which tests run which lines, and how long each takes: measured once, by coverage with one context a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import coverage

TESTS = ("tests/unit/solvers", "tests/unit/certificates", "tests/unit/solve",
         "tests/unit/operators/test_operators.py", "tests/unit/operators/test_precision.py",
         "tests/unit/test_bad_input.py", "tests/unit/test_results.py", "tests/unit/test_hostile_numbers.py",
         "tests/unit/estimators/test_path.py", "tests/property/test_certificates.py",
         "tests/property/test_components_and_paths.py", "tests/property/test_hostile_certificates.py",
         "tests/property/test_invariance.py", "tests/property/test_path_certificates.py", "tests/common",
         "tests/reference/test_pitprops.py", "tests/reference/test_pitprops_tables.py",
         "tests/reference/test_certificates.py", "tests/reference/test_toy_recovery.py")  # fmt: skip

PROOFS = ("tests/property/", "tests/unit/test_hostile_numbers.py")
"""Certificates against enumeration: hundreds of tests that merely pass a line must not displace these."""


def measure(folder: Path, processes: int) -> None:
    """Run the tests once, with every line attributed to the tests that reach it."""
    folder.mkdir(parents=True, exist_ok=True)
    env = os.environ | {"COVERAGE_FILE": str(folder / "lines"), "SECONDS_FILE": str(folder / "seconds.json")}
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(processes), "--dist", "worksteal", "--hypothesis-seed=0"]
    command += ["-p", "tools.mutation.processor_seconds", "--cov=sparseigen", "--cov-context=test", "--cov-report="]
    done = subprocess.run([*command, *TESTS], env=env, check=False)
    if done.returncode:
        sys.exit("mutants: the tests do not pass on the unchanged source")


class Reach:
    """The tests of a line: those of its own package and the PROOFS, then all others; both fastest first."""

    def __init__(self, folder: Path) -> None:
        self.seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text())
        self.data = coverage.CoverageData(basename=str(folder / "lines"))
        self.data.read()
        self.files = {Path(name).as_posix().split("/src/")[-1]: name for name in self.data.measured_files()}
        self.lines: dict[str, dict[int, list[str]]] = {}

    def tests(self, module: str, line: int, statement: int) -> list[str]:
        """Of the line; of the whole module where only its import runs the line."""
        if module not in self.files:
            return []
        if module not in self.lines:
            self.lines[module] = self.data.contexts_by_lineno(self.files[module])
        by_line = self.lines[module]
        # Of a statement of several lines not every one counts as run: the nearest above, up to where it begins.
        runs = next((there for there in range(line, statement - 1, -1) if there in by_line), None)
        if runs is None:
            return []
        known = self._known(by_line[runs]) or self._known([name for names in by_line.values() for name in names])
        own = f"tests/unit/{module.split('/')[1]}/"
        return sorted(known, key=lambda name: (not name.startswith((own, *PROOFS)), self.seconds[name], name))

    def _known(self, contexts: list[str]) -> set[str]:
        return {name.rsplit("|", 1)[0] for name in contexts if "|" in name} & self.seconds.keys()
