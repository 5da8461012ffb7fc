"""Requests that cannot fit are refused before anything is allocated."""

from __future__ import annotations

import os

from sparseigen.errors import InputError

WORK_VECTORS = 16
"""Vectors as long as there are variables that a solve holds at once, roughly."""


def available_bytes() -> int:
    """Memory that could be used now; where the system does not say, a limit nothing reaches."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def check_fits(needed: int, what: str) -> None:
    """Refuse a request for more memory than there is, with both sizes in the message."""
    available = available_bytes()
    if needed > available:
        message = (
            f"{what} needs {size_text(needed)} of memory, and {size_text(available)} are available; "
            "use fewer rows or columns, or a machine with more memory."
        )
        raise InputError(message)


def check_columns_fit(columns: int, what: str) -> None:
    """Refuse so many variables that the vectors of a solve would not fit, however sparse the data."""
    check_fits(8 * WORK_VECTORS * columns, f"{what} declares {columns} columns: a solve")


def size_text(size: int) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> size_text(2048), size_text(3 * 10**9)
    ('2 kB', '3.0 GB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"
