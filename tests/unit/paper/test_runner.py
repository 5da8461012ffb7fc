"""Runs continue where they stopped, and never use what belongs to other code, data or settings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from benchmarks.paper import command, runner, store
from benchmarks.paper.parts import all_pieces
from benchmarks.paper.pieces import Outcome, Settings

ROOT = Path(__file__).resolve().parents[3]
TWO = ["T4/pitprops/tpower", "T4/pitprops/pathspca"]
SETTINGS = Settings()


class InThisProcess:
    """A pool of processes without the processes, where a test is not about them."""

    def __init__(self, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def submit(self, work, *arguments):
        future: Future = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.fixture
def in_this_process(monkeypatch):
    monkeypatch.setattr(runner, "ProcessPoolExecutor", InThisProcess)


def chosen(names=TWO):
    return {name: all_pieces()[name] for name in names}


def run(folder, names=TWO, settings=SETTINGS, **options):
    told = []
    result = runner.run(chosen(names), settings, folder=folder, processes=1, tell=lambda *w: told.append(w), **options)
    return result, told


def test_a_second_run_computes_nothing(tmp_path, in_this_process):
    first, told = run(tmp_path)
    assert (first.kept, first.done) == (0, 2)
    assert [done for _, done, _ in told] == [1, 2]
    second, _ = run(tmp_path)
    assert (second.kept, second.done) == (2, 0)
    assert second.outcomes == first.outcomes
    again, _ = run(tmp_path, fresh=True)
    assert (again.kept, again.done) == (0, 2)


def test_damaged_and_foreign_files_are_redone(tmp_path, in_this_process):
    first, _ = run(tmp_path)
    paths = [store.path_of(piece, 0, tmp_path) for piece in chosen().values()]
    paths[0].write_text(paths[0].read_text()[:40])
    content = json.loads(paths[1].read_text())
    paths[1].write_text(json.dumps({**content, "key": "another code, other data", "raw": "wrong"}))
    second, _ = run(tmp_path)
    assert (second.kept, second.done) == (0, 2)
    assert second.outcomes == first.outcomes
    assert run(tmp_path)[0].kept == 2


def test_the_key_knows_settings_data_and_code(tmp_path, monkeypatch):
    piece = all_pieces()["F1/colon/pathspca"]
    for name in piece.files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one")
    key = store.key_of(piece, SETTINGS, tmp_path)
    assert store.key_of(piece, Settings(seed=1), tmp_path) != key
    assert store.key_of(all_pieces()["F1/colon/default"], SETTINGS, tmp_path) != key
    (tmp_path / piece.files[0]).write_text("two")
    store._file_version.cache_clear()
    changed = store.key_of(piece, SETTINGS, tmp_path)
    assert changed != key
    monkeypatch.setattr(store, "_package_version", lambda: "another version of the package")
    assert store.key_of(piece, SETTINGS, tmp_path) != changed


def test_the_code_of_a_part_is_what_it_imports():
    modules = store._imported("benchmarks.paper.parts.pitprops")
    assert {"benchmarks.paper.objective", "benchmarks.paper.solvers.components"} <= modules
    assert "benchmarks.paper.page" not in modules
    assert "benchmarks.paper.parts.genes" not in modules


def test_an_interrupted_write_leaves_nothing(tmp_path):
    path = tmp_path / "part" / "result.json"
    with pytest.raises(TypeError):
        store.write(path, "key", {"not": object()}, 1.0)
    assert list(path.parent.iterdir()) == []
    assert store.read(path, "key") is None


def _until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def _group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_killed_after_one_piece_it_goes_on_from_there(tmp_path):
    """A real run, killed: what had ended is kept, the rest is done."""
    script = (
        "import sys; from pathlib import Path\n"
        "from benchmarks.paper.parts import all_pieces\n"
        "from benchmarks.paper.pieces import Settings\n"
        "from benchmarks.paper.runner import run\n"
        "if __name__ == '__main__':\n"
        "    pieces = {name: all_pieces()[name] for name in ('T4/pitprops/tpower', 'T1/toy/tpower')}\n"
        "    run(pieces, Settings(repeats=100_000), folder=Path(sys.argv[1]), processes=1)\n"
    )
    program = tmp_path / "program.py"
    program.write_text(script)
    folder = tmp_path / "stored"
    started = subprocess.Popen(
        [sys.executable, str(program), str(folder)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
    )  # fmt: skip
    first = folder / "T4" / "pitprops.tpower.json"
    try:
        assert _until(lambda: first.exists() or started.poll() is not None)
        started.kill()
        started.wait()
        assert _until(lambda: not _group_lives(started.pid)), "workers of a killed run go on"
    finally:
        if _group_lives(started.pid):
            os.killpg(started.pid, signal.SIGKILL)
    assert first.exists()
    assert not (folder / "T1").exists()
    result = runner.run(chosen(TWO), Settings(repeats=100_000), folder=folder, processes=1)
    assert (result.kept, result.done) == (1, 1)


def test_missing_data_make_rows_not_runnable(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SPARSEIGEN_DATA", os.environ.get("SPARSEIGEN_DATA", ""))  # put back after the test
    monkeypatch.setattr(store, "FOLDER", tmp_path / "stored")
    code = command.main(["T5", "F1.colon", "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "page.md")])
    shown = capsys.readouterr().out
    assert code == 0
    assert "0 reproduced, 0 better, 0 differs" in shown
    assert "the data folder is not here" in shown
    (tmp_path / "empty").mkdir()
    assert command.main(["F1.colon.genes", "--data", str(tmp_path / "empty")]) == 0
    assert "colon/authors_covariance_500.npz is not in the data folder" in capsys.readouterr().out
    assert "not runnable here" in (tmp_path / "page.md").read_text()


def test_a_piece_that_breaks_is_reported_and_the_others_run(tmp_path, in_this_process, monkeypatch):
    real = runner._work

    def work(name, settings, block):
        if name == TWO[0]:
            raise ZeroDivisionError("at the third step")
        return real(name, settings, block)

    monkeypatch.setattr(runner, "_work", work)
    result, told = run(tmp_path)
    assert result.failed == [TWO[0]]
    assert result.outcomes[TWO[0]] == "failed: ZeroDivisionError: at the third step"
    assert isinstance(result.outcomes[TWO[1]], Outcome)
    assert len(told) == 2


def test_repeats_are_the_same_whatever_the_blocks():
    from benchmarks.paper.parts import toy

    covered = [number for block in range(toy.BLOCKS) for number in toy.repeats_of(Settings(repeats=37), block)]
    assert covered == list(range(37))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [(["T99"], 2, "names no table"), (["--repeats", "1"], 2, "--repeats must be"), (["T3", "--list"], 0, "")],
)
def test_bad_arguments(arguments, code, message, capsys):
    assert command.main(arguments) == code
    assert message in capsys.readouterr().err


def test_outcomes_keep_plain_values():
    outcome = Outcome()
    outcome.add("m", 0.5)
    assert json.loads(json.dumps(outcome.measures))["m"]["value"] == 0.5
