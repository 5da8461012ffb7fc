"""All tests on the oldest or the newest versions that are allowed: ``make test-oldest``, ``make test-newest``.

The environment is ``build/venv-oldest`` or ``build/venv-newest``, made anew, with sparseigen installed in it as users
install it. The oldest versions are those of ``requirements/oldest.txt`` (``make lock``); the newest are what the
index offers today.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHOWN = ("numpy", "scipy", "scikit-learn", "networkx", "dask", "pyarrow", "h5py", "zarr", "pandas", "polars", "plotly",
         "jinja2", "typer", "rich", "nanobind", "scikit-build-core", "cmake")  # fmt: skip
# Warnings that old versions of others give on a newer Python or on newer neighbours say nothing about our code.
OLD_WARNINGS = ("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning", "ignore::FutureWarning")


def main() -> None:
    """Make the environment, then run the tests with what is left of the command line."""
    which, *arguments = sys.argv[1:]
    folder = ROOT / "build" / f"venv-{which}"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    own_build = f"--config-settings=build-dir={folder / 'cmake'}"
    if which == "oldest":
        subprocess.run([*pip, "--require-hashes", "--requirement", "requirements/oldest.txt"], cwd=ROOT, check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", own_build, "."], cwd=ROOT, check=True)
    else:
        subprocess.run([*pip, own_build, ".[test]"], cwd=ROOT, check=True)
    versions = "import importlib.metadata as m, sys; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep=', ')"
    shown = [name for name in SHOWN if which == "oldest" or name not in SHOWN[-3:]]
    subprocess.run([python, "-c", versions, *shown], check=True)
    warnings = [part for old in OLD_WARNINGS for part in ("-W", old)] if which == "oldest" else []
    tests = arguments or ["tests", "--ignore=tests/browser", "--pyargs", "sparseigen"]
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", *warnings, *tests],
        cwd=ROOT, env=os.environ | one_thread, check=False,
    )  # fmt: skip
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
