"""What is installed, which kernels run, with how many threads."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import TextIO

import numpy as np
import scipy

from sparseigen import kernels
from sparseigen.inputs.optional import OPTIONAL_PACKAGES, is_installed


def config() -> dict[str, str]:
    """The facts behind `show_config`, by name."""
    facts = {
        "sparseigen": _version("sparseigen"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "kernels": kernels.active.NAME,
        "threads": str(kernels.thread_count()),
    }
    for package, extra in OPTIONAL_PACKAGES.items():
        facts[package] = _version(package) if is_installed(package) else f"not installed (extra '{extra}')"
    return facts


def show_config(file: TextIO | None = None) -> None:
    """Print versions, the kernels in use, threads, and which optional parts are present.

    Examples
    --------
    >>> import sparseigen as se
    >>> se.show_config()  # doctest: +ELLIPSIS
    sparseigen ...
    """
    stream = sys.stdout if file is None else file
    for name, value in config().items():
        stream.write(f"{name:<12}{value}\n")


def _version(package: str) -> str:
    try:
        return metadata.version("scikit-learn" if package == "sklearn" else package)
    except metadata.PackageNotFoundError:
        return "source tree (not installed)"
