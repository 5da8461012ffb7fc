"""What the graph kernels work on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Flags = NDArray[np.uint8]


class Rows(NamedTuple):
    """An adjacency matrix without its diagonal in compressed rows, neighbours ascending, weights whole numbers."""

    starts: Integers
    neighbours: NDArray[np.int32]
    weights: NDArray[Any]
    """int32 or int64, one an entry; of length 0 when all weights are 1 and none is stored."""

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.starts) - 1

    def entries(self, vertex: int) -> tuple[NDArray[np.int32], Integers]:
        """Neighbours and weights of one vertex."""
        row = slice(int(self.starts[vertex]), int(self.starts[vertex + 1]))
        neighbours = self.neighbours[row]
        if self.weights.size == 0:
            return neighbours, np.ones(len(neighbours), dtype=np.int64)
        return neighbours, self.weights[row].astype(np.int64)

    def all_weights(self) -> Integers:
        """One weight an entry, stored or not."""
        if self.weights.size == 0:
            return np.ones(len(self.neighbours), dtype=np.int64)
        return self.weights.astype(np.int64)
