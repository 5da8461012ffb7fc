"""A killed run goes on to the identical result; a damaged or foreign checkpoint is refused."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import CheckpointError, InputError, OptionError
from sparseigen.operators import checkpoint as module
from tests.common.interruption import interrupting

RUN = """
import sys, time, numpy as np, sparseigen as se
data, saved, out = sys.argv[1:]
print("begun", flush=True)
slowly = lambda *facts: time.sleep(0.004)
operator = se.covariance(data, memory_limit="2MB", checkpoint=saved, on_block=slowly)
results = se.sparse_components(operator, [6, 5])
path = se.cardinality_path(operator, [2, 4])
np.savez(out, *[r.vector for r in results], *[r.vector for r in path],
         bounds=[r.certificate.upper_bound for r in results], values=[r.value for r in results])
"""


def _bits(path):
    with np.load(path) as stored:
        return {name: hashlib.sha256(stored[name].tobytes()).hexdigest() for name in stored.files}


@pytest.fixture
def file(rng, tmp_path):
    data = rng.standard_normal((300, 600)).astype(np.float32)
    data[:, 5:30:2] += 0.7 * rng.standard_normal((300, 1))
    np.save(tmp_path / "x.npy", data)
    return tmp_path / "x.npy"


def test_killed_twenty_times_ends_in_identical_bits(file, tmp_path):
    command = [sys.executable, "-c", RUN, str(file), str(tmp_path / "saved"), str(tmp_path / "out.npz")]
    whole = [*command[:4], str(tmp_path / "other"), str(tmp_path / "whole.npz")]
    began = time.monotonic()
    subprocess.run(whole, check=True)
    seconds = time.monotonic() - began
    chance, kills, tries = random.Random(0), 0, 0
    while kills < 20 and tries < 200:
        tries += 1
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        process.stdout.readline()  # it has begun: what comes now is the computation
        try:
            process.wait(timeout=chance.random() * seconds / 8)
            # It came to its end between two kills: its bits are right too, and the next begins from nothing.
            assert _bits(tmp_path / "out.npz") == _bits(tmp_path / "whole.npz")
            for left in tmp_path.glob("saved*"):
                left.unlink()
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        finally:
            process.stdout.close()
    subprocess.run(command, check=True)
    assert kills == 20, "the run is too short to be killed so often"
    assert _bits(tmp_path / "out.npz") == _bits(tmp_path / "whole.npz")


def _saved(file, path):
    operator = se.covariance(file, checkpoint=path, memory_limit="2MB")
    se.sparse_eigenvector(operator, 6, certify=False)
    return operator


def test_a_second_run_replays_without_reading(file, tmp_path):
    first = _saved(file, tmp_path / "saved")
    read = []
    again = se.covariance(
        file, memory_limit="2MB", checkpoint=tmp_path / "saved", on_block=lambda *facts: read.append(facts)
    )
    result = se.sparse_eigenvector(again, 6, certify=False)
    assert again.log.resumed == first.passes_made
    assert not read
    assert result.value == se.sparse_eigenvector(first, 6, certify=False).value


def test_a_pass_is_resumed_in_the_middle(file, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PARTIAL_SECONDS", -1.0)
    whole = se.covariance(file, memory_limit="2MB")
    with pytest.raises(KeyboardInterrupt):
        se.covariance(
            file, memory_limit="2MB", checkpoint=tmp_path / "saved", on_block=interrupting(lambda *_: None, 2)
        )
    seen = []
    resumed = se.covariance(
        file, memory_limit="2MB", checkpoint=tmp_path / "saved", on_block=lambda *facts: seen.append(facts[1])
    )
    assert seen[0] > 2 * whole.block_rows
    assert resumed.means.tobytes() == whole.means.tobytes()
    assert resumed.diagonal().tobytes() == whole.diagonal().tobytes()


@pytest.mark.parametrize("which", ["saved", "saved.data"])
def test_changed_or_missing_bytes_are_refused(file, tmp_path, which):
    _saved(file, tmp_path / "saved")
    content = (tmp_path / which).read_bytes()
    places = np.random.default_rng(3)
    for _ in range(40):
        damaged = bytearray(content)
        damaged[int(places.integers(len(content)))] ^= int(places.integers(1, 256))
        (tmp_path / which).write_bytes(bytes(damaged))
        with pytest.raises(CheckpointError, match="cannot be used"):
            se.covariance(file, memory_limit="2MB", checkpoint=tmp_path / "saved")
    for _ in range(10):
        (tmp_path / which).write_bytes(content[: int(places.integers(len(content)))])
        with pytest.raises(CheckpointError, match="cut short or damaged"):
            se.covariance(file, memory_limit="2MB", checkpoint=tmp_path / "saved")
    (tmp_path / which).unlink()
    with pytest.raises(CheckpointError, match=r"is gone|is missing"):
        se.covariance(file, memory_limit="2MB", checkpoint=tmp_path / "saved")


def test_other_data_settings_and_calls_are_refused(file, tmp_path, rng):
    _saved(file, tmp_path / "saved")
    with pytest.raises(CheckpointError, match=r"other data or settings \(different: scale\)"):
        se.covariance(file, memory_limit="2MB", checkpoint=tmp_path / "saved", scale=True)
    operator = se.covariance(file, memory_limit="2MB", checkpoint=tmp_path / "saved")
    with pytest.raises(CheckpointError, match="holds another computation: pass"):
        se.sparse_eigenvector(operator, 40, start="random", polish=None, certify=False)
    np.save(file, np.load(file) + 1.0)
    with pytest.raises(CheckpointError, match="different: data"):
        se.covariance(file, memory_limit="2MB", checkpoint=tmp_path / "saved")


def test_bad_paths(file, tmp_path):
    with pytest.raises(InputError, match="folder that exists"):
        se.covariance(file, checkpoint=tmp_path / "no" / "saved")
    with pytest.raises(OptionError, match="must be a path"):
        se.covariance(file, checkpoint=3)
