"""``demo``: the paper's PitProps table, from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sparseigen.cli.options import Output, expanded
from sparseigen.cli.output import check_output, save_report

PITPROPS_CARDINALITIES = (7, 2, 1, 1, 1, 1)


def demo(
    report: Annotated[Path | None, typer.Option(metavar="PAGE.html", help="Write a page for any browser.")] = None,
) -> None:
    """Six sparse components of the embedded PitProps data, as in the paper's table.

    Example: sparseigen demo --report demo.html
    """
    from sparseigen.components.sequential import sparse_components
    from sparseigen.components.variance import VARIANCES, explained_variance
    from sparseigen.datasets import load_pitprops
    from sparseigen.report.words import components_table

    output = Output(report=report)
    check_output(output)
    data = load_pitprops()
    operator = data.operator()
    results = sparse_components(operator, PITPROPS_CARDINALITIES)
    vectors = [result.vector for result in results]
    total = float(operator.diagonal().sum())
    shares = explained_variance(operator, vectors, definition="plain") / total
    print(f"{data.description}: {len(results)} sparse components\n")
    print(components_table(results, shares.tolist()))
    print("\nVariance explained together, three definitions:")
    for name in VARIANCES:
        print(f"  {name:<9}{explained_variance(operator, vectors, definition=name).sum() / total:.4f}")
    print("\nEach certificate speaks of the matrix left by the components before it.", flush=True)
    if report is not None:
        save_report(output, _page(data, operator, results))


def _page(data: Any, operator: Any, results: list[Any]) -> Any:
    from sparseigen.report import component_report
    from sparseigen.solve.path import cardinality_path

    path = cardinality_path(operator, range(1, operator.size + 1))
    return component_report(results, path=path, data=data.matrix, title=data.description)


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("demo")(expanded(demo))
