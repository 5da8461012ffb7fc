"""Doctests that read the real data sets skip where there are none, and fail for that under CI=true."""

from __future__ import annotations

import os

import pytest

READS_DATA = ("data_folder()", "load_gene_")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Look for the data before a doctest that names a loader runs."""
    doctest = getattr(item, "dtest", None)
    if doctest is None or not any(name in example.source for example in doctest.examples for name in READS_DATA):
        return
    from sparseigen.datasets import data_folder
    from sparseigen.errors import MissingDataError

    try:
        data_folder()
    except MissingDataError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"under CI the real data must be there: {error}")
        pytest.skip(f"real data not found: {error}")
