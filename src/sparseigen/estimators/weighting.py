"""Weights of samples, and a voice for long fits: what `SparsePCA.fit` does besides finding components."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.coercion import real_numbers
from sparseigen.errors import NonFiniteError, ShapeError, TooFewSamplesError

SMALLEST_DEVIATION = 1e-14
"""A weighted deviation below this share of the mean is rounding: the column is constant."""


def check_sample_weights(sample_weight: Any, count: int) -> NDArray[np.float64]:
    """One finite number >= 0 for each sample, enough of them to have a covariance; a single number weighs all alike.

    Examples
    --------
    >>> check_sample_weights([1, 0, 2], 3).tolist()
    [1.0, 0.0, 2.0]
    """
    weights = real_numbers(sample_weight, "sample_weight")
    weights = np.full(count, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (count,):
        message = f"sample_weight has shape {weights.shape}; it must have one entry for each of the {count} samples."
        raise ShapeError(message, parameter="sample_weight")
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        msg = "sample_weight has entries that are negative, NaN or infinite; all must be finite and >= 0."
        raise NonFiniteError(msg, parameter="sample_weight")
    if not weights.any():
        msg = "the weights of all samples are zero; at least two samples must count."
        raise TooFewSamplesError(msg)
    if not weights.sum() > 1.0:
        message = f"the weights of the samples sum to {weights.sum():g}; a covariance needs more than 1."
        raise TooFewSamplesError(message)
    return weights


def weigh_rows(
    X: NDArray[Any], weights: NDArray[np.float64], *, scale: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Rows whose products over n - 1 are the weighted covariance, with the weighted means and scales.

    The covariance is that of samples repeated by their weights: sum w (x - mean)(x - mean)' / (sum w - 1).
    """
    total = float(weights.sum())
    values = np.asarray(X, dtype=np.float64)
    means = weights @ values / total
    centred = (values - means) * np.sqrt(weights * (len(values) - 1) / (total - 1.0))[:, None]
    scales = np.ones(values.shape[1])
    if scale:
        deviations = np.sqrt(np.einsum("ij,ij->j", centred, centred) / (len(values) - 1))
        kept = deviations > SMALLEST_DEVIATION * np.abs(means)
        scales = np.where(kept, deviations, 1.0)
        centred = np.where(kept, centred / scales, 0.0)
    return centred, means, scales


class Narrator:
    """Called as ``on_iteration``: a line on standard output for every component and stage, as it begins."""

    def __init__(self) -> None:
        self.began, self.part = time.monotonic(), ""

    def __call__(self, iteration: int, vector: Any, value: float) -> None:
        """Iterations are too many to be told."""

    def on_part(self, text: str) -> None:
        """One of several solves begins."""
        self.part = f"{text}, "

    def on_stage(self, name: str) -> None:
        """Another stage of a solve begins."""
        sys.stdout.write(f"[SparsePCA] {self.part}{name} ({time.monotonic() - self.began:.1f} s)\n")


def fit_rows_with_gaps(
    rows: NDArray[Any],
    gaps: NDArray[np.bool_],
    means: NDArray[np.float64],
    scales: NDArray[np.float64],
    components: NDArray[np.float64],
    scores: NDArray[Any],
) -> None:
    """Scores of rows with gaps, in place: the z whose point Bz in the span is nearest to what is there of the row.

    B is the pseudo-inverse of the components, so that of a complete row z is its product with them. Only variables that
    a component has can matter.
    """
    used = np.flatnonzero(components.any(axis=0))
    basis = np.linalg.pinv(components)[used]
    for row in np.flatnonzero(gaps[:, used].any(axis=1)):
        there = ~gaps[row, used]
        values = (rows[row, used].astype(np.float64) - means[used]) / scales[used]
        scores[row] = np.linalg.lstsq(basis[there], values[there], rcond=None)[0] if there.any() else 0.0
