"""Tests mirror the sources, modules are worth a file, and the contract of operators stays small."""

from __future__ import annotations

import inspect
from pathlib import Path

import sparseigen

SOURCE = Path(sparseigen.__file__).parent
TESTS = Path(__file__).parent
ELSEWHERE = [TESTS.parent / "on_torch", TESTS.parent / "on_dask"]
"""Folders whose tests need torch or Dask: a file there, named after a module, counts as its test file."""

UNTESTED = {"__main__.py": "calls the command line, as every test that starts a process does"}
"""Modules without a test file, and why."""

WITHOUT_MODULE = {
    "test_concurrency.py": "many threads and forks at once, in all of the package",
    "test_documentation.py": "runs what the documentation says",
    "test_fuzzing.py": "the fuzzer finds what is planted for it",
    "test_layers.py": "directions of imports, public names, the way of one call",
    "test_mirror.py": "this file",
    "test_peak_factors.py": "peak memory of whole solves",
    "test_project_files.py": "versions and commands that files of the project state",
    "test_same_bits.py": "the same bits from every way to the same numbers",
    "test_signals.py": "Ctrl-C in every long call",
}
"""Files in tests/unit about no single module, and why. Those in tests/unit/paper are about benchmarks/paper."""

SHORT = {
    "__main__.py": "python -m sparseigen",
}
"""Modules of less than FEWEST_LINES lines, and why they are not part of another."""

FEWEST_LINES = 60
MOST_METHODS = 20


def list_modules() -> set[str]:
    paths = (path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
    return {path.as_posix() for path in paths if path.name != "__init__.py"}


def test_every_module_has_a_test_file() -> None:
    found = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    elsewhere = {path.name for folder in ELSEWHERE for path in folder.glob("test_*.py")}
    missing = set()
    for module in map(Path, list_modules()):
        name = f"test_{module.name}"
        if (module.parent / name).as_posix() not in found and name not in elsewhere:
            missing.add(module.as_posix())
    assert missing == set(UNTESTED)


def test_every_test_file_has_a_module() -> None:
    """A room itself (what its __init__ holds) is tested in test_ROOM.py."""
    modules = list_modules()
    lonely = set()
    for path in TESTS.rglob("test_*.py"):
        file = path.relative_to(TESTS)
        name = file.name.removeprefix("test_")
        if (file.parent / name).as_posix() not in modules and name != f"{file.parent.name}.py":
            lonely.add(file.as_posix())
    assert {file for file in lonely if not file.startswith("paper/")} == set(WITHOUT_MODULE)


def test_short_modules_have_a_reason() -> None:
    short = {name for name in list_modules() if len((SOURCE / name).read_text().splitlines()) < FEWEST_LINES}
    assert short == set(SHORT)


def test_the_contract_of_operators_is_small() -> None:
    methods = [name for name, _ in inspect.getmembers(sparseigen.Operator, inspect.isfunction) if name[0] != "_"]
    assert len(methods) <= MOST_METHODS, methods
