"""Packages of R, where Rscript is installed: data go there and loadings come back as raw doubles in files.

`r_packages.R` makes the calls and takes the time of the fit alone, so that starting R and reading files do not count.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.speed.cells import Problem
from benchmarks.speed.peers.interface import Fit, Peer, Timed

RESOLUTION = 1e-3
"""R counts its processor time in thousandths of a second."""
SCRIPT = Path(__file__).with_name("r_packages.R")


class RError(RuntimeError):
    """R ended with an error; the text is its own."""


def _rscript(*arguments: str) -> str:
    program = shutil.which("Rscript")
    if program is None:
        raise RError("Rscript is not installed")
    done = subprocess.run([program, "--vanilla", str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RError(done.stderr.strip()[-500:] or f"Rscript ended with code {done.returncode}")
    return done.stdout


def missing(package: str) -> str:
    """Why an R package cannot be used here; empty if it can."""
    if shutil.which("Rscript") is None:
        return "Rscript is not installed"
    version = r_version(package)
    return "" if version else f"the R package {package} is not installed"


@cache
def r_version(package: str) -> str:
    """The version of an R package, empty without one."""
    return _rscript("version", package).strip()


def fit(package: str) -> Fit:
    def run(problem: Problem, parameter: float, seed: int) -> Timed:
        data = np.asfortranarray(problem.centred_data)
        with tempfile.TemporaryDirectory() as folder:
            given, answer = Path(folder) / "data", Path(folder) / "loadings"
            data.ravel(order="F").tofile(given)
            sizes = [str(size) for size in data.shape]
            seconds = _rscript("fit", package, str(given), *sizes, repr(float(parameter)), str(seed), str(answer))
            return Timed(np.fromfile(answer), max(float(seconds), RESOLUTION))

    return run


def _largest_alpha(problem: Problem) -> float:
    """No loading of sparsepca's survives a larger one: its threshold is compared with X'Xa of the centred data."""
    values = np.linalg.svd(problem.centred_data, compute_uv=False)
    return float(values[0] ** 2)


def _peer(package: str, tuning: str, largest: object = None, seeds: int = 1) -> Peer:
    return Peer(
        f"R {package}",
        f"R:{package}",
        fit(package),
        tuning=tuning,
        largest_penalty=largest,
        seeds=seeds,
        available=lambda: missing(package),
    )


PEERS = (
    _peer("elasticnet", "cardinality"),
    _peer("nsprcomp", "cardinality", seeds=3),
    _peer("PMA", "penalty", lambda problem: 1.0),  # 1 / sumabsv, which lies between 1 and sqrt(p)
    _peer("sparsepca", "penalty", _largest_alpha),
)
