"""Exponents, JSON lines, verdicts, history and the tables: everything between a measurement and a reader."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import timing
from benchmarks.speed import markdown, measuring, records, scaling, verdicts
from benchmarks.speed.__main__ import main
from benchmarks.speed.markdown import share_of_ours
from benchmarks.speed.peers import DEFAULT, PLAIN, SPARSE_PCA
from benchmarks.speed.records import Record, Run, Seconds, changes
from benchmarks.speed.scaling import fit_exponent

MACHINE = {
    "system": "Linux", "processor": "a < b", "cores": 2, "memory_gb": 8.0, "kernels": "compiled", "threads": 2,
    "load_before": 0.1,
}  # fmt: skip


def a_run(day: int = 1, **changed: object) -> Run:
    date = f"2026-01-{day:02d}T00:00:00Z"
    return replace(Run(f"{date}-1", "quick", date, MACHINE, {"numpy": "2.0"}, "abc"), **changed)


def peer(
    name: str, value: float | None = 1.0, *, k: int = 5, seconds: float | None = 0.01, **changed: object
) -> Record:
    taken = None if seconds is None else Seconds(seconds, seconds, 3, 2 * seconds)
    made = Record(
        "peer", name, {"cell": "noise, p = 500", "k": k}, seconds=taken, value=value, reference=1.0,
        details={"cardinality": k},
    )  # fmt: skip
    return replace(made, **changed)


def exponent(value: float, limit: float | None = 1.1) -> Record:
    details = {"low": value - 0.1, "high": value + 0.1, "factor": 1e-6, "limit": limit, "grows": "p"}
    return Record("exponent", "plain iteration", {"sizes": [1, 2, 4]}, value=value, details=details)


def good_run() -> list[Record]:
    point = Record(
        "scaling", "plain iteration", {"n": 500, "p": 1000}, seconds=Seconds(0.1, 0.2, 9), memory_bytes=5_000_000,
        details={"grows": "p", "input_bytes": 1},
    )  # fmt: skip
    others = [peer(DEFAULT, seconds=0.05), peer(PLAIN, seconds=0.001), peer(SPARSE_PCA, 0.97, seconds=0.5)]
    return [*others, point, exponent(1.02)]


@pytest.mark.parametrize("slope", [0.0, 1.0, 2.5])
def test_exponent_of_a_power_law_is_exact(slope: float) -> None:
    sizes = np.array([100, 200, 400, 800])
    found = fit_exponent(sizes, 3e-6 * sizes**slope)
    assert found.slope == pytest.approx(slope, abs=1e-10)
    assert found.factor == pytest.approx(3e-6)
    assert found.high - found.low < 1e-6


def test_exponent_interval_holds_as_often_as_it_says(rng: np.random.Generator) -> None:
    sizes = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    inside = 0
    for _ in range(400):
        found = fit_exponent(sizes, sizes**1.3 * np.exp(0.1 * rng.standard_normal(5)), confidence=0.9)
        inside += found.low <= 1.3 <= found.high
    assert 335 <= inside <= 385  # 360 expected, four standard deviations


def test_exponent_refuses_what_it_cannot_fit() -> None:
    with pytest.raises(ValueError, match="2 different sizes; an exponent with an interval needs at least 3"):
        fit_exponent([1, 2, 2], [1, 2, 2])
    with pytest.raises(ValueError, match="3 sizes and 2 times"):
        fit_exponent([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="must be positive"):
        fit_exponent([1, 2, 3], [1, 0, 2])


def test_json_lines_come_back_as_they_were(tmp_path: Path) -> None:
    run = a_run()
    written = [
        *good_run(),
        Record("peer", "odd \u2028 'name'", {"cell": "x"}, status="failed", message='line\nbreak "quote"'),
        Record("scaling", "numpy", {"p": 3}, value=np.float64(1.5), memory_bytes=np.int64(7)),
    ]
    path = tmp_path / "new" / "speed.jsonl"
    records.append(written[:2], run, path)
    records.append(written[2:], run, path)
    lines = path.read_text(encoding="utf-8").split("\n")
    assert len(lines) == len(written) + 1
    assert all(json.loads(line)["schema"] == 1 for line in lines[:-1])
    for (read_run, read_record), record in zip(records.read(tmp_path / "new"), written, strict=True):
        assert read_run == run
        assert read_record == record
        assert read_record.key == record.key


def test_json_lines_that_are_none_are_named(tmp_path: Path) -> None:
    path = tmp_path / "speed.jsonl"
    records.append([peer(PLAIN)], a_run(), path)
    good = path.read_text()
    for bad, why in (
        ("{", "Expecting"),
        (good.replace('"schema": 1', '"schema": 9'), "its schema is not 1"),
        (good.replace('"message"', '"massage"'), "unknown field 'massage'"),
        (good.replace('"status": "ok"', '"status": "fine"'), "status 'fine' is not one of ok, failed"),
    ):
        path.write_text(good + bad)
        with pytest.raises(ValueError, match=rf"speed.jsonl, line 2 is not a measurement .*{why}"):
            records.read(tmp_path)
    with pytest.raises(ValueError, match="Out of range float"):
        records.append([peer(PLAIN, float("nan"))], a_run(), path)


def test_a_run_knows_its_machine_and_versions() -> None:
    run = measuring.begin("quick")
    assert run.machine["cores"] >= 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", run.date)
    assert run.versions["numpy"] == np.__version__
    assert {"scikit-learn", "abess", "sparsepca", "networkx", "R PMA"} <= set(run.versions)
    assert json.loads(json.dumps(asdict(run)))


def test_verdicts_hold() -> None:
    found = verdicts.verdicts(good_run())
    assert [verdict.holds for verdict in found] == [True, True, True]
    assert str(found[1]).startswith("PASS  speed: noise, p = 500, k = 5: 500x")


def test_variance_verdict_fails_by_one_peer() -> None:
    above = verdicts.no_peer_above([*good_run(), peer("other", 1.0 + 2e-12)])
    assert not above.holds
    assert "2 answers of peers compared, 1 above ours" in above.text
    assert "other in noise, p = 500 at 5 by 2.0e-12" in above.text
    assert verdicts.no_peer_above([*good_run(), peer("other", 1.0 + 5e-13)]).holds
    without = verdicts.no_peer_above([peer("other", 0.5, reference=None)])
    assert not without.holds
    assert "ours has no answer" in without.text
    failed = peer("other", None, status="failed", message="no", seconds=None)
    assert "(1 without an answer)" in verdicts.no_peer_above([*good_run(), failed]).text


def test_speed_verdict_counts_one_fit_and_only_noise() -> None:
    assert not verdicts.faster_than_sparse_pca([peer(PLAIN, seconds=0.01), peer(SPARSE_PCA, seconds=0.9)]).holds
    fewer = peer(SPARSE_PCA, seconds=9.0, details={"cardinality": 4})
    assert verdicts.faster_than_sparse_pca([peer(PLAIN, seconds=0.01), fewer]).text == "nothing measured"
    elsewhere = {"setting": {"cell": "PitProps", "k": 5}}
    slow = [peer(PLAIN, seconds=0.01, **elsewhere), peer(SPARSE_PCA, seconds=0.02, **elsewhere)]
    found = verdicts.faster_than_sparse_pca([*good_run(), *slow])
    assert found.holds
    assert "not part of this verdict: 2x to 2x" in found.text


def test_growth_verdict() -> None:
    assert not verdicts.growth([exponent(1.02), exponent(1.11)]).holds
    assert verdicts.growth([exponent(1.1), exponent(2.0, limit=None)]).holds


def test_nothing_measured_is_no_pass() -> None:
    assert [verdict.holds for verdict in verdicts.verdicts([])] == [False, False, False]


def test_history_flags_a_change_beyond_noise() -> None:
    def timed(day: int, seconds: float, middle: float | None = None) -> tuple[Run, Record]:
        taken = Seconds(seconds, middle or seconds, 5)
        return a_run(day), Record("scaling", "x", {"p": 1}, seconds=taken)

    steady = [timed(day, 1.0 + 0.01 * day) for day in range(1, 6)]
    (same,) = changes([*steady, timed(9, 1.15)], a_run(9))
    assert (same.flagged, same.runs) == (False, 5)
    assert changes([*steady, timed(9, 1.5)], a_run(9))[0].flagged
    assert changes([*steady, timed(9, 0.6)], a_run(9))[0].flagged
    assert not changes([*steady, timed(9, 1.5, middle=2.5)], a_run(9))[0].flagged  # noisy in itself
    other = replace(a_run(9), machine={**MACHINE, "cores": 64})
    assert changes([*steady, (other, timed(9, 9.0)[1])], other) == []
    assert changes([timed(9, 1.0)], a_run(9)) == []


def test_table_escapes_and_says_how_it_was_made() -> None:
    found = [*good_run(), peer("a|b *c*", None, status="failed", message="x | <y>\nz", seconds=None)]
    text = markdown.page(a_run(), found, verdicts.verdicts(found), flagged=2)
    assert "Made by `python -m benchmarks.speed quick`" in text
    assert r"a\|b \*c\*" in text
    assert r"failed: x \| \<y\> z" in text
    assert "2 times differ from earlier runs" in text
    assert text.count("PASS") == 4  # three verdicts and one word of the explanation
    rows = [line for line in text.splitlines() if line.startswith("| noise")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {9}


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1"), (1.0 + 1e-14, "1"), (1.0 - 1e-9, "1-1.0e-09"), (0.5, "0.500000"), (None, "-")]
)
def test_share_tells_a_loss_from_a_tie(value: float | None, shown: str) -> None:
    assert share_of_ours(peer("x", value)) == shown


def test_one_point_of_growth_is_measured_with_its_memory() -> None:
    found = scaling.run_point("data step", {"n": 50, "p": 2000, "k": 20, "threads": 1})
    assert len(found["times"]) >= 3
    assert min(found["times"]) > 0.0
    assert found["input_bytes"] == 50 * 2000 * 8
    with pytest.raises(scaling.PointError, match="unexpected keyword argument 'oops'"):
        scaling.run_point("data step", {"oops": 1})


def test_a_point_that_fails_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def point(task: str, parameters: dict[str, int]) -> dict[str, object]:
        if parameters["p"] == 2:
            raise scaling.PointError("MemoryError")
        return {"times": [1e-3 * parameters["p"]], "value": 1.0, "memory": 8, "input_bytes": 8}

    monkeypatch.setattr(scaling, "run_point", point)
    axis = scaling.Axis("made up", "x", "p", (1, 2, 4, 8), limit=1.1, quick_sizes=(1, 2, 4, 8))
    monkeypatch.setattr(scaling, "AXES", (axis,))
    told: list[str] = []
    (found,) = scaling.measure_scaling("quick", tell=told.append)
    assert [record.status for record in found] == ["ok", "failed", "ok", "ok", "ok"]
    assert found[-1].value == pytest.approx(1.0)
    assert found[-1].setting["sizes"] == [1, 4, 8]
    assert "failed: MemoryError" in told[0]


def test_a_whole_run_from_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    made = good_run()
    monkeypatch.setattr(measuring, "compare", lambda mode, **_: iter([made[:1], made[1:3]]))
    monkeypatch.setattr(measuring, "measure_scaling", lambda mode, **_: iter([made[3:]]))

    def part() -> None:
        timing.best_of({"one": lambda: None}, repeats=2, label="nothing")

    places = measuring.Places(tmp_path / "results", tmp_path / "build" / "table.md")
    assert measuring.measure("quick", places, {"part": part}) == 0
    printed = capsys.readouterr().out
    assert printed.count("PASS") == 3
    assert printed.splitlines()[-1].startswith("PASS  growth")
    kinds = [record.kind for _, record in records.read(places.results)]
    assert kinds == ["peer", "peer", "peer", "scaling", "exponent", "part", "verdict", "verdict", "verdict"]
    assert "part: one" in {record.name for _, record in records.read(places.results)}
    assert "# Benchmarks" in places.markdown.read_text()
    made[2] = replace(made[2], value=2.0)
    assert measuring.measure("quick", places, {}) == 1
    assert "FAIL  variance" in capsys.readouterr().out


def test_command_line_refuses(capsys) -> None:
    for arguments, why in (
        (["nothing"], "'nothing' is not a part; choose from quick, full, startup"),
        (["quick", "startup"], "'quick' is a whole run; name it alone"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert why in capsys.readouterr().err
