"""Requests that cannot fit are refused before anything is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from sparseigen.errors import NotEnoughMemoryError

UNLIMITED = 1 << 62
ALWAYS_FITS = 1 << 24
"""Requests up to this size are not worth a look at the system: a solve of a small problem takes less time."""

WORK_VECTORS = 16
"""Vectors as long as there are variables that a solve holds at once, roughly."""


def available_bytes() -> int:
    """Memory that this process could take now; where the system does not say, a limit nothing reaches.

    The smallest of what the system has free, what the control groups of a container or a batch job leave, and what
    ``ulimit -v`` leaves.
    """
    return min(_find_free_in_system(), _find_left_in_control_groups(), _find_left_in_address_space())


def _find_free_in_system() -> int:
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
        return UNLIMITED


CONTROL_GROUPS = Path("/sys/fs/cgroup")


def _find_left_in_control_groups() -> int:
    """The least that a group this process is in, or one above it, leaves; both versions of Linux's control groups."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return UNLIMITED
    left = UNLIMITED
    for line in lines:
        _, controllers, path = line.split(":", 2) if line.count(":") >= 2 else ("", "?", "")
        if controllers == "":
            root, names = CONTROL_GROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            root, names = CONTROL_GROUPS / "memory", files
        else:
            continue
        group = root / path.lstrip("/")
        # Inside a container the path may be that of the host, which is not there: the root is then the own group.
        for place in [group, *group.parents] if group.is_dir() else [root]:
            left = min(left, _find_left_in_group(place, *names))
            if place == root:
                break
    return left


def _find_left_in_group(group: Path, limit: str, used: str, cache: str) -> int:
    """What one group leaves. File pages that have not been used lately give way when memory is asked for."""
    try:
        most = (group / limit).read_text(encoding="ascii").strip()
        if most == "max" or int(most) >= UNLIMITED:
            return UNLIMITED
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
        facts = dict(line.split(" ", 1) for line in lines if " " in line)
        held = int((group / used).read_text(encoding="ascii")) - int(facts.get(cache, 0))
    except (OSError, ValueError):
        return UNLIMITED
    return max(0, int(most) - held)


def _find_left_in_address_space() -> int:
    """What ``ulimit -v`` leaves."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return UNLIMITED
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return max(0, most - pages * os.sysconf("SC_PAGE_SIZE"))
    except (ImportError, OSError, ValueError, IndexError):
        return UNLIMITED


def check_fits(needed: int, subject: str, remedy: str = "use fewer rows or columns") -> None:
    """Refuse a request for more memory than there is, with both sizes and the remedy in the message."""
    available = available_bytes()
    if needed > available:
        message = (
            f"{subject} needs {size_text(needed)} of memory, and {size_text(available)} are available; "
            f"{remedy}, or a machine with more memory."
        )
        raise NotEnoughMemoryError(message)


def check_room(needed: int, subject: str, remedy: str) -> None:
    """`check_fits` for what is asked for in every solve: small requests are not looked at."""
    if needed > ALWAYS_FITS:
        check_fits(needed, subject, remedy)


def check_columns_fit(columns: int, subject: str) -> None:
    """Refuse so many variables that the vectors of a solve would not fit, however sparse the data."""
    check_fits(8 * WORK_VECTORS * columns, f"{subject} declares {columns} columns: a solve")


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
