"""Tests in a real browser. `make test` skips them where there is none; `make test-browser` installs what they need."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
REQUIRED = os.environ.get("SPARSEIGEN_BROWSER_REQUIRED") == "1"


def chromium() -> str | None:
    named = os.environ.get("SPARSEIGEN_CHROMIUM")
    return next((found for name in ([named] if named else NAMES) if (found := shutil.which(name))), None)


def missing() -> str | None:
    """Why these tests cannot run, if they cannot."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed; `make test-browser` installs it and runs these"
    return None if chromium() else "no chromium was found; `make test-browser` installs it and runs these"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = missing()
    if reason is None:
        return
    if REQUIRED:
        pytest.exit(f"SPARSEIGEN_BROWSER_REQUIRED=1, but {reason}", returncode=1)
    for item in items:
        if "tests/browser/" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium has no sandbox for root, which is who runs tests in a container.
        found = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page of a width and colour scheme; fails at the end on any console error, dialog or request outside."""
    contexts, wrong = [], []

    def opened(file: Path, *, width: int = 1200, height: int = 900, scheme: str = "light", script: bool = True) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, java_script_enabled=script
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
        page.goto(file.as_uri())
        if script:
            page.wait_for_selector("html[data-ready]", timeout=60_000)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []
