"""Algorithm 1 step by step: what an operator offers and `solvers.truncated_power` drives.

An operator makes the steps where its data are; the solver decides when a run ends. Several runs can step together:
what they ask of data that are read in passes is then answered by one pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from sparseigen import kernels
from sparseigen.operators.contract import Matrix, Operator, PowerStep, SparseVector

Look = tuple[float, float, bool]
"""What a step showed: x'Ax of the new iterate, the length of the truncated product that it was made of (0: the product
vanished, and the run stays where it was), and whether the support is that of the iterate before."""


class Iteration:
    """Runs of Algorithm 1 on one operator, one per cardinality; this one serves every operator.

    Call `begin` with a start for each run, then `advance`; `iterate` gives any iterate of the last steps. `step` is
    one product, truncated, with any vector.
    """

    on_host = True
    """Whether looking at an iterate costs nothing."""
    keeps_iterates = True
    """Whether every iterate of the last steps can be had. Otherwise only the last one: no run can end before it."""
    rough = False
    """Whether the next steps are made in less precision than the data's own; the solver turns it off."""

    def __init__(self, operator: Operator, cardinalities: Sequence[int], *, nonnegative: bool = False) -> None:
        self.operator, self.cardinalities, self.nonnegative = operator, cardinalities, nonnegative

    def begin(self, starts: Sequence[SparseVector]) -> list[float]:
        """Take the starts; their objectives."""
        self.vectors = list(starts)
        work = [
            partial(self.step, *begun, run) for run, begun in enumerate(zip(starts, self.cardinalities, strict=True))
        ]
        self.following = self.operator.run_together(work)
        return [step.quadratic_form for step in self.following]

    def step(self, vector: SparseVector, cardinality: int, run: int = 0) -> PowerStep:
        """Product and truncation in one, with the value of the vector that went in.

        Ties are broken by lowest index. With ``nonnegative`` only positive entries are kept.
        """
        product = self.operator.apply_support(vector.indices, vector.weights)
        value = kernels.inner_product(vector.weights, product[vector.indices].astype(np.float64))
        kept = kernels.largest_magnitudes(product, cardinality, nonnegative=self.nonnegative)
        values = product[kept].astype(np.float64)
        return PowerStep(kept, np.maximum(values, 0.0) if self.nonnegative else values, value)

    def multiply(self, vectors: Sequence[SparseVector]) -> Matrix:
        """The products A x with several vectors, one row for each; nothing is truncated and nothing remembered."""
        work = [partial(self.operator.apply_support, vector.indices, vector.weights) for vector in vectors]
        return np.stack(self.operator.run_together(work))

    def advance(self, runs: Sequence[int], most: int, *, ahead: bool = True) -> Sequence[Iterable[Look]]:
        """Make at most about ``most`` steps of these runs, as many as are cheap at one go; for each run its looks.

        With ``ahead`` more steps are likely to be asked for, and may be begun before they are.
        """
        if len(runs) == 1:
            return [self._make_steps(runs[0], most)]  # each step is made when its look is asked for
        looks = self.operator.run_together([partial(next, self._make_steps(run, 1)) for run in runs])
        return [[look] for look in looks]

    def _make_steps(self, run: int, most: int) -> Iterator[Look]:
        cardinality, vector, following = self.cardinalities[run], self.vectors[run], self.following[run]
        for _ in range(most):
            length = kernels.length(following.values)
            if length == 0.0:  # A x = 0: the product leads nowhere else
                yield following.quadratic_form, 0.0, False
                return
            repeated = np.array_equal(following.indices, vector.indices)
            self.vectors[run] = vector = SparseVector(following.indices, following.values / length)
            self.following[run] = following = self.step(vector, cardinality, run)
            yield following.quadratic_form, length, repeated

    def iterate(self, run: int, step: int) -> SparseVector:
        """The iterate after so many of the last steps, at the latest the one last looked at; 0: the one before them."""
        return self.vectors[run]

    def keep(self, runs: Sequence[int]) -> Sequence[int]:
        """Called after every `advance` with the runs that have not ended: those that will go on stepping.

        A run that has ended may go on beside the others; its last look then counts.
        """
        return runs
