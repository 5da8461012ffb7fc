"""A peer in a process of its own: what crashes or hangs there is recorded and does not stop the run."""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import cells
from benchmarks.speed.cells import Problem, support_of, value_of
from benchmarks.speed.peers import Peer, Timed
from benchmarks.speed.records import Seconds
from benchmarks.speed.tuning import Trial, tune
from sparseigen.errors import MissingDataError

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "SPARSEIGEN_NUM_THREADS")
ONE_THREAD = dict.fromkeys(THREADS, "1")
"""One thread for everybody: the peers have no parallel form for one component."""


PATIENCE = 6.0


@dataclass(frozen=True)
class Limits:
    """How long one peer may take for one cardinality of one cell, in processor time: other programs do not count.

    A peer that waits without computing is stopped after `PATIENCE` times as many seconds by the clock.
    """

    search: float
    """Seconds after which no further fit is begun."""
    fit: float
    """Seconds after which a fit that was begun is stopped, with its process."""
    repeats: float = 0.5
    """Seconds for repeating the fit that counts."""
    seeds: int = 3
    """The most seeds that a random method may try."""


@dataclass(frozen=True)
class Outcome:
    """What a peer did for one cardinality of one cell."""

    status: str
    message: str = ""
    cardinality: int | None = None
    value: float | None = None
    support: list[Any] = field(default_factory=list)
    seconds: Seconds | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Worker:
    """Runs one peer, cell after cell; ended where a fit takes too long and begun again for the next cell."""

    def __init__(self, peer: Peer, table: str = "benchmarks.speed.peers") -> None:
        self.peer = peer
        self._table = table  # functions do not travel to another process, names of modules do
        self._process: Any = None
        self._line: Any = None
        self._unusable: Outcome | None = None

    def outcomes(self, cell: str, cardinalities: Sequence[int], limits: Limits) -> list[Outcome]:
        """One outcome per cardinality."""
        if (problem := self.unusable()) is not None:
            return [problem] * len(cardinalities)
        self._line.send((cell, list(cardinalities), limits))
        found: list[Outcome] = []
        while len(found) < len(cardinalities):
            answer = self._answer(limits.search + limits.fit)
            if isinstance(answer, Outcome):
                found.append(answer)
                continue
            self.end()
            found += [answer_for_ended(answer, limits.search + limits.fit)] * (len(cardinalities) - len(found))
        return found

    def unusable(self) -> Outcome | None:
        """Why the peer cannot run at all; None if it can. Starts its process."""
        if self._process is None and self._unusable is None:
            self._unusable = self._begin()
        return self._unusable

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._line.close()
            self._process = None

    def _begin(self) -> Outcome | None:
        """Start the process; what is wrong with the peer, if anything is."""
        if reason := self.peer.available():
            return Outcome("not installed", reason)
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        before = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(ONE_THREAD)
        try:
            self._process = context.Process(target=_serve, args=(self._table, self.peer.name, theirs), daemon=True)
            self._process.start()
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
        theirs.close()
        ready = self._answer(120.0)
        if isinstance(ready, Outcome) and ready.status == "ok":
            return None
        self.end()
        return ready if isinstance(ready, Outcome) else answer_for_ended(ready, 120.0)

    def _answer(self, limit: float) -> Outcome | str:
        """What the process says; "time limit" or "failed" if it says nothing more."""
        began, used = time.perf_counter(), _processor_seconds(self._process.pid)
        try:
            while not self._line.poll(0.5):
                if (
                    time.perf_counter() - began > PATIENCE * limit
                    or _processor_seconds(self._process.pid) - used > limit
                ):
                    return "time limit"
            return self._line.recv()
        except (EOFError, OSError):
            return "failed"


def _processor_seconds(pid: int) -> float:
    """What a process has computed; 0 where the system does not say, so that only the clock counts."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def answer_for_ended(status: str, waited: float) -> Outcome:
    if status == "time limit":
        return Outcome(status, f"a fit was stopped at the limit of {waited:.0f} s")
    return Outcome(status, "its process died")


def _serve(table: str, name: str, line: Any) -> None:
    warnings.simplefilter("ignore")
    peer = importlib.import_module(table).PEERS[name]
    try:
        line.send(check(peer))
        while True:
            cell, cardinalities, limits = line.recv()
            for outcome in answers(peer, cell, cardinalities, limits):
                line.send(outcome)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass


def check(peer: Peer) -> Outcome:
    """Whether the peer is there and runs at all, on a tiny problem; imports and first calls are over after it."""
    try:
        if reason := peer.available():
            return Outcome("not installed", reason)
        peer.fit(_tiny(peer), 3 if peer.largest_penalty is None else peer.largest_penalty(_tiny(peer)) / 4.0, 0)
    except ImportError as error:
        found = importlib.util.find_spec((error.name or "").split(".")[0] or "none")
        return Outcome("failed" if found else "not installed", described(error))
    except Exception as error:
        return Outcome("failed", f"on a tiny problem: {described(error)}")
    return Outcome("ok")


def _tiny(peer: Peer) -> Problem:
    if peer.graphs:
        return cells.CELLS["karate club"].make()
    return Problem(data=np.random.default_rng(0).standard_normal((20, 8)))


def described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def answers(peer: Peer, cell: str, cardinalities: Sequence[int], limits: Limits) -> Any:
    """An outcome for each cardinality; what is raised becomes a failed outcome."""
    try:
        problem = cells.CELLS[cell].make()
    except MissingDataError as error:
        yield from [Outcome("no data", described(error))] * len(cardinalities)
        return
    # Fits for one cardinality help the search for the next; each seed has a search of its own.
    known: list[list[Trial]] = [[] for _ in range(peer.seeds)]
    for cardinality in cardinalities:
        try:
            yield _outcome(peer, problem, cardinality, limits, known)
        except Exception as error:
            yield Outcome("failed", described(error))


def _outcome(peer: Peer, problem: Problem, cardinality: int, limits: Limits, known: list[list[Trial]]) -> Outcome:
    began, out_of_time = time.perf_counter(), _clock(limits.search)
    found: list[tuple[float, int, Trial]] = []
    for seed in range(min(peer.seeds, limits.seeds)):
        if found and out_of_time():
            break
        trial = _one_seed(peer, problem, cardinality, seed, known[seed], out_of_time)
        if trial is not None and trial.cardinality:
            found.append((value_of(problem, trial.support), seed, trial))
    if not found:
        kept = sorted({trial.cardinality for trials in known for trial in trials})
        return Outcome("failed", f"no fit kept between 1 and {cardinality} variables; kept {kept or 'none'}")
    # A seed that reached the cardinality comes before a better value at another one.
    value, seed, trial = max(found, key=lambda one: (one[2].cardinality, one[0]))
    # Fits made for the cardinalities before this one are not charged again; the one that counts always is.
    new = [one for trials in known for one in trials if one.began >= began]
    total = sum(one.seconds for one in new) + (0.0 if trial in new else trial.seconds)
    if trial.cardinality > cardinality and peer.tuning != "own size":
        return Outcome("failed", f"kept {trial.cardinality} variables where {cardinality} were asked for")
    times = _repeated(peer, problem, trial, seed, limits.repeats)
    details = {"parameter": trial.parameter, "fits": len(new), "seed": seed}
    support = [one.item() if hasattr(one, "item") else one for one in trial.support]
    return Outcome("ok", "", trial.cardinality, value, support, Seconds.of(times, total), details)


def _clock(limit: float) -> Callable[[], bool]:
    """Whether the limit has passed since now; children count by the clock alone, as R does."""
    began, used = time.perf_counter(), time.process_time()
    return lambda: time.process_time() - used > limit or time.perf_counter() - began > PATIENCE * limit


def _one_seed(
    peer: Peer, problem: Problem, cardinality: int, seed: int, trials: list[Trial], out_of_time: Callable[[], bool]
) -> Trial | None:
    if peer.largest_penalty is None:
        trials[:] = [_fit(peer, problem, cardinality, seed)]
        return trials[0]
    return tune(
        lambda penalty: _fit(peer, problem, penalty, seed),
        cardinality,
        peer.largest_penalty(problem),
        trials=trials,
        out_of_time=out_of_time,
    )


def _fit(peer: Peer, problem: Problem, parameter: float, seed: int) -> Trial:
    # Processor seconds: with one thread they are the clock's on an idle machine, and what else runs counts little.
    began, used = time.perf_counter(), time.process_time()
    answer = peer.fit(problem, parameter, seed)
    seconds = time.process_time() - used
    if isinstance(answer, Timed):
        answer, seconds = answer.answer, answer.seconds
    answer = np.asarray(answer)
    if not peer.graphs and not (answer.size == problem.size and np.isfinite(answer.astype(float)).all()):
        raise ValueError(f"the answer is not {problem.size} finite loadings: {answer.shape}, {answer.ravel()[:3]} ...")
    return Trial(parameter, answer if peer.graphs else support_of(answer), seconds, began)


def _repeated(peer: Peer, problem: Problem, trial: Trial, seed: int, allowed: float) -> list[float]:
    """Seconds of the fit that counts: the one there is, and more while there is time, at most nine."""
    times = [trial.seconds]
    until = time.perf_counter() + allowed
    while len(times) < 9 and time.perf_counter() + min(times) < until:
        times.append(_fit(peer, problem, trial.parameter, seed).seconds)
    return times
