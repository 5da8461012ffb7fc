"""Measurements: what the paper's tables hold, what other packages do, how long things take."""
