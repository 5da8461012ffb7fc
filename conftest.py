"""The real data sets beside the checkout; doctests that read them skip where there are none, but fail under CI=true."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# For the tests and all processes that they start. Where there are none, no other data, of the user, take their place.
os.environ["SPARSEIGEN_DATA"] = os.environ.get("SPARSEIGEN_DATA") or str(
    Path(__file__).resolve().parents[1] / "shared" / "data"
)

if Path(__file__).parent.name == "mutants":  # mutmut runs a copy of the tree
    import sys

    for finder in sys.meta_path:  # an editable install would lead back to the tree itself, but has the compiled kernels
        for leads in ("known_source_files", "submodule_search_locations"):
            getattr(finder, leads, {}).clear()
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # mutmut 3.8 asks for it, pytest 9.2 has it no more

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
