"""A progress line for long solves, silent where nobody watches."""

from __future__ import annotations

import sys
import time
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

REFRESH_SECONDS = 0.1


class ProgressBar:
    """Called as ``on_iteration``; rewrites one line on a terminal and writes nothing anywhere else.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from sparseigen.report import ProgressBar
    >>> not_a_terminal = io.StringIO()
    >>> with ProgressBar(not_a_terminal) as bar:
    ...     bar(1, np.array([0.6, 0.8]), 2.5)
    >>> not_a_terminal.getvalue()
    ''
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self.file = sys.stderr if file is None else file
        self.live = self.file.isatty()
        self.began = time.monotonic()
        self.shown = -REFRESH_SECONDS
        self.width = 0
        self.part, self.stage = "", ""

    def on_part(self, text: str) -> None:
        """One of several solves begins: the line says which, of how many."""
        self.part = f"{text}: "

    def on_stage(self, name: str) -> None:
        """Another stage of the solve begins: the line says which at once, as proofs have no iterations."""
        self.stage = f"{name}: "
        if self.live:
            self._show(f"{self.part}{name}  {time.monotonic() - self.began:.1f} s")

    def __call__(self, iteration: int, vector: NDArray[np.float64], value: float) -> None:
        """One iteration ended."""
        elapsed = time.monotonic() - self.began
        if not self.live or elapsed - self.shown < REFRESH_SECONDS:
            return
        self.shown = elapsed
        count = np.count_nonzero(vector)
        where = f"{self.part}{self.stage}"
        self._show(f"{where}iteration {iteration}  value {value:.8g}  non-zeros {count}  {elapsed:.1f} s")

    def _show(self, line: str) -> None:
        self.file.write("\r" + line.ljust(self.width))
        self.file.flush()
        self.width = len(line)

    def close(self) -> None:
        """Wipe the line."""
        if self.width:
            self.file.write("\r" + " " * self.width + "\r")
            self.file.flush()
            self.width = 0

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def progress_bar(file: TextIO | None = None) -> ProgressBar:
    """A progress line to be passed as ``on_iteration``.

    It shows iteration, value and time on a terminal, and nothing when the output is not one.

    Parameters
    ----------
    file : text stream, optional
        Where to write; standard error by default.

    Examples
    --------
    >>> import sparseigen as se
    >>> pitprops = se.datasets.load_pitprops()
    >>> with se.report.progress_bar() as bar:
    ...     result = se.sparse_eigenvector(pitprops.matrix, 5, on_iteration=bar)
    >>> round(result.value, 4)
    3.4062
    """
    return ProgressBar(file)
