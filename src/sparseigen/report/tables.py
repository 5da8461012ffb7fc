"""Results as text tables: aligned, names first, zeros left blank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparseigen.results import Certificate, DenseSubgraphResult, SparseEigResult, SparsePath

MOST_ROWS = 60
"""Longer tables leave out the variables with the smallest loadings, and say how many."""
NAMES_SHOWN = 6


def components_table(results: Sequence[SparseEigResult], shares: Sequence[float]) -> str:
    """Several components side by side: one line a variable, one column a component.

    Parameters
    ----------
    results : sequence of SparseEigResult
        The components, over the same variables.
    shares : sequence of float
        Each component's share of the total variance.

    Examples
    --------
    >>> import sparseigen as se
    >>> pitprops = se.datasets.load_pitprops()
    >>> results = se.sparse_components(pitprops.operator(), [2, 2])
    >>> print(se.report.components_table(results, [results[0].value / 13, results[1].value / 13]))
                        PC1      PC2
    --------------------------------
    topdiam          0.7071
    length           0.7071
    moist                     0.7071
    testsg                    0.7071
    --------------------------------
    non-zeros             2        2
    variance share   15.03%   14.48%
    certificate     optimal  optimal
    """
    vectors = np.array([result.vector for result in results])
    used = np.flatnonzero(vectors.any(axis=0))
    hidden = max(0, len(used) - MOST_ROWS)
    if hidden:
        largest = np.argsort(-np.abs(vectors[:, used]).max(axis=0), kind="stable")[:MOST_ROWS]
        used = used[np.sort(largest)]
    header = ["", *(f"PC{j + 1}" for j in range(len(results)))]
    rows = [[results[0].name_of(int(i)), *(f"{r.vector[i]:.4f}" if r.vector[i] else "" for r in results)] for i in used]
    if hidden:
        rows.append([f"... {hidden} more with smaller loadings", *([""] * len(results))])
    footer = [
        ["non-zeros", *(str(len(result.support)) for result in results)],
        ["variance share", *(f"{share:.2%}" for share in shares)],
        ["certificate", *(proof(result.certificate) for result in results)],
    ]
    return aligned([header, *rows], footer)


def path_table(path: SparsePath) -> str:
    """One line a cardinality: explained share, the proven limit, and the variables."""
    header = ["k", "share", "at most", "certificate", "of dense", "variables"]
    rows = [header]
    for result in path:
        bound = None if result.certificate is None else result.certificate.upper_bound / path.total_variance
        names = list(result.loadings)
        more = f", ... ({len(names)})" if len(names) > NAMES_SHOWN else ""
        rows.append(
            [
                str(result.cardinality),
                f"{result.value / path.total_variance:.2%}",
                "" if bound is None else f"{bound:.2%}",
                proof(result.certificate),
                f"{result.value / path.dense_optimum:.1%}",
                ", ".join(names[:NAMES_SHOWN]) + more,
            ]
        )
    return aligned(rows, [], text_columns=(5,))


def curve_table(results: Sequence[DenseSubgraphResult]) -> str:
    """One line a number of vertices: the two densities, the proven limit."""
    rows = [["k", "density", "at most", "certificate", "edge density"]]
    for result in results:
        bound = "" if result.certificate is None else f"{result.certificate.upper_bound:.6g}"
        proven = proof(result.certificate)
        rows.append([str(result.k), f"{result.density:.6g}", bound, proven, f"{result.edge_density:.4g}"])
    return aligned(rows, [])


def proof(certificate: Certificate | None) -> str:
    """A certificate in a word or two."""
    if certificate is None:
        return "uncertified"
    return "optimal" if certificate.optimal else str(certificate)


def aligned(body: list[list[str]], footer: list[list[str]], text_columns: Sequence[int] = (0,)) -> str:
    """Lines of cells under each other: text to the left, numbers to the right, rules around the body."""
    widths = [max(len(row[column]) for row in body + footer) for column in range(len(body[0]))]

    def line(row: list[str]) -> str:
        cells = [
            cell.ljust(width) if column in text_columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    end = [rule, *map(line, footer)] if footer else []
    return "\n".join([line(body[0]), rule, *map(line, body[1:]), *end])
