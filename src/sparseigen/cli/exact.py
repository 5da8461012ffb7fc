"""``certify`` and ``exact``: how good can k variables be, and which k are the best, with proof."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from sparseigen.cli.failures import bad_usage
from sparseigen.cli.loading import Loaded, cardinalities, load
from sparseigen.cli.options import DataFile, Output, Reading, expanded
from sparseigen.cli.output import as_csv, check_output, emit, save, save_report
from sparseigen.cli.pca import end, limit_note, loading_rows, score_rows
from sparseigen.cli.working import Working
from sparseigen.errors import CardinalityError, SolveInterrupted


class Effort(StrEnum):
    """How hard a bound tries."""

    CHEAP = "cheap"
    DEFAULT = "default"
    TIGHT = "tight"


def one_cardinality(text: str) -> int:
    """A single k."""
    found = cardinalities(text)
    if len(found) != 1:
        message = f"cardinality={text!r} must be one whole number here."
        raise CardinalityError(message)
    return found[0]


def certify(
    data: DataFile,
    reading: Reading,
    output: Output,
    k: Annotated[str | None, typer.Option("-k", "--cardinality", metavar="K", help="Number of variables.")] = None,
    support: Annotated[
        str | None, typer.Option(metavar="NAME,NAME,...", help="Variables of your own: how good are they?")
    ] = None,
    effort: Annotated[
        Effort, typer.Option(help="How hard to try; tight takes up to about 10 s more.")
    ] = Effort.DEFAULT,
) -> None:
    """Prove how much variance any k variables can explain.

    With --support, the bracket says how far the variables you name are from the best ones of that number (or of K).

    Example: sparseigen certify measurements.csv -k 10 --effort tight

    Example: sparseigen certify measurements.csv --support height,weight,age
    """
    check_output(output, data, *reading.files())
    if k is None and support is None:
        message = "give -k, the number of variables, or --support, their names."
        raise bad_usage(message)
    if output.report is not None:
        message = "--report is for answers with loadings; use 'sparseigen pca' or 'sparseigen exact'."
        raise bad_usage(message)
    with Working(quiet=output.quiet) as working:
        loaded = load(data, reading)
        working.step("proving")
        chosen = None if support is None else _positions(loaded, support)
        cardinality = one_cardinality(k) if k is not None else len(chosen or ())
        found = _certificate(loaded, cardinality, chosen, effort.value)
    answer = found.to_dict() | {"cardinality": cardinality, "effort": effort.value}
    if chosen is not None:
        answer["support"] = [_name(loaded, i) for i in chosen]
    rows = (list(answer), [[_cell(value) for value in answer.values()]])
    emit(output, table=f"{loaded.title()}\n\n{_sentence(loaded, found, cardinality, chosen)}", answer=answer, rows=rows)
    save(output, "certify", loaded.facts(), answer, {"certificate.csv": as_csv(*rows)})


def _cell(value: Any) -> Any:
    return ";".join(value) if isinstance(value, list) else value


def _name(loaded: Loaded, index: int) -> str:
    names = loaded.table.names
    return f"x{index}" if names is None else str(names[index])


def _positions(loaded: Loaded, support: str) -> list[int]:
    from sparseigen.checks.arguments import check_candidates

    wanted: list[Any] = [name.strip() for name in support.split(",") if name.strip()]
    names = loaded.table.names
    if names is None:
        unnamed = {f"x{i}": i for i in range(loaded.operator.size)} if len(wanted) < loaded.operator.size + 1 else {}
        wanted = [unnamed.get(name, int(name) if name.isdecimal() else -1) for name in wanted]
        if any(i < 0 for i in wanted):
            message = "--support: these variables have no names; give their numbers from 0 on, or x0, x1, ..."
            raise bad_usage(message)
    found = check_candidates(wanted, loaded.operator.size, names)
    return [] if found is None else [int(i) for i in found]


def _certificate(loaded: Loaded, cardinality: int, chosen: list[int] | None, effort: str) -> Any:
    from sparseigen.solve.eigenvector import upper_bound

    if chosen is None:
        return upper_bound(loaded.operator, cardinality, effort=effort)
    import numpy as np

    from sparseigen.certificates import certify as bracket
    from sparseigen.checks.arguments import check_cardinality
    from sparseigen.operators.contract import SparseVector

    check_cardinality(cardinality, loaded.operator.size)
    if len(chosen) > cardinality:
        message = f"--support names {len(chosen)} variables, -k allows {cardinality}."
        raise bad_usage(message)
    indices = np.array(chosen, dtype=np.int64)
    _, vectors = np.linalg.eigh(np.asarray(loaded.operator.submatrix(indices), dtype=np.float64))
    return bracket(loaded.operator, cardinality, SparseVector(indices, vectors[:, -1]), effort=effort)


def _sentence(loaded: Loaded, found: Any, cardinality: int, chosen: list[int] | None) -> str:
    total = float(loaded.operator.diagonal().sum())
    low, high = found.lower_bound / total, found.upper_bound / total
    who = f"The best {cardinality} found explain" if chosen is None else f"Your {len(chosen)} variables explain"
    first = f"{who} {low:.4%} of the variance (value {found.lower_bound:.8g})."
    if found.optimal:
        return f"{first}\nNo {cardinality} variables can explain more: proven ({found.method})."
    return (
        f"{first}\nNo {cardinality} variables can explain more than {high:.4%} (value {found.upper_bound:.8g}): "
        f"proven ({found.method}), gap {found.relative_gap:.2%}."
    )


def exact(
    data: DataFile,
    k: Annotated[str, typer.Option("-k", "--cardinality", metavar="K", help="Number of variables.")],
    reading: Reading,
    output: Output,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="Then the bracket so far, exit code 4.")] = 60.0,
    gap: Annotated[float, typer.Option(help="Stop when the relative gap is proven to be at most this.")] = 1e-6,
) -> None:
    """The best k variables of all, with a proof, by branch and bound.

    At the time limit or on Ctrl-C the answer so far is shown with its proven bracket, and the exit code is 4.

    Example: sparseigen exact measurements.csv -k 10 --time-limit 300
    """
    check_output(output, data, *reading.files())
    cardinality = one_cardinality(k)
    early = None
    with Working(quiet=output.quiet) as working:
        loaded = load(data, reading)
        from sparseigen.solve import solve_exact

        working.step("proving")
        try:
            result: Any = solve_exact(
                loaded.operator, cardinality, time_limit=time_limit, gap=gap, on_iteration=working
            )
        except SolveInterrupted as stop:
            result, early = stop.result, "stopped early: the bracket so far is shown"
        page = _page(loaded, result) if output.report is not None else None
    _show_exact(loaded, result, output)
    if page is not None:
        save_report(output, page)
    unsearched = result.stop_reason.value == "completed"
    if unsearched:
        early = early or "too many variables are left for a search: the bracket of the bounds is shown"
    end(output, early or limit_note([result]))


def _page(loaded: Loaded, result: Any) -> Any:
    from sparseigen.report import component_report

    return component_report(
        [result],
        data=loaded.table.values,
        scores=loaded.scores([result.vector]),
        labels=loaded.table.labels,
        title=f"{loaded.source}: the best {result.cardinality} variables",
        total_variance=float(loaded.operator.diagonal().sum()),
        settings=loaded.facts(),
    )


def _show_exact(loaded: Loaded, result: Any, output: Output) -> None:
    from sparseigen.report.words import components_table

    share = result.value / float(loaded.operator.diagonal().sum())
    nodes = result.settings["nodes"]
    closing = f"{result.stop_reason.value.replace('_', ' ')} after {nodes} nodes, {result.seconds:.2f} s"
    table = f"{loaded.title()}\n\n{components_table([result], [share])}\n\n{closing}"
    rows = loading_rows([result])
    emit(output, table=table, answer=result.to_dict(), rows=rows)
    if output.out is None:
        return
    files = {"loadings.csv": as_csv(*rows)}
    scores = loaded.scores([result.vector])
    if scores is not None:
        files["scores.csv"] = as_csv(*score_rows(loaded, scores))
    save(output, "exact", loaded.facts(), result.to_dict(), files)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("certify")(expanded(certify))
    app.command("exact")(expanded(exact))
