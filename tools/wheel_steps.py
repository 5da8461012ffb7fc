"""What every step of ``make wheel-test`` uses: commands, environments, counts."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 1),
}


class Counts:
    """What was done, for the last lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.began = time.monotonic()

    def add(self, line: str) -> None:
        """Print a step as it ends, and keep it."""
        print(f"--- {time.monotonic() - self.began:4.0f} s: {line}", flush=True)
        self.lines.append(line)


def run(*command: str | Path, cwd: Path | None = None, quiet: bool = True) -> str:
    """The output of a command; the whole of it is shown where it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0 or not quiet:
        print(done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"wheel-test: failed with exit code {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


def environment(folder: Path, *packages: str | Path, python: str = sys.executable) -> Path:
    """A new virtual environment with these packages; its interpreter."""
    run(python, "-m", "venv", folder)
    interpreter = folder / "bin" / "python"
    if packages:
        run(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return interpreter


def unpack(sdist: Path, work: Path) -> Path:
    """The source as the sdist carries it, with a plugin that lets the tests meet the installed package only."""
    with tarfile.open(sdist) as archive:
        archive.extractall(work / "unpacked", filter="data")
    (source,) = (work / "unpacked").iterdir()
    (source / "only_installed.py").write_text(
        "import sys\nfrom pathlib import Path\nimport sparseigen.kernels._compiled as extension\nimport sparseigen\n"
        "for module in (sparseigen, extension):\n"
        "    assert Path(sys.prefix) in Path(module.__file__).parents, module.__file__\n"
    )
    return source


def install(python: Path, wheel: Path, extras: str, *more: str) -> None:
    """Add what a set of tests needs beside a wheel that is installed already."""
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *more,
        f"sparseigen[{extras}] @ {wheel.as_uri()}")  # fmt: skip


def pytest(python: Path, source: Path, *tests: str) -> tuple[str, list[str]]:
    """Pytest's last line, and its lines about what was skipped."""
    # The pattern of pyproject.toml holds below the source only.
    ignored = f"--ignore-glob={python.parents[1]}/*triton_kernels.py"
    out = run(python, "-m", "pytest", "-p", "only_installed", "-q", "-n", "2", "--dist", "worksteal", ignored, *tests,
              cwd=source)  # fmt: skip
    lines = out.strip().splitlines()
    return lines[-1].strip("= "), [line for line in lines if line.startswith("SKIPPED")]
