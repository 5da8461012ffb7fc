"""All tests on the oldest or the newest versions that are allowed: ``make test-oldest``, ``make test-newest``.

The environment is ``build/venv-oldest`` or ``build/venv-newest``, made anew, with sparseigen installed in it as users
install it. The oldest versions are those of ``requirements/oldest.txt`` (``make lock``); the newest are what the
index offers today. ``--keep`` takes the environment that is there, and installs sparseigen alone again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHOWN = ("numpy", "scipy", "scikit-learn", "networkx", "igraph", "dask", "distributed", "pyarrow", "h5py", "zarr",
         "pandas", "polars", "plotly", "jinja2", "click", "rich", "hypothesis", "pytest")  # fmt: skip
BUILT_WITH = ("nanobind", "scikit-build-core", "cmake")
IMPORTED_AS = {"scikit-learn": "sklearn"}
# Warnings that old versions of others give on a newer Python or on newer neighbours say nothing about our code.
OLD_WARNINGS = ("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning", "ignore::FutureWarning")
EVERYTHING = ("tests", "--ignore=tests/browser", "--pyargs", "sparseigen")


def install(which: str, folder: Path, keep: bool) -> str:
    """The interpreter of an environment with these versions and the present source."""
    python = str(folder / "bin" / "python")
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    own_build = f"--config-settings=build-dir={folder / 'cmake'}"
    if not (keep and Path(python).exists()):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        if which == "oldest":
            subprocess.run([*pip, "--require-hashes", "--requirement", "requirements/oldest.txt"], cwd=ROOT, check=True)
        else:
            subprocess.run([*pip, own_build, ".[test]"], cwd=ROOT, check=True)
            return python
    subprocess.run([*pip, "--force-reinstall", "--no-deps", own_build,
                    *(["--no-build-isolation"] if which == "oldest" else []), "."], cwd=ROOT, check=True)  # fmt: skip
    return python


def versions(python: str, names: tuple[str, ...]) -> str:
    """What is installed. Every package is imported first: one that cannot be would only turn tests into skips."""
    modules = [IMPORTED_AS.get(name, name) for name in names if name not in BUILT_WITH]
    subprocess.run([python, "-W", "ignore", "-c", f"import {', '.join(modules)}"], check=True)
    code = "import importlib.metadata as m, sys; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep=', ')"
    told = subprocess.run([python, "-c", code, *names], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return f"Python {sys.version.split()[0]}, {told}"


def run_tests(python: str, folder: Path, arguments: list[str]) -> tuple[int, str]:
    """The exit code and pytest's last line; everything is shown as it comes."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    command = [python, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", *arguments]
    tests = subprocess.Popen(command, cwd=ROOT, env=os.environ | one_thread, stdout=subprocess.PIPE, text=True)
    assert tests.stdout is not None
    last = ""
    for line in tests.stdout:
        print(line, end="", flush=True)
        last = line.strip("= \n") or last
    return tests.wait(), last


def main() -> None:
    """Make the environment, run the tests, and end with what was counted on which versions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("which", choices=("oldest", "newest"))
    parser.add_argument("--keep", action="store_true", help="take the environment that is there")
    options, arguments = parser.parse_known_args()
    folder = ROOT / "build" / f"venv-{options.which}"
    python = install(options.which, folder, options.keep)
    oldest = options.which == "oldest"
    told = versions(python, SHOWN + (BUILT_WITH if oldest else ()))
    print(told, flush=True)
    warnings = [part for old in OLD_WARNINGS for part in ("-W", old)] if oldest else []
    code, last = run_tests(python, folder, [*warnings, *(arguments or EVERYTHING)])
    print(f"test-{options.which}: {'all passed' if code == 0 else 'FAILED'}: {last}; on {told}")
    sys.exit(code)


if __name__ == "__main__":
    main()
