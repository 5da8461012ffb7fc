"""What is written: tables, JSON and CSV on standard output, folders and pages, notes, and a line of progress."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import click

from sparseigen.cli.commands import STOPPED_EARLY, bad_usage, one_line
from sparseigen.cli.loading import Loaded
from sparseigen.cli.options import Output
from sparseigen.io.writing import as_bytes, check_target, write_folder

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\N{FULLWIDTH EQUALS SIGN}", "\N{FULLWIDTH PLUS SIGN}",
           "\N{FULLWIDTH HYPHEN-MINUS}", "\N{FULLWIDTH COMMERCIAL AT}")  # fmt: skip
"""A cell of text that begins like this, blanks aside, is run as a formula by spreadsheet programs."""


EARLY = ("iteration_limit", "interrupted", "time_limit")
"""Stop reasons that end with exit code 4."""
FIRST_SECONDS = 0.4
"""Work shorter than this shows no progress."""
REFRESH_SECONDS = 0.2


def version() -> str:
    """The installed version."""
    from importlib import metadata

    try:
        return metadata.version("sparseigen")
    except metadata.PackageNotFoundError:
        return "source tree"


OUT_FILES = (
    "loadings.csv",
    "scores.csv",
    "significance.csv",
    "stability.csv",
    "components.csv",
    "path.csv",
    "certificate.csv",
    "members.csv",
    "curve.csv",
    "result.json",
)
"""Every file that some command writes into the folder of --out."""


def check_output(output: Output, *read: str | Path | None) -> None:
    """Refuse places that cannot be written to, and files that are read, before any work is done."""
    if output.json and output.csv:
        message = "--json and --csv both write to standard output; choose one."
        raise bad_usage(message)
    for option, path in (("--out", output.out), ("--report", output.report)):
        if path is not None and not path.absolute().parent.is_dir():
            message = f"{option} {path}: the folder {path.absolute().parent} does not exist; create it first."
            raise bad_usage(message)
        if path is not None and not os.access(path if path.is_dir() else path.absolute().parent, os.W_OK):
            message = f"{option} {path}: no permission to write there."
            raise bad_usage(message)
    if output.out is not None and os.path.lexists(output.out) and not output.out.is_dir():
        message = f"--out {output.out} is a file; give a folder."
        raise bad_usage(message)
    if output.report is not None:
        if output.report.is_dir():
            message = f"--report {output.report} is a folder; give a file, for example {output.report}/page.html."
            raise bad_usage(message)
        check_target(output.report)
        from sparseigen.config import require

        for package in ("jinja2", "plotly"):
            require(package, purpose="--report")
    _check_distinct(output, [Path(name) for name in read if name is not None and os.path.exists(name)])


def _check_distinct(output: Output, read: list[Path]) -> None:
    """Every file has one use: what is written replaces neither what is read nor what else is written."""
    written = [] if output.out is None else [output.out / name for name in OUT_FILES]
    places = [path.absolute() for path in (output.out, *written) if path is not None]
    if output.report is not None and output.report.absolute() in places:
        message = f"--report {output.report} is also written by --out {output.out}; choose another name."
        raise bad_usage(message)
    for option, target in [("--report", output.report), *(("--out", path) for path in written)]:
        for source in read:
            if target is not None and target.exists() and target.samefile(source):
                message = f"{option} would replace {target}, which is read; choose another place to write to."
                raise bad_usage(message)


def note(output: Output, text: str) -> None:
    """A line for people on standard error."""
    if not output.quiet:
        click.echo(one_line(text), err=True)


def as_json(value: Any) -> str:
    r"""JSON that every reader takes: no NaN, no infinity, no object of NumPy's.

    Examples
    --------
    >>> as_json({"bound": float("inf")})
    '{\n  "bound": null\n}'
    """
    return json.dumps(_make_plain(value), indent=2, allow_nan=False)


def _make_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _make_plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_make_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _make_plain(value.tolist())
    if isinstance(value, float):
        return value if value - value == 0.0 else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def as_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    r"""CSV; text that a spreadsheet would run as a formula gets an apostrophe in front.

    So does text that begins with apostrophes and would be one without them: whoever takes one apostrophe away from
    every such cell has the text as it was. Numbers are left alone.

    Examples
    --------
    >>> as_csv(["name", "value"], [["=1+1", 0.5], ["-x", -2.0]])
    "name,value\n'=1+1,0.5\n'-x,-2.0\n"
    """
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_guard_cell(cell) for cell in header])
    writer.writerows([_guard_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _guard_cell(cell: Any) -> Any:
    if hasattr(cell, "item"):
        cell = cell.item()
    if not isinstance(cell, str):
        return "" if cell is None else cell
    return f"'{cell}" if cell.lstrip("' ").startswith(FORMULA) else cell


def emit(output: Output, *, table: str, answer: Any, rows: tuple[Sequence[str], Iterable[Sequence[Any]]]) -> None:
    """The answer on standard output, in the form asked for."""
    if output.json:
        text = as_json(answer) + "\n"
    elif output.csv:
        text = as_csv(*rows)
    else:
        text = "".join(c for c in table.rstrip("\n") if c == "\n" or c.isprintable()) + "\n"
    sys.stdout.write(text)
    sys.stdout.flush()


def save(output: Output, command: str, facts: Mapping[str, Any], answer: Any, files: Mapping[str, str]) -> None:
    """The folder of --out: the files and, last, result.json with their hashes: files of another run do not fit it."""
    if output.out is None:
        return
    digests = {name: hashlib.sha256(as_bytes(text)).hexdigest() for name, text in files.items()}
    document = {"sparseigen": version(), "command": command, "input": facts, "answer": answer, "files": digests}
    write_folder(output.out, {**files, "result.json": as_json(document) + "\n"})
    note(output, f"wrote {output.out}: {', '.join([*files, 'result.json'])}")


def save_report(output: Output, page: Any) -> None:
    """The page of --report."""
    if output.report is not None:
        note(output, f"report: {page.save(output.report)}")


def limit_note(results: Any) -> str | None:
    """What to say of results that stopped at a limit; None if none did."""
    reasons = [result.stop_reason.value for result in results if result.stop_reason.value in EARLY]
    if not reasons:
        return None
    return f"stopped early ({reasons[0].replace('_', ' ')}): the answer is valid, more time may improve it"


def end(output: Output, early: str | None) -> None:
    """Exit code 4 with a note if the work stopped early."""
    if early is not None:
        note(output, early)
        raise click.exceptions.Exit(STOPPED_EARLY)


def loading_rows(results: list[Any]) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of loadings.csv: every variable that occurs in a component."""
    import numpy as np

    vectors = np.array([result.vector for result in results]) + 0.0  # no minus zeros
    used = np.flatnonzero(vectors.any(axis=0))
    header = ["variable", *(f"PC{j + 1}" for j in range(len(results)))]
    return header, [[results[0].name_of(int(i)), *vectors[:, i].tolist()] for i in used]


def score_rows(loaded: Loaded, scores: Any) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of scores.csv: one row per sample."""
    table = loaded.table
    names = table.row_labels or tuple(str(i + 1) for i in range(len(scores)))
    groups = [] if table.labels is None else ["label"]
    header = ["sample", *groups, *(f"PC{j + 1}" for j in range(scores.shape[1]))]
    labels = table.labels or ((),) * len(scores)
    rows = [
        [name, *([label] if groups else []), *row]
        for name, label, row in zip(names, labels, scores.tolist(), strict=True)
    ]
    return header, rows


def component_files(loaded: Loaded, results: list[Any]) -> dict[str, str]:
    """The files of components: their loadings and, of data, the scores."""
    files = {"loadings.csv": as_csv(*loading_rows(results))}
    scores = loaded.scores([result.vector for result in results])
    if scores is not None:
        files["scores.csv"] = as_csv(*score_rows(loaded, scores))
    return files


class Working:
    """One line on a terminal that says what is going on; nothing anywhere else.

    It is rewritten by a thread of its own, so that a long step without news shows its time all the same.
    It is passed as ``on_iteration`` to solvers and, as ``on_progress``, to readers.
    """

    def __init__(self, *, quiet: bool = False, file: TextIO | None = None) -> None:
        self.file = sys.stderr if file is None else file
        self.live = not quiet and self.file.isatty()
        self.part, self.stage, self.detail = "", "reading", ""
        self.began = time.monotonic()
        self.width = 0
        self.ended = threading.Event()
        self.thread: threading.Thread | None = None

    def step(self, stage: str) -> None:
        """Another step begins."""
        self.part, self.stage, self.detail = "", stage, ""

    def __call__(self, iteration: int, vector: Any, value: float) -> None:
        """One iteration of a solver ended."""
        self.detail = f"iteration {iteration}, value {value:.8g}"

    def on_part(self, text: str) -> None:
        """One of several solves begins: which, of how many."""
        self.part, self.detail = f"{text}: ", ""

    def on_stage(self, name: str) -> None:
        """Another stage of a solve begins."""
        self.stage, self.detail = name, ""

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
            line = f"{self.part}{self.stage}  {self.detail}  {time.monotonic() - self.began:.0f} s"
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
