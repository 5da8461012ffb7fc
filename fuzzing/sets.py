"""``python -m fuzzing sets``: the certificates of sets of components, against all supports of tiny matrices.

Every case is a matrix of at most eight variables and two or three components, orthogonal or uncorrelated, of equal or
unequal cardinalities. All supports are gone through; no bound may lie below the value of a set that exists. How often
the search finds the best set is counted too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

CONSTRAINTS = ("orthogonal", "uncorrelated")
LARGEST = 8
SHARE = 0.95
"""Of the cases, in which the search must find the best set."""
ROUNDING = 1e-12
"""Relative: how far above a bound a set may lie whose constraint holds to rounding only."""


class Case(NamedTuple):
    """One set looked at."""

    constraint: str
    effort: str
    infeasible: bool
    found: bool
    gap: float
    wrong: str


FAMILIES = ("factors", "noise", "integers", "correlation", "blocks", "scales")


def draw(rng: np.random.Generator) -> tuple[np.ndarray, tuple[int, ...]]:
    """A positive semidefinite matrix and cardinalities."""
    size, count = int(rng.integers(4, LARGEST + 1)), int(rng.integers(2, 4))
    family = FAMILIES[int(rng.integers(len(FAMILIES)))]
    samples = rng.standard_normal((int(rng.integers(size, 3 * size)), size))
    if family == "factors":
        samples = samples + rng.standard_normal((len(samples), 2)) @ (2.0 * rng.standard_normal((2, size)))
    if family == "integers":
        samples = np.round(2.0 * samples)
    if family == "blocks":
        samples = samples + 2.0 * rng.standard_normal((len(samples), 2))[:, rng.integers(2, size=size)]
    if family == "scales":
        samples = samples * 10.0 ** rng.uniform(-3.0, 3.0, size)
    matrix = samples.T @ samples
    if family == "correlation":
        deviations = np.sqrt(matrix.diagonal())
        matrix = matrix / np.outer(deviations, deviations)
    most = 4 if count == 2 else 3
    equal = rng.random() < 0.6
    ks = tuple(int(k) for k in rng.integers(1, min(most, size) + 1, size=1 if equal else count))
    return 0.5 * (matrix + matrix.T), ks * count if equal else ks


def look_at(seed: int, index: int, constraint: str) -> Case:
    """One case: the search, its certificate, and the truth."""
    import sparseigen as se
    from fuzzing.set_truth import best_set

    rng = np.random.default_rng([seed, index, CONSTRAINTS.index(constraint)])
    matrix, ks = draw(rng)
    effort = "quick" if rng.random() < 0.25 else "default"
    uncorrelated = constraint == "uncorrelated"
    try:
        found = se.sparse_components(matrix, ks, constraint=constraint, effort=effort)
    except se.errors.CardinalityError:
        value, _ = best_set(matrix, ks, uncorrelated, rng)
        return Case(constraint, effort, True, not np.isfinite(value), 0.0, "")
    assert found.certificate is not None
    best, _ = best_set(matrix, ks, uncorrelated, rng, known=found.value)
    upper = found.certificate.upper_bound
    wrong = ""
    if best > upper * (1.0 + ROUNDING):
        wrong = f"k={ks}: a set explains {best!r}, the bound is {upper!r} ({found.certificate.method})"
    if found.violation > 1e-12:
        wrong = f"k={ks}: violation {found.violation!r}"
    if not found.certificate.lower_bound <= found.value * (1.0 + 1e-12):
        wrong = f"k={ks}: lower end {found.certificate.lower_bound!r} above the value {found.value!r}"
    return Case(constraint, effort, False, best <= found.value * (1.0 + 1e-7), upper / best - 1.0, wrong)


def _work(task: tuple[int, int, str]) -> tuple[tuple[int, int, str], Case]:
    warnings.simplefilter("ignore")
    return task, look_at(*task)


def run(cases: int, seed: int, workers: int) -> tuple[list[Case], list[str]]:
    """So many cases per constraint, and what is wrong with any."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "SPARSEIGEN_NUM_THREADS": "1"}
    tasks = [(seed, index, constraint) for index in range(cases) for constraint in CONSTRAINTS]
    found, wrong = [], []
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for task, case in pool.imap_unordered(_work, tasks, chunksize=2):
            found.append(case)
            if case.wrong:
                wrong.append(f"VIOLATION {case.constraint}, --seed {task[0]} case {task[1]}: {case.wrong}")
                print(wrong[-1], flush=True)
    return found, wrong


def summarise(found: list[Case]) -> tuple[list[str], bool]:
    """A line per constraint, and whether the search finds the best set often enough at the default effort."""
    lines, holds = [], True
    for constraint in CONSTRAINTS:
        of = [case for case in found if case.constraint == constraint]
        for effort in ("default", "quick"):
            chosen = [case for case in of if case.effort == effort]
            if not chosen:
                continue
            hits = sum(case.found for case in chosen)
            gaps = [case.gap for case in chosen if not case.infeasible]
            counts = Counter(case.infeasible for case in chosen)
            holds &= effort == "quick" or hits >= SHARE * len(chosen)
            lines.append(
                f"{constraint:13} {effort:8} {len(chosen):6} sets  best found {hits / len(chosen):7.2%}  "
                f"bound above it by {np.median(gaps):.2%} in the median, {np.max(gaps):.2%} at most; "
                f"no feasible set {counts[True]}"
            )
    return lines, holds


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzzing sets", description=__doc__)
    parser.add_argument("--cases", type=int, default=200, help="sets per constraint (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="which sets (default: 0)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    found, wrong = run(options.cases, options.seed, options.workers)
    lines, holds = summarise(found)
    print("\n".join(lines))
    print(f"{len(found)} sets, {len(wrong)} violations, {time.monotonic() - began:.0f} s")
    return int(bool(wrong) or not holds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
