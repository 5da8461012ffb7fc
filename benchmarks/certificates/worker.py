"""One version of sparseigen in a process of its own: JSON lines in, figures of one row each out.

The process may belong to another Python, with another sparseigen; this file and the rows are the same for all. What
takes longer than allowed is ended with its process, and the next row begins another.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.certificates.rows import DATA, PATH, Data, Row
from benchmarks.certificates.targets import EXACT_SECONDS, Figures

ROOT = Path(__file__).parents[2]
REPEATS = 5
WARM_UP = 30.0
"""Seconds that a new process may take until it answers."""


class Worker:
    """Asks a process about one row after the other."""

    def __init__(self, python: str, limit: float) -> None:
        self._python = python
        self._limit = limit
        self._process: subprocess.Popen[str] | None = None
        self._reader = ThreadPoolExecutor(1)

    def figures(self, row: Row, *, effort: str | None = None, seconds: float) -> Figures:
        """Figures of a row; the default effort, or one named. ``seconds`` are for repeats."""
        try:
            if self._process is None:
                self._begin()
            return Figures(**self._answer([row.task, row.data, row.k, effort, seconds], self._limit))
        except TimeoutError:
            self.end()
            return Figures(failed=f"over {self._limit:.0f} s", seconds=self._limit)

    def efforts(self) -> list[str]:
        """The efforts that its version knows."""
        if self._process is None:
            self._begin()
        return list(self._efforts)

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _begin(self) -> None:
        command = [self._python, "-m", __name__]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        known = self._answer(["efforts"], WARM_UP)
        if not isinstance(known, list):
            raise ChildProcessError(f"{' '.join(command)} does not answer")
        self._efforts: list[str] = known

    def _answer(self, question: list[Any], limit: float) -> Any:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("the process was not begun")
        with contextlib.suppress(BrokenPipeError):  # then there is no line to read either
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
        line = self._reader.submit(process.stdout.readline).result(limit)
        if not line:
            self.end()
            return {"failed": "its process died"}
        return json.loads(line)


def serve() -> None:
    """The process: answers until nobody asks any more."""
    import sparseigen as se

    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed is no answer
    kept: dict[str, Any] = {}
    for line in sys.stdin:
        task, *rest = json.loads(line)
        if task == "efforts":
            se.sparse_eigenvector(DATA["PitProps"].make(), 5)  # imports and first calls are over after it
            known = "effort" in inspect.signature(se.sparse_eigenvector).parameters
            answer: Any = ["thorough"] if known else []
        else:
            try:
                answer = TASKS[task](*rest, kept)
            except Exception as error:
                answer = {"failed": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), file=answers, flush=True)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - began


def _made(name: str, kept: dict[str, Any]) -> tuple[Data, Any]:
    """The data, which stay until others are asked for."""
    if name not in kept:
        kept.clear()
        kept[name] = DATA[name].make()
    return DATA[name], kept[name]


def solve(name: str, k: int, effort: str | None, seconds: float, kept: dict[str, Any]) -> dict[str, Any]:
    """Plain run and default solve, each on an operator nobody has used and once more on the same; smallest times."""
    import sparseigen as se

    data, made = _made(name, kept)
    runs: dict[str, Callable[[Any], Any]] = {
        "plain": lambda A: se.sparse_eigenvector(A, k, start="max-variance", polish=None, certify=False),
        "seconds": lambda A: se.sparse_eigenvector(A, k, **({} if effort is None else {"effort": effort})),
    }
    if effort is not None:
        del runs["plain"]
    times: dict[str, float] = {}
    until = time.perf_counter() + seconds
    for repeat in range(REPEATS):
        if repeat and time.perf_counter() > until:
            break
        for what, run in runs.items():
            operator = data.operator(made)
            for which in (what, f"{what}_again"):
                result, taken = timed(lambda: run(operator))  # noqa: B023
                times[which] = min(taken, times.get(which, taken))
                if taken > seconds:
                    break
    return {**times, **facts(result)}


def facts(result: Any) -> dict[str, Any]:
    """What a result reached and proved, and by which stages."""
    proven = result.certificate
    bracket = {} if proven is None else {"gap": proven.relative_gap, "upper": proven.upper_bound}
    return {
        "values": [result.value],
        **bracket,
        "optimal": proven is not None and bool(proven.optimal),
        "stages": told(getattr(result, "stages", None)),
    }


def told(stages: Any) -> str:
    """Stages in one line, whatever they are made of: pairs, a mapping, or objects with a name and seconds."""
    if not stages:
        return ""
    pairs = stages.items() if hasattr(stages, "items") else stages
    parts = []
    for stage in pairs:
        name, *rest = stage if isinstance(stage, tuple) else (getattr(stage, "name", stage),)
        spent = rest[0] if rest else getattr(stage, "seconds", None)
        parts.append(f"{name} {1e3 * spent:.3g}" if isinstance(spent, float) else str(name))
    return ", ".join(parts)


def exact(name: str, k: int, _effort: str | None, _seconds: float, kept: dict[str, Any]) -> dict[str, Any]:
    import sparseigen as se

    data, made = _made(name, kept)
    operator = data.operator(made)
    result, taken = timed(lambda: se.solve_exact(operator, k, time_limit=EXACT_SECONDS))
    return {**facts(result), "seconds": taken, "stages": f"{result.settings.get('nodes', '?')} nodes"}


def components(name: str, k: int, _effort: str | None, seconds: float, kept: dict[str, Any]) -> dict[str, Any]:
    """Five components beside one solve, both from the array."""
    import sparseigen as se

    data, made = _made(name, kept)
    ones: list[float] = []
    fives: list[float] = []
    until = time.perf_counter() + seconds
    while not ones or (len(ones) < REPEATS and time.perf_counter() < until):
        ones.append(timed(lambda: se.sparse_eigenvector(data.operator(made), k))[1])
        fitted, taken = timed(lambda: se.SparsePCA(n_components=5, cardinality=k).fit(made))
        fives.append(taken)
    return {"seconds": min(fives), "one": min(ones), "values": [float(fitted.explained_variance_.sum())]}


def path(name: str, _k: int, _effort: str | None, _seconds: float, kept: dict[str, Any]) -> dict[str, Any]:
    """A whole path beside the mean of default solves at its ends and its middle, each on an operator of its own."""
    import sparseigen as se

    data, made = _made(name, kept)
    ones = []
    for k in (PATH[0], PATH[len(PATH) // 2], PATH[-1]):
        operator = data.operator(made)
        ones.append(timed(lambda: se.sparse_eigenvector(operator, k))[1])  # noqa: B023
    operator = data.operator(made)
    found, taken = timed(lambda: se.cardinality_path(operator, PATH))
    gaps = [result.certificate.relative_gap if result.certificate else 1.0 for result in found]
    return {
        "seconds": taken,
        "one": sum(ones) / len(ones),
        "values": [result.value for result in found],
        "gap": max(gaps),
        "optimal": all(result.certificate is not None and result.certificate.optimal for result in found),
    }


TASKS = {"solve": solve, "exact": exact, "components": components, "path": path}

if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):  # whoever asks says what happened
        serve()
