"""Several computations that share passes over the data.

Each computation runs in a thread of its own, but only one of them runs at any time, in a fixed order: each goes on
until it asks for a product, and when all have asked (or ended) one pass answers them all. The outcome therefore does
not depend on scheduling, and code that knows nothing of passes shares them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Answer = TypeVar("Answer")
Serve = Callable[[list[Any]], list[Any]]


class _Cancelled(BaseException):
    """Unwinds a computation whose neighbour failed."""


class _Task:
    """One computation and the baton that it and the coordinator hand each other."""

    def __init__(self, work: Callable[[], Any], board: threading.local) -> None:
        self.work, self.board = work, board
        self.may_run, self.has_stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.requests: list[Any] | None = None
        self.answers: list[Any] = []
        self.outcome: Any = None
        self.failure: BaseException | None = None
        self.cancelled = False
        self.ended = False
        self.thread = threading.Thread(target=self._main, daemon=True)

    def _main(self) -> None:
        self.may_run.acquire()
        self.board.task = self
        try:
            if not self.cancelled:
                self.outcome = self.work()
        except _Cancelled:
            pass
        except BaseException as failure:
            self.failure = failure
        finally:
            self.ended = True
            self.has_stopped.release()

    def go_on(self) -> None:
        """Let the computation run until it asks for something or ends; called by the coordinator."""
        self.may_run.release()
        self.has_stopped.acquire()

    def ask(self, requests: list[Any]) -> list[Any]:
        """Hand requests over and wait for their answers; called by the computation."""
        self.requests = requests
        self.has_stopped.release()
        self.may_run.acquire()
        if self.cancelled:
            raise _Cancelled
        return self.answers


class SharedPasses:
    """Runs computations side by side; ``serve`` answers a list of requests in one pass."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._board = threading.local()

    def ask(self, requests: list[Any]) -> list[Any]:
        """Answers to requests: at once, or with those of the computations that run side by side with this one."""
        task: _Task | None = getattr(self._board, "task", None)
        return self._serve(requests) if task is None else task.ask(requests)

    def run(self, work: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """The results of all computations, in their order. The first failure ends all and is raised."""
        if len(work) < 2 or getattr(self._board, "task", None) is not None:
            return [one() for one in work]
        tasks = [_Task(one, self._board) for one in work]
        for task in tasks:
            task.thread.start()
        try:
            live = tasks
            while live:
                live = [task for task in live if _advanced(task)]
                answers = iter(
                    self._serve([request for task in live for request in task.requests or []]) if live else ()
                )
                for task in live:
                    task.answers = [next(answers) for _ in task.requests or []]
        except BaseException:
            _cancel(tasks)
            raise
        return [task.outcome for task in tasks]


def _advanced(task: _Task) -> bool:
    """Let one computation go on; whether it has asked for more."""
    task.go_on()
    if task.failure is not None:
        raise task.failure
    return not task.ended


def _cancel(tasks: Sequence[_Task]) -> None:
    for task in tasks:
        if not task.ended:
            task.cancelled = True
            task.may_run.release()
            task.thread.join()
