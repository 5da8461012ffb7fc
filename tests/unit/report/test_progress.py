"""A progress line is written on a terminal, and nowhere else."""

from __future__ import annotations

import io

import numpy as np

from sparseigen import cardinality_path, sparse_components, sparse_eigenvector
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


def test_the_line_says_what_is_being_proven_and_of_how_many(rng: np.random.Generator) -> None:
    """Proofs have no iterations: without their own words the line would stay at the last iteration of the search."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    matrix = np.cov(rng.standard_normal((40, 30)))
    terminal = Terminal()
    with progress_bar(terminal) as bar:
        cardinality_path(matrix, range(1, 31), on_iteration=bar)
    assert "proving 30 bounds: dual points, 1 of " in terminal.getvalue()
    with progress_bar(terminal) as bar:
        cardinality_path(matrix, range(4, 7), on_iteration=bar)
    assert "proving the bound of k = 5, 2 of 3" in terminal.getvalue()
    with progress_bar(terminal) as bar:
        sparse_components(matrix, [5, 5], on_iteration=bar)
    assert "component 2 of 2: proving: bound" in terminal.getvalue()
