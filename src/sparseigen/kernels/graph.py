"""The graph kernels in use: compiled if the extension was built, otherwise their NumPy twins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparseigen import kernels
from sparseigen.kernels.graph_reference import Flags, Integers, Rows

if TYPE_CHECKING or kernels.active.NAME == "numpy":
    from sparseigen.kernels.graph_reference import (
        add_rows,
        count_shared,
        exchange,
        fair_loads,
        find_local_set,
        grow,
        induced,
        is_symmetric,
        peel,
        project_rows,
        signed_weight,
        symmetrise,
        top_vertices,
    )
else:
    from sparseigen.kernels.graph_compiled import (
        add_rows,
        count_shared,
        exchange,
        fair_loads,
        find_local_set,
        grow,
        induced,
        is_symmetric,
        peel,
        project_rows,
        signed_weight,
        symmetrise,
        top_vertices,
    )

__all__ = [
    "Flags",
    "Integers",
    "Rows",
    "add_rows",
    "count_shared",
    "exchange",
    "fair_loads",
    "find_local_set",
    "grow",
    "induced",
    "is_symmetric",
    "peel",
    "project_rows",
    "signed_weight",
    "symmetrise",
    "top_vertices",
]
