"""What is installed, and how to get what is not."""

from __future__ import annotations

import io
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from sparseigen import config, kernels
from sparseigen.errors import MissingDependencyError


def test_a_missing_package_is_named_with_the_extra_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.require("numpy", purpose="arithmetic") is np
    for package in ("plotly", "plotly.graph_objects"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingDependencyError, match=r"^a page needs plotly.* pip install 'sparseigen\[report\]'$"):
            config.require(package, purpose="a page")
    with pytest.raises(MissingDependencyError, match=r"Install it with: pip install no_such_package$"):
        config.require("no_such_package", purpose="nothing")


def test_the_facts_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "is_installed", lambda package: package != "torch")
    facts = config.config()
    assert facts["numpy"] == np.__version__
    assert (facts["kernels"], facts["threads"]) == (kernels.active.NAME, str(kernels.thread_count()))
    assert facts["torch"] == "not installed (extra 'gpu')"
    assert set(config.OPTIONAL_PACKAGES) <= set(facts)
    stream = io.StringIO()
    config.show_config(stream)
    lines = stream.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == list(facts)
    assert "torch       not installed (extra 'gpu')" in lines


def test_a_package_without_metadata_has_no_version() -> None:
    assert config.is_installed("numpy")
    assert not config.is_installed("no_such_package")
    assert config.find_version("no_such_package") == "source tree (not installed)"


def test_every_optional_package_comes_with_the_extra_that_is_named_for_it() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = {name: " ".join(wanted) for name, wanted in project["optional-dependencies"].items()}
    for package, extra in config.OPTIONAL_PACKAGES.items():
        assert {"sklearn": "scikit-learn", "bed_reader": "bed-reader"}.get(package, package) in extras[extra], package
