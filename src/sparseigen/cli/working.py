"""One line on a terminal that says what is going on; nothing anywhere else."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, TextIO

FIRST_SECONDS = 0.4
"""Work shorter than this shows nothing."""
REFRESH_SECONDS = 0.2


class Working:
    """Rewrites its line from a thread of its own, so that a long step without news shows its time all the same.

    It is passed as ``on_iteration`` to solvers and, as ``on_progress``, to readers.
    """

    def __init__(self, *, quiet: bool = False, file: TextIO | None = None) -> None:
        self.file = sys.stderr if file is None else file
        self.live = not quiet and self.file.isatty()
        self.stage, self.detail = "reading", ""
        self.began = time.monotonic()
        self.width = 0
        self.ended = threading.Event()
        self.thread: threading.Thread | None = None

    def step(self, stage: str) -> None:
        """Another step begins."""
        self.stage, self.detail = stage, ""

    def __call__(self, iteration: int, vector: Any, value: float) -> None:
        """One iteration of a solver ended."""
        self.detail = f"iteration {iteration}, value {value:.8g}"

    def on_bracket(self, iteration: int, low: float, high: float) -> None:
        """One node of an exact search is done."""
        self.detail = f"node {iteration}, between {low:.8g} and {high:.8g}"

    def on_progress(self, done: int, total: int) -> None:
        """Part of a file was read."""
        share = done / total if total else 1.0
        self.detail = f"[{'#' * round(20 * share):<20}] {share:.0%}"

    def _draw(self) -> None:
        if self.ended.wait(FIRST_SECONDS):
            return
        while True:
            line = f"{self.stage}  {self.detail}  {time.monotonic() - self.began:.0f} s"
            self.file.write("\r" + line.ljust(self.width))
            self.file.flush()
            self.width = len(line)
            if self.ended.wait(REFRESH_SECONDS):
                return

    def __enter__(self) -> Working:
        if self.live:
            self.thread = threading.Thread(target=self._draw, daemon=True)
            self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.ended.set()
        if self.thread is not None:
            self.thread.join()
        if self.width:
            self.file.write("\r" + " " * self.width + "\r")
            self.file.flush()
            self.width = 0
