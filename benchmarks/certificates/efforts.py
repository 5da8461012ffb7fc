"""Gap and seconds of every effort and of the exact method."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import sparseigen as se
from benchmarks.certificates.instances import Instance, instances
from sparseigen.certificates import EFFORTS, certify
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector

REPEATS = 3


def fastest(call: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """The answer and the shortest time."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        answer = call()
        best = min(best, time.perf_counter() - began)
    return answer, best


def table() -> None:
    print("gap of the default answer to the bound, and seconds of the bound alone (solve: seconds to find the answer)")
    print(f"{'instance':30s} {'k':>4s} {'value':>11s} {'solve':>8s}", end="")
    for effort in EFFORTS:
        print(f" {effort:>9s} {'s':>7s}", end="")
    print(f" {'exact gap':>10s} {'s':>7s} {'nodes':>6s} {'status':>10s}")
    for instance in instances():
        for cardinality in instance.cardinalities:
            row(instance, cardinality)


def row(instance: Instance, cardinality: int) -> None:
    operator = as_operator(instance.matrix)
    result, solving = fastest(lambda: se.sparse_eigenvector(operator, cardinality, certify=False), REPEATS)
    vector = SparseVector(result.support, result.vector[result.support])
    print(f"{instance.name:30s} {cardinality:4d} {result.value:11.6g} {solving:8.4f}", end="")
    for effort in EFFORTS:
        bound = lambda effort=effort: certify(operator, cardinality, vector, effort=effort)  # noqa: E731
        certificate, seconds = fastest(bound, 1 if effort == "tight" else REPEATS)
        print(f" {certificate.relative_gap:9.4%} {seconds:7.3f}", end="")
    if instance.exact_seconds:
        limit = instance.exact_seconds
        exact, seconds = fastest(lambda: se.solve_exact(operator, cardinality, time_limit=limit), REPEATS)
        gap, nodes = exact.certificate.relative_gap, exact.settings["nodes"]
        print(f" {gap:10.1e} {seconds:7.3f} {nodes:6d} {exact.stop_reason.value:>10s}", end="")
    print(flush=True)
