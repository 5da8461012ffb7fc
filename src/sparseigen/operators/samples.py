"""The samples behind a covariance, seen through sums over them: what a statistical test of every variable needs.

An operator whose matrix is the covariance of data hands them out as `Operator.samples`. Nothing here forms a p x p
matrix or a dense copy of sparse data. Taking a component out means regressing every variable on its scores: with the
orthonormal scores U so far, variable x_j becomes x_j - U (U'x_j).
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.operators.contract import Indices, find_exponent

Floats = NDArray[np.float64]

SAMPLES_AT_ONCE = 64
"""Whose products with the variables are held, where those of all samples are needed."""
NEGLIGIBLE = 1e-12
"""Scores whose squared length is below this share of what they had add no direction to those taken out."""


class Samples(ABC):
    """n samples of p variables, centred and scaled as the operator says.

    ``squares`` holds the sum of squares of each variable; ``leverages`` how much of each sample the mean and the
    scores taken out so far fit by themselves (the diagonal of their hat matrix); ``removed`` how many those are.
    """

    n_samples: int
    size: int
    squares: Floats
    leverages: Floats
    removed: int = 0

    @abstractmethod
    def scores(self, indices: Indices, weights: Floats) -> Floats:
        """X w for the sparse vector with ``weights`` at ``indices``, shape (n,)."""

    @abstractmethod
    def combine(self, block: Floats) -> Floats:
        """X V for V of shape (p, c), shape (n, c)."""

    @abstractmethod
    def multiply(self, block: Floats) -> Floats:
        """X'W for W of shape (n, c), shape (p, c)."""

    @abstractmethod
    def moments(self, scores: Floats, weights: Floats) -> Floats:
        """X's, X'(w s) and the sums of w_i x_ij^2, the three columns of an array of shape (p, 3)."""

    @abstractmethod
    def gather(self, indices: Indices) -> Floats:
        """Some variables, one per row, shape (len(indices), n)."""

    def multiply_samples(self, weights: Floats) -> Floats:
        """The inner products of the samples, X Diag(w) X', shape (n, n)."""
        parts = []
        for begin in range(0, self.n_samples, SAMPLES_AT_ONCE):
            some = np.eye(self.n_samples, min(SAMPLES_AT_ONCE, self.n_samples - begin), -begin)
            parts.append(self.combine(weights[:, None] * self.multiply(some)))
        return np.column_stack(parts)

    @abstractmethod
    def without(self, scores: Floats) -> Samples:
        """The same samples, every variable regressed on these scores."""


class DenseSamples(Samples):
    """Dense data with one contiguous row per variable, in single precision: what chance decides needs no more digits.

    They are divided by a power of two first, so that their squares stay within that precision's range: scores, sums
    and squares are those of the divided data.
    """

    def __init__(self, variables: NDArray[Any], squares: Floats, *, centred: bool) -> None:
        self.size, self.n_samples = variables.shape
        exponent = find_exponent(float(np.sqrt(squares.max(initial=0.0))))
        self.variables = np.empty(variables.shape, dtype=np.float32)
        np.ldexp(variables, -exponent, out=self.variables, casting="same_kind")
        self.squares = np.ldexp(squares, -2 * exponent)
        self.leverages = np.full(self.n_samples, 1.0 / self.n_samples if centred else 0.0)

    def scores(self, indices: Indices, weights: Floats) -> Floats:
        """One pass over the chosen variables."""
        return kernels.combine_rows(self.variables, indices, weights.astype(np.float32)).astype(np.float64)

    def combine(self, block: Floats) -> Floats:
        """One matrix product."""
        return (self.variables.T @ block.astype(np.float32)).astype(np.float64)

    def multiply(self, block: Floats) -> Floats:
        """One matrix product."""
        return (self.variables @ block.astype(np.float32)).astype(np.float64)

    def moments(self, scores: Floats, weights: Floats) -> Floats:
        """One read of the data."""
        # The weights are squares of scores: brought to the size of one, because their fourth powers are summed.
        size = float(weights.max()) or 1.0
        sums = kernels.row_moments(self.variables, scores, weights / size * scores, weights / size).astype(np.float64)
        scaled: Floats = sums * np.array([1.0, size, size])
        return scaled

    def gather(self, indices: Indices) -> Floats:
        """A copy of the chosen rows."""
        return self.variables[indices].astype(np.float64)

    def multiply_samples(self, weights: Floats) -> Floats:
        """One matrix product."""
        weighted = self.variables * weights.astype(np.float32)[:, None]
        return (self.variables.T @ weighted).astype(np.float64)

    def without(self, scores: Floats) -> Samples:
        """Another copy of the data, less their regression on the scores."""
        samples = copy.copy(self)
        unit = scores / np.linalg.norm(scores)
        coefficients = self.multiply(unit[:, None])[:, 0]
        samples.variables = np.multiply.outer(-coefficients.astype(np.float32), unit.astype(np.float32))
        samples.variables += self.variables
        samples.squares = np.maximum(self.squares - coefficients**2, 0.0)
        samples.leverages, samples.removed = self.leverages + unit**2, self.removed + 1
        return samples


class ImplicitSamples(Samples):
    """Data that are not copied: means and the scores taken out are subtracted from the sums."""

    def __init__(self, n_samples: int, size: int, squares: Floats, *, centred: bool) -> None:
        self.n_samples, self.size, self.squares = n_samples, size, squares
        self.leverages = np.full(n_samples, 1.0 / n_samples if centred else 0.0)
        self.taken, self.coefficients = np.zeros((n_samples, 0)), np.zeros((size, 0))

    @abstractmethod
    def _score(self, indices: Indices, weights: Floats) -> Floats:
        """X w of the data before anything was taken out."""

    @abstractmethod
    def _combine(self, block: Floats) -> Floats:
        """X V of the data before anything was taken out."""

    @abstractmethod
    def _multiply(self, block: Floats) -> Floats:
        """X'W of the data before anything was taken out."""

    @abstractmethod
    def _weigh_squares(self, weights: Floats) -> Floats:
        """The sums of w_i x_ij^2 of the data before anything was taken out."""

    @abstractmethod
    def _gather(self, indices: Indices) -> Floats:
        """Some variables of the data before anything was taken out."""

    def _clear(self, block: Floats) -> Floats:
        """The part of each column that is orthogonal to what was taken out."""
        return block - self.taken @ (self.taken.T @ block) if self.removed else block

    def scores(self, indices: Indices, weights: Floats) -> Floats:
        """Those of the data, less the part along the scores taken out."""
        return self._clear(self._score(indices, weights))

    def combine(self, block: Floats) -> Floats:
        """(I - UU')X V."""
        return self._clear(self._combine(block))

    def multiply(self, block: Floats) -> Floats:
        """X'(I - UU')W."""
        return self._multiply(self._clear(block))

    def moments(self, scores: Floats, weights: Floats) -> Floats:
        """With r scores taken out, r products more: sum_i w_i (x_ij - u_i'c_j)^2 multiplied out."""
        block = np.column_stack([scores, weights * scores])
        taken, c = self.taken, self.coefficients
        if not self.removed:
            return np.column_stack([self._multiply(block), self._weigh_squares(weights)])
        sums = self._multiply(np.column_stack([self._clear(block), weights[:, None] * taken]))
        squares = self._weigh_squares(weights) - 2.0 * np.einsum("jr,jr->j", sums[:, 2:], c)
        squares += np.einsum("jr,jr->j", c @ (taken.T @ (weights[:, None] * taken)), c)
        return np.column_stack([sums[:, :2], np.maximum(squares, 0.0)])

    def gather(self, indices: Indices) -> Floats:
        """The chosen variables, dense."""
        return self._gather(indices) - self.coefficients[indices] @ self.taken.T

    def without(self, scores: Floats) -> Samples:
        """The same data; only the scores and every variable's products with them are new."""
        rest = self._clear(scores[:, None])[:, 0]
        length = float(np.linalg.norm(rest))
        if length**2 <= NEGLIGIBLE * float(scores @ scores):
            return self
        unit = rest / length
        samples = copy.copy(self)
        coefficients = self._multiply(unit[:, None])
        samples.taken = np.column_stack([self.taken, unit])
        samples.coefficients = np.column_stack([self.coefficients, coefficients])
        samples.squares = np.maximum(self.squares - coefficients[:, 0] ** 2, 0.0)
        samples.leverages, samples.removed = self.leverages + unit**2, self.removed + 1
        return samples


class SparseSamples(ImplicitSamples):
    """Sparse data, one compressed row per variable, centred and scaled by algebra."""

    def __init__(self, variables: Any, means: Floats, deviations: Floats, squares: Floats, *, centred: bool) -> None:
        super().__init__(variables.shape[1], variables.shape[0], squares, centred=centred)
        self.variables, self.means, self.deviations = variables, means, deviations
        # The squares share the numbers of the samples; one more array of values is all they need.
        values = variables.data.astype(np.float64)
        self.squared = type(variables)((values * values, variables.indices, variables.indptr), shape=variables.shape)

    def _combine(self, block: Floats) -> Floats:
        scaled = block / self.deviations[:, None]
        return np.asarray(self.variables.T @ scaled, dtype=np.float64) - self.means @ scaled

    def _score(self, indices: Indices, weights: Floats) -> Floats:
        scaled = weights / self.deviations[indices]
        raw = self.variables[indices].T @ scaled
        return np.asarray(raw, dtype=np.float64) - float(self.means[indices] @ scaled)

    def _multiply(self, block: Floats) -> Floats:
        raw = np.asarray(self.variables @ block, dtype=np.float64)
        product: Floats = (raw - np.multiply.outer(self.means, block.sum(axis=0))) / self.deviations[:, None]
        return product

    def _weigh_squares(self, weights: Floats) -> Floats:
        # sum_i w_i (x_ij - m_j)^2, multiplied out
        products = np.asarray(self.variables @ weights, dtype=np.float64)
        sums = self.squared @ weights - 2.0 * self.means * products + self.means**2 * weights.sum()
        scaled: Floats = np.maximum(sums, 0.0) / self.deviations**2
        return scaled

    def _gather(self, indices: Indices) -> Floats:
        dense = self.variables[indices].toarray().astype(np.float64)
        centred: Floats = (dense - self.means[indices, None]) / self.deviations[indices, None]
        return centred


class DeviceSamples(ImplicitSamples):
    """Dense data on a torch device; sums come home, the data stay."""

    def __init__(self, variables: Any, squares: Floats, *, centred: bool) -> None:
        super().__init__(int(variables.shape[1]), int(variables.shape[0]), squares, centred=centred)
        self.variables = variables

    def _send(self, values: NDArray[Any]) -> Any:
        import torch

        return torch.as_tensor(np.ascontiguousarray(values), device=self.variables.device)

    def _combine(self, block: Floats) -> Floats:
        weights = self._send(block).to(self.variables.dtype)
        product: Floats = (self.variables.T @ weights).double().cpu().numpy()
        return product

    def _score(self, indices: Indices, weights: Floats) -> Floats:
        chosen = self.variables[self._send(indices)].double()
        scores: Floats = (self._send(weights) @ chosen).cpu().numpy()
        return scores

    def _multiply(self, block: Floats) -> Floats:
        weights = self._send(block).to(self.variables.dtype)
        product: Floats = (self.variables @ weights).double().cpu().numpy()
        return product

    def _weigh_squares(self, weights: Floats) -> Floats:
        on_device = self._send(weights).to(self.variables.dtype)
        step = max(1, (1 << 26) // self.n_samples)
        parts = [
            (self.variables[begin : begin + step] ** 2 @ on_device).double().cpu().numpy()
            for begin in range(0, self.size, step)
        ]
        return np.concatenate(parts)

    def _gather(self, indices: Indices) -> Floats:
        rows: Floats = self.variables[self._send(indices)].double().cpu().numpy()
        return rows
