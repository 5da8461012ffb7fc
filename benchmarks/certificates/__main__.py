"""python -m benchmarks.certificates [efforts] [cost] [curve]: all three when none is named."""

from __future__ import annotations

import sys

from benchmarks.certificates import cost, curve, efforts

PARTS = {
    "efforts": (efforts.table,),
    "cost": (cost.table,),
    "curve": (lambda: curve.table("colon"), lambda: curve.table("lymphoma")),
}

for part in sys.argv[1:] or PARTS:
    for show in PARTS[part]:
        show()
