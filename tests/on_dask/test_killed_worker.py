"""SIGKILL to a worker in the middle of a fit: the fit goes on to the same answer."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators.pass_data import ClusterData

ALGORITHM_1 = {"start": "max-variance", "polish": None, "certify": False, "rtol": 1e-9}
"""The paper's method as it stands: a pass an iteration."""


def load(folder: Path, number: int) -> np.ndarray:
    """One partition; every load leaves a mark."""
    with (folder / "loads.txt").open("a") as log:
        log.write(f"{number}\n")
    rng = np.random.default_rng(number)
    values = rng.standard_normal((400, 80))
    values[:, :10] += rng.standard_normal((400, 1))
    return values


@pytest.fixture
def workers():
    """Two worker processes; a worker that dies is started again by its nanny, as on a real cluster."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore:unclosed")  # the killed worker's half of a connection is closed by the system
def test_fit_survives_sigkill(workers, tmp_path, monkeypatch):
    monkeypatch.setattr(ClusterData, "_form_gram", lambda self: False)
    monkeypatch.setattr(ClusterData, "_gram_fits", lambda self: False)
    parts = [partial(load, tmp_path, number) for number in range(6)]
    expected_operator = se.covariance(parts, client=workers)
    expected = se.sparse_eigenvector(expected_operator, 10, **ALGORITHM_1)
    loads_before = len((tmp_path / "loads.txt").read_text().split())
    assert loads_before == 6
    operator = se.covariance(parts, client=workers)
    victim = next(iter(workers.run(os.getpid).values()))
    plain, passes = ClusterData._tasks, []

    def with_kill(self, *arguments):
        tasks = plain(self, *arguments)
        passes.append(1)
        if len(passes) == 3:
            os.kill(victim, signal.SIGKILL)  # while the tasks of this pass are on their way or running
        return tasks

    monkeypatch.setattr(ClusterData, "_tasks", with_kill)
    found = se.sparse_eigenvector(operator, 10, **ALGORITHM_1)
    assert len(passes) > 3  # the worker died with work still to be done
    assert np.array_equal(found.support, expected.support)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    # No iteration is made twice: the pass in flight waits for what was lost, which is loaded again once.
    assert operator.passes_made == expected_operator.passes_made
    reloads = len((tmp_path / "loads.txt").read_text().split()) - loads_before - 6
    assert 1 <= reloads <= 12
