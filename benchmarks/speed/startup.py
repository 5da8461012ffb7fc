"""Time to the first import and to the first answer, in fresh interpreters."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import best_of
from sparseigen.datasets import load_pitprops


def show_startup(repeats: int = 11) -> None:
    """Ratios to the packages underneath: imports less an empty program, the command against `import numpy`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pitprops.csv"
        data = load_pitprops()
        with path.open("w", newline="") as file:
            rows = zip(data.names, data.matrix.tolist(), strict=True)
            csv.writer(file).writerows([["", *data.names], *([name, *row] for name, row in rows)])
        python = [sys.executable, "-c"]
        commands = {
            "nothing": [*python, "pass"],
            "import numpy": [*python, "import numpy"],
            "import numpy, scipy.sparse": [*python, "import numpy, scipy.sparse"],
            "import sparseigen": [*python, "import sparseigen"],
            "sparseigen, first name used": [*python, "import sparseigen; sparseigen.sparse_eigenvector"],
            "sparseigen pca (PitProps)": [
                sys.executable,
                "-m",
                "sparseigen",
                "pca",
                str(path),
                "-k",
                "5",
                "--covariance",
            ],
        }
        runs = {name: (lambda command=command: _run(command)) for name, command in commands.items()}
        seconds = best_of(runs, repeats=repeats, label="fresh interpreter")
    base = seconds["import numpy, scipy.sparse"] - seconds["nothing"]
    print(f"{'start-up':<32}{'ms':>7}  ratio")
    for name in list(commands)[2:5]:
        own = seconds[name] - seconds["nothing"]
        print(f"{name:<32}{own * 1e3:>7.0f}  {own / base:.2f} of import numpy, scipy.sparse")
    command = seconds["sparseigen pca (PitProps)"]
    ratio = command / seconds["import numpy"]
    print(f"{'sparseigen pca (PitProps)':<32}{command * 1e3:>7.0f}  {ratio:.2f} of python -c 'import numpy'")


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
