"""What machine and what versions a page was made with."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

import numpy as np
import scipy

from sparseigen.config import config


def _processor() -> str:
    """The processor's own name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"
    except (AttributeError, ValueError, OSError):
        return "not known"


def facts() -> dict[str, str]:
    """Machine, versions and date, by name."""
    ours = config()
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "sparseigen": f"{ours['sparseigen']}, {ours['kernels']} kernels, {ours['threads']} threads",
        "date": time.strftime("%Y-%m-%d"),
    }
