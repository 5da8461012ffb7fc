"""The page about sparse components: what they are, how much they explain, and what is proven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_many, check_result
from sparseigen.checks.frames import as_labels, as_scores, find_sample_names
from sparseigen.components.automatic import Significance
from sparseigen.components.variance import ComponentOverlap
from sparseigen.errors import OptionError, ShapeError
from sparseigen.report.page import Report, data_rows, render, round_digits, setting_rows, version_rows
from sparseigen.report.words import (
    amount,
    component_sentence,
    count_noun,
    list_names,
    overlap_sentence,
    stages_line,
    word_quotient,
)
from sparseigen.results import ComponentSet, SparseEigResult, SparsePath

DEFINITIONS = {
    "plain": "plain (overlap counted twice)",
    "adjusted": "adjusted (what each adds to the scores before)",
    "span": "span (what each adds to the components before)",
}
CLASSICAL = "Tested from a covariance matrix: these p-values trust that the data are close to normal."
MOST_SAMPLES = 10_000
"""Samples whose scores are drawn; of more, evenly spaced ones, and the page says so."""
MOST_LOADINGS = 600
"""Loadings kept of one component of the path; of larger ones the page has the largest and says so."""

Point = list[SparseEigResult]


def component_report(
    results: Sequence[SparseEigResult],
    *,
    path: SparsePath | Iterable[Any] | None = None,
    names: Sequence[str] | None = None,
    data: Any = None,
    scores: Any = None,
    labels: Any = None,
    label_title: str | None = None,
    sample_names: Sequence[Any] | None = None,
    stability: Any = None,
    significance: Significance | None = None,
    title: str | None = None,
    total_variance: float | None = None,
    overlap: ComponentOverlap | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Report:
    """A self-contained HTML page about sparse components.

    Parameters
    ----------
    results : sequence of SparseEigResult, or ComponentSet
        The answer: the components in their order; a set brings its variances, its constraint and its certificate. May
        be empty if there is a path; the point that the path's elbow rule chooses is then the answer.
    path : SparsePath, or sequence of results or of lists of results, optional
        What the slider moves over: for each cardinality one component, or several.
    names : sequence of str, optional
        Names of the variables; by default those of the results.
    data : array, scipy sparse matrix or DataFrame, optional
        Only its shape, type and SHA-256 go into the page.
    scores : array of shape (n_samples, n_components), optional
        The samples' scores, to be drawn.
    labels : sequence, optional
        One value per sample, for the colours of the scores: numbers or names. Up to 20 names get a colour and marker
        of their own; of more, the largest groups.
    label_title : str, optional
        What the labels are, above the legend; by default the name of a pandas Series.
    sample_names : sequence, optional
        One name per sample; by default the index of scores that are a frame.
    stability : SelectionStability, optional
        How often each variable was chosen in resamples.
    significance : Significance, optional
        Which variables take part in each component, with their p-values: ``SparsePCA(...).fit(X).significance_``.
    title : str, optional
        The page's title.
    total_variance : float, optional
        Variance of all variables together, so that variances are shown as shares; a SparsePath brings its own.
    overlap : ComponentOverlap, optional
        What each component adds to those before it, and which of these it resembles: `components.find_overlap`.
    settings : mapping, optional
        More to be listed among the settings, such as the file read and the command.

    Returns
    -------
    Report

    Examples
    --------
    >>> import sparseigen as se
    >>> from sparseigen.report import component_report
    >>> pitprops = se.datasets.load_pitprops()
    >>> path = se.cardinality_path(pitprops.matrix, range(1, 14))
    >>> page = component_report([path[5]], path=path, title="Pit props")
    >>> "Pit props" in page.html
    True
    """
    points = _collect_points(path)
    answer = [check_result(result, "an entry of results") for result in check_many(results, "results", "[result]")]
    answer = answer or _choose_point(path)
    _check_sizes([answer, *points], names)
    if significance is not None:
        _check_significance(significance, answer)
    if overlap is not None and len(overlap.plain) != len(answer):
        message = (
            f"overlap is about {len(overlap.plain)} components, results about {len(answer)}; give that of the same."
        )
        raise ShapeError(message)
    title = "Sparse components" if title is None else str(title)
    total, dense = total_variance, None
    if isinstance(path, SparsePath):
        total, dense = path.total_variance, path.dense_optimum
    pool = _Variables(answer[0], names)
    payload: dict[str, Any] = {
        "title": title,
        "total": total,
        "dense": dense,
        "answer": _pack_point(answer, pool, total, exact=True),
        "path": [_pack_point(point, pool, total) for point in points],
        "scores": None if scores is None else _pack_scores(scores, labels, label_title, sample_names),
        "stability": None if stability is None else _pack_stability(stability, pool),
        "resamples": None if stability is None else stability.n_resamples,
        "results": [result.to_dict() for result in answer],
        "significance": None if significance is None else _pack_significance(significance, answer, pool),
        "overlap": None if overlap is None else [overlap.to_dict(j) for j in range(len(answer))],
        "set": _pack_set(results),
        "correlations": None if overlap is None else overlap.correlations.tolist(),
    }
    payload["variables"] = pool.used
    facts = {
        "asked": _word_question(answer, points),
        "found": [
            _describe_component(j, result, total, pool, significance, overlap) for j, result in enumerate(answer)
        ],
        "table": _build_table(answer, pool),
        "whole": _describe_set(results),
        "has": {
            "path": bool(points),
            "scores": scores is not None,
            "stability": stability is not None,
            "significance": significance is not None,
        },
        "correlations": [] if overlap is None or len(answer) < 2 else _list_correlations(overlap),
        "tests": [] if significance is None else _list_tests(payload["significance"], pool),
        "trust": "" if significance is None or significance.robust else CLASSICAL,
        "settings": setting_rows(dict(answer[0].settings) | {"stages": stages_line(answer[0].stages)}, settings),
        "versions": version_rows(),
        "data_facts": data_rows(data),
    }
    return render("components", title, facts, payload)


class _Variables:
    """The variables that occur, numbered in the order in which they are first met."""

    def __init__(self, result: SparseEigResult, names: Sequence[str] | None) -> None:
        self.result, self.names = result, names
        self.numbers: dict[int, int] = {}
        self.used: list[str] = []

    def name(self, index: int) -> str:
        return self.result.name_of(index) if self.names is None else str(self.names[index])

    def number(self, index: int) -> int:
        if index not in self.numbers:
            self.numbers[index] = len(self.used)
            self.used.append(self.name(index))
        return self.numbers[index]


def _collect_points(path: SparsePath | Iterable[Any] | None) -> list[Point]:
    if path is None:
        return []
    entries = path.ascending() if isinstance(path, SparsePath) else path
    points = [[entry] if isinstance(entry, SparseEigResult) else list(entry) for entry in entries]
    if not all(points):
        msg = "path holds an empty list of components; give at least one for every cardinality."
        raise OptionError(msg)
    return sorted(points, key=lambda point: point[0].cardinality)


def _choose_point(path: SparsePath | Iterable[Any] | None) -> Point:
    if not isinstance(path, SparsePath):
        msg = "results is empty; give at least one component, or a SparsePath to choose from."
        raise OptionError(msg)
    return [path[path.suggest("elbow")]]


def _check_sizes(points: list[Point], names: Sequence[str] | None) -> None:
    sizes = {int(result.vector.size) for point in points for result in point}
    if len(sizes) > 1:
        message = f"the components are over {sorted(sizes)} variables; all must be over the same ones."
        raise ShapeError(message)
    if names is not None and len(names) not in sizes:
        message = f"names has {len(names)} entries for {sizes.pop()} variables; give one per variable."
        raise ShapeError(message)


def _pack_point(point: Point, pool: _Variables, total: float | None, *, exact: bool = False) -> dict[str, Any]:
    return {
        "k": point[0].cardinality,
        "parts": [_pack_component(result, j, pool, total, exact=exact) for j, result in enumerate(point)],
    }


def _pack_component(
    result: SparseEigResult, j: int, pool: _Variables, total: float | None, *, exact: bool
) -> dict[str, Any]:
    """One component for the pictures: the answer's in full, those of the path rounded and cut to a size."""
    kept = support = result.support
    if support.size > MOST_LOADINGS and not exact:
        largest = np.argsort(-np.abs(result.vector[support]), kind="stable")[:MOST_LOADINGS]
        kept = np.sort(support[largest])
    digits = float if exact else round_digits
    proof = result.certificate
    return {
        "k": result.cardinality,
        "value": digits(result.value),
        "lower": None if proof is None else digits(proof.lower_bound),
        "upper": None if proof is None else digits(proof.upper_bound),
        "gap": None if proof is None else digits(proof.relative_gap),
        "optimal": proof is not None and proof.optimal,
        "nonzeros": int(support.size),
        "variables": [pool.number(int(i)) for i in kept],
        "loadings": [digits(float(result.vector[i])) for i in kept],
        "says": component_sentence(result, total, after_others=j > 0 and result.solver != "joint search"),
    }


def _pack_scores(scores: Any, labels: Any, title: str | None, samples: Sequence[Any] | None) -> dict[str, Any]:
    """Scores by column, and which samples they are of: evenly thinned where there are too many to draw."""
    values = as_scores(scores)
    title = getattr(labels, "name", None) if title is None else title
    samples = find_sample_names(scores) if samples is None else samples
    if samples is not None and len(samples) != len(values):
        message = f"sample_names has {len(samples)} entries for {len(values)} samples; give one per sample."
        raise ShapeError(message)
    named = None if labels is None else as_labels(labels, values.shape[0])
    rows = np.arange(0, len(values), -(-len(values) // MOST_SAMPLES))
    if named is not None:
        named |= {key: [named[key][i] for i in rows] for key in ("codes", "numbers") if key in named}
    columns = [[round_digits(float(v)) for v in values[rows, j]] for j in range(values.shape[1])]
    return {
        "columns": columns,
        "labels": named,
        "title": None if title is None else str(title),
        "names": None if samples is None else [str(samples[i]) for i in rows.tolist()],
        "rows": rows.tolist(),
        "samples": len(values),
    }


def _pack_stability(stability: Any, pool: _Variables) -> list[dict[str, Any]]:
    if stability.frequencies.shape[1] != pool.result.vector.size:
        message = (
            f"stability is about {stability.frequencies.shape[1]} variables, the components about "
            f"{pool.result.vector.size}; give the stability of the same data."
        )
        raise ShapeError(message)
    packed = []
    for frequencies, chosen in zip(stability.frequencies, stability.chosen, strict=True):
        met = np.flatnonzero((frequencies > 0.0) | chosen)
        order = met[np.argsort(-frequencies[met], kind="stable")][:MOST_LOADINGS]
        packed.append(
            {
                "variables": [pool.number(int(i)) for i in order],
                "frequencies": [round_digits(float(frequencies[i])) for i in order],
                "chosen": [bool(chosen[i]) for i in order],
            }
        )
    return packed


def _check_significance(significance: Significance, answer: Point) -> None:
    if significance.p_values.shape != (len(answer), answer[0].vector.size):
        count, size = significance.p_values.shape
        message = (
            f"significance is about {count} components of {size} variables, results about {len(answer)} of "
            f"{answer[0].vector.size}; give the significance of the same components."
        )
        raise ShapeError(message)


def _pack_significance(significance: Significance, answer: Point, pool: _Variables) -> list[dict[str, Any]]:
    """Of each component the variables with a loading, and of the others that take part the strongest."""
    packed = []
    for component, (result, members) in enumerate(zip(answer, significance.taking_part, strict=True)):
        held = result.support[np.argsort(-np.abs(result.vector[result.support]), kind="stable")]
        others = members[~np.isin(members, held)]
        shown = np.concatenate([held, others])[:MOST_LOADINGS]
        packed.append(
            {
                "variables": [pool.number(int(i)) for i in shown],
                "loadings": [float(result.vector[i]) for i in shown],
                "p": [_number(significance.p_values[component, i]) for i in shown],
                "adjusted": [_number(significance.adjusted[component, i]) for i in shown],
                "part": np.isin(shown, members).tolist(),
            }
        )
    return packed


def _list_correlations(overlap: ComponentOverlap) -> list[tuple[str, list[str]]]:
    """The correlations of the scores as text: one row per component, those before it."""
    return [
        (f"PC{j + 1}", [f"{value:+.2f}" if i < j else "" for i, value in enumerate(row)])
        for j, row in enumerate(overlap.correlations.tolist())
    ]


def _number(value: float) -> float | None:
    return round_digits(float(value)) if np.isfinite(value) else None


def _list_tests(packed: list[dict[str, Any]], pool: _Variables) -> list[tuple[str, list[str]]]:
    """The tests as text: one row per variable and component."""
    rows = []
    for component, entry in enumerate(packed):
        for place, number in enumerate(entry["variables"]):
            loading, p, adjusted = (entry[key][place] for key in ("loadings", "p", "adjusted"))
            cells = [f"{loading:+.4f}" if loading else "", *("" if v is None else f"{v:.2g}" for v in (p, adjusted))]
            rows.append((pool.used[number], [f"PC{component + 1}", *cells, "yes" if entry["part"][place] else "no"]))
    return rows[:MOST_LOADINGS]


def _word_question(answer: Point, points: list[Point]) -> str:
    first = answer[0]
    sizes = sorted({result.cardinality for result in answer})
    most = f"at most {sizes[0]:,}" if len(sizes) == 1 else f"at most {sizes[0]:,} to {sizes[-1]:,}"
    aim = "least" if first.settings.get("which") == "smallest" else "most"
    together = first.solver == "joint search"
    turn = "taken together" if together else "one after the other"
    which = "Which combination" if len(answer) == 1 else f"Which {len(answer)} combinations, {turn},"
    sentence = f"{which} of {most} of the {first.vector.size:,} variables varies {aim} across the samples?"
    if "metric" in first.settings:
        end = "smallest" if aim == "least" else "largest"
        sentence = f"{which} of {most} of the {first.vector.size:,} variables: the {end} {word_quotient(first)}?"
    elif len(answer) > 1:
        sentence = sentence.replace("varies", "vary")
    if points:
        first_k, last_k = points[0][0].cardinality, points[-1][0].cardinality
        sentence += f" The same question for {count_noun(len(points), 'size')}, k = {first_k:,} to {last_k:,}."
    return sentence


def _describe_component(
    j: int,
    result: SparseEigResult,
    total: float | None,
    pool: _Variables,
    significance: Significance | None,
    overlap: ComponentOverlap | None,
) -> dict[str, str]:
    support = result.support
    order = support[np.argsort(-np.abs(result.vector[support]), kind="stable")]
    # The value of a later component is that of a deflated matrix; its vector has the plain variance.
    variance = result.value if overlap is None else float(overlap.plain[j])
    share = f"{amount(variance, total)} of the total variance" if total else f"variance {amount(variance, None)}"
    if "metric" in result.settings:
        share = f"{word_quotient(result)} {result.value:.5g}"
    if overlap is None and j > 0:
        share += " beyond the components before it"
    elif j > 0 and overlap is not None:
        share += f" (adjusted {amount(float(overlap.adjusted[j]), overlap.total)})"
    return {
        "name": f"Component {j + 1}",
        "headline": f"{count_noun(len(support), 'variable')}, {share}",
        "members": list_names([pool.name(int(i)) for i in order]),
        "proof": component_sentence(result, total, after_others=j > 0 and result.solver != "joint search"),
        "note": "" if significance is None else _word_significance(significance, j, result),
        "overlap": "" if overlap is None else overlap_sentence(overlap, j),
    }


def _word_significance(significance: Significance, component: int, result: SparseEigResult) -> str:
    said = significance.describe(component, result.cardinality)
    return f"{said[0].upper()}{said[1:]}." if significance.significant[component] else f"This component {said}."


def _pack_set(results: Any) -> dict[str, Any] | None:
    """The set as a whole, without its components, which the page has anyway."""
    if not isinstance(results, ComponentSet):
        return None
    return {name: value for name, value in results.to_dict().items() if name != "components"}


def _describe_set(results: Any) -> dict[str, Any] | None:
    """What is proven of the set, and its variance in three definitions: one row each, one column per component."""
    if not isinstance(results, ComponentSet) or len(results) < 2:
        return None
    said = results.describe()
    total = results.total_variance if results.total_variance > 0.0 else np.inf
    rows = [
        (DEFINITIONS[name], [f"{v / total:.2%}" for v in (*variances, variances.sum())])
        for name, variances in results.variances.items()
    ]
    broken = "correlation of two scores" if results.constraint == "uncorrelated" else "inner product of two components"
    return {
        "says": f"{said[0].upper()}{said[1:]}.",
        "violation": f"The largest {broken} is {results.violation:.1e}.",
        "heads": [*(f"PC{j + 1}" for j in range(len(results))), "together"],
        "rows": rows,
    }


def _build_table(answer: Point, pool: _Variables) -> dict[str, Any]:
    """The loadings as text, for readers without script."""
    vectors: NDArray[np.float64] = np.array([result.vector for result in answer])
    used = np.flatnonzero(np.any(vectors != 0.0, axis=0))
    order = used[np.argsort(-np.abs(vectors[:, used]).max(axis=0), kind="stable")][:MOST_LOADINGS]
    heads = [f"PC{j + 1}" for j in range(len(answer))]
    rows = [(pool.name(int(i)), [f"{v:+.4f}" if v else "" for v in vectors[:, i]]) for i in order]
    missing = _find_missing(answer)
    if missing:
        heads.append("missing")
        shares = [f"{missing[i]:.2%}" if i in missing else "" for i in order.tolist()]
        rows = [(name, [*cells, share]) for (name, cells), share in zip(rows, shares, strict=True)]
    return {"heads": heads, "rows": rows}


def _find_missing(answer: Point) -> dict[int, float]:
    """The share of values that was missing, of every chosen variable; empty where none was."""
    found: dict[int, float] = {}
    for result in answer:
        shares, names = result.settings.get("missing_shares", {}), result.names
        called = {int(i): str(int(i)) if names is None else names[i] for i in result.support}
        found |= {i: shares[name] for i, name in called.items() if name in shares}
    return found
