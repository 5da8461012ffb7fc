"""Solves in many threads and processes at once: ``python -m fuzzing.concurrent_work NAME RUNS``.

Every answer is compared, bit by bit, with that of a single thread. A line is printed after every run, so that whoever
watches can tell a slow machine from a deadlock.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from fuzzing.forked import exit_code, in_child
from sparseigen import kernels

THREADS = 32
PROBLEMS = 8

Answer = tuple[bytes, float, float]


@functools.cache
def data(number: int) -> Any:
    """Data of one kind; but for the last, large enough that every product is shared between the pool's threads."""
    rng = np.random.default_rng(number)
    if number % 4 == 0:
        return sp.random(300, 2000, 0.4, format="csr", random_state=rng)
    shape = (12, 9) if number % 4 == 3 else (120, 2000)
    found = rng.standard_normal(shape, dtype=np.float32 if number % 4 == 1 else np.float64)
    found[:, :5] += rng.standard_normal((shape[0], 1), dtype=found.dtype)
    return found


@functools.cache
def graph() -> Any:
    matrix = sp.random(80, 80, 0.1, format="csr", random_state=np.random.default_rng(1))
    matrix.data[:] = 1.0
    return matrix.maximum(matrix.T)


def solve(number: int, operator: Any = None) -> Answer:
    """One problem's answer as bits."""
    if number == 3:
        found = se.densest_k_subgraph(graph(), 6)
        assert found.certificate is not None
        return found.indicator.tobytes(), found.density, found.certificate.upper_bound
    certify = number == 7
    operator = se.covariance(data(number)) if operator is None else operator
    result = se.sparse_eigenvector(operator, 4, start="max-variance", polish=None, certify=certify)
    bound = result.certificate.upper_bound if result.certificate is not None else 0.0
    return result.vector.tobytes(), result.value, bound


@functools.cache
def expected() -> tuple[Answer, ...]:
    """What one thread finds."""
    before = kernels.thread_count()
    kernels.set_thread_count(1)
    answers = tuple(solve(number) for number in range(PROBLEMS))
    kernels.set_thread_count(before)
    return answers


def check(numbers: Iterable[int], answers: Iterable[Answer]) -> None:
    right = expected()
    for number, answer in zip(numbers, answers, strict=True):
        if answer != right[number]:
            message = f"problem {number}: {answer[1:]} instead of {right[number][1:]}"
            raise AssertionError(message)


def _numbers(count: int) -> list[int]:
    return [number % PROBLEMS for number in range(count)]


def threads_with_own_problems() -> None:
    numbers = _numbers(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        check(numbers, pool.map(solve, numbers))


def threads_with_one_operator() -> None:
    operator = se.covariance(data(2))
    with ThreadPoolExecutor(THREADS) as pool:
        check([2] * THREADS, pool.map(lambda number: solve(number, operator), [2] * THREADS))


def thread_count_changes() -> None:
    """The pool is made anew while others use it."""
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            for count in (1, 4, 2, 3):
                kernels.set_thread_count(count)
                time.sleep(0.001)

    changer = threading.Thread(target=change)
    changer.start()
    try:
        numbers = _numbers(PROBLEMS)
        with ThreadPoolExecutor(4) as pool:
            check(numbers, pool.map(solve, numbers))
    finally:
        stop.set()
        changer.join()
        kernels.set_thread_count(0)


def _await(children: list[int]) -> None:
    for child in children:
        assert (status := exit_code(child)) == 0, f"a forked child ended with {status}"


def _solve_three() -> None:
    check([0, 1, 3], [solve(0), solve(1), solve(3)])


def fork_after_use() -> None:
    solve(0)
    children = [in_child(_solve_three) for _ in range(2)]
    _solve_three()
    _await(children)


def fork_while_threads_solve() -> None:
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(solve, number) for number in _numbers(8)]
        time.sleep(0.01)
        children = [in_child(_solve_three) for _ in range(2)]
        check(_numbers(8), [future.result() for future in futures])
    _await(children)


def _threads_in_child() -> None:
    numbers = _numbers(PROBLEMS)
    with ThreadPoolExecutor(4) as pool:
        check(numbers, pool.map(solve, numbers))


def threads_inside_a_fork() -> None:
    solve(0)
    _await([in_child(_threads_in_child)])


def multiprocessing_fork() -> None:
    solve(1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        check([0, 1, 2, 3], pool.map(solve, [0, 1, 2, 3]))


def multiprocessing_spawn() -> None:
    solve(1)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        check([0, 1, 2, 3], pool.map(solve, [0, 1, 2, 3]))


def joblib_loky() -> None:
    import joblib

    check([0, 1, 2, 3], joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(solve)(n) for n in range(4)))


def joblib_threads() -> None:
    import joblib

    numbers = _numbers(PROBLEMS)
    check(numbers, joblib.Parallel(n_jobs=8, backend="threading")(joblib.delayed(solve)(n) for n in numbers))


@functools.cache
def _cluster(processes: bool) -> Any:
    import logging

    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    workers = {"n_workers": 2, "threads_per_worker": 2} if processes else {"n_workers": 1, "threads_per_worker": 4}
    return Client(LocalCluster(processes=processes, dashboard_address=None, **workers))


def _on_workers(processes: bool) -> None:
    client, numbers = _cluster(processes), _numbers(PROBLEMS)
    check(numbers, client.gather(client.map(solve, numbers, pure=False)))


def dask_threads() -> None:
    _on_workers(processes=False)


def dask_processes() -> None:
    _on_workers(processes=True)


EXITING = """
import threading, time
from fuzzing.concurrent_work import solve
threads = [threading.Thread(target=lambda: [solve(i) for i in range(10**6)], daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
time.sleep({delay})
"""


def exit_while_threads_solve() -> None:
    """The main thread ends while daemon threads are inside kernels: the process must end, quietly."""
    delay = 0.1 + 0.4 * np.random.default_rng(time.monotonic_ns()).random()
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", EXITING.format(delay=delay)],
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )
    assert ended.returncode == 0, f"status {ended.returncode}: {ended.stderr}"
    assert not ended.stderr, ended.stderr


def signal_while_threads_solve() -> None:
    """Ctrl-C stops the main thread's solve; those of eight other threads go on undisturbed."""
    numbers = _numbers(8)
    interrupted = 0
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(solve, number) for number in numbers]
        timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            while not all(future.done() for future in futures) or timer.is_alive():
                solve(2)
            timer.join()
            time.sleep(0.05)
        except KeyboardInterrupt:
            interrupted += 1
        if timer.ident is not None:
            timer.join()
        with contextlib.suppress(KeyboardInterrupt):
            check(numbers, [future.result() for future in futures])
    assert interrupted == 1, "Ctrl-C was lost"
    check(numbers, [future.result() for future in futures])


SCENARIOS: dict[str, Callable[[], None]] = {
    "32 threads, own problems": threads_with_own_problems,
    "32 threads, one operator": threads_with_one_operator,
    "thread count changed meanwhile": thread_count_changes,
    "fork after use": fork_after_use,
    "fork while threads solve": fork_while_threads_solve,
    "threads inside a fork": threads_inside_a_fork,
    "multiprocessing fork": multiprocessing_fork,
    "multiprocessing spawn": multiprocessing_spawn,
    "joblib loky": joblib_loky,
    "joblib threads": joblib_threads,
    "dask threads": dask_threads,
    "dask processes": dask_processes,
    "exit while threads solve": exit_while_threads_solve,
    "Ctrl-C while threads solve": signal_while_threads_solve,
}


def main(name: str, runs: int) -> int:
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background work with Ctrl-C ignored
    kernels.set_thread_count(max(4, kernels.thread_count()))  # more threads than cores: more ways to go wrong
    os.environ["SPARSEIGEN_NUM_THREADS"] = str(kernels.thread_count())
    expected()
    print("ready", flush=True)
    for run in range(runs):
        SCENARIOS[name]()
        print(f"run {run}", flush=True)
    for processes in (False, True):
        if _cluster.cache_info().currsize and "dask" in name and ("processes" in name) == processes:
            client = _cluster(processes)
            cluster = client.cluster
            client.close()
            cluster.close()
    print("ok", flush=True)
    return 0


if __name__ == "__main__":
    from fuzzing import concurrent_work  # functions of __main__ cannot be sent to other processes

    sys.exit(concurrent_work.main(sys.argv[1], int(sys.argv[2])))
