"""Import time against that of the packages underneath, in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import best_of

STATEMENTS = {
    "import numpy, scipy.sparse": "import numpy, scipy.sparse",
    "import sparseigen": "import sparseigen",
    "first name used": "import sparseigen; sparseigen.sparse_eigenvector",
}


def show_startup(repeats: int = 11) -> None:
    """Seconds of `python -c ...` less those of an empty program, as a ratio to numpy and scipy.sparse."""
    runs = {name: (lambda code=code: _run(code)) for name, code in ({"nothing": "pass"} | STATEMENTS).items()}
    seconds = best_of(runs, repeats=repeats)
    base = seconds["import numpy, scipy.sparse"] - seconds["nothing"]
    print(f"{'start-up':<32}{'ms':>8}{'ratio':>8}")
    for name in STATEMENTS:
        own = seconds[name] - seconds["nothing"]
        print(f"{name:<32}{own * 1e3:>8.0f}{own / base:>8.2f}")
    print()


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
