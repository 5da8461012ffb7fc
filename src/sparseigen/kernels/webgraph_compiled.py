"""The compiled WebGraph decoder behind the same signature as `webgraph_reference`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import _compiled
from sparseigen.kernels.graph_rows import Flags, Integers
from sparseigen.kernels.webgraph_reference import WebGraphFormat


def decode_webgraph(
    data: Flags,
    position: int,
    form: WebGraphFormat,
    first: int,
    last: int,
    starts: Integers,
    successors: NDArray[np.int32],
) -> int:
    """Decode the successor lists of nodes ``first`` to ``last - 1`` behind those already there."""
    numbers = np.array(form, dtype=np.int64)
    return int(_compiled.decode_webgraph(data, position, numbers, first, last, starts, successors))
