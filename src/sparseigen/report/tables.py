"""Results as text tables: aligned, names first, zeros left blank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparseigen.results import SparseEigResult


def components_table(results: Sequence[SparseEigResult], shares: Sequence[float]) -> str:
    """Several components side by side: one line a variable, one column a component.

    Parameters
    ----------
    results : sequence of SparseEigResult
        The components, over the same variables.
    shares : sequence of float
        Each component's share of the total variance.
    """
    used = np.flatnonzero(np.any([result.vector != 0.0 for result in results], axis=0))
    header = ["", *(f"PC{j + 1}" for j in range(len(results)))]
    rows = [[results[0].name_of(int(i)), *(f"{r.vector[i]:.4f}" if r.vector[i] else "" for r in results)] for i in used]
    footer = [
        ["non-zeros", *(str(len(result.support)) for result in results)],
        ["variance share", *(f"{share:.2%}" for share in shares)],
        ["certificate", *(_proof(result) for result in results)],
    ]
    return _aligned([header, *rows], footer)


def _proof(result: SparseEigResult) -> str:
    if result.certificate is None:
        return "uncertified"
    return "optimal" if result.certificate.optimal else str(result.certificate)


def _aligned(body: list[list[str]], footer: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in body + footer) for column in range(len(body[0]))]

    def line(row: list[str]) -> str:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        return "  ".join(cells).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([line(body[0]), rule, *map(line, body[1:]), rule, *map(line, footer)])
