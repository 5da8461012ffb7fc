"""Checks and timings on a CUDA device."""
