"""``pca`` and ``path``: sparse components of a table, for one k or for many."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sparseigen.cli.failures import STOPPED_EARLY, bad_usage
from sparseigen.cli.loading import Loaded, cardinalities, load
from sparseigen.cli.options import DataFile, Output, Reading, expanded
from sparseigen.cli.output import as_csv, check_output, emit, note, save, save_report
from sparseigen.cli.working import Working
from sparseigen.errors import SolveInterrupted

REPORT_POINTS = 40
"""Cardinalities on the path that a report's slider moves over."""
DEFAULT_PATH = 50
EARLY = ("iteration_limit", "interrupted", "time_limit")
"""Stop reasons that end with exit code 4."""


class Rule(StrEnum):
    """Rules that choose a k on a path."""

    SHARE = "share"
    ELBOW = "elbow"


Method = Annotated[str, typer.Option(help="tpower, pathspca, gpower-l1, gpower-l0, spca, rsvd, dspca, exact, ...")]
Certify = Annotated[bool, typer.Option("--certify/--no-certify", help="Prove how far the answer can be from the best.")]


def pca(
    data: DataFile,
    k: Annotated[
        str, typer.Option("-k", "--cardinality", metavar="K", help="Variables in each component: 10, or 7,2,1.")
    ],
    reading: Reading,
    output: Output,
    components: Annotated[int | None, typer.Option("-n", "--components", min=1, help="Number of components.")] = None,
    method: Method = "tpower",
    start: Annotated[
        str, typer.Option(help="Where to start: auto, max-variance, ..., or a file with a vector.")
    ] = "auto",
    nonnegative: Annotated[bool, typer.Option("--nonnegative", help="Only loadings >= 0.")] = False,
    deflation: Annotated[str, typer.Option(help="What is taken out after each component.")] = "projection",
    max_iterations: Annotated[int, typer.Option(help="Limit for each run; reaching it ends with exit code 4.")] = 1000,
    certify: Certify = True,
    stability: Annotated[
        int, typer.Option(metavar="N", help="Refit on N halves of the data; shown in the report.")
    ] = 0,
) -> None:
    """Sparse principal components of a table.

    Each component uses at most K variables. The table shows loadings, the share of the variance, and the
    certificate: 'optimal' is a proof, 'gap 1.2%' says how far from the best the answer can be at most.
    Ctrl-C prints the best answer so far and ends with exit code 4.

    Example: sparseigen pca measurements.csv -k 10 -n 5
    """
    check_output(output, data, start, *reading.files())
    wanted = _for_each_component(cardinalities(k), components)
    early = None
    with Working(quiet=output.quiet) as working:
        loaded = load(data, reading)
        options = {
            "method": method,
            "start": start_of(start),
            "nonnegative": nonnegative,
            "deflation": deflation,
            "max_iterations": max_iterations,
            "certify": certify,
        }
        working.step("solving")
        try:
            results = _components(loaded, wanted, working, options)
        except SolveInterrupted as stop:
            results = [*stop.completed, *([] if stop.result is None else [stop.result])]
            if not results:
                raise
            early = "stopped early: the best answer so far is shown"
        working.step("writing")
        page = None
        if output.report is not None:
            page = _page(loaded, results, working, quick=early is not None, stability=stability)
    _show_components(loaded, results, output, wanted=k)
    if page is not None:
        save_report(output, page)
    end(output, early or limit_note(results))


def _for_each_component(wanted: list[int], count: int | None) -> list[int]:
    if len(wanted) == 1:
        return wanted * (count or 1)
    if count is not None and count != len(wanted):
        message = f"-k lists {len(wanted)} components and -n asks for {count}; leave out -n."
        raise bad_usage(message)
    return wanted


def start_of(text: str) -> Any:
    """The name of a start, or the vector in a file."""
    path = Path(text)
    if not path.suffix and not path.exists():
        return text
    from sparseigen.io.tables import read_table

    values = read_table(path, index="none").values
    return values.ravel() if 1 in values.shape or values.ndim == 1 else values


def _components(loaded: Loaded, wanted: list[int], working: Working, options: dict[str, Any]) -> list[Any]:
    from sparseigen.components.sequential import sparse_components

    return sparse_components(loaded.operator, wanted, on_iteration=working, **options)


def _shares(loaded: Loaded, results: list[Any]) -> Any:
    from sparseigen.components.variance import explained_variance

    vectors = [result.vector for result in results]
    return explained_variance(loaded.operator, vectors, definition="plain") / float(loaded.operator.diagonal().sum())


def _show_components(loaded: Loaded, results: list[Any], output: Output, *, wanted: str) -> None:
    from sparseigen.report.words import components_table

    shares = _shares(loaded, results).tolist()
    answer = [result.to_dict() for result in results]
    loadings = loading_rows(results)
    table = "" if output.json or output.csv else f"{loaded.title()}\n\n{components_table(results, shares)}"
    emit(output, table=table, answer=answer, rows=loadings)
    if output.out is None:
        return
    files = {"loadings.csv": as_csv(*loadings)}
    scores = loaded.scores([result.vector for result in results])
    if scores is not None:
        files["scores.csv"] = as_csv(*score_rows(loaded, scores))
    facts = loaded.facts() | {"cardinality": wanted, "variance_shares": shares}
    save(output, "pca", facts, answer, files)


def loading_rows(results: list[Any]) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of loadings.csv: every variable that occurs in a component."""
    import numpy as np

    vectors = np.array([result.vector for result in results]) + 0.0  # no minus zeros
    used = np.flatnonzero(vectors.any(axis=0))
    header = ["variable", *(f"PC{j + 1}" for j in range(len(results)))]
    return header, [[results[0].name_of(int(i)), *vectors[:, i].tolist()] for i in used]


def score_rows(loaded: Loaded, scores: Any) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of scores.csv: one row a sample."""
    table = loaded.table
    names = table.row_labels or tuple(str(i + 1) for i in range(len(scores)))
    groups = [] if table.labels is None else ["label"]
    header = ["sample", *groups, *(f"PC{j + 1}" for j in range(scores.shape[1]))]
    labels = table.labels or ((),) * len(scores)
    rows = [
        [name, *([label] if groups else []), *row]
        for name, label, row in zip(names, labels, scores.tolist(), strict=True)
    ]
    return header, rows


def _page(loaded: Loaded, results: list[Any], working: Working, *, quick: bool, stability: int) -> Any:
    """The report: with a path around the k asked for, unless the solve was interrupted."""
    from sparseigen.report import component_report

    path = None
    largest = max(result.cardinality for result in results)
    if not quick:
        from sparseigen.solve.path import cardinality_path

        working.step("path for the report")
        path = cardinality_path(loaded.operator, _spread(largest, loaded.operator.size), on_iteration=working)
    steady = None
    if stability and not quick and not loaded.is_covariance:
        from sparseigen.components.stability import selection_stability

        working.step("stability")
        steady = selection_stability(
            loaded.table.values,
            [result.cardinality for result in results],
            n_components=len(results),
            n_resamples=stability,
            scale=loaded.operator.scale,
            certify=False,
        )
    return component_report(
        results,
        path=path,
        data=loaded.table.values,
        scores=loaded.scores([result.vector for result in results]),
        labels=loaded.table.labels,
        stability=steady,
        title=f"{loaded.source}: {len(results)} sparse component{'s' if len(results) > 1 else ''}",
        total_variance=float(loaded.operator.diagonal().sum()),
        settings=loaded.facts(),
    )


def _spread(largest: int, size: int) -> list[int]:
    """Cardinalities from 1 to twice the largest asked for, at most REPORT_POINTS of them, those asked for included."""
    last = min(size, max(2 * largest, 10))
    step = max(1, -(-last // REPORT_POINTS))
    return sorted({1, largest, *range(step, last + 1, step)})


def path(
    data: DataFile,
    reading: Reading,
    output: Output,
    k: Annotated[
        str | None, typer.Option("-k", "--k", metavar="FIRST:LAST[:STEP]", help="Cardinalities; default 1:50.")
    ] = None,
    method: Method = "tpower",
    choose: Annotated[Rule, typer.Option(help="Rule that suggests a k.")] = Rule.ELBOW,
    share: Annotated[float, typer.Option(help="For --choose share: the share of the dense optimum.")] = 0.9,
    nonnegative: Annotated[bool, typer.Option("--nonnegative", help="Only loadings >= 0.")] = False,
    certify: Certify = True,
) -> None:
    """Explained variance for many cardinalities, and a suggested one.

    'share' is the part of the total variance that one component with k variables explains, 'at most' what any k
    variables can explain, 'of dense' the part of what a component of all variables explains.

    Example: sparseigen path measurements.csv --k 1:30 --report path.html
    """
    check_output(output, data, *reading.files())
    early = None
    with Working(quiet=output.quiet) as working:
        loaded = load(data, reading)
        wanted = cardinalities(k, "k") if k is not None else list(range(1, min(DEFAULT_PATH, loaded.operator.size) + 1))
        working.step("solving")
        from sparseigen.solve.path import cardinality_path

        options: dict[str, Any] = {"method": method, "nonnegative": nonnegative, "certify": certify}
        try:
            found = cardinality_path(loaded.operator, wanted, on_iteration=working, **options)
        except SolveInterrupted as stop:
            if stop.result is None:
                raise
            found, early = stop.result, "stopped early: the path so far is shown"  # type: ignore[assignment]
        chosen = found[found.suggest(choose.value, share=share)]
        page = None
        if output.report is not None:
            from sparseigen.report import component_report

            working.step("writing")
            page = component_report(
                [chosen],
                path=found,
                data=loaded.table.values,
                scores=loaded.scores([chosen.vector]),
                labels=loaded.table.labels,
                title=f"{loaded.source}: explained variance against k",
                settings=loaded.facts(),
            )
    _show_path(loaded, found, chosen, choose.value, output)
    if page is not None:
        save_report(output, page)
    end(output, early or limit_note(found))


def _show_path(loaded: Loaded, found: Any, chosen: Any, rule: str, output: Output) -> None:
    from sparseigen.report.words import path_table

    suggestion = f"suggested k: {chosen.cardinality} ({rule}): {', '.join(chosen.loadings)}"
    answer = found.to_dict() | {"suggested": {"rule": rule, "cardinality": chosen.cardinality}}
    rows = path_rows(found)
    table = "" if output.json or output.csv else f"{loaded.title()}\n\n{path_table(found)}\n\n{suggestion}"
    emit(output, table=table, answer=answer, rows=rows)
    if output.out is None:
        return
    files = {"path.csv": as_csv(*rows), "loadings.csv": as_csv(*loading_rows([chosen]))}
    scores = loaded.scores([chosen.vector])
    if scores is not None:
        files["scores.csv"] = as_csv(*score_rows(loaded, scores))
    save(output, "path", loaded.facts(), answer, files)


def path_rows(found: Any) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of path.csv."""
    rows = found.to_rows()
    header = [name for name in rows[0] if name != "variables"]
    return [*header, "variables"], [[*(row[name] for name in header), ";".join(row["variables"])] for row in rows]


def limit_note(results: Any) -> str | None:
    """What to say of results that stopped at a limit; None if none did."""
    reasons = [result.stop_reason.value for result in results if result.stop_reason.value in EARLY]
    if not reasons:
        return None
    return f"stopped early ({reasons[0].replace('_', ' ')}): the answer is valid, more time may improve it"


def end(output: Output, early: str | None) -> None:
    """Exit code 4 with a note if the work stopped early."""
    if early is not None:
        note(output, early)
        raise typer.Exit(STOPPED_EARLY)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("pca")(expanded(pca))
    app.command("path")(expanded(path))
