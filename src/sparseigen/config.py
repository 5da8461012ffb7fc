"""What is installed: optional packages and how to get them, the kernels in use, versions."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TextIO

import numpy as np

from sparseigen import kernels
from sparseigen.errors import MissingDependencyError

OPTIONAL_PACKAGES = {
    "sklearn": "sklearn",
    "networkx": "graph",
    "igraph": "igraph",
    "torch": "gpu",
    "dask": "dask",
    "pandas": "frames",
    "polars": "frames",
    "pyarrow": "chunked",
    "h5py": "chunked",
    "zarr": "chunked",
    "bed_reader": "genetics",
    "anndata": "anndata",
    "openpyxl": "excel",
    "rustworkx": "rustworkx",
    "matplotlib": "plot",
    "plotly": "report",
    "jinja2": "report",
    "pooch": "datasets",
    "click": "cli",
    "rich": "cli",
}
"""Importable name -> the extra that installs it."""


def require(package: str, *, purpose: str) -> ModuleType:
    """Import an optional package or raise an error that says how to install it.

    Examples
    --------
    >>> require("numpy", purpose="arithmetic").__name__
    'numpy'
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        extra = OPTIONAL_PACKAGES.get(package.split(".")[0])
        install = f"pip install 'sparseigen[{extra}]'" if extra else f"pip install {package}"
        message = f"{purpose} needs {package}, which is not installed. Install it with: {install}"
        raise MissingDependencyError(message) from error


def is_installed(package: str) -> bool:
    """Whether a package could be imported, without importing it."""
    return importlib.util.find_spec(package) is not None


def config() -> dict[str, str]:
    """The facts behind `show_config`, by name."""
    import platform

    facts = {
        "sparseigen": find_version("sparseigen"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "numpy": np.__version__,
        "scipy": find_version("scipy"),
        "kernels": kernels.active.NAME,
        "threads": str(kernels.thread_count()),
    }
    for package, extra in OPTIONAL_PACKAGES.items():
        facts[package] = find_version(package) if is_installed(package) else f"not installed (extra '{extra}')"
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


def find_version(package: str) -> str:
    """The installed version of a package."""
    from importlib import metadata  # a third of the time of a first answer, and only asked for here

    try:
        return metadata.version("scikit-learn" if package == "sklearn" else package)
    except metadata.PackageNotFoundError:
        return "source tree (not installed)"
