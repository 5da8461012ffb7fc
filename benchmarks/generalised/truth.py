"""Random instances small enough to be enumerated: every k, every pair of cardinalities, metrics near singularity."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import eigh

import sparseigen as se
from benchmarks.certificates.targets import Target
from sparseigen.components.generalised import canonical_pencil
from sparseigen.solve.generalised import PencilRequest

Numbers = Any
AGREE = 1e-7
"""Relative difference up to which two values are the same: enumeration itself loses digits near singularity."""
ROUNDING = 1e-12


def draw_metric(rng: np.random.Generator, size: int, kind: str) -> Numbers:
    """A positive definite matrix; of kind "singular" with a smallest eigenvalue of 1e-8 to 1e-4."""
    factor = rng.standard_normal((size + 2, size))
    matrix = factor.T @ factor / (size + 2)
    scales = 1.0 / np.sqrt(np.diag(matrix))
    matrix = matrix * scales * scales[:, None]
    if kind == "singular":
        values, vectors = np.linalg.eigh(matrix)
        values[0] = 10.0 ** rng.uniform(-8.0, -4.0)
        matrix = vectors @ np.diag(values) @ vectors.T
    elif kind == "scaled":
        scales = 10.0 ** rng.uniform(-3.0, 3.0, size)
        matrix = matrix * scales * scales[:, None]
    return 0.5 * (matrix + matrix.T)


def draw_form(rng: np.random.Generator, size: int, kind: str) -> Numbers:
    """A Gram matrix, an indefinite one, or one of rank one."""
    if kind == "indefinite":
        matrix = rng.standard_normal((size, size))
        return 0.5 * (matrix + matrix.T)
    factor = rng.standard_normal((1 if kind == "rank one" else size + 3, size))
    return factor.T @ factor


def enumerate_best(form: Numbers, metric: Numbers, supports: Any) -> float:
    """The largest generalised eigenvalue over supports, with the metric's diagonal scaled to one."""
    scales = 1.0 / np.sqrt(np.diag(metric))
    form, metric = form * scales * scales[:, None], metric * scales * scales[:, None]
    return max(
        float(eigh(form[np.ix_(s, s)], metric[np.ix_(s, s)], eigvals_only=True)[-1]) for s in map(list, supports)
    )


def show_truth(cases: int) -> list[Target]:
    """`solve_exact` and the default solve against enumeration."""
    rng = np.random.default_rng(0)
    questions = wrong = below = above = missed = 0
    worst, gaps = 0.0, []
    for case in range(cases):
        answers = _ask_quotients(rng, case) if case % 2 else _ask_pairs(rng, case)
        for best, exact, default in answers:
            questions += 1
            size = abs(best)
            worst = max(worst, abs(exact.value - best) / size)
            wrong += abs(exact.value - best) > AGREE * size
            if not exact.certificate.optimal:
                gaps.append((exact.certificate.relative_gap, exact.settings["definite"]))
            for result in (exact, default):
                below += result.certificate.upper_bound < best - ROUNDING * size
                above += result.certificate.lower_bound > best + AGREE * size
            missed += default.value < best - AGREE * size
    print(f"\n## Enumerated: {cases} instances of up to 10 variables, {questions} questions\n")
    print(f"largest relative difference of solve_exact: {worst:.1e}")
    print(f"gaps above 1e-6: {len(gaps)}, the largest {max(gaps, default=(0.0, 0.0))[0]:.1e}; the best conditioned of")
    print(f"these metrics has a smallest eigenvalue of {max((d for _, d in gaps), default=0.0):.1e}")
    print(f"the default search missed the optimum in {missed} questions")
    return [
        Target("solve_exact equal to enumeration", f"{wrong} of {questions} differ", "none", wrong == 0),
        Target("certificates below the truth", f"{below} of {2 * questions}", "none", below == 0),
        Target("attained ends above the truth", f"{above} of {2 * questions}", "none", above == 0),
    ]


def _ask_quotients(rng: np.random.Generator, case: int) -> Any:
    size = int(rng.integers(2, 11))
    form = draw_form(rng, size, ("gram", "indefinite", "rank one")[case % 3])
    metric = draw_metric(rng, size, ("plain", "singular", "scaled")[(case // 3) % 3])
    for k in range(1, size + 1):
        best = enumerate_best(form, metric, combinations(range(size), k))
        yield best, se.solve_exact(form, k, metric=metric), se.sparse_eigenvector(form, k, metric=metric)


def _ask_pairs(rng: np.random.Generator, case: int) -> Any:
    first, second = (int(number) for number in rng.integers(1, 6, 2))
    samples = rng.standard_normal((first + second + 4, first + second))
    samples[:, first:] += rng.uniform(0.0, 1.0) * samples[:, :1]
    if case % 3 == 0 and first > 1:
        samples[:, 1] = samples[:, 0] + 10.0 ** rng.uniform(-3.5, -2.0) * samples[:, 1]  # nearly singular
    pencil = canonical_pencil(samples[:, :first], samples[:, first:])
    form, metric = pencil.form.matrix, pencil.metric.matrix
    for k_x in range(1, first + 1):
        for k_y in range(1, second + 1):
            supports = [
                (*own, *other)
                for own in combinations(range(first), k_x)
                for other in combinations(range(first, first + second), k_y)
            ]
            best = enumerate_best(form, metric, supports)
            found = [
                PencilRequest(pencil.form, pencil.metric, boundary=first, method=method).answer(k_x, others=k_y)
                for method in ("exact", "tpower")
            ]
            yield best, *found
