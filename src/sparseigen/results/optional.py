"""Optional packages that answers use to show themselves; the layers above have `inputs.optional`."""

from __future__ import annotations

import importlib
from typing import Any

from sparseigen.errors import MissingDependencyError


def load_optional(package: str, *, extra: str, purpose: str) -> Any:
    """Import a package, or raise an error that says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        message = (
            f"{purpose} needs {package}, which is not installed. Install it with: pip install 'sparseigen[{extra}]'"
        )
        raise MissingDependencyError(message) from error
