"""Data shaped like molecular dynamics for tICA: slow modes of a few features each among thousands of fast ones."""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import eigh

import sparseigen as se
from benchmarks.certificates.targets import Target

LAG, MODES, PER_MODE = 5, 8, 25
CARDINALITY = 20
RATIO, SECONDS = 1.0, 30.0


def draw_trajectory(rng: np.random.Generator, frames: int, features: int) -> np.ndarray:
    """Autoregressive modes on 25 features each, and noise without memory on all."""
    memory = np.linspace(0.995, 0.9, MODES)
    modes, shocks = np.zeros((frames, MODES)), rng.standard_normal((frames, MODES))
    for frame in range(1, frames):
        modes[frame] = memory * modes[frame - 1] + np.sqrt(1.0 - memory**2) * shocks[frame]
    loadings = np.zeros((MODES, features))
    for mode in range(MODES):
        loadings[mode, rng.choice(features, PER_MODE, replace=False)] = rng.standard_normal(PER_MODE)
    trajectory = rng.standard_normal((frames, features)) + modes @ loadings
    return trajectory - trajectory.mean(axis=0)


def show_slow_modes(features: int) -> list[Target]:
    """The slowest mode of 20 features, certified, beside LAPACK's eigh(A, B) of all."""
    frames = 3 * features
    trajectory = draw_trajectory(np.random.default_rng(0), frames, features)
    form = trajectory[:-LAG].T @ trajectory[LAG:] / (frames - LAG)
    form, metric = 0.5 * (form + form.T), trajectory.T @ trajectory / frames
    began = time.process_time()
    result = se.sparse_eigenvector(form, CARDINALITY, metric=metric)
    ours = time.process_time() - began
    began = time.process_time()
    values = eigh(form, metric)[0]
    dense = time.process_time() - began
    proof = result.certificate
    assert proof is not None
    print(f"\n## Slow modes: {features} features, {frames} frames, lag {LAG}, k = {CARDINALITY}\n")
    print("| | value | bracket | processor seconds |\n| --- | ---: | --- | ---: |")
    print(f"| ours, certified | {result.value:.4f} | {proof.lower_bound:.4f} to {proof.upper_bound:.4f} | {ours:.2f} |")
    print(f"| scipy eigh(A, B), all features | {values[-1]:.4f} | | {dense:.2f} |")
    figure = f"{ours:.1f} s, {ours / dense:.2f} times eigh, gap {proof.relative_gap:.1%}"
    holds = ours <= RATIO * dense and ours <= SECONDS and bool(np.isfinite(proof.upper_bound))
    return [Target(f"slow modes, {features} features, certified", figure, f"at most eigh and {SECONDS:g} s", holds)]
