"""``python -m fuzzing certificates``: every bracket that sparseigen proves, checked without rounding.

A case is one certificate: a lower and an upper bound on a sparse eigenvalue (or a density), checked against every
support of the exact matrix. Each matrix, data set or graph (an instance) is asked several questions and gives about
twenty cases. Instance i of a seed is always the same, whatever the number of workers. With ``--large`` instances have
50 to 5,000 variables or vertices and an optimum that is known without going through supports.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any, NamedTuple

import numpy as np

from fuzzing.elsewhere import missing
from sparseigen.operators import Operator

FOLDER = Path("build/fuzz")
REPORT_EVERY = 2.0
GRAPHS, MATRICES, ELSEWHERE, PENCILS = 0.12, 0.5, 0.04, 0.05
"""Shares of the instances, the third for data on a device or a cluster, the last for pairs of matrices (x'Ax / x'Bx);
the rest are data in memory and in files."""


class Finding(NamedTuple):
    """One certificate looked at."""

    family: str
    carrier: str
    method: str
    how: str
    """"margin", "exact" or "refused"; "violation" where something is wrong."""
    wrong: tuple[str, ...] = ()


def main(arguments: list[str]) -> int:
    options = _parsed(arguments)
    if options.replay is not None:
        return _replayed(options.replay)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in missing():
        print(f"{name}: NOT in this run, its package is not installed", flush=True)
    tally, violations, seconds = _many(options)
    _print_report(tally, violations, seconds, options)
    return 1 if violations else 0


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzzing certificates", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="which instances (default: 0)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--start", type=int, default=0, help="number of the first instance (default: 0)")
    parser.add_argument(
        "--large", action="store_true", help="instances of 50 to 5,000 variables whose optimum is known"
    )
    parser.add_argument("--replay", type=Path, help="a file that an earlier run saved: that instance alone")
    return parser.parse_args(arguments)


# --- one instance -------------------------------------------------------------------------------------------------


def findings(seed: int, index: int, *, large: bool = False) -> tuple[list[Finding], dict[str, np.ndarray]]:
    """Every certificate of one instance, and the arrays it was made from."""
    from fuzzing import carriers, elsewhere, families, graphs

    rng = np.random.default_rng([seed, index, 1] if large else [seed, index])
    kind = rng.random()
    if large:
        return large_findings(rng, kind)
    if kind < GRAPHS:
        return graph_findings(rng, str(rng.choice(list(graphs.WEIGHTS))))
    if kind < GRAPHS + MATRICES:
        family, carrier = rng.choice(list(families.MATRICES)), rng.choice(list(carriers.MATRIX_CARRIERS))
    elif 1.0 - ELSEWHERE - PENCILS < kind <= 1.0 - ELSEWHERE:
        return pencil_findings(rng, str(rng.choice(list(families.MATRICES))))
    elif kind > 1.0 - ELSEWHERE:
        family, carrier = rng.choice(list(families.DATA)), rng.choice(list(elsewhere.CARRIERS))
        if carrier in elsewhere.missing():
            return [], {}
    else:
        family, carrier = rng.choice(list(families.DATA)), rng.choice(list(carriers.DATA_CARRIERS))
    return matrix_findings(rng, str(family), str(carrier))


def _strict_warnings() -> None:
    """What the package says on purpose is no violation; a stray RuntimeWarning of NumPy is."""
    from sparseigen import errors

    warnings.simplefilter("error")
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, Warning):
            warnings.simplefilter("ignore", value)


def graph_findings(rng: np.random.Generator, family: str) -> tuple[list[Finding], dict[str, np.ndarray]]:
    """Every certificate of one graph."""
    from fuzzing import graphs

    question = graphs.GraphQuestion(rng, family)
    found = []
    carrier = "directed graph" if question.directed else "graph"
    with warnings.catch_warnings():
        _strict_warnings()
        try:
            for method, wrong in graphs.problems_of(question):
                found.append(Finding(family, carrier, method, "violation" if wrong else "exact", tuple(wrong)))
        except Exception as error:
            found.append(_of_error(error, family, carrier, "graphs", None, question.matrix))
    return found, {"graph": question.matrix}


def pencil_findings(rng: np.random.Generator, family: str) -> tuple[list[Finding], dict[str, np.ndarray]]:
    """Every certificate of one pair of matrices."""
    from fuzzing import pencils

    question = pencils.PencilQuestion(rng, family)
    found = []
    with warnings.catch_warnings():
        _strict_warnings()
        try:
            for method, wrong in pencils.problems_of(question):
                found.append(Finding(family, "pair", method, "violation" if wrong else "exact", tuple(wrong)))
        except Exception as error:
            found.append(_of_error(error, family, "pair", "pencils", None, question.form))
    return found, {"form": question.form, "metric": question.metric}


def matrix_findings(rng: np.random.Generator, family: str, carrier: str) -> tuple[list[Finding], dict[str, np.ndarray]]:
    """Every certificate of one matrix or one set of data, carried by one operator."""
    from fuzzing import carriers, elsewhere, families

    size = int(rng.integers(1, families.LARGEST_SIZE + 1))
    data = family in families.DATA
    samples = int(rng.integers(2, 2 * size + 4))
    values = families.DATA[family](rng, samples, size) if data else families.MATRICES[family](rng, size)
    if rng.random() < 0.3:
        values = families.as_single(values)
    label = f"{carrier}, {values.dtype}"
    with warnings.catch_warnings():
        _strict_warnings()
        try:
            carried = (carriers.DATA_CARRIERS | elsewhere.CARRIERS if data else carriers.MATRIX_CARRIERS)[carrier](
                rng, values
            )
        except Exception as error:
            return [_of_error(error, family, label, "input", None, values)], {"values": values}
        try:
            return _asked(rng, carried, family, label, values), {"values": values}
        finally:
            if carried.keeps is not None:
                carried.keeps.cleanup()


def large_findings(rng: np.random.Generator, kind: float) -> tuple[list[Finding], dict[str, np.ndarray]]:
    """Every certificate of one large instance: a matrix, data, a graph, sets, or one question asked in many ways."""
    from fuzzing import large, related

    found: list[Finding] = []
    family, label, values = "relations", "data", np.ones((1, 1))
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        _strict_warnings()
        try:
            if kind < sum(related.SHARES.values()):
                family, label, problems = related.draw_problems(rng, kind)
                for method, wrong in problems:
                    found.append(Finding(family, label, method, "violation" if wrong else "exact", tuple(wrong)))
                return found, {}
            family, label, given, truth, values = large.draw_question(rng, Path(folder))
        except Exception as error:
            return [*found, _of_error(error, family, label, "input", None, values)], {"values": values}
        question = large.Question(given, truth, rng)
        for ask in large.asked(rng):
            try:
                found += [checked(claim, truth, family, label, truth.largest) for claim in ask(question)]
            except Exception as error:
                found.append(_of_error(error, family, label, ask.__name__, truth, values))
    return found, {"values": values}


def _asked(rng: np.random.Generator, carried: Any, family: str, label: str, values: np.ndarray) -> list[Finding]:
    """Everything that is asked about one matrix, checked."""
    from fuzzing import claims

    scaled = len(set(carried.truth.weights)) > 1 or min(carried.truth.weights) <= 0
    if scaled and isinstance(carried.given, Operator):  # columns that are constant, or nearly, are left out
        carried.truth.leave_out(np.flatnonzero(carried.given.diagonal() == 0.0).tolist())
    if min(carried.truth.weights) <= 0:
        return [Finding(family, label, "input", "violation", ("a column without variance was scaled",))]
    found: list[Finding] = []
    question = claims.Question(carried.given, carried.truth, rng)
    for ask in claims.asked(rng):
        try:
            found += [checked(claim, carried.truth, family, label, carried.scale) for claim in ask(question)]
        except Exception as error:
            found.append(_of_error(error, family, label, ask.__name__, carried.truth, values))
    return found


def checked(claim: Any, truth: Any, family: str, carrier: str, scale: float = 0.0) -> Finding:
    """The bracket, and the vector that is said to reach one end of it, against the truth."""
    about, low, high = truth, claim.low, claim.high
    if claim.candidates is not None:
        about = truth.restricted(np.asarray(claim.candidates).tolist())
    if claim.which == "smallest":
        about, low, high = about.negated(), -high, -low
    wrong, exact = [], False
    if not (np.isfinite(low) and np.isfinite(high)):
        return Finding(family, carrier, claim.method, "violation", (f"bracket {low!r} to {high!r} is not finite",))
    if low > high:
        wrong.append(f"lower bound {low!r} above upper bound {high!r}")
    holds, tested = about.is_upper_bound(high, claim.cardinality)
    exact |= tested
    if not holds:
        wrong.append(f"k={claim.cardinality} {claim.which}: upper bound {high!r} is exceeded")
    holds, tested = about.is_reached(low, claim.cardinality)
    exact |= tested
    if not holds:
        wrong.append(f"k={claim.cardinality} {claim.which}: lower bound {low!r} is not reached")
    if claim.vector is not None:
        own = truth.negated() if claim.which == "smallest" else truth
        wrong += _vector_problems(claim, own, low, high, max(scale, truth.largest))
    how = "violation" if wrong else "exact" if exact else "margin"
    return Finding(family, carrier, claim.method, how, tuple(wrong))


def _vector_problems(claim: Any, truth: Any, low: float, high: float, scale: float) -> Iterator[str]:
    vector, count = claim.vector, int(np.count_nonzero(claim.vector))
    if vector.shape != (truth.size,) or not np.isfinite(vector).all():
        yield f"vector {vector!r}"
        return
    if not 0 < count <= claim.cardinality:
        yield f"{count} non-zeros for k={claim.cardinality}"
    if abs(float(np.linalg.norm(vector)) - 1.0) > 1e-9:
        yield f"length {float(np.linalg.norm(vector))!r}"
    if truth.quotient_reaches(vector, low) is False:
        yield f"k={claim.cardinality} {claim.which}: the vector does not reach {low!r}"
    if claim.value is not None:
        value = -claim.value if claim.which == "smallest" else claim.value
        slack = 1e-4 * max(abs(low), abs(high)) + 1e-6 * scale + 1e-320  # float32 products are that accurate
        if not low - slack <= value <= high + slack:
            yield f"k={claim.cardinality} {claim.which}: the value {value!r} is outside of {low!r} to {high!r}"


def _of_error(error: Exception, family: str, carrier: str, method: str, truth: Any, values: np.ndarray) -> Finding:
    """A refusal that the documentation has, or a violation."""
    from fuzzing.refusals import may_refuse
    from sparseigen.errors import SparseigenError

    if isinstance(error, SparseigenError) and may_refuse(error, method, truth, values):
        return Finding(family, carrier, f"{method}: {type(error).__name__}", "refused")
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return Finding(family, carrier, method, "violation", (text,))


# --- many instances -----------------------------------------------------------------------------------------------


def _many(options: argparse.Namespace) -> tuple[Counter[tuple[str, str, str, str]], list[str], float]:
    context = multiprocessing.get_context("spawn")
    reports: Any = context.Queue()
    began = time.monotonic()
    deadline = time.time() + 60.0 * options.minutes
    workers = [
        context.Process(
            target=_work,
            args=(reports, options.seed, options.start + w, options.workers, deadline, options.large),
        )
        for w in range(options.workers)
    ]
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "SPARSEIGEN_NUM_THREADS": "1"}
    for worker in workers:
        worker.start()
    tally: Counter[tuple[str, str, str, str]] = Counter()
    violations: list[str] = []
    said = time.monotonic()
    while any(worker.is_alive() for worker in workers) or not reports.empty():
        try:
            counts, found = reports.get(timeout=0.5)
        except Empty:
            continue
        tally.update(counts)
        for text in found:
            print(text, flush=True)
        violations += found
        if time.monotonic() - said > 30.0:
            said = time.monotonic()
            cases = _cases(tally)
            print(f"{said - began:6.0f} s  {cases:8d} cases, {len(violations)} violations", flush=True)
    for worker in workers:
        worker.join()
        if worker.exitcode != 0:
            violations.append(f"a worker ended with status {worker.exitcode}")
    return tally, violations, time.monotonic() - began


def _work(reports: Any, seed: int, first: int, step: int, deadline: float, large: bool) -> None:
    """One process: every ``step``-th instance from ``first`` on, until the deadline."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    texts: list[str] = []
    index, said = first, time.monotonic()
    parent = multiprocessing.parent_process()
    while time.time() < deadline:
        if parent is not None and not parent.is_alive():  # killed: nobody is left to report to
            reports.cancel_join_thread()
            return
        found, arrays = findings(seed, index, large=large)
        counts.update((one.family, one.carrier, one.method, one.how) for one in found)
        bad = [one for one in found if one.how == "violation"]
        if bad:
            texts.append(_saved(seed, index, bad, arrays, large))
        counts["", "", "instances", "instances"] += 1
        index += step
        if time.monotonic() - said > REPORT_EVERY:
            reports.put((counts, texts))
            counts, texts, said = Counter(), [], time.monotonic()
    reports.put((counts, texts))


def _saved(seed: int, index: int, bad: list[Finding], arrays: dict[str, np.ndarray], large: bool) -> str:
    path = FOLDER / f"certificate-{'large-' if large else ''}{seed}-{index}.npz"
    np.savez(path, seed=seed, index=index, large=large, **arrays)
    lines = [f"VIOLATION {one.family} / {one.carrier} / {one.method}: {'; '.join(one.wrong)}" for one in bad]
    return "\n".join([*lines, f"  replay: python -m fuzzing certificates --replay {path}"])


def _replayed(path: Path) -> int:
    with np.load(path) as saved:
        large = "large" in saved and bool(saved["large"])
        found, arrays = findings(int(saved["seed"]), int(saved["index"]), large=large)
        for name, values in arrays.items():
            if not np.array_equal(saved[name], values):
                print(f"{name} is not what was saved: the generators have changed since")
                return 2
    np.set_printoptions(precision=17, floatmode="unique")
    for name, values in arrays.items():
        print(f"{name} = {values!r}")
    for one in found:
        print(f"{one.how:9}  {one.family} / {one.carrier} / {one.method}  {'; '.join(one.wrong)}")
    return 1 if any(one.how == "violation" for one in found) else 0


# --- the report ---------------------------------------------------------------------------------------------------


def _cases(tally: Counter[tuple[str, str, str, str]]) -> int:
    return sum(count for (*_, how), count in tally.items() if how in ("margin", "exact", "violation"))


def _print_report(
    tally: Counter[tuple[str, str, str, str]], violations: list[str], seconds: float, options: argparse.Namespace
) -> None:
    instances = tally["", "", "instances", "instances"]
    for place, title in enumerate(("family", "operator", "method")):
        print(f"\n{title:44}{'margin':>9}{'exact':>9}{'refused':>9}{'wrong':>7}")
        rows: dict[str, Counter[str]] = {}
        for key, count in tally.items():
            if key[3] != "instances":
                rows.setdefault(key[place], Counter())[key[3]] += count
        for name, row in sorted(rows.items()):
            print(f"{name:44}{row['margin']:9}{row['exact']:9}{row['refused']:9}{row['violation']:7}")
    combinations = len({key[:3] for key in tally if key[3] in ("margin", "exact")})
    how: Counter[str] = Counter()
    for key, count in tally.items():
        how[key[3]] += count
    print(
        f"\n{_cases(tally)} cases (one case is one certificate) from {instances} instances, seed {options.seed}, in "
        f"{seconds:.0f} s on {options.workers} workers: {how['margin']} decided by the margin, {how['exact']} exactly; "
        f"{combinations} combinations of family, operator and method; {how['refused']} documented refusals; "
        f"violations {len(violations)}"
    )
    for text in violations[:20]:
        print(text, file=sys.stderr)
