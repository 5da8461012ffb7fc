"""Measurements: what the paper's tables hold, what other packages do, how long things take."""

import os
from pathlib import Path

# The data sets beside the checkout, for everything here and the processes that it starts.
_beside = Path(__file__).resolve().parents[2] / "shared" / "data"
if not os.environ.get("SPARSEIGEN_DATA") and _beside.is_dir():
    os.environ["SPARSEIGEN_DATA"] = str(_beside)
