"""docs/mutants.md."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tools.mutation.faults import Fault
from tools.mutation.outcomes import noticed

TABLE = (
    "| module | tried | noticed | of these by time | not noticed, explained | not explained |",
    "| --- | ---: | ---: | ---: | ---: | ---: |",
)


def page(
    chosen: list[Fault], found: dict[str, dict[str, Any]], explained: dict[str, tuple[str, str]], seed: int
) -> tuple[str, list[str]]:
    """The counts by module and every survivor with its explanation; and the survivors that have none."""
    tried = sorted(
        (fault for fault in chosen if fault.key in found), key=lambda fault: (fault.module, fault.line, fault.key)
    )
    survivors = [fault for fault in tried if not noticed(found[fault.key])]
    unexplained = [fault.key for fault in survivors if fault.key not in explained]
    share = 100.0 * (len(tried) - len(survivors)) / max(len(tried), 1)
    lines = [
        "---", "orphan: true", "---", "",
        "# Faults that the tests notice", "",
        "<!-- Made by `make mutants`; explanations are in tools/mutation/survivors.toml. -->", "",
        f"`make mutants` puts small faults into `solvers` and `certificates`, one at a time (`<` for `<=`, `+` for "
        f"`-`, `max` for `min`, a constant changed, a condition turned round), and runs the tests that reach it: "
        f"those of its package and those that compare certificates with enumeration first, then the fastest. "
        f"Of {len(tried)} faults tried (seed {seed}; every module in proportion, two at least) the "
        f"tests notice {len(tried) - len(survivors)} ({share:.1f} %); {len(survivors) - len(unexplained)} others are "
        f"explained below, {len(unexplained)} are not explained. What came of a fault is kept in "
        f"`tools/mutation/outcomes.jsonl` with a digest of its function: `make mutants` tries again only what is in "
        f"functions that have changed since, `make mutants SAMPLE=400` goes on with further faults, and "
        f"`python -m tools.mutation --fresh` tries everything anew.", "",
        *TABLE,
    ]  # fmt: skip
    for module in dict.fromkeys(fault.module for fault in tried):
        lines.append(_row(module, [fault for fault in tried if fault.module == module], found, explained))
    lines += [
        "",
        "## Not noticed, and why",
        "",
        "| where | line | change | kind | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for fault in survivors:
        kind, reason = explained.get(fault.key, ("NOT EXPLAINED", "no test notices it, and nobody has looked yet"))
        where = f"{fault.module.removeprefix('sparseigen/')}, {fault.where}"
        cells = (where, f"`{fault.text}`", f"`{fault.before}` → `{fault.after}`", kind, reason)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n", unexplained


def _row(
    module: str, faults: list[Fault], found: dict[str, dict[str, Any]], explained: dict[str, tuple[str, str]]
) -> str:
    """One module's counts."""
    counts = Counter(found[fault.key]["outcome"] for fault in faults)
    missed = [fault.key for fault in faults if not noticed(found[fault.key])]
    unexplained = sum(key not in explained for key in missed)
    cells = (len(faults), len(faults) - len(missed), counts["timeout"], len(missed) - unexplained, unexplained)
    return f"| {module.removeprefix('sparseigen/')} | {' | '.join(map(str, cells))} |"
