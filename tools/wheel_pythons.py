"""The wheel of every other version of Python that is there: part of ``make wheel-test``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tools.wheel_steps import ROOT, Counts, environment, install, pytest, run

OTHER_PYTHONS = [
    name for minor in (11, 12, 13, 14) if (name := f"python3.{minor}") != f"python3.{sys.version_info.minor}"
]
CONFIGURED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]


def interpreter_of(name: str) -> str | None:
    """A working interpreter of this name: on the PATH, or one of pyenv's. A shim that leads nowhere is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = sorted(pyenv.glob(f"{name.removeprefix('python')}.*/bin/{name}"), reverse=True)
    for candidate in filter(None, [shutil.which(name), *map(str, installed)]):
        asked = subprocess.run([candidate, "-c", "import ensurepip, venv"], capture_output=True, check=False)
        if asked.returncode == 0:
            return candidate
    return None


def try_python(interpreter: str, folder: Path, sdist: Path, smoke: Path, source: Path) -> tuple[str, str]:
    """Build a wheel with another interpreter, and do what the configuration says of its tests; counts, fingerprint."""
    python = environment(folder / "installed", python=interpreter)
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist)
    (wheel,) = folder.glob("*.whl")
    run(python, "-m", "pip", "install", "--quiet", wheel)
    lines = run(python, "-I", smoke, cwd=smoke.parent).splitlines()
    install(python, wheel, ",".join(CONFIGURED["test-extras"]), *CONFIGURED["test-requires"])
    tests = [word.removeprefix("{project}/") for word in CONFIGURED["test-command"][1].split() if "/tests/" in word]
    last, _ = pytest(python, source, *tests)
    version = run(python, "-c", "import platform; print(platform.python_version())").strip()
    checks = sum(line.startswith("ok") for line in lines)
    return f"{version}: {checks} checks passed, 0 failed; the tests that the configuration names: {last}", lines[-1]


def check_other_pythons(
    names: list[str], work: Path, sdist: Path, smoke: Path, source: Path, here: str, counts: Counts
) -> None:
    """The other versions of Python that are there."""
    tried, missing = [], []
    for name in names:
        interpreter = interpreter_of(name)
        if interpreter is None:
            missing.append(name)
            continue
        told, there = try_python(interpreter, work / f"of-{Path(name).name}", sdist, smoke, source)
        if there != here:
            sys.exit(f"wheel-test: kernels differ on {name}: {there}, here: {here}")
        counts.add(f"wheel of Python {told}; same bits as here")
        tried.append(name)
    counts.add(
        f"other Pythons tried: {', '.join(tried) or 'NONE'}"
        + (f"; NOT TRIED, not found here: {', '.join(missing)}" if missing else "")
    )
