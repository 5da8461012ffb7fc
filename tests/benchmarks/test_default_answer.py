"""The table "default": rows, figures in JSON, and the verdicts on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.certificates import default
from benchmarks.certificates.__main__ import main
from benchmarks.certificates.rows import DATA, PATH, ROWS, chosen
from benchmarks.certificates.targets import Figures, Record, Target, targets
from benchmarks.certificates.worker import told

NOW = Figures(0.02, 0.01, 0.001, 0.001, values=[2.0], gap=0.0, upper=2.0, optimal=True)


def a_record(task: str = "solve", now: Figures = NOW, **changed: object) -> Record:
    made = Record(task, "genes", 5, 60, 2000, True, now, before=replace(NOW, seconds=0.2))
    return replace(made, **changed)


def judged(*records: Record) -> dict[str, Target]:
    return {target.name: target for target in targets(records)}


def the_miss(*records: Record) -> Target:
    (missed,) = [target for target in targets(records) if target.holds is False]
    return missed


def test_good_figures_meet_every_target() -> None:
    many = replace(NOW, seconds=0.1, one=0.02)
    found = judged(
        a_record(thorough=NOW),
        a_record("exact"),
        a_record("components", many, before=many),
        a_record("path", many, before=many),
        a_record(data="PitProps", now=replace(NOW, seconds=0.001), n=None, p=13),
    )
    assert [target.holds for target in found.values()] == [True] * len(found)
    assert found["median speedup"].figure.startswith("105.0x of 2 rows, least 10.00x")
    assert str(found["five components, in default solves"]).startswith("| five components, in default solves | 5.0 at")


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    assert {target.holds for target in targets([])} == {None}
    alone = judged(a_record(before=None))
    assert alone["value lower than before"].holds is None
    assert alone["median speedup"].holds is None
    assert alone["median gap"].holds is True


@pytest.mark.parametrize(
    ("changed", "name", "told"),
    [
        ({"values": [2.0 - 1e-8]}, "value lower than before", "1 of 1"),
        ({"optimal": False, "gap": 1e-4}, "certified before, uncertified now", "1 of 1"),
        ({"values": [2.0 + 1e-8]}, "value above the other version's bound", "1 of 1"),
        ({"seconds": 0.041}, "median speedup", "4.9x"),
        ({"plain_again": 0.01 / 51.0}, "plain runs for an answer proven optimal", "51 at most"),
    ],
)  # fmt: skip
def test_each_miss_is_named(changed: dict[str, object], name: str, told: str) -> None:
    missed = the_miss(a_record(now=replace(NOW, **changed)))
    assert missed.name == name
    assert missed.figure.startswith(told)
    assert "| MISS |" in str(missed)


def test_rounding_is_no_lower_value_and_an_unproven_row_may_take_longer() -> None:
    unproven = replace(NOW, optimal=False, gap=1e-4, upper=2.0002, seconds=0.9, values=[2.0 - 1e-12])
    before = replace(unproven, seconds=9.0, values=[2.0])
    assert all(target.holds is not False for target in targets([a_record(now=unproven, before=before)]))
    assert the_miss(a_record(now=replace(unproven, seconds=1.1), before=before)).misses == ["genes, k = 5: 1.10 s"]
    large = a_record(now=replace(unproven, seconds=1.1), before=before, p=64_000)
    assert judged(large)["seconds, p <= 20,000, n <= 200"].holds is None


def test_gaps() -> None:
    wide = replace(NOW, optimal=False, gap=0.03, upper=2.1)
    real, made = a_record(now=wide, before=wide), a_record(now=wide, before=wide, real=False)
    good = [a_record(k=k) for k in range(3)]
    assert judged(*good, real)["gap on real data"].misses == ["genes, k = 5: 3.00%"]
    assert judged(*good, made)["gap on real data"].holds
    assert judged(*good, real)["median gap"].holds
    assert not judged(real)["median gap"].holds
    noise = a_record(now=wide, before=wide, real=False, data="noise 60 x 1,000")
    assert judged(*good, noise)["median gap"].figure == "0.000% (real 0.000%, noise 3.000%)"
    assert not judged(a_record(thorough=wide))["gap on real data, thorough"].holds
    assert judged(a_record(thorough=replace(wide, gap=None)))["gap on real data, thorough"].figure.startswith("100.00%")
    assert a_record(now=replace(wide, optimal=True)).marks() == ["wider"]
    assert a_record(now=replace(NOW, gap=None, upper=None, optimal=False)).marks() == ["UNCERTIFIED"]


def test_the_worst_misses_are_told_and_the_others_counted() -> None:
    slow = [a_record(now=replace(NOW, seconds=float(k)), k=k) for k in range(2, 13)]
    told = str(judged(*slow)["seconds, p <= 20,000, n <= 200"])
    assert "genes, k = 12: 12.00 s; genes, k = 11: 11.00 s" in told
    assert told.endswith("genes, k = 5: 5.00 s; and 3 more |")


def test_exact_search_without_proof_says_whether_it_used_its_time() -> None:
    stopped = replace(NOW, optimal=False, gap=0.02, upper=2.04, seconds=3.0)
    early = a_record("exact", stopped, before=None)
    late = a_record("exact", replace(stopped, seconds=20.1), before=None)
    found = judged(early, late, a_record("exact"))["exact, proven"]
    assert (found.holds, found.figure) == (False, "1 of 3")
    assert found.misses == ["exact, genes, k = 5: 2.00% open after only 3.0 s", "exact, genes, k = 5: 2.00% open"]


def test_a_row_not_finished_before_counts_with_its_time() -> None:
    before = Figures(failed="over 60 s", seconds=60.0)
    found = judged(a_record(before=before))
    assert found["median speedup"].figure.startswith("3000.0x")
    assert found["value lower than before"].holds is None
    assert "over 60 s" in default.line(a_record(before=before))


def test_a_row_not_finished_misses_what_it_belongs_to() -> None:
    lost = Figures(failed="over 60 s", seconds=60.0)
    assert a_record(now=lost).marks() == ["FAILED"]
    found = judged(a_record(now=lost), *(a_record(task, lost) for task in ("exact", "components", "path")))
    missed = {name for name, target in found.items() if target.holds is False}
    assert missed == {
        "rows without an answer", "median speedup", "seconds, p <= 20,000, n <= 200", "median gap", "gap on real data",
        "exact, proven", "five components, in default solves", "path of 24, in default solves",
    }  # fmt: skip
    assert found["exact, proven"].misses == ["exact, genes, k = 5: over 60 s"]


def test_rows_have_data_and_the_quick_ones_are_few() -> None:
    assert {row.data for row in ROWS} <= set(DATA)
    assert len(set(ROWS)) == len(ROWS)
    assert len(set(PATH)) == 24
    quick = chosen(quick=True)
    assert {row.task for row in quick} == {"solve", "exact", "components", "path"}
    assert len(quick) <= 24
    assert [str(row) for row in chosen(named=r"^noise 60 x 1,000 k=5$")] == ["noise 60 x 1,000 k=5"]


def test_figures_come_back_from_their_file(tmp_path: Path) -> None:
    written = [a_record(thorough=NOW), a_record("path", replace(NOW, values=[1.0, 2.0], one=0.1), before=None)]
    default.write(tmp_path / "figures.json", written)
    assert default.read(tmp_path / "figures.json") == written
    lines = [default.line(record) for record in written]
    assert {text.count("|") for text in lines} == {len(default.HEADS) + 1}


def test_stages_of_any_form() -> None:
    class Stage:
        name, seconds = "dual", 0.002

    assert told(None) == ""
    assert told((Stage(), ("swap", 0.5), "plain")) == "dual 2, swap 500, plain"
    assert told({"plain": 0.001}) == "plain 1"


def test_a_whole_table_in_processes_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = tmp_path / "figures.json"
    arguments = ["default", "--rows", "^PitProps k=3$", "--json", str(stored)]
    main(arguments)
    (record,) = default.read(stored)
    assert record.now.failed == ""
    assert record.now.values[0] == pytest.approx(2.475, abs=1e-3)
    main([*arguments, "--before", str(stored)])
    printed = capsys.readouterr().out
    assert "| value lower than before | 0 of 1 | 0 | ok |" in printed
    assert default.table(rows="^PitProps k=3$", limit=1e-6) is False
    assert "over 0 s" in capsys.readouterr().out


def test_command_line_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["defaults"])
    assert "'defaults' is not a part; choose from efforts, cost, curve, default" in capsys.readouterr().err
