"""Every public name is on the API page with an example, and the code on the pages of the documentation runs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sparseigen

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
WRITTEN_BY_THE_BUILD = {"_build", "api", "auto_examples"}
STARTS = ("data-scientist", "biologist", "network-analyst", "researcher", "engineer")

PAGES = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if not WRITTEN_BY_THE_BUILD.intersection(path.relative_to(DOCS).parts)),
]
GALLERY = sorted((DOCS / "gallery").glob("plot_*.py"))


def _api_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("api_pages", DOCS / "api_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


API = _api_pages()


def _public_objects() -> dict[str, Any]:
    """Full name -> function or class, for the package and its public modules."""
    found: dict[str, Any] = {}
    for name in [*sparseigen.__all__, *API.MODULES]:
        value = getattr(sparseigen, name)
        if inspect.ismodule(value):
            found |= {f"{name}.{member}": getattr(value, member) for member in API.public_members(value)}
        else:
            found[name] = value
    return found


OBJECTS = _public_objects()


def _is_exception(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


@pytest.mark.parametrize("name", sorted(name for name, value in OBJECTS.items() if not _is_exception(value)))
def test_public_name_has_a_running_example(name: str) -> None:
    text = inspect.getdoc(OBJECTS[name]) or ""
    assert "\nExamples\n--------\n" in text, f"{name} has no Examples section"
    examples = doctest.DocTestParser().get_examples(text.split("\nExamples\n--------\n")[1])
    assert [example for example in examples if example.want], f"the example of {name} shows no answer"
    skipped = [example for example in examples if doctest.SKIP in example.options]
    assert not skipped, f"the example of {name} is not run"


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_public_members_have_a_summary_line(name: str) -> None:
    value = OBJECTS[name]
    described = {"": value}
    if inspect.isclass(value):
        described |= {
            member: getattr(value, member)
            for member, given in vars(value).items()
            if not member.startswith("_") and (callable(given) or isinstance(given, (property, classmethod)))
        }
    for member, thing in described.items():
        summary = (inspect.getdoc(thing) or "").split("\n\n")[0].strip()
        assert summary, f"{name}.{member} has no docstring"
        assert summary.endswith((".", ":")), f"the summary of {name}.{member} is not a sentence: {summary!r}"


@pytest.mark.parametrize("name", sorted({*sparseigen.__all__, *API.MODULES}))
def test_public_name_is_on_the_api_page(name: str) -> None:
    page = API.index_page(sparseigen)
    assert re.search(rf"^   {name}$", page, flags=re.MULTILINE), f"{name} needs a place in docs/api_pages.py"
    if inspect.ismodule(getattr(sparseigen, name)):
        own = API.module_page(sparseigen, name)
        for member in API.public_members(getattr(sparseigen, name)):
            assert re.search(rf"\b{member}$", own, flags=re.MULTILINE)


def _only_code(text: str) -> tuple[str, int]:
    """The page with everything but its pycon blocks blanked, so that line numbers stay; and how many blocks."""
    kept, inside, blocks = [], False, 0
    for line in text.splitlines():
        fence = re.match(r"\s*```+\s*(\{?\w*)", line)
        if fence:
            inside = not inside and fence.group(1) == "pycon"
            blocks += inside
        kept.append(line if inside and not fence else "")
    return "\n".join(kept) + "\n", blocks


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_on_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, blocks = _only_code(page.read_text())
    if not blocks:
        assert ">>>" not in code
        return
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(code, {"__name__": "__main__"}, page.name, str(page), 0)
    assert test.examples
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


def test_the_readme_shows_code_with_its_output() -> None:
    _, blocks = _only_code((ROOT / "README.md").read_text())
    assert blocks >= 3


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Links of the README are followed on the web, where nobody builds the documentation."""
    text = page.read_text()
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text) + re.findall(r'src="([^"]+)"', text)
    written = [target for target in targets if not WRITTEN_BY_THE_BUILD.intersection(Path(target).parts)]
    assert not [target for target in written if not (page.parent / target).exists()]


def test_a_wrong_answer_on_a_page_is_found() -> None:
    code, blocks = _only_code("Text\n\n```pycon\n>>> 1 + 1\n3\n```\n\n```python\n>>> never run\n```\n")
    assert (blocks, code) == (1, "\n\n\n>>> 1 + 1\n3\n\n\n\n\n\n")
    test = doctest.DocTestParser().get_doctest(code, {}, "page", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None).failed == 1


@pytest.mark.parametrize("reader", STARTS)
def test_every_start_page_shows_code_that_runs(reader: str) -> None:
    _, blocks = _only_code((DOCS / "start" / f"{reader}.md").read_text())
    assert blocks >= 2


def test_method_page_names_every_method() -> None:
    from sparseigen.graphs.methods import METHODS
    from sparseigen.solvers import SOLVERS

    page = (DOCS / "methods.md").read_text()
    missing = [name for name in (*SOLVERS, *METHODS) if f"| `{name}` |" not in page]
    assert not missing


@pytest.mark.parametrize("example", GALLERY, ids=lambda path: path.stem)
def test_example_that_needs_something_says_so(example: Path) -> None:
    """The build decides by the table in conf.py what can run here; a script without a row must run anywhere."""
    settings = (DOCS / "conf.py").read_text()
    text = example.read_text()
    needed = {
        "_data_reason": "data_folder" in text or "load_gene_" in text,
        "_gpu_reason": 'device="cuda"' in text or "import torch" in text,
        "_dask_reason": "import dask" in text or "from distributed" in text,
    }
    for reason, is_needed in needed.items():
        assert (f'"{example.name}": {reason},' in settings) == is_needed
