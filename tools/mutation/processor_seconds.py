"""A pytest plugin that keeps the processor seconds of every test that passed: a busy machine does not change them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_SECONDS: dict[str, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Travels with the report, from whichever process ran the test."""
    started = time.process_time()
    yield
    item.user_properties.append(("processor_seconds", time.process_time() - started))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """One phase of a test has ended."""
    if report.when == "call" and report.passed:
        _SECONDS[report.nodeid] = float(dict(report.user_properties).get("processor_seconds", report.duration))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave them for the next step."""
    if not hasattr(session.config, "workerinput"):
        Path(os.environ["SECONDS_FILE"]).write_text(json.dumps(_SECONDS))
