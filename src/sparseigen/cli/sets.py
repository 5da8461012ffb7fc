"""``pca --constraint`` and ``--disjoint``: all components found together, with one statement about the set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sparseigen.cli.commands import bad_usage
from sparseigen.cli.loading import Loaded
from sparseigen.cli.options import choice_option, flag

if TYPE_CHECKING:  # the command line starts without the numerical packages
    from sparseigen.results import ComponentSet

constraint_option = choice_option(
    "--constraint",
    ("orthogonal", "uncorrelated"),
    default=None,
    help="Find all components together, orthogonal or with uncorrelated scores, with one proof for the set.",
)
disjoint_flag = flag("--disjoint", help="The same, and no variable in two components.")

ONE_BY_ONE: dict[str, Any] = {
    "method": "tpower",
    "start": None,
    "nonnegative": False,
    "deflation": "schur",
    "max_iterations": 1000,
    "stability": 0,
}
"""Options of components found one after the other, as they are without being named."""


def find_set(
    loaded: Loaded, wanted: Any, count: Any, *, constraint: str | None, disjoint: bool, options: Mapping[str, Any]
) -> ComponentSet:
    """The set that --constraint and --disjoint ask for."""
    asked = "--disjoint" if constraint is None else f"--constraint {constraint}"
    if not isinstance(wanted, list) or not isinstance(count, int):
        message = f"{asked} needs the number of variables of each component; add -k 4,4,4 or -k 4 -n 3."
        raise bad_usage(message)
    named = [f"--{name.replace('_', '-')}" for name, default in ONE_BY_ONE.items() if options[name] != default]
    if named:
        message = f"{asked} finds all components together; {', '.join(named)} is for one after the other, leave it out."
        raise bad_usage(message)
    from sparseigen.checks.arguments import check_cardinality
    from sparseigen.components.sequential import sparse_components

    for k in wanted:
        check_cardinality(k, loaded.operator.size)
    rest = {name: value for name, value in options.items() if name not in ONE_BY_ONE}
    return sparse_components(loaded.operator, wanted, constraint=constraint, disjoint=disjoint, **rest)


def word_set(results: Any, answer: list[dict[str, Any]], facts: Mapping[str, Any]) -> tuple[Any, str]:
    """What JSON holds of a set asked for as one, and the sentence below the table; of others the answer as it is."""
    from sparseigen.results import ComponentSet

    if "constraint" not in facts or not isinstance(results, ComponentSet):
        return answer, ""
    said = results.describe()
    return results.to_dict() | {"statement": said, "components": answer}, f"\n\n{said}"
