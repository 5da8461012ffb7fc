"""The rows of `claims.toml`, checked: one for every number of the paper."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("claims.toml")
RELATIONS = ("equal", "below", "at most", "at least", "above")
DIRECTIONS = ("", "higher", "lower")
RULES = {
    "printed": "half a unit of the last printed digit",
    "monte-carlo": "half a unit of the last printed digit, and three standard errors of the difference of two means",
}
INHERITED = ("place", "setting", "tolerance", "tolerance_from", "better", "relation", "run", "unit")
FIELDS = {"id", "place", "setting", "paper", "tolerance", "tolerance_from", "better", "relation", "run", "measure",
          "also", "not_runnable", "unit", "precision"}  # fmt: skip


class ClaimError(ValueError):
    """A row of the file is not complete or not understood."""


@dataclass(frozen=True)
class Claim:
    """A number of the paper, where it stands, and the run that makes it again."""

    id: str
    table: str
    place: str
    setting: str
    paper: str
    """As printed."""
    tolerance: str | float
    tolerance_from: str
    run: str
    measure: str
    relation: str = "equal"
    better: str = ""
    unit: str = ""
    precision: float | None = None
    """One unit of the last digit, where the printed value does not show it: a plain 0 or 1 in a column of decimals."""
    also: tuple[str, ...] = ()
    """Other runs whose value of the same measure is shown beside: run, or run:measure."""
    not_runnable: str = ""
    why: str = ""
    """Shown only when the run differs."""
    note: str = ""
    """Shown always."""

    @property
    def number(self) -> float | None:
        """The printed value as a number, None where it is a word."""
        return as_number(self.paper)


@dataclass(frozen=True)
class Table:
    """A table or figure of the paper, or the sentences of a section."""

    name: str
    title: str
    text: str
    setting: str
    claims: tuple[Claim, ...]


def as_number(printed: str) -> float | None:
    try:
        return float(printed.replace(",", ""))
    except ValueError:
        return None


def unit_of(claim: Claim) -> float:
    """One unit of the last digit of a claim."""
    return printed_unit(claim.paper) if claim.precision is None else claim.precision


def printed_unit(printed: str) -> float:
    """One unit of the last printed digit: .8636 -> 1e-4, 9.5e-5 -> 1e-6, 26 -> 1, 26,214 -> 1."""
    match = re.fullmatch(r"-?([\d,]*)(?:\.(\d*))?(?:e([+-]?\d+))?", printed)
    if match is None or as_number(printed) is None:
        raise ClaimError(f"{printed!r} is not a printed number: digits, a point, perhaps an exponent.")
    decimals, exponent = match.group(2) or "", int(match.group(3) or 0)
    return float(f"1e{exponent - len(decimals)}")


def _row(table: dict[str, Any], row: dict[str, Any], remarks: dict[str, dict[str, str]]) -> Claim:
    name = row.get("id", f"a row of {table['name']}")
    unknown = set(row) - FIELDS
    if unknown:
        raise ClaimError(f"{name}: unknown field {sorted(unknown)[0]!r}; allowed are {', '.join(sorted(FIELDS))}.")
    inherited = {key: table[key] for key in INHERITED if key in table}
    fields = {"relation": "equal", "better": "", "unit": "", "not_runnable": "", **inherited, **row}
    if "place" in row and "place" in table:
        fields["place"] = f"{table['place']}, {row['place']}"
    fields["also"] = tuple(fields.get("also", ()))
    for kind, texts in remarks.items():
        fields[kind] = " ".join(text.strip() for pattern, text in texts.items() if fnmatchcase(name, pattern))
    if isinstance(fields.get("tolerance"), str):
        fields["tolerance_from"] = RULES.get(fields["tolerance"], "a rule that does not exist")
    needed = {"id", "place", "setting", "paper", "tolerance", "tolerance_from", "run", "measure"}
    missing = sorted(key for key in needed if fields.get(key) in (None, ""))
    if missing:
        raise ClaimError(f"{name}: the field {missing[0]!r} is missing; write it in the row or in its table.")
    claim = Claim(table=table["name"], **fields)
    _check(claim)
    return claim


def _check(claim: Claim) -> None:
    if not claim.id.startswith(f"{claim.table}."):
        raise ClaimError(f"{claim.id}: the id of a row of {claim.table} begins with {claim.table + '.'!r}.")
    if not isinstance(claim.paper, str):
        raise ClaimError(
            f"{claim.id}: paper={claim.paper!r} must be a string, as printed: its digits say the tolerance."
        )
    if isinstance(claim.tolerance, str) and claim.tolerance not in RULES:
        raise ClaimError(
            f"{claim.id}: tolerance={claim.tolerance!r} is neither a number nor one of {', '.join(RULES)}."
        )
    if claim.relation not in RELATIONS:
        raise ClaimError(f"{claim.id}: relation={claim.relation!r} is not one of {', '.join(RELATIONS)}.")
    if claim.better not in DIRECTIONS:
        raise ClaimError(f"{claim.id}: better={claim.better!r} is not one of 'higher', 'lower' or ''.")
    if isinstance(claim.tolerance, str):
        printed_unit(claim.paper)
    if claim.run.count("/") != 2:
        raise ClaimError(f"{claim.id}: run={claim.run!r} must be part/dataset/solver.")


def load(path: Path = FILE) -> list[Table]:
    """All tables with their rows, in the order of the file.

    Raises
    ------
    ClaimError
        When a row lacks a field, repeats an id, or says what nobody understands; the message names the row.
    """
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    remarks = {"why": content.get("why", {}), "note": content.get("note", {})}
    tables = []
    seen: set[str] = set()
    for table in content["table"]:
        claims = tuple(_row(table, row, remarks) for row in table["rows"])
        for claim in claims:
            if claim.id in seen:
                raise ClaimError(f"{claim.id}: two rows have this id.")
            seen.add(claim.id)
        tables.append(Table(table["name"], table["title"], table.get("text", ""), table.get("setting", ""), claims))
    for kind, texts in remarks.items():
        for pattern in texts:
            if not any(fnmatchcase(name, pattern) for name in seen):
                raise ClaimError(f"[{kind}] {pattern!r} matches no row.")
    return tables


def select(tables: Iterable[Table], wanted: list[str]) -> list[Table]:
    """The rows named: a table (T3), a row (T3.spca.share), the beginning of ids (T3.spca), or a pattern (T3.*.share).

    Raises
    ------
    ClaimError
        When a name matches nothing.
    """
    tables = list(tables)
    if not wanted:
        return tables

    def matches(name: str, claim: Claim) -> bool:
        return claim.id == name or claim.id.startswith(f"{name}.") or claim.run == name or fnmatchcase(claim.id, name)

    for name in wanted:
        if not any(matches(name, claim) for table in tables for claim in table.claims):
            known = ", ".join(table.name for table in tables)
            raise ClaimError(f"{name!r} names no table and no row; tables are {known}; --list shows every row.")
    chosen = [replace(t, claims=tuple(c for c in t.claims if any(matches(name, c) for name in wanted))) for t in tables]
    return [table for table in chosen if table.claims]
