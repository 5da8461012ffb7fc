"""The innermost loops, compiled where possible and otherwise in NumPy, and the choice between the two.

``from sparseigen import kernels`` and call ``kernels.combine_rows`` and the rest: the compiled version if the
extension was built, otherwise its NumPy twin. ``SPARSEIGEN_KERNELS=numpy`` asks for the twins.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from types import ModuleType
from typing import TYPE_CHECKING

from sparseigen.errors import OptionError
from sparseigen.kernels import numpy_reference
from sparseigen.kernels.eigen import column_energies, inner_product, length


def _check_threads() -> None:
    wanted = os.environ.get("SPARSEIGEN_NUM_THREADS", "")
    if wanted and not (wanted.strip().isdecimal() and len(wanted) < 10):
        message = (
            f"SPARSEIGEN_NUM_THREADS={wanted!r} must be a whole number of threads (0 or unset: as many as this process "
            "has cores)."
        )
        raise OptionError(message)


def _choose() -> ModuleType:
    _check_threads()
    wanted = os.environ.get("SPARSEIGEN_KERNELS", "")
    if wanted not in ("", "compiled", "numpy"):
        message = f"SPARSEIGEN_KERNELS={wanted!r} is not known. Allowed: 'compiled', 'numpy' (or unset)."
        raise OptionError(message)
    if wanted == "numpy":
        return numpy_reference
    if importlib.util.find_spec("sparseigen.kernels._compiled") is None:
        if wanted == "compiled":
            msg = "SPARSEIGEN_KERNELS='compiled', but the extension is not built. Run: pip install ."
            raise OptionError(msg)
        return numpy_reference
    from sparseigen.kernels import compiled

    return compiled


active = _choose()

if TYPE_CHECKING:
    from sparseigen.kernels.numpy_reference import (
        bounded_step,
        combine_rows,
        fused_step,
        largest_magnitudes,
        power_step,
        row_dots,
        row_moments,
        running_bounds,
        search_blocks,
        set_thread_count,
        shadow_bounds,
        shadow_codes,
        sparse_combine_rows,
        sparse_row_dots,
        sparse_transpose,
        stream_sum,
        survey_symmetric,
        symmetric_step,
        symmetric_steps,
        thread_count,
    )
else:
    combine_rows = active.combine_rows
    row_dots = active.row_dots
    row_moments = active.row_moments
    power_step = active.power_step
    sparse_combine_rows = active.sparse_combine_rows
    sparse_row_dots = active.sparse_row_dots
    sparse_transpose = active.sparse_transpose
    largest_magnitudes = active.largest_magnitudes
    shadow_codes = active.shadow_codes
    shadow_bounds = active.shadow_bounds
    bounded_step = active.bounded_step
    fused_step = active.fused_step
    running_bounds = active.running_bounds
    search_blocks = active.search_blocks
    stream_sum = active.stream_sum
    survey_symmetric = active.survey_symmetric
    symmetric_step = active.symmetric_step
    symmetric_steps = active.symmetric_steps
    thread_count = active.thread_count
    set_thread_count = active.set_thread_count

__all__ = [
    "active",
    "bounded_step",
    "column_energies",
    "combine_rows",
    "fused_step",
    "inner_product",
    "largest_magnitudes",
    "length",
    "power_step",
    "row_dots",
    "row_moments",
    "running_bounds",
    "search_blocks",
    "set_thread_count",
    "shadow_bounds",
    "shadow_codes",
    "sparse_combine_rows",
    "sparse_row_dots",
    "sparse_transpose",
    "stream_sum",
    "survey_symmetric",
    "symmetric_step",
    "symmetric_steps",
    "thread_count",
]


split_ceilings = active.split_ceilings
split_slopes = active.split_slopes
split_update = active.split_update
row_ceilings = active.row_ceilings
top_row_sums = active.top_row_sums
node_row_sums = active.node_row_sums
