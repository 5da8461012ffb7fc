"""``pca``, ``path`` and ``demo``: sparse components of a table, for one k, for many, and of the embedded data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparseigen.cli.commands import bad_usage, command
from sparseigen.cli.loading import Loaded, load
from sparseigen.cli.options import (
    Output,
    Reading,
    choice_option,
    data_argument,
    effort_option,
    flag,
    option,
    output_options,
    read_cardinalities,
    reading_options,
    report_option,
    time_limit_option,
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
    note,
    save,
    save_report,
)
from sparseigen.cli.sets import constraint_option, disjoint_flag, find_set, word_set
from sparseigen.errors import SolveInterrupted, SparseigenError

if TYPE_CHECKING:  # the command line starts without the numerical packages
    from sparseigen.components.automatic import Significance

REPORT_POINTS = 40
"""Cardinalities on the path that a report's slider moves over."""
DEFAULT_PATH = 50
RULES = ("share", "elbow")
AUTO = "auto"
PITPROPS_CARDINALITIES = (7, 2, 1, 1, 1, 1)

method_option = option(
    "--method",
    metavar="NAME",
    default="tpower",
    help="tpower, pathspca, gpower-l1, gpower-l0, spca, rsvd, dspca, exact, ...",
)
nonnegative_flag = flag("--nonnegative", help="Only loadings >= 0.")
certify_flag = flag("--certify/--no-certify", default=True, help="Prove how far the answer can be from the best.")


@command()
@data_argument
@option(
    "-k",
    "--cardinality",
    metavar="K",
    default=AUTO,
    answers=["cardinalities"],
    help="Variables in each component: 10, or 7,2,1; auto takes those that take part and matter.",
)
@option(
    "-n",
    "--components",
    metavar="N",
    answers=["n_components"],
    help="Number of components; auto takes those that stand out from noise. Default: auto, or 1 where -k is given.",
)
@option("--max-cardinality", metavar="N", type=int, help="With -k auto: at most so many variables in each.")
@option(
    "--samples",
    metavar="N",
    type=click.IntRange(min=2),
    answers=["n_samples"],
    help="Samples behind a --covariance matrix, for auto.",
)
@method_option
@option(
    "--start",
    metavar="NAME|FILE",
    help="Where to start: auto, max-variance, ..., or a file with a vector. Without it the proof decides.",
)
@nonnegative_flag
@option(
    "--deflation",
    metavar="NAME",
    default="schur",
    help="What is taken out after each component: schur, projection (the paper's), hotelling, ...",
)
@option(
    "--max-iterations",
    metavar="N",
    type=int,
    default=1000,
    help="Limit for each run; reaching it ends with exit code 4.",
)
@constraint_option
@disjoint_flag
@certify_flag
@effort_option
@time_limit_option
@option(
    "--stability",
    metavar="N",
    type=int,
    default=0,
    answers=["n_resamples"],
    help="Refit on N halves of the data; how often each variable is chosen.",
)
@reading_options
@output_options
def pca(
    data: str,
    cardinality: str,
    components: str | None,
    max_cardinality: int | None,
    samples: int | None,
    start: str | None,
    constraint: str | None,
    disjoint: bool,
    stability: int,
    reading: Reading,
    output: Output,
    **options: Any,
) -> None:
    """Sparse principal components of a table.

    Without -k and -n their number and their variables are found: those that stand out from noise at a false discovery
    rate of 1%. With -k each component has K variables. The table shows loadings, the share of the variance, what of it
    the component adds to those before it, the earlier component that it is correlated with most, and the certificate,
    which speaks of what those before it leave: 'optimal' is a proof, 'gap 1.2%' says how far from the best the
    answer can be at most. With --constraint or --disjoint all components are found together, and one sentence says
    what is proven of the set.
    Ctrl-C prints the best answer so far and ends with exit code 4.

    Example: sparseigen pca measurements.csv --report components.html
    """
    check_output(output, data, start, *reading.files())
    wanted, count = _read_wanted(cardinality, components)
    if samples is not None and not reading.covariance:
        message = "--samples is for a --covariance matrix; data say how many they are."
        raise bad_usage(message)
    early, significance = None, None
    with Working(quiet=output.quiet) as working:
        loaded = load(data, reading)
        options["start"] = None if start is None else read_start(start)
        working.step("solving")
        results: Any
        try:
            if constraint is not None or disjoint:
                given = options | {"stability": stability}
                results = find_set(loaded, wanted, count, constraint=constraint, disjoint=disjoint, options=given)
            else:
                results, significance = _find_components(
                    loaded,
                    wanted,
                    count,
                    output,
                    n_samples=samples,
                    max_cardinality=max_cardinality,
                    on_iteration=working,
                    **options,
                )
        except SolveInterrupted as stop:
            results = [*stop.completed, *([] if stop.result is None else [stop.result])]
            if not results:
                raise
            early = "stopped early: the best answer so far is shown"
        steady = (
            _find_stability(loaded, results, working, stability, options["deflation"])
            if early is None and results
            else None
        )
        working.step("writing")
        page = None
        if output.report is not None and results:
            page = _build_page(
                loaded, results, working, quick=early is not None, stability=steady, significance=significance
            )
    facts = {"cardinality": cardinality, "deflation": options["deflation"]}
    if constraint is not None or disjoint:
        facts |= {"deflation": "", "constraint": constraint, "disjoint": disjoint}
    _show_components(loaded, results, output, facts, significance=significance, stability=steady)
    if page is not None:
        save_report(output, page)
    elif output.report is not None:
        note(output, "no report: there is no component to show")
    if stability and reading.covariance:
        note(output, "no stability: it resamples data, and a --covariance matrix has none")
    end(output, early or limit_note(results))


def _read_wanted(cardinality: str, components: str | None) -> tuple[Any, Any]:
    """What -k and -n ask for: numbers or "auto"; a list of cardinalities says how many components there are."""
    chosen = cardinality.strip().lower() == AUTO
    wanted: Any = AUTO if chosen else read_cardinalities(cardinality)
    if components is None:
        count: Any = AUTO if chosen else len(wanted)
    elif components.strip().lower() == AUTO:
        count = AUTO
    elif components.isdecimal() and int(components) > 0:
        count = int(components)
    else:
        message = f"'-n' / '--components' {components!r} must be a whole number of at least 1, or auto."
        raise bad_usage(message)
    if chosen or len(wanted) == 1:
        return wanted if chosen or count == AUTO else wanted * count, count
    if count != len(wanted):
        message = f"-k lists {len(wanted)} components and -n asks for {count}; leave out -n."
        raise bad_usage(message)
    return wanted, count


def read_start(text: str) -> Any:
    """The name of a start, or the vector in a file."""
    path = Path(text)
    if not path.suffix and not path.exists():
        return text
    from sparseigen.io.tables import read_table

    try:
        values = read_table(path, index="none").values
    except SparseigenError as error:
        error.parameter = "start"  # the options of DATA do not hold for this file
        raise
    return values.ravel() if 1 in values.shape or values.ndim == 1 else values


def _find_components(
    loaded: Loaded, wanted: Any, count: Any, output: Output, **options: Any
) -> tuple[Sequence[Any], Significance | None]:
    import warnings

    from sparseigen.checks.arguments import check_cardinality
    from sparseigen.components.automatic import find_components
    from sparseigen.errors import NotSignificantWarning

    if wanted != AUTO:
        for k in wanted:
            check_cardinality(k, loaded.operator.size)
        wanted = wanted[0] if count == AUTO else wanted
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotSignificantWarning)
        found = find_components(loaded.operator, count, wanted, **options)
    for warning in caught:
        note(output, str(warning.message))
    return found


def _show_components(
    loaded: Loaded,
    results: Any,
    output: Output,
    facts: dict[str, Any],
    *,
    significance: Significance | None,
    stability: Any,
) -> None:
    if not results:
        emit(
            output, table=f"{loaded.title()}\n\nNo component stands out from noise.", answer=[], rows=(["variable"], [])
        )
        save(output, "pca", loaded.facts() | facts, [], {})
        return
    from sparseigen.components.variance import find_overlap, word_redundancy
    from sparseigen.report.words import components_table

    overlap = find_overlap(loaded.operator, [result.vector for result in results])
    shares = (overlap.plain / overlap.total).tolist()
    answer: Any = [result.to_dict() | overlap.to_dict(j) for j, result in enumerate(results)]
    if significance is not None:
        for component, entry in enumerate(answer):
            entry["significance"] = significance.to_dict(component)
    if stability is not None:
        for component, entry in enumerate(answer):
            entry["stability"] = stability.to_dict(component)
    table = ""
    answer, said = word_set(results, answer, facts)
    if not (output.json or output.csv):
        text = components_table(results, shares, overlap=overlap, significance=significance, stability=stability)
        table = f"{loaded.title()}\n\n{text}{said}"
    emit(output, table=table, answer=answer, rows=loading_rows(list(results)))
    repeated = word_redundancy(overlap, facts["deflation"])
    if repeated is not None and "constraint" not in facts:
        note(output, f"warning: {repeated}")
    if output.out is not None:
        files = component_files(loaded, list(results)) | {"components.csv": as_csv(*component_rows(results, overlap))}
        if significance is not None:
            files["significance.csv"] = as_csv(*significance_rows(results, significance, stability))
        if stability is not None:
            files["stability.csv"] = as_csv(*stability.to_table())
        save(output, "pca", loaded.facts() | facts | {"variance_shares": shares}, answer, files)


def component_rows(results: Sequence[Any], overlap: Any) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of components.csv: what each component explains, adds and repeats, and what is proven of it."""
    from sparseigen.report.words import describe_matrix

    rows = []
    for j, result in enumerate(results):
        proof = None if result.certificate is None else result.certificate
        row = {"component": j + 1, "cardinality": result.cardinality, "value": result.value} | overlap.to_dict(j)
        row["upper_bound"] = None if proof is None else proof.upper_bound
        row["relative_gap"] = None if proof is None else proof.relative_gap
        row["bounded"] = describe_matrix(result.settings)
        rows.append(row)
    return list(rows[0]), [list(row.values()) for row in rows]


def significance_rows(
    results: Sequence[Any], significance: Significance, stability: Any
) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of significance.csv: variables that take part or have a loading, and how stable they are."""
    rows = significance.to_rows([result.vector for result in results])
    header = ["component", "variable", "loading", "p_value", "adjusted", "takes_part"]
    if stability is None:
        return header, [[row[name] for name in header] for row in rows]
    places = {results[0].name_of(j): j for j in range(len(results[0].vector))}
    often = stability.frequencies
    return [*header, "frequency"], [
        [*(row[name] for name in header), float(often[row["component"] - 1, places[row["variable"]]])] for row in rows
    ]


def _find_stability(loaded: Loaded, results: Sequence[Any], working: Working, resamples: int, deflation: str) -> Any:
    """How often each variable is chosen in halves of the data; None where that was not asked for, or has no data."""
    if not resamples or loaded.is_covariance:
        return None
    from sparseigen.components.stability import selection_stability

    working.step("stability")
    return selection_stability(
        loaded.table.values,
        [result.cardinality for result in results],
        n_components=len(results),
        n_resamples=resamples,
        scale=loaded.operator.scale,
        deflation=deflation,
        certify=False,
    )


def _build_page(
    loaded: Loaded,
    results: Sequence[Any],
    working: Working,
    *,
    quick: bool,
    stability: Any,
    significance: Significance | None,
) -> Any:
    """The report: with a path around the k asked for, unless the solve was interrupted."""
    from sparseigen.components.variance import find_overlap
    from sparseigen.report import component_report

    path = None
    largest = max(result.cardinality for result in results)
    if not quick:
        from sparseigen.solve.path import cardinality_path

        working.step("path for the report")
        path = cardinality_path(
            loaded.operator, _spread_cardinalities(largest, loaded.operator.size), on_iteration=working
        )
    return component_report(
        results,
        path=path,
        data=loaded.table.values,
        scores=loaded.scores([result.vector for result in results]),
        labels=loaded.table.labels,
        label_title=loaded.label,
        sample_names=loaded.table.row_labels,
        stability=stability,
        significance=significance,
        title=f"{loaded.source}: {len(results)} sparse component{'s' if len(results) > 1 else ''}",
        total_variance=float(loaded.operator.diagonal().sum()),
        overlap=find_overlap(loaded.operator, [result.vector for result in results]),
        settings=loaded.facts(),
    )


def _spread_cardinalities(largest: int, size: int) -> list[int]:
    """Cardinalities from 1 to twice the largest asked for, at most REPORT_POINTS of them, those asked for included."""
    last = min(size, max(2 * largest, 10))
    step = max(1, -(-last // REPORT_POINTS))
    return sorted({1, largest, *range(step, last + 1, step)})


@command()
@data_argument
@option("-k", "--k", metavar="FIRST:LAST[:STEP]", answers=["cardinalities"], help="Cardinalities; default 1:50.")
@method_option
@choice_option("--choose", RULES, default="elbow", help="Rule that suggests a k.")
@option("--share", metavar="SHARE", type=float, default=0.9, help="For --choose share: the share of the dense optimum.")
@nonnegative_flag
@certify_flag
@effort_option
@time_limit_option
@reading_options
@output_options
def path(data: str, k: str | None, choose: str, share: float, reading: Reading, output: Output, **options: Any) -> None:
    """Explained variance for many cardinalities, and a suggested one.

    'share' is the part of the total variance that one component with k variables explains, 'at most' what any k
    variables can explain, 'of dense' the part of what a component of all variables explains.

    Example: sparseigen path measurements.csv --k 1:30 --report path.html
    """
    check_output(output, data, *reading.files())
    early = None
    with Working(quiet=output.quiet) as working:
        loaded = load(data, reading)
        first = range(1, min(DEFAULT_PATH, loaded.operator.size) + 1)
        wanted = list(first) if k is None else sorted(set(read_cardinalities(k, "k")))
        working.step("solving")
        from sparseigen.solve.path import cardinality_path

        try:
            found = cardinality_path(loaded.operator, wanted, on_iteration=working, **options)
        except SolveInterrupted as stop:
            if stop.result is None:
                raise
            found, early = stop.result, "stopped early: the path so far is shown"  # type: ignore[assignment]
        chosen = found[found.suggest(choose, share=share)]
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
                label_title=loaded.label,
                sample_names=loaded.table.row_labels,
                title=f"{loaded.source}: explained variance against k",
                settings=loaded.facts(),
            )
    _show_path(loaded, found, chosen, choose, output)
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
    if output.out is not None:
        save(output, "path", loaded.facts(), answer, {"path.csv": as_csv(*rows), **component_files(loaded, [chosen])})


def path_rows(found: Any) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of path.csv."""
    rows = found.to_rows()
    header = [name for name in rows[0] if name != "variables"]
    return [*header, "variables"], [[*(row[name] for name in header), ";".join(row["variables"])] for row in rows]


@command(short_help="Six sparse components of the embedded PitProps data.")
@report_option
def demo(report: Path | None) -> None:
    """Six sparse components of the embedded PitProps data, as in the paper's table.

    Example: sparseigen demo --report demo.html
    """
    from sparseigen.components.sequential import sparse_components
    from sparseigen.components.variance import VARIANCES, explained_variance, find_overlap
    from sparseigen.datasets import load_pitprops
    from sparseigen.report.words import components_table

    output = Output(report=report)
    check_output(output)
    data = load_pitprops()
    operator = data.operator()
    results = sparse_components(operator, PITPROPS_CARDINALITIES, deflation="projection")  # the paper's
    vectors = [result.vector for result in results]
    overlap = find_overlap(operator, vectors)
    total = overlap.total
    print(f"{data.description}: {len(results)} sparse components\n")
    print(components_table(results, (overlap.plain / total).tolist(), overlap=overlap))
    print("\nVariance explained together, three definitions:")
    for name in VARIANCES:
        print(f"  {name:<9}{explained_variance(operator, vectors, definition=name).sum() / total:.4f}")
    print("\nEach certificate speaks of what the components before it leave (projection deflation).", flush=True)
    if report is not None:
        save_report(output, _build_demo_page(data, operator, results, overlap))


def _build_demo_page(data: Any, operator: Any, results: Any, overlap: Any) -> Any:
    from sparseigen.report import component_report
    from sparseigen.solve.path import cardinality_path

    path = cardinality_path(operator, range(1, operator.size + 1))
    return component_report(results, path=path, data=data.matrix, title=data.description, overlap=overlap)
