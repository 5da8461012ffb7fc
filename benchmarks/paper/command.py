"""`python -m benchmarks.paper [part or claim ...] [--data DIR] [--out FILE] [--fresh] [--list]`."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import time
from pathlib import Path

from benchmarks.paper import claims, page, store
from benchmarks.paper.parts import all_figures, all_pieces
from benchmarks.paper.pieces import Piece, Settings
from benchmarks.paper.runner import Run, run
from benchmarks.paper.verdicts import Judged, counts, judge, percentage

PAGE = store.ROOT / "docs" / "reproduction.md"
POINTS = store.ROOT / "build" / "reproduction"
"""The points of every run, as CSV: too many for the page."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description="Run the paper's numbers again and compare. An interrupted run goes on where it stopped.",
    )
    made.add_argument("what", nargs="*", help="a table (T1), a row (T1.spca.success), a pattern ('T3.*'); all without")
    made.add_argument("--data", metavar="DIR", help="the folder of data sets (else SPARSEIGEN_DATA, ../shared/data)")
    made.add_argument(
        "--out", metavar="FILE", help="the page to write; a run of everything writes docs/reproduction.md"
    )
    made.add_argument("--fresh", action="store_true", help="run again what is stored in build/reproduce")
    made.add_argument("--list", action="store_true", dest="show", help="list the rows and stop")
    made.add_argument("--seed", type=int, default=2011, help="seed of the random data (default 2011)")
    made.add_argument("--repeats", type=int, default=500, help="repeats of the random experiments (default 500)")
    made.add_argument("--processes", type=int, help="processes at a time (default: one per core)")
    return made


def needed(tables: list[claims.Table], wanted: list[str]) -> dict[str, Piece]:
    """The pieces that the rows name; all pieces of tables that are asked for as a whole."""
    pieces = all_pieces()
    if not wanted:
        return pieces
    whole = {t.name for t in tables if t.name in wanted}
    names = {name for t in tables for c in t.claims for name in (c.run, *(other.split(":")[0] for other in c.also))}
    return {name: piece for name, piece in pieces.items() if name in names or piece.part in whole}


def print_row(row: Judged) -> None:
    claim = row.claim
    print(f"{claim.id:<28} paper {claim.paper:<10} ours {row.ours:<18} {row.verdict}")
    remarks = [f"beside: {text}" for text in row.beside]
    if row.reason and row.verdict not in ("reproduced", "better"):
        remarks.append(row.reason)
    for text in remarks:
        print(textwrap.indent(textwrap.fill(text, 110), "    "))


def print_tables(parts: list[str], result: Run) -> None:
    """The short tables of parts that were asked for as a whole."""
    for part in parts:
        for name, table in page.part_tables(part, result).items():
            if len(table["rows"]) <= 3 * page.SHORT:
                rows = [[str(cell) for cell in row] for row in (table["header"], *table["rows"])]
                widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
                print(f"\n{name}")
                print(
                    "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)
                )


def print_list(tables: list[claims.Table]) -> None:
    for table in tables:
        print(f"{table.name}  {table.title}")
        for claim in table.claims:
            print(f"  {claim.id:<28} {claim.paper:<10} {claim.place}")


def main(arguments: list[str]) -> int:
    """Run, print the rows, write the page. 1 when a piece broke, 2 for a name that is not known."""
    options = parser().parse_args(arguments)
    if options.repeats < 2 or (options.processes or 1) < 1:
        print("error: --repeats must be at least 2 and --processes at least 1.", file=sys.stderr)
        return 2
    try:
        tables = claims.select(claims.load(), options.what)
    except claims.ClaimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.show:
        print_list(tables)
        return 0
    if options.data:
        os.environ["SPARSEIGEN_DATA"] = str(Path(options.data).resolve())
    everything = not options.what
    settings = Settings(seed=options.seed, repeats=options.repeats)
    pieces = needed(tables, options.what)
    began = time.perf_counter()

    def tell(what: str, done: int, total: int) -> None:
        print(f"[{done}/{total}] {time.perf_counter() - began:6.0f} s  {what}", file=sys.stderr, flush=True)

    result = run(pieces, settings, fresh=options.fresh, processes=options.processes, tell=tell)
    rows = [judge(claim, result.outcomes) for table in tables for claim in table.claims]
    for row in rows:
        print_row(row)
    if not everything:
        print_tables([name for name in options.what if name in {table.name for table in tables}], result)
    found = counts(rows)
    print(f"\n{len(rows)} rows: " + ", ".join(f"{number} {verdict}" for verdict, number in found.items()))
    print(f"{percentage(rows):.1f} % of the runnable rows reproduced or better; {result.wall:.0f} s.")
    out = Path(options.out) if options.out else PAGE if everything else None
    if out is not None:
        page.write(out, POINTS, tables, rows, result, settings, all_figures(), complete=everything)
        print(f"The page is {out}; all points are in {POINTS.relative_to(store.ROOT)}.")
    for name in result.failed:
        print(f"error: {name} {result.outcomes[name]}", file=sys.stderr)
    return 1 if result.failed else 0
