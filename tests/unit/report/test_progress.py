"""A progress line is written on a terminal, and nowhere else."""

from __future__ import annotations

import io

import numpy as np

from sparseigen import sparse_eigenvector
from sparseigen.report import progress_bar


def test_progress_bar_writes_on_a_terminal_only(rng: np.random.Generator) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    matrix = np.cov(rng.standard_normal((40, 30)))
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        with progress_bar(stream) as bar:
            sparse_eigenvector(matrix, 5, on_iteration=bar)
    assert "iteration 1  value " in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
    assert pipe.getvalue() == ""
