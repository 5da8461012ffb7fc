"""The tables: planted rows, pure noise, fresh designs, speed, real data, paths against single solves."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import sparseigen as se
from benchmarks.choosing import rivals
from benchmarks.choosing.designs import (
    NOISE_SIZES,
    NOISES,
    ROWS,
    Design,
    Floats,
    Indices,
    draw_design,
    match_supports,
)
from sparseigen.components.automatic import make_tests
from sparseigen.components.choosing import choose_components

LEAST_EXACT, MOST_FALSE = 0.95, 0.01
"""Shares of repeats: the right number of components in a row of the table, and a component found in noise."""
FRESH_EXACT, FRESH_MORE = 0.75, 0.02
"""Of the fresh designs: the right number, and too many."""
RIVAL_SIZE, PENALTY_SIZE = 1000, 200
"""Variables up to which rivals are run, and up to which scikit-learn's is, which takes seconds for each penalty."""


class Found(NamedTuple):
    """What a fit finds: the variables shown and those that take part, component by component, and seconds."""

    shown: list[Indices]
    taking_part: list[Indices]
    seconds: float


def find(data: Floats, *, scale: bool) -> Found:
    """What a user gets without giving a number."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", se.errors.NotSignificantWarning)
        warnings.simplefilter("ignore", se.errors.RedundantComponentWarning)
        pca = se.SparsePCA(n_components="auto", scale=scale, certify=False).fit(data)
    seconds = time.process_time() - began
    members = [] if pca.significance_ is None else [np.sort(part) for part in pca.significance_.taking_part]
    return Found([result.support for result in pca.results_], members, seconds)


def show_planted(repeats: int, seed: int) -> bool:
    """Number of components and supports where both are known."""
    print(f"\nPlanted components, {repeats} repeats; processor seconds of the whole fit without proofs")
    print(f"{'design':42s} {'truth':>5s} {'exact':>6s} {'PA':>6s} {'F1':>6s} {'shown':>6s} {'F1 old':>6s} {'s':>7s}")
    holds = True
    for row, design in enumerate(ROWS):
        exact, parallel, old = [], [], []
        scores, shown, seconds = [], [], []
        for repeat in range(repeats):
            data, truth = design.draw([seed, row, repeat])
            found = find(data, scale=design.scale)
            exact.append(len(found.shown) == len(truth))
            scores.append(match_supports(truth, found.taking_part))
            shown.append(match_supports(truth, found.shown))
            seconds.append(found.seconds)
            if repeat < max(2, repeats // 4):
                rng = np.random.default_rng([seed, row, repeat, 1])
                parallel.append(rivals.count_by_parallel_analysis(data, scale=design.scale, rng=rng) == len(truth))
                if truth and (design.p <= RIVAL_SIZE or repeat == 0):
                    old.append(match_supports(truth[:1], [rivals.support_by_share(data, scale=design.scale)]))
        misses = np.mean(exact) < LEAST_EXACT or np.mean(scores) < design.least_f1
        holds = holds and not misses
        print(
            f"{design.name:42s} {len(design.components):5d} {np.mean(exact):6.0%} {np.mean(parallel):6.0%} "
            f"{np.mean(scores):6.3f} {np.mean(shown):6.3f} {_or_dash(old):>6s} {np.median(seconds):7.3f}"
            f"{'  MISS' if misses else ''}",
            flush=True,
        )
    print("exact: right number of components. PA: the same by parallel analysis (a quarter of the repeats).")
    print("F1: of the variables that take part; shown: of those shown. F1 old: the first component by the 90 % rule.")
    return holds


def _or_dash(values: list[float]) -> str:
    return f"{np.mean(values):.3f}" if values else "-"


def show_noise(repeats: float, seed: int) -> bool:
    """How often anything is found where there is nothing."""
    print("\nPure noise: data sets in which a component is found")
    print(f"{'size':12s}" + "".join(f" {noise:>12s}" for noise in NOISES))
    totals = dict.fromkeys(NOISES, (0, 0))
    for size in NOISE_SIZES:
        cells = []
        for number, noise in enumerate(NOISES):
            count = max(2, round(repeats * size.repeats))
            false = 0
            for repeat in range(count):
                scale = bool(repeat % 2)
                data, _ = size.design(noise, scale=scale).draw([seed, size.n, size.p, number, repeat])
                tests = make_tests(se.covariance(data, scale=scale), None, needed=True)
                assert tests is not None
                false += len(choose_components(tests, 1))
            totals[noise] = totals[noise][0] + false, totals[noise][1] + count
            cells.append(f"{false} of {count}")
        print(f"{size.n} x {size.p:<6d}" + "".join(f" {cell:>12s}" for cell in cells), flush=True)
    false, count = (sum(column) for column in zip(*totals.values(), strict=True))
    print(f"{'all':12s}" + "".join(f" {f'{a} of {b}':>12s}" for a, b in totals.values()))
    print(f"together {false} of {count} ({false / count:.2%}); half of each on the scale of correlations")
    return false <= MOST_FALSE * count


def show_fresh(count: int, seed: int) -> bool:
    """Random designs, all of them reported; beside them what others find."""
    print(f"\n{count} random designs, seed {seed}")
    designs, found = [], []
    parallel: list[tuple[int, int, int]] = []
    single: list[tuple[str, dict[str, float]]] = []
    for number in range(count):
        design = draw_design(np.random.default_rng([seed, number]))
        data, truth = design.draw([seed, number, 1])
        ours = find(data, scale=design.scale)
        designs.append((design, truth))
        found.append(ours)
        if design.p <= RIVAL_SIZE:
            rng = np.random.default_rng([seed, number, 2])
            theirs = rivals.count_by_parallel_analysis(data, scale=design.scale, rng=rng)
            parallel.append((len(truth), len(ours.shown), theirs))
            if len(truth) == 1:
                single.append((_name_noise(design), _compare(design, data, truth, ours, rng)))
    counts = np.array([(len(truth), len(ours.shown)) for (_, truth), ours in zip(designs, found, strict=True)])
    _print_counts("this, all", counts)
    pairs = np.array(parallel)
    _print_counts(f"this, p <= {RIVAL_SIZE}", pairs[:, :2])
    _print_counts(f"parallel analysis, p <= {RIVAL_SIZE}", pairs[:, [0, 2]])
    planted = [(truth, ours) for (_, truth), ours in zip(designs, found, strict=True) if truth]
    for what, part in (("that take part", "taking_part"), ("shown", "shown")):
        print(f"mean F1 of variables {what}: {np.mean([match_supports(t, getattr(o, part)) for t, o in planted]):.3f}")
    _print_single(single)
    exact = float(np.mean(counts[:, 0] == counts[:, 1]))
    return exact >= FRESH_EXACT and float(np.mean(counts[:, 1] > counts[:, 0])) <= FRESH_MORE


def _name_noise(design: Design) -> str:
    if design.noise != "normal":
        return "t5, t3, lognormal"
    return "normal, unequal variances" if design.unequal else "normal, equal variances"


def _compare(
    design: Design, data: Floats, truth: list[Indices], ours: Found, rng: np.random.Generator
) -> dict[str, float]:
    """F1 of one planted component by each way to choose its variables."""
    scale = design.scale
    supports = {
        "true k": rivals.support_by_true_k(data, len(truth[0]), scale=scale),
        "CV": rivals.support_by_cross_validation(data, scale=scale, rng=rng),
        "EBIC": rivals.support_by_ebic(data, scale=scale),
        "old rule": rivals.support_by_share(data, scale=scale),
    }
    scores = {name: match_supports(truth, [support]) for name, support in supports.items()}
    scores["this"] = match_supports(truth, ours.taking_part)
    small = design.p <= PENALTY_SIZE and design.n <= PENALTY_SIZE
    scores["scikit-learn"] = rivals.best_of_scikit_learn(data, truth, scale=scale) if small else np.nan
    return scores


def _print_counts(name: str, counts: Any) -> None:
    truth, number = counts.T
    exact, more, fewer = (number == truth).sum(), (number > truth).sum(), (number < truth).sum()
    print(f"{name:32s} exact {exact} ({exact / len(truth):.0%}), too many {more}, too few {fewer}", flush=True)


def _print_single(rows: list[tuple[str, dict[str, float]]]) -> None:
    names = ("true k", "this", "CV", "EBIC", "old rule", "scikit-learn")
    print(f"\nOne component, p <= {RIVAL_SIZE}: mean F1")
    print(f"{'noise':28s} {'sets':>5s}" + "".join(f" {name:>13s}" for name in names))
    for kind in sorted({kind for kind, _ in rows}):
        scores = [row for name, row in rows if name == kind]
        means = [float(np.mean([row[name] for row in scores])) for name in names[:-1]]
        told = [row["scikit-learn"] for row in scores if np.isfinite(row["scikit-learn"])]
        last = f"{np.mean(told):.3f} ({len(told)})" if told else "-"
        print(f"{kind:28s} {len(scores):5d}" + "".join(f" {mean:13.3f}" for mean in means) + f" {last:>13s}")
    print(
        f"scikit-learn: SparsePCA at the best of {len(rivals.PENALTIES)} penalties for the truth (sets of p, n <= 200)"
    )


def show_speed(repeats: int, seed: int) -> bool:
    """The first call of a new user beside scikit-learn's, and what choosing costs in plain runs."""
    from sklearn.decomposition import MiniBatchSparsePCA

    from benchmarks.timing import best_of

    design = next(row for row in ROWS if row.name.startswith("5 of 30, loading 1"))
    data, truth = design.draw([seed, 99])
    operator = se.covariance(data)
    fits: list[Any] = []
    runs: dict[str, Callable[[], object]] = {
        "fit": lambda: fits.append(se.SparsePCA(n_components=5).fit(data)),
        "MiniBatchSparsePCA": lambda: MiniBatchSparsePCA(n_components=5, random_state=0).fit(data),
        "choice": lambda: choose_components(make_tests(operator, None, needed=True), 5),  # type: ignore[arg-type]
        "plain run": lambda: se.sparse_eigenvector(operator, 30, start="max-variance", polish=None, certify=False),
    }
    seconds = best_of(runs, repeats=repeats)
    pca = fits[-1]
    gaps = [result.certificate.relative_gap for result in pca.results_]
    ratio = seconds["fit"] / seconds["MiniBatchSparsePCA"]
    plain = seconds["choice"] / 5 / seconds["plain run"]
    print(f"\nSparsePCA(n_components=5).fit, {design.name}: {seconds['fit']:.3f} s with certificates")
    print(f"  MiniBatchSparsePCA {seconds['MiniBatchSparsePCA']:.3f} s: ratio {ratio:.2f} (at most 3 wanted)")
    print(f"  k {pca.cardinality_}, F1 {match_supports(truth, [result.support for result in pca.results_]):.3f}")
    print(f"  largest gap {max(gaps):.2e}")
    print(f"  choosing {1e3 * seconds['choice'] / 5:.1f} ms per component = {plain:.1f} plain runs (at most 20 wanted)")
    return ratio <= 3.0 and plain <= 20.0 and all(abs(k - 30) <= 5 for k in pca.cardinality_)


def read_real() -> Iterator[tuple[str, Any, bool]]:
    """Real data: name, data, whether correlations are meant; those that are not at hand are left out."""
    from sklearn.datasets import load_digits, load_wine

    yield "wine", load_wine().data, True
    yield "digits", load_digits().data, False
    folder = se.datasets.data_folder()
    if folder is None:
        print("(colon, lymphoma, newsgroups: no folder SPARSEIGEN_DATA)")
        return
    import pandas as pd
    import scipy.sparse as sp

    colon = pd.read_csv(folder / "colon" / "colon_62x2000.csv.gz").drop(columns=["sample", "tissue"])
    yield "colon, log2", np.log2(colon.to_numpy(float)), False
    with np.load(folder / "lymphoma" / "lymphoma_62x4026_standardised.npz") as file:
        yield "lymphoma", file["X"].astype(float), False
    counts = sp.load_npz(folder / "newsgroups20" / "counts_body_18846x5000.npz").tocsr().astype(float)
    yield "newsgroups, roots", counts.sqrt(), True


def show_real() -> bool:
    """Five components, no cardinality given: what is chosen, added and repeated, and the seconds."""
    print("\nReal data: SparsePCA(n_components=5).fit with certificates, and with max_cardinality=20")
    print(f"{'data':20s} {'limit':>5s} {'k':26s} {'take part':30s} {'adds, %':27s} {'corr.':>5s} {'s':>6s}")
    for name, data, scale in read_real():
        for most in (None, 20):
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pca = se.SparsePCA(n_components=5, scale=scale, max_cardinality=most).fit(data)
            seconds = time.perf_counter() - began
            repeated = np.abs(pca.score_correlations_ - np.eye(5)).max()
            members = [len(part) for part in pca.significance_.taking_part]
            added = " ".join(f"{100 * share:.2f}" for share in pca.explained_variance_ratios_["adjusted"])
            print(
                f"{name:20s} {most or '-':>5} {_join(pca.cardinality_):26s} {_join(members):30s} {added:27s} "
                f"{repeated:5.2f} {seconds:6.1f}",
                flush=True,
            )
    return True


def _join(numbers: list[int]) -> str:
    return " ".join(str(number) for number in numbers)


def show_paths(points: int) -> bool:
    """Whether a path lies below single solves of the same cardinalities."""
    print(f"\ncardinality_path beside single default solves, {points} cardinalities")
    worst = 0.0
    for name, data, scale in read_real():
        if not isinstance(data, np.ndarray) or data.shape[1] < 500:
            continue
        for scaled in (scale, not scale):
            operator = se.covariance(data, scale=scaled)
            grid = sorted({round(k) for k in np.geomspace(2, 500, points)})
            path = se.cardinality_path(operator, grid, certify=False)
            below = [path[k].value / se.sparse_eigenvector(operator, k).value - 1.0 for k in grid]
            worst = min(worst, *below)
            place = int(np.argmin(below))
            kind = "correlation" if scaled else "covariance"
            print(f"{name:20s} {kind:12s} lowest {below[place]:+.4%} at k = {grid[place]}", flush=True)
    return worst >= -1e-3
