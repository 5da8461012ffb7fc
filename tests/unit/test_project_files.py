"""The locked environments are whole, come from nowhere in particular, and agree with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LOCKS = ("dev", "oldest")


def locked(name: str) -> list[tuple[Requirement, list[str]]]:
    """Every package of a lock with its hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    packages = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            head, *hashes = line.split("--hash=")
            packages.append((Requirement(head.strip()), [one.strip() for one in hashes]))
    return packages


def declared(*extras: str) -> Iterator[Requirement]:
    """What pyproject.toml asks for, extras of extras included."""
    optional = PROJECT["project"]["optional-dependencies"]
    names = [*PROJECT["project"]["dependencies"], *(name for extra in extras for name in optional[extra])]
    for requirement in map(Requirement, names):
        if requirement.name == "sparseigen":
            yield from declared(*sorted(requirement.extras))
        else:
            yield requirement


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_hashes_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash)", text, re.MULTILINE)
    packages = locked(name)
    assert len(packages) > 50
    for requirement, hashes in packages:
        assert [one.operator for one in requirement.specifier] == ["=="], requirement
        assert hashes, f"{requirement} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes), requirement


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_holds_what_the_project_asks_for(python: str) -> None:
    there: dict[str, Version] = {}
    for requirement, _ in locked("dev"):
        marker = requirement.marker or Marker("python_version >= '3.11'")
        if marker.evaluate({"python_version": python, "python_full_version": f"{python}.0"}):
            name = canonicalize_name(requirement.name)
            assert name not in there, f"{name} is locked twice for Python {python}"
            there[name] = Version(next(iter(requirement.specifier)).version)
    build = [Requirement(name) for name in PROJECT["build-system"]["requires"]]
    for wanted in [*declared("test", "lint"), *build]:
        version = there.get(canonicalize_name(wanted.name))
        assert version is not None, f"run `make lock`: {wanted} is not locked for Python {python}"
        assert version in wanted.specifier, f"run `make lock`: {wanted.name} {version} is locked, {wanted} is wanted"


def test_the_oldest_versions_are_the_minimums() -> None:
    there = {canonicalize_name(one.name): Version(next(iter(one.specifier)).version) for one, _ in locked("oldest")}
    for wanted in declared("test"):
        (minimum,) = (Version(one.version) for one in wanted.specifier if one.operator == ">=")
        version = there[canonicalize_name(wanted.name)]
        # "1.11" admits 1.11.1 where 1.11.0 was never published for this Python.
        assert version.release[: len(minimum.release)] == minimum.release, (
            f"run `make lock`: {wanted}, locked {version}"
        )


def test_wheels_are_configured_for_every_declared_python() -> None:
    minimum = PROJECT["project"]["requires-python"].removeprefix(">=")
    builds = [f"cp{python.replace('.', '')}-*" for python in PYTHONS]
    assert PYTHONS[0] == minimum
    assert PROJECT["tool"]["cibuildwheel"]["build"] == builds
    named = [line.rsplit(" ", 1)[1] for line in PROJECT["project"]["classifiers"] if ":: Python :: 3." in line]
    assert named == list(PYTHONS)


RECIPE_KEYS = {
    "": {"context", "package", "source", "build", "requirements", "tests", "about", "extra", "schema_version"},
    "package": {"name", "version"},
    "source": {"path", "use_gitignore", "url", "sha256", "git", "tag", "patches"},
    "build": {"number", "script", "python", "skip", "noarch", "string", "variant", "dynamic_linking"},
    "requirements": {"build", "host", "run", "run_constraints", "run_exports", "ignore_run_exports"},
    "about": {"homepage", "repository", "documentation", "license", "license_file", "summary", "description"},
}
"""What the recipe format of rattler-build knows, of what this recipe may use."""


def test_the_conda_recipe_agrees_with_the_project() -> None:
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
    for part, known in RECIPE_KEYS.items():
        assert set(recipe[part] if part else recipe) <= known, part
    project = PROJECT["project"]
    assert recipe["context"]["version"] == project["version"]
    assert recipe["about"]["license"] == project["license"]
    wanted = {name.replace(">=", " >=") for name in project["dependencies"]}
    wanted |= {name.replace(">=", " >=") for name in project["optional-dependencies"]["cli"]}
    wanted.add(f"python {project['requires-python']}")
    assert set(recipe["requirements"]["run"]) == wanted
    built = {name.replace(">=", " >=") for name in PROJECT["build-system"]["requires"]}
    assert built <= set(recipe["requirements"]["host"])
    named = {f"{name} = {place}" for name, place in project["scripts"].items()}
    assert set(recipe["build"]["python"]["entry_points"]) == named
    for test in recipe["tests"]:
        for path in test.get("files", {}).get("source", []):
            assert (ROOT / path).is_file()
