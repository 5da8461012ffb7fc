"""A server with one data set, and downloads that do not wait."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from sparseigen.datasets import fetch
from tests.unit.datasets.server import GRAPH, PLACE, PROPERTIES, Site, publish_sums, serving


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # pooch pauses before it tries again
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv(fetch.MIRROR, raising=False)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        site.files = {f"{PLACE}.graph": GRAPH, f"{PLACE}.properties": PROPERTIES}
        publish_sums(site)
        yield site
