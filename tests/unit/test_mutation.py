"""The runner of `make mutants`: its samples, what it remembers, and its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mutation import outcomes
from tools.mutation.faults import faults
from tools.mutation.page import page
from tools.mutation.sample import everything, sample

SOURCE = Path(__file__).resolve().parents[2] / "src"
TEXT = "def low(a: int) -> int:\n    return max(a, 2) + 2\n\n\ndef high(a: int) -> int:\n    return min(a, 3)\n"


@pytest.fixture
def module(tmp_path):
    (tmp_path / "module.py").write_text(TEXT)
    return faults(tmp_path, "module.py")


@pytest.fixture(scope="module")
def possible():
    return everything(SOURCE)


def test_samples_contain_each_other_and_every_module(possible):
    keys = [fault.key for every in possible.values() for fault in every]
    assert len(keys) == len(set(keys)) > 2000
    small, large = (sample(possible, count, 0) for count in (100, 300))
    assert large[:100] == small
    assert {fault.module for fault in small} == {name for name, every in possible.items() if every}
    assert sample(possible, 100, 1) != small


def test_same_text_twice_in_a_function_has_two_names(module):
    assert [fault.key for fault in module if fault.before == "2"] == [
        "module.py:low: 2 -> 3",
        "module.py:low: 2 -> 3 #2",
    ]


def test_outcomes_are_forgotten_with_their_function(module, tmp_path):
    kept = tmp_path / "outcomes.jsonl"
    assert outcomes.known(module, kept) == {}
    for fault in module:
        outcomes.keep(outcomes.record(fault, "survived", 3, 0.5), kept)
    outcomes.keep(outcomes.record(module[0], "killed", 3, 0.5), kept)
    found = outcomes.known(module, kept)
    assert len(found) == len(module)
    assert outcomes.noticed(found[module[0].key])
    assert not outcomes.noticed(found[module[1].key])
    (tmp_path / "module.py").write_text("# a comment moves every line\n" + TEXT.replace("+ 2", "+ 4"))
    left = outcomes.known(faults(tmp_path, "module.py"), kept)
    assert {key.split(":")[1] for key in left} == {"high"}


def test_page_counts_and_names_what_is_not_explained(module):
    found = {fault.key: outcomes.record(fault, "killed", 1, 0.1) for fault in module}
    first, second = module[0].key, module[1].key
    found[first]["outcome"], found[second]["outcome"] = "survived", "unreached"
    text, unexplained = page(module, found, {first: ("equivalent", "the same | number")}, 7)
    assert unexplained == [second]
    assert f"| module.py | {len(module)} | {len(module) - 2} | 0 | 1 | 1 |" in text
    assert "the same \\| number" in text
    assert "seed 7" in text


def test_every_explanation_is_of_a_fault_that_can_be_put(possible):
    stale = set(outcomes.explanations()) - {fault.key for every in possible.values() for fault in every}
    assert not stale, "the code has changed: look at these survivors again"
