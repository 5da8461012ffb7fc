"""The page of a run in Markdown, its figures, and the points of every run as CSV."""

from __future__ import annotations

import csv
import html
import io
import os
import platform
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from benchmarks.paper.claims import Table
from benchmarks.paper.drawing import as_svg
from benchmarks.paper.pieces import Figure, Outcome, Settings
from benchmarks.paper.runner import Run
from benchmarks.paper.store import ROOT
from benchmarks.paper.verdicts import VERDICTS, Judged, counts, percentage
from benchmarks.timing import memory_gb, processor
from sparseigen.config import config

THEIR_COLUMNS = re.compile(r"^authors\b|: the authors on|^PathSPCA's bound$")
"""Headers of columns that repeat the authors' arrays."""
THEIR_ARRAYS = "/authors-arrays"
"""How runs are called that only show them."""
SHORT = 30
"""Rows up to which a table is short."""
COMMAND = "python -m benchmarks.paper"


@dataclass
class Section:
    """A table of the paper as the page shows it."""

    table: Table
    rows: list[Judged]
    figures: list[tuple[Figure, str]] = field(default_factory=list)
    points: list[tuple[str, str]] = field(default_factory=list)
    """Name of the file, and its content: the tables of the pieces that the rows name."""

    @property
    def anchor(self) -> str:
        return self.table.title.lower().translate(str.maketrans(" ", "-", ":,.()'"))


def as_csv(table: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table["header"])
    writer.writerows([f"{cell:.9g}" if isinstance(cell, float) else cell for cell in row] for row in table["rows"])
    return text.getvalue()


def sections(tables: list[Table], rows: list[Judged], result: Run, figures: list[Figure]) -> tuple[list[Section], str]:
    """The sections, and why there are no figures where there are none."""
    made, missing = [], ""
    for table in tables:
        section = Section(table, [row for row in rows if row.claim.table == table.name])
        section.points = [(name, as_csv(points)) for name, points in part_tables(table.name, result).items()]
        for figure in figures:
            found = {name: result.outcomes.get(name) for name in figure.pieces}
            if figure.table == table.name and all(isinstance(outcome, Outcome) for outcome in found.values()):
                try:
                    section.figures.append((figure, as_svg(figure.draw(found))))
                except ModuleNotFoundError as error:
                    if error.name != "matplotlib":
                        raise
                    missing = "No figures: matplotlib is not installed (pip install 'sparseigen[docs]')."
        made.append(section)
    return made, missing


def _ours_alone(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Without the columns of the authors' arrays, which stay in the data folder."""
    kept = [j for j, name in enumerate(table["header"]) if not THEIR_COLUMNS.search(name)]
    return {"header": [table["header"][j] for j in kept], "rows": [[row[j] for j in kept] for row in table["rows"]]}


def part_tables(part: str, result: Run) -> dict[str, dict[str, list[Any]]]:
    """The tables of a part by file name; short ones of several runs that look alike become one table."""
    made: dict[str, dict[str, list[Any]]] = {}
    for piece, outcome in result.outcomes.items():
        if not piece.startswith(f"{part}/") or not isinstance(outcome, Outcome) or piece.endswith(THEIR_ARRAYS):
            continue
        for key, theirs_beside in outcome.tables.items():
            points = _ours_alone(theirs_beside)
            if len(points["rows"]) > SHORT:
                made[f"{piece.replace('/', '-')}-{key}.csv"] = points
            else:
                header = ["run", *points["header"]]
                together = made.setdefault(f"{part}-{key}.csv", {"header": header, "rows": []})
                run = piece.removeprefix(f"{part}/")
                together["rows"] += [[run, *row] for row in points["rows"]]
    return made


def _cell(text: object) -> str:
    """Text for a cell of a Markdown table: no bars, no markup of its own."""
    plain = html.escape(" ".join(str(text).split()), quote=False)
    for mark in "\\`*_[]|$~":
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def remarks(row: Judged) -> str:
    beside = f"Beside: {'; '.join(row.beside)}." if row.beside else ""
    return " ".join(text for text in (row.reason, beside) if text)


def shown_tolerance(row: Judged) -> str:
    if row.claim.relation != "equal":
        return row.claim.relation
    return f"{row.tolerance:.1e}" if row.tolerance else row.claim.tolerance_from


def facts() -> dict[str, str]:
    """Machine, versions and date, by name."""
    ours = config()
    return {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory_gb()} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "sparseigen": f"{ours['sparseigen']}, {ours['kernels']} kernels, {ours['threads']} threads",
        "date": time.strftime("%Y-%m-%d"),
    }


def _summary(made: list[Section], rows: list[Judged]) -> list[str]:
    lines = [_line(["part", "rows", *VERDICTS]), _line(["---"] * (2 + len(VERDICTS)))]
    for section in made:
        found = counts(section.rows)
        link = f"[{section.table.title}](#{section.anchor})"
        lines.append(_line([link, str(len(section.rows)), *(str(found[v]) for v in VERDICTS)]))
    found = counts(rows)
    lines.append(_line(["**all**", f"**{len(rows)}**", *(f"**{found[v]}**" for v in VERDICTS)]))
    return lines


def _head(rows: list[Judged], result: Run, settings: Settings, complete: bool) -> list[str]:
    about = ", ".join(f"{name} {value}" for name, value in facts().items())
    run = f"computing {sum(result.seconds.values()):.0f} s over all processes, seed {settings.seed}, "
    run += f"{settings.repeats} repeats; {result.kept} of {result.kept + result.done} blocks kept from an earlier run"
    part = [] if complete else ["**A page of some rows only**: the run was asked for a part of the paper.", ""]
    return [
        "# The paper reproduced",
        "",
        "<!-- Generated by `make reproduce`. Never edit: change benchmarks/paper and run it again. -->",
        "",
        'X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.',
        "Every number of the paper that can be computed is computed again, and compared at run time: values are scored",
        "in float64 from the returned vectors and sets, never taken from a solver. Misses stay in.",
        "",
        *part,
        f"**{percentage(rows):.1f} % of the runnable rows are reproduced or better.**",
        "",
        f"All rows: `make reproduce`. One row, one table: `{COMMAND} T1.spca.success`, `{COMMAND} T3`.",
        "",
        f"Made with: {_cell(about)}.",
        f"Run: {run}; this call {result.wall:.0f} s.",
        "",
    ]


def _section(section: Section, folder: str, points: str) -> list[str]:
    table = section.table
    lines = [f"## {table.title}", "", *([_cell(table.text), ""] if table.text.strip() else [])]
    lines += [f"Setting: {_cell(table.setting)}.", ""] if table.setting else []
    for figure, _ in section.figures:
        lines += [f"![{figure.caption}]({folder}/{figure.name}.svg)", "", f"*{figure.caption}*", ""]
    lines += [_line(["place, command", "paper", "ours", "tolerance", "verdict", "remarks"]), _line(["---"] * 6)]
    for row in section.rows:
        claim = row.claim
        setting = "" if claim.setting == table.setting else f" ({_cell(claim.setting)})"
        where = f'<span id="{claim.id}"></span>{_cell(claim.place)}{setting}<br>`{COMMAND} {claim.id}`'
        cells = [where, _cell(claim.paper), _cell(row.ours), shown_tolerance(row), row.verdict, _cell(remarks(row))]
        lines.append(_line(cells))
    lines.append("")
    if section.points:
        lines += [f"All points of ours: {', '.join(f'`{points}/{name}`' for name, _ in section.points)}.", ""]
    return lines


def markdown(made: list[Section], rows: list[Judged], result: Run, settings: Settings, *, folder: str, points: str,
             complete: bool, missing: str) -> str:  # fmt: skip
    """The page; figures are looked for in ``folder`` beside it, points are said to be in ``points``."""
    lines = _head(rows, result, settings, complete) + _summary(made, rows)
    others = [row for row in rows if row.verdict == "differs"]
    lines += [
        "",
        "Rows that differ: " + (", ".join(f'<a href="#{r.claim.id}">{r.claim.id}</a>' for r in others) or "none") + ".",
    ]
    lines += ["", missing, ""] if missing else [""]
    for section in made:
        lines += _section(section, folder, points)
    return "\n".join(lines).rstrip() + "\n"


def write(
    out: Path,
    points: Path,
    tables: list[Table],
    rows: list[Judged],
    result: Run,
    settings: Settings,
    figures: list[Figure],
    *,
    complete: bool,
) -> None:
    """Write the page, a folder of the same name with its figures, and the points into the folder ``points``."""
    made, missing = sections(tables, rows, result, figures)
    folder = out.with_suffix("")
    for place in (folder, points):
        place.mkdir(parents=True, exist_ok=True)
    for section in made:
        for figure, drawing in section.figures:
            (folder / f"{figure.name}.svg").write_text(drawing, encoding="utf-8")
        for name, content in section.points:
            (points / name).write_text(content, encoding="utf-8")
    shown = points.relative_to(ROOT) if points.is_relative_to(ROOT) else points
    text = markdown(made, rows, result, settings, folder=folder.name, points=shown.as_posix(), complete=complete,
                    missing=missing)  # fmt: skip
    out.write_text(text, encoding="utf-8")
