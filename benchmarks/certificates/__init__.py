"""Gaps and seconds of the bounds at every effort, and of the exact method, on the instances with known answers."""
