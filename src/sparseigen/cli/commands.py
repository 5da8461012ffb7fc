"""The commands: thin wrappers that read, call the library, and print.

Exit codes: 0 an answer, 2 bad usage, 3 bad data, 4 stopped early with a valid answer.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from sparseigen.cli import convert
from sparseigen.errors import ConvergenceWarning, SolveInterrupted, SparseigenError

BAD_DATA, STOPPED_EARLY = 3, 4

PITPROPS_CARDINALITIES = (7, 2, 1, 1, 1, 1)

app = typer.Typer(
    help="Which k variables carry the most variance? Fast answers with proven bounds.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
convert.register(app)


@app.command()
def demo() -> None:
    """Six sparse components of the embedded PitProps data, as in the paper's table.

    Example: sparseigen demo
    """
    from sparseigen.datasets import load_pitprops
    from sparseigen.estimators.components import sparse_components
    from sparseigen.estimators.variance import VARIANCES, explained_variance
    from sparseigen.report import components_table

    data = load_pitprops()
    operator = data.operator()
    results = sparse_components(operator, PITPROPS_CARDINALITIES)
    vectors = [result.vector for result in results]
    total = operator.trace()
    shares = explained_variance(operator, vectors, definition="plain") / total
    print(f"{data.description}: {len(results)} sparse components\n")
    print(components_table(results, shares.tolist()))
    print("\nVariance explained together, three definitions:")
    for name in VARIANCES:
        print(f"  {name:<9}{explained_variance(operator, vectors, definition=name).sum() / total:.4f}")
    print("\nEach certificate speaks of the matrix left by the components before it.")


@app.command()
def doctor() -> None:
    """Print versions, kernels, threads and optional parts, and solve a problem with a known answer.

    Example: sparseigen doctor
    """
    from sparseigen.config import show_config
    from sparseigen.datasets import load_pitprops
    from sparseigen.solve import sparse_eigenvector

    show_config()
    value = sparse_eigenvector(load_pitprops().matrix, 5).value
    healthy = abs(value - 3.406154946789761) < 1e-9
    print(f"{'self-test':<12}{'passed' if healthy else f'FAILED: PitProps, 5 variables gave {value!r}'}")
    if not healthy:
        raise typer.Exit(1)


@app.command()
def pca(
    data: Annotated[Path, typer.Argument(help="Table of samples x variables: csv, tsv or npy.")],
    cardinality: Annotated[int, typer.Option("-k", "--cardinality", help="Non-zeros of each component.")],
    n_components: Annotated[int, typer.Option("-n", "--components", min=1, help="Number of components.")] = 1,
    covariance: Annotated[bool, typer.Option("--covariance", help="The file is a covariance matrix.")] = False,
    scale: Annotated[bool, typer.Option("--scale", help="Scale every variable to unit variance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Sparse principal components of a table.

    Ctrl-C prints the best answer so far and ends with exit code 4.

    Example: sparseigen pca measurements.csv -k 10 -n 5
    """
    from sparseigen.estimators.components import sparse_components
    from sparseigen.report import ProgressBar

    operator = _operator(data, is_covariance=covariance, scale=scale)
    with ProgressBar() as bar:
        try:
            results = sparse_components(operator, [cardinality] * n_components, on_iteration=bar)
        except SolveInterrupted as stop:
            bar.close()
            found = [*stop.completed, *([] if stop.result is None else [stop.result])]
            if not found:
                raise
            _show(operator, found, as_json=as_json)
            print("stopped early: the best answer so far is shown", file=sys.stderr)
            raise typer.Exit(STOPPED_EARLY) from None
    _show(operator, results, as_json=as_json)


def _operator(path: Path, *, is_covariance: bool, scale: bool) -> Any:
    from sparseigen.inputs.files import read_table
    from sparseigen.operators import as_operator
    from sparseigen.operators import covariance as covariance_of

    table = read_table(path)
    operator = as_operator(table.values) if is_covariance else covariance_of(table.values, scale=scale)
    operator.names = table.names
    return operator


def _show(operator: Any, results: list[Any], *, as_json: bool) -> None:
    from sparseigen.estimators.variance import explained_variance
    from sparseigen.report import components_table

    if as_json:
        print(json.dumps([result.to_dict() for result in results], indent=2))
        return
    variances = explained_variance(operator, [result.vector for result in results], definition="plain")
    print(components_table(results, (variances / operator.trace()).tolist()))


def run() -> None:
    """Run the app: one clear sentence for every expected error, never a traceback."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table says why each run stopped
    try:
        app()
    except SparseigenError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(BAD_DATA)
    except KeyboardInterrupt:
        sys.stderr.write("stopped before there was an answer\n")
        sys.exit(130)
