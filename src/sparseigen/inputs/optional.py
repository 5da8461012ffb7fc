"""Optional packages: loaded where they are used, and named in the error when they are missing."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from sparseigen.errors import MissingDependencyError

OPTIONAL_PACKAGES = {
    "sklearn": "sklearn",
    "networkx": "graph",
    "igraph": "graph",
    "torch": "gpu",
    "dask": "dask",
    "pandas": "frames",
    "polars": "frames",
    "pyarrow": "chunked",
    "h5py": "chunked",
    "zarr": "chunked",
    "plotly": "report",
    "jinja2": "report",
    "pooch": "datasets",
    "typer": "cli",
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
