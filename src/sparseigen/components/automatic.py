"""Components whose number and cardinalities are found: the choice by significance, then the solves and their proofs.

Each chosen component is solved as any other (`sparse_eigenvector`, with its certificate), among the variables that are
related to it at all, in what those before it leave. The choice itself takes each component out with all variables that
take part: were it only the readable part of a broad component, the rest of it would count as another.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_choice, check_count, check_sparsity
from sparseigen.checks.memory import available_bytes
from sparseigen.components.choosing import (
    LEAST_EVIDENCE,
    LEVEL,
    MOST_COMPONENTS,
    ChosenComponent,
    choose_components,
    weigh_nearby,
)
from sparseigen.components.sequential import BLOCK, Planned, choose_cardinalities, solve_each, sparse_components
from sparseigen.components.significance import (
    MatrixTests,
    RowTests,
    VariableTests,
    adjust_p_values,
    find_p_values,
)
from sparseigen.config import require
from sparseigen.errors import NotSignificantWarning, OptionError, UnsupportedOperatorError
from sparseigen.operators import Operator
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.deflated import DEFLATIONS
from sparseigen.results import SparseEigResult
from sparseigen.results.path import check_share

Floats = NDArray[np.float64]

DEFAULT_SHARE = 0.9
"""Of the variance of a dense component: what chosen variables hold where nothing can be tested."""
SAMPLE_BYTES = 16
"""Of memory for each number of the data, at most, while they are tested."""


@dataclass(frozen=True)
class Significance:
    """Which variables take part in each component, and whether the component stands out from noise at all.

    Attributes
    ----------
    p_values, adjusted : ndarray of shape (n_components, n_features)
        Of the test of every variable against the component's score without the variable's own part, and adjusted for
        testing all variables (Benjamini and Hochberg). NaN where the component does not stand out.
    evidence : ndarray of shape (n_components,)
        By how much the members' p-values beat the number of sets of that size, in logarithms; at least 5 is needed.
    significant : ndarray of bool, shape (n_components,)
        Whether the component stands out. Noise does in about one data set of a hundred.
    taking_part : list of ndarray
        The variables that take part at the false discovery rate of 1 %, strongest first.
    carried : ndarray of shape (n_components,)
        Share of the variance of the component on all variables that take part which the one given holds.
    robust : bool
        Whether unequal variances and heavy tails are allowed for; only a covariance matrix was given where not.
    names : tuple of str or None
        The variables' names.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 8)) + 2.0 * rng.standard_normal((100, 1)) * (np.arange(8) < 3)
    >>> significance = se.SparsePCA(n_components=1).fit(X).significance_
    >>> sorted(significance.taking_part[0].tolist()), bool(significance.adjusted[0, 0] < 0.01)
    ([0, 1, 2], True)
    """

    p_values: Floats
    adjusted: Floats
    evidence: Floats
    significant: NDArray[np.bool_]
    taking_part: list[NDArray[np.int64]]
    carried: Floats
    robust: bool
    names: tuple[str, ...] | None = None

    def describe(self, component: int, cardinality: int) -> str:
        """One sentence about a component: how many variables take part, and what the ones shown carry."""
        if not self.significant[component]:
            return "does not stand out from noise"
        count = len(self.taking_part[component])
        part = f"{count:,} variables take part (FDR {LEVEL:.0%})"
        share = self.carried[component]
        if cardinality >= count or not np.isfinite(share):
            return part
        return f"{part}, these {cardinality:,} carry {min(share, 1.0):.0%} of the component"

    def to_rows(self, vectors: Sequence[Floats] = ()) -> list[dict[str, Any]]:
        """One row for each component and each variable that takes part in it or has a loading there."""
        rows = []
        for component, members in enumerate(self.taking_part):
            loadings = vectors[component] if len(vectors) else np.zeros(self.p_values.shape[1])
            others = np.setdiff1d(np.flatnonzero(loadings), members)
            rows += [
                {
                    "component": component + 1,
                    "variable": str(j) if self.names is None else self.names[j],
                    "loading": float(loadings[j]),
                    "p_value": float(self.p_values[component, j]),
                    "adjusted": float(self.adjusted[component, j]),
                    "takes_part": j in members,
                }
                for j in (*members.tolist(), *others.tolist())
            ]
        return rows if len(vectors) else [{k: v for k, v in row.items() if k != "loading"} for row in rows]

    def to_frame(self) -> Any:
        """`to_rows` as a pandas DataFrame."""
        pandas = require("pandas", purpose="Significance.to_frame()")
        return pandas.DataFrame(self.to_rows(), columns=["component", "variable", "p_value", "adjusted", "takes_part"])

    def to_dict(self, component: int) -> dict[str, Any]:
        """What a result file says of a component."""
        count = len(self.taking_part[component])
        return {
            "significant": bool(self.significant[component]),
            "evidence": float(self.evidence[component]),
            "false_discovery_rate": LEVEL,
            "taking_part": count,
            "carried": float(self.carried[component]),
            "robust": self.robust,
        }


def make_tests(operator: Operator, n_samples: int | None, *, needed: bool) -> VariableTests | None:
    """Tests from the data behind an operator, else from its matrix and the number of samples; None without either.

    Where they are not ``needed`` they must be cheap: no pass over data on disk, no copy that does not fit.
    """
    costs = operator.costs
    if not needed and (costs.columns_per_pass is not None or costs.product * SAMPLE_BYTES > available_bytes() / 2):
        return None
    try:
        return RowTests(operator.samples)
    except UnsupportedOperatorError:
        return None if n_samples is None else MatrixTests(operator, n_samples)


def find_components(
    operator: Operator,
    n_components: int | str,
    cardinality: Any,
    *,
    n_samples: int | None = None,
    max_cardinality: int | None = None,
    share: float | None = None,
    deflation: str = "schur",
    **options: Any,
) -> tuple[list[SparseEigResult], Significance | None]:
    """Sparse components, their number and cardinalities given or found, and what stands out from noise.

    Parameters
    ----------
    operator : Operator
        The covariance.
    n_components : int or "auto"
        How many; "auto" takes those that stand out from noise.
    cardinality : int, float, list or "auto"
        Non-zeros of each; "auto" takes the variables that take part and matter.
    n_samples : int, optional
        The samples behind a covariance matrix; data bring their own.
    max_cardinality : int, optional
        At most this many in each.
    share : float, optional
        With "auto" the fewest variables that hold this share of the component's variance.
    deflation, **options
        As in `sparse_components`.

    Returns
    -------
    results : list of SparseEigResult
    significance : Significance or None
        None where there are no samples to tell.

    Examples
    --------
    >>> import sparseigen as se
    >>> from sparseigen.components.automatic import find_components
    >>> pitprops = se.datasets.load_pitprops()
    >>> results, significance = find_components(pitprops.operator(), "auto", "auto", n_samples=180)
    >>> [result.cardinality for result in results]
    [7, 8, 6, 4]
    >>> significance.describe(0, results[0].cardinality)
    '9 variables take part (FDR 1%), these 7 carry 97% of the component'
    """
    count = _check_count(n_components, operator.size)
    check_share(DEFAULT_SHARE if share is None else share)
    most = operator.size
    if max_cardinality is not None:
        most = min(most, check_count(max_cardinality, "max_cardinality"))
    wanted = check_sparsity(cardinality, operator.size, 1 if count is None else count).cardinalities
    tests = make_tests(operator, n_samples, needed=count is None or wanted is None)
    if wanted is None and tests is not None and deflation != BLOCK:
        return _find_chosen(operator, tests, count, most, share, deflation=deflation, **options)
    if count is None:
        if tests is None:
            msg = "n_components='auto' needs samples: give data, or the number of samples behind a covariance matrix."
            raise OptionError(msg, parameter="n_components")
        count = len(choose_components(tests))
        tests = make_tests(operator, n_samples, needed=True)
        warn_of_noise(count, None)
        wanted = None if wanted is None else wanted * count
    if count == 0:
        return [], None if tests is None else describe_chosen([], 0, tests, operator.names)
    if wanted is None:
        shared = DEFAULT_SHARE if share is None else share
        wanted = choose_cardinalities(operator, "auto", count, deflation=deflation, share=shared)
    results = sparse_components(operator, [min(k, most) for k in wanted], deflation=deflation, **options)
    return results, None if tests is None else assess_components(tests, results, operator.names)


def _check_count(n_components: int | str, size: int) -> int | None:
    """The number of components asked for; None for "auto"."""
    if isinstance(n_components, str):
        check_choice(n_components, ("auto",), "n_components")
        return None
    count = check_count(n_components, "n_components")
    if count > size:
        message = f"n_components={count} must be at most the number of variables ({size})."
        raise OptionError(message, parameter="n_components")
    return count


def _find_chosen(
    operator: Operator,
    tests: VariableTests,
    count: int | None,
    most: int,
    share: float | None,
    *,
    deflation: str,
    time_limit: float | None = None,
    **options: Any,
) -> tuple[list[SparseEigResult], Significance]:
    """As many components as stand out, or ``count`` of them, each with as many variables as take part and matter.

    Components beyond those that stand out have one variable each and are marked as not significant.
    """
    check_choice(deflation, DEFLATIONS, "deflation")
    unit = float(operator.diagonal().sum()) / float(tests.original.sum())  # tests may work on scaled data
    chosen = choose_components(tests, MOST_COMPONENTS if count is None else count, share=share)
    plan = [Planned(min(one.cardinality, most), one.candidates) for one in chosen]
    extra = 0 if count is None else count - len(chosen)
    plan += [Planned(1, np.arange(operator.size))] * extra
    warn_of_noise(len(chosen), count)
    results = solve_each(operator, plan, deflation=deflation, time_limit=time_limit, **options) if plan else []
    significance = describe_chosen(chosen, len(plan), tests, operator.names)
    for place, (one, result) in enumerate(zip(chosen, results, strict=False)):
        significance.carried[place] = result.value / (unit * one.variance)
    return results, significance


def warn_of_noise(found: int, wanted: int | None) -> None:
    """Say in one sentence that none, or fewer than asked for, stand out."""
    if wanted is None and found == 0:
        message = "no component: no set of variables varies together more than it would by chance."
    elif wanted is None and found == MOST_COMPONENTS:
        message = (
            f"there are at least {MOST_COMPONENTS} components; the search ended there. Give n_components for more."
        )
    elif wanted is not None and found < wanted:
        which = f"component {wanted}" if wanted == found + 1 else f"components {found + 1} to {wanted}"
        message = (
            f"{found} of the {wanted} components asked for stand{'s' if found == 1 else ''} out from noise; {which} "
            f"{'does' if wanted == found + 1 else 'do'} not. Asking for 'auto' leaves such out."
        )
    else:
        return
    warnings.warn(message, NotSignificantWarning, stacklevel=6)


def describe_chosen(
    chosen: Sequence[ChosenComponent], count: int, tests: VariableTests, names: tuple[str, ...] | None
) -> Significance:
    """What the tests say of the components: of the first ones chosen, of the others that they do not stand out."""
    p_values, adjusted = np.full((count, tests.size), np.nan), np.full((count, tests.size), np.nan)
    evidence = np.full(count, -np.inf)
    taking_part = [np.zeros(0, dtype=np.int64) for _ in range(count)]
    for place, one in enumerate(chosen):
        evidence[place] = one.evidence
        if one.evidence < LEAST_EVIDENCE:
            continue
        p_values[place], adjusted[place] = one.p_values, one.adjusted
        strength = np.abs(one.statistics[one.significant])
        taking_part[place] = one.significant[np.argsort(-strength, kind="stable")]
    stands_out = evidence >= LEAST_EVIDENCE
    unknown, robust = np.full(count, np.nan), isinstance(tests, RowTests)
    return Significance(p_values, adjusted, evidence, stands_out, taking_part, unknown, robust, names)


def assess_components(
    tests: VariableTests, results: Sequence[SparseEigResult], names: tuple[str, ...] | None
) -> Significance:
    """Significance of components whose cardinalities were given, each of what those before it leave."""
    chosen = []
    for result in results:
        vector = SparseVector.from_dense(result.vector)
        statistics = tests.test(vector).statistics
        p_values = np.where(tests.live, find_p_values(statistics, tests.freedom), 1.0)
        adjusted = adjust_p_values(p_values, tests.count)
        members, k = np.flatnonzero(adjusted <= LEVEL), len(vector.indices)
        evidence = weigh_nearby(tests, vector)
        chosen.append(
            ChosenComponent(members, vector.weights, 0.0, k, members, statistics, p_values, adjusted, evidence)
        )
        tests.take_out(vector)
    return describe_chosen(chosen, len(results), tests, names)
