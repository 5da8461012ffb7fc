"""``certify`` and ``exact``: how good can k variables be, and which k are the best, with proof."""

from __future__ import annotations

from typing import Any

from sparseigen.cli.commands import bad_usage, command
from sparseigen.cli.loading import Loaded, load
from sparseigen.cli.options import (
    Output,
    Reading,
    choice_option,
    data_argument,
    option,
    output_options,
    read_cardinality,
    reading_options,
)
from sparseigen.cli.output import (
    Working,
    as_csv,
    check_output,
    component_files,
    emit,
    end,
    limit_note,
    loading_rows,
    save,
    save_report,
)
from sparseigen.errors import SolveInterrupted

EFFORTS = ("cheap", "default", "tight")


@command()
@data_argument
@option("-k", "--cardinality", metavar="K", help="Number of variables.")
@option("--support", metavar="NAME,NAME,...", answers=["candidates"], help="Variables of your own: how good are they?")
@choice_option("--effort", EFFORTS, default="default", help="How hard to try; tight takes up to about 10 s more.")
@reading_options
@output_options
def certify(
    data: str, cardinality: str | None, support: str | None, effort: str, reading: Reading, output: Output
) -> None:
    """Prove how much variance any k variables can explain.

    With --support, the bracket says how far the variables you name are from the best ones of that number (or of K).

    Example: sparseigen certify measurements.csv -k 10 --effort tight

    Example: sparseigen certify measurements.csv --support height,weight,age
    """
    check_output(output, data, *reading.files())
    if cardinality is None and support is None:
        message = "give -k, the number of variables, or --support, their names."
        raise bad_usage(message)
    if output.report is not None:
        message = "--report is for answers with loadings; use 'sparseigen pca' or 'sparseigen exact'."
        raise bad_usage(message)
    with Working(quiet=output.quiet) as working:
        loaded = load(data, reading)
        working.step("proving")
        chosen = None if support is None else _find_positions(loaded, support)
        wanted = read_cardinality(cardinality) if cardinality is not None else len(chosen or ())
        found = _find_bracket(loaded, wanted, chosen, effort)
    answer = found.to_dict() | {"cardinality": wanted, "effort": effort}
    if chosen is not None:
        answer["support"] = [_name_variable(loaded, i) for i in chosen]
    rows = (list(answer), [[_format_cell(value) for value in answer.values()]])
    emit(output, table=f"{loaded.title()}\n\n{_word_bracket(loaded, found, wanted, chosen)}", answer=answer, rows=rows)
    save(output, "certify", loaded.facts(), answer, {"certificate.csv": as_csv(*rows)})


def _format_cell(value: Any) -> Any:
    return ";".join(value) if isinstance(value, list) else value


def _name_variable(loaded: Loaded, index: int) -> str:
    names = loaded.table.names
    return f"x{index}" if names is None else str(names[index])


def _find_positions(loaded: Loaded, support: str) -> list[int]:
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


def _find_bracket(loaded: Loaded, cardinality: int, chosen: list[int] | None, effort: str) -> Any:
    from sparseigen.solve import upper_bound

    if chosen is None:
        return upper_bound(loaded.operator, cardinality, effort=effort)
    import numpy as np

    from sparseigen.certificates import certify as certify_vector
    from sparseigen.checks.arguments import check_cardinality
    from sparseigen.operators.contract import SparseVector

    check_cardinality(cardinality, loaded.operator.size)
    if len(chosen) > cardinality:
        message = f"--support names {len(chosen)} variables, -k allows {cardinality}."
        raise bad_usage(message)
    indices = np.array(chosen, dtype=np.int64)
    _, vectors = np.linalg.eigh(np.asarray(loaded.operator.submatrix(indices), dtype=np.float64))
    return certify_vector(loaded.operator, cardinality, SparseVector(indices, vectors[:, -1]), effort=effort)


def _word_bracket(loaded: Loaded, found: Any, cardinality: int, chosen: list[int] | None) -> str:
    total = float(loaded.operator.diagonal().sum())
    low, high = found.lower_bound / total, found.upper_bound / total
    subject = f"The best {cardinality} found explain" if chosen is None else f"Your {len(chosen)} variables explain"
    first = f"{subject} {low:.4%} of the variance (value {found.lower_bound:.8g})."
    if found.optimal:
        return f"{first}\nNo {cardinality} variables can explain more: proven ({found.method})."
    return (
        f"{first}\nNo {cardinality} variables can explain more than {high:.4%} (value {found.upper_bound:.8g}): "
        f"proven ({found.method}), gap {found.relative_gap:.2%}."
    )


@command()
@data_argument
@option("-k", "--cardinality", metavar="K", required=True, help="Number of variables.")
@option("--time-limit", metavar="SECONDS", type=float, default=60.0, help="Then the bracket so far, exit code 4.")
@option(
    "--gap", metavar="SHARE", type=float, default=1e-6, help="Stop when the relative gap is proven to be at most this."
)
@reading_options
@output_options
def exact(data: str, cardinality: str, time_limit: float, gap: float, reading: Reading, output: Output) -> None:
    """The best k variables of all, with a proof, by branch and bound.

    At the time limit or on Ctrl-C the answer so far is shown with its proven bracket, and the exit code is 4.

    Example: sparseigen exact measurements.csv -k 10 --time-limit 300
    """
    check_output(output, data, *reading.files())
    wanted = read_cardinality(cardinality)
    early = None
    with Working(quiet=output.quiet) as working:
        loaded = load(data, reading)
        from sparseigen.solve import solve_exact

        working.step("proving")
        try:
            result: Any = solve_exact(loaded.operator, wanted, time_limit=time_limit, gap=gap, on_iteration=working)
        except SolveInterrupted as stop:
            result, early = stop.result, "stopped early: the bracket so far is shown"
        page = _build_page(loaded, result) if output.report is not None else None
    _show_exact(loaded, result, output)
    if page is not None:
        save_report(output, page)
    unsearched = result.stop_reason.value == "completed"
    if unsearched:
        early = early or "too many variables are left for a search: the bracket of the bounds is shown"
    end(output, early or limit_note([result]))


def _build_page(loaded: Loaded, result: Any) -> Any:
    from sparseigen.report import component_report

    return component_report(
        [result],
        data=loaded.table.values,
        scores=loaded.scores([result.vector]),
        labels=loaded.table.labels,
        label_title=loaded.label,
        sample_names=loaded.table.row_labels,
        title=f"{loaded.source}: the best {result.cardinality} variables",
        total_variance=float(loaded.operator.diagonal().sum()),
        settings=loaded.facts(),
    )


def _show_exact(loaded: Loaded, result: Any, output: Output) -> None:
    from sparseigen.report.words import components_table, count_noun

    share = result.value / float(loaded.operator.diagonal().sum())
    nodes = result.settings["nodes"]
    closing = f"{result.stop_reason.value.replace('_', ' ')} after {count_noun(nodes, 'node')}, {result.seconds:.2f} s"
    table = f"{loaded.title()}\n\n{components_table([result], [share])}\n\n{closing}"
    emit(output, table=table, answer=result.to_dict(), rows=loading_rows([result]))
    if output.out is not None:
        save(output, "exact", loaded.facts(), result.to_dict(), component_files(loaded, [result]))
