"""Proven bounds: how far an answer can be from the optimum. See `portfolio` for the table of them."""

from sparseigen.certificates.portfolio import EFFORTS, UPPER_BOUNDS, certify

__all__ = ["EFFORTS", "UPPER_BOUNDS", "certify"]
