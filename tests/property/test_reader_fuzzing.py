"""The fuzzer of the readers: a short run that is the same every time, and proof that it sees what it looks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzing import readers
from fuzzing.reader_plants import PLANTS
from fuzzing.reader_targets import TARGETS

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the fuzzer measures memory in /proc")
GROUPS = ("table", "rows", "convert", "graph", "names", "vertices", "checkpoint")
CASES = 30


@pytest.mark.parametrize("group", GROUPS)
def test_a_right_read_or_an_error_of_ours(group: str, tmp_path: Path) -> None:
    names = [name for name in TARGETS if name.split()[0] == group]
    tally = readers.attack(names, seed=20110601, cases=CASES, kept=tmp_path)
    assert tally.failures == []
    assert set(tally.counts) == set(names)
    for name, counts in tally.counts.items():
        assert counts["accepted"] >= 1, f"{name}: not even the whole file was read"
        assert counts["refused"] >= 1, f"{name}: nothing was refused"


def test_groups_are_all_readers() -> None:
    assert {name.split()[0] for name in TARGETS} == set(GROUPS)


def test_readers_that_are_broken_on_purpose_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(readers, "CPU_SECONDS", 3.0)
    tally = readers.attack(["table csv", *PLANTS], seed=0, cases=1, kept=tmp_path)
    assert tally.failures == [f"{name}:0:0" for name in PLANTS]
    assert {path.name.replace("-", " ").removesuffix(" 0 0") for path in tmp_path.iterdir()} == set(PLANTS)
    told = capsys.readouterr().out
    for message in ("crashed", "hung", "KeyError", "does not name the file", "a warning leaked", "unpickled",
                    "MB of memory", "opened for writing", "a whole file was refused", "other numbers"):  # fmt: skip
        assert message in told
    assert "--replay 'planted crash:0:0'" in told
    assert "planted crash" in tally.table()
