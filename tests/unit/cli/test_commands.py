"""Each command: what it answers, and that an early end keeps the answer."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparseigen.cli.commands import COMMANDS
from sparseigen.datasets import load_pitprops
from sparseigen.errors import SolveInterrupted
from tests.unit.cli.running import check_refused, run


@pytest.fixture
def pitprops(tmp_path: Path) -> Path:
    data = load_pitprops()
    rows = [f"{name}," + ",".join(map(repr, row)) for name, row in zip(data.names, data.matrix.tolist(), strict=True)]
    path = tmp_path / "pitprops.csv"
    path.write_text("\n".join(["," + ",".join(data.names), *rows]) + "\n")
    return path


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.csv"
    clique = [(a, b) for a in "pqrst" for b in "pqrst" if a < b]
    tail = [("t", "u"), ("u", "v"), ("v", "w"), ("w", "x")]
    path.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in clique + tail))
    return path


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: sparseigen {command}" in " ".join(result.stdout.split())


def test_help_lists_every_command_and_completion() -> None:
    text = run("--help").stdout
    assert all(f"\n  {command} " in text for command in COMMANDS)
    assert "--install-completion" in text
    assert "Exit codes: 0 an answer, 2 bad usage, 3 bad data, 4 stopped early" in " ".join(text.split())
    assert run("--version").stdout.startswith("sparseigen ")


def test_completion_offers_the_commands() -> None:
    environment = os.environ | {
        "_SPARSEIGEN_COMPLETE": "complete_bash",
        "COMP_WORDS": "sparseigen d",
        "COMP_CWORD": "1",
    }
    answer = subprocess.run([sys.executable, "-m", "sparseigen"], env=environment, capture_output=True, text=True)
    assert answer.stdout.split() == ["dks", "datasets", "demo", "doctor"]


def test_start_loads_only_what_is_used(pitprops: Path) -> None:
    heavy = ["pydantic", "rich", "pandas", "plotly", "jinja2", "networkx", "sklearn", "scipy.linalg", "scipy.sparse"]
    code = (
        "import sys\nfrom sparseigen.cli import main\n"
        f"sys.argv = ['sparseigen', 'pca', {str(pitprops)!r}, '--covariance', '-k', '5']\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        f"    print(end.code, [name for name in {heavy!r} if name in sys.modules])\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "0 []"


def test_pca_with_a_list(pitprops: Path) -> None:
    answer = json.loads(run("pca", pitprops, "--covariance", "-k", "7,2,1,1,1,1", "--json").stdout)
    assert [len(result["support"]) for result in answer] == [7, 2, 1, 1, 1, 1]
    shares = sum(result["value"] for result in answer) / 13.0
    assert 0.75 < shares < 0.77


def test_path(pitprops: Path) -> None:
    text = run("path", pitprops, "--covariance", "--k", "1:13").stdout
    assert "suggested k: 6 (elbow)" in text
    assert text.count("optimal") >= 3
    answer = json.loads(run("path", pitprops, "--covariance", "--k", "5,10", "--json", "--choose", "share").stdout)
    assert [result["value"] for result in answer["results"]] == pytest.approx([3.406155, 4.172638], abs=1e-5)
    assert answer["suggested"] == {"rule": "share", "cardinality": 10}
    rows = run("path", pitprops, "--covariance", "--k", "1:3", "--csv").stdout.splitlines()
    assert rows[0].startswith("cardinality,value,share")
    assert rows[2].endswith("topdiam;length")


def test_certify(pitprops: Path) -> None:
    answer = json.loads(run("certify", pitprops, "--covariance", "-k", "5", "--json").stdout)
    assert answer["lower_bound"] <= 3.406155 <= answer["upper_bound"] + 1e-6
    own = json.loads(run("certify", pitprops, "--covariance", "--support", "topdiam,length", "--json").stdout)
    assert own["lower_bound"] == pytest.approx(1.954)
    assert own["optimal"]
    assert (
        "No 2 variables can explain more: proven"
        in run("certify", pitprops, "--covariance", "--support", "topdiam,length").stdout
    )
    worse = run("certify", pitprops, "--covariance", "--support", "moist,knots", "-k", "3").stdout
    assert "gap" in worse
    check_refused(run("certify", pitprops, "--covariance"), 2, "give -k")
    check_refused(run("certify", pitprops, "--covariance", "--support", "leaf"), 2, "'leaf', which is not a variable")
    check_refused(run("certify", pitprops, "--covariance", "--support", "moist,knots", "-k", "1"), 2, "names 2")


def test_support_by_number(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", load_pitprops().matrix)
    by_number = run("certify", tmp_path / "m.npy", "--covariance", "--support", "0,1", "--json").stdout
    assert json.loads(by_number)["support"] == ["x0", "x1"]
    assert run("certify", tmp_path / "m.npy", "--covariance", "--support", "x0,x1", "--json").stdout == by_number
    check_refused(run("certify", tmp_path / "m.npy", "--covariance", "--support", "a"), 2, "numbers from 0 on")
    check_refused(run("certify", tmp_path / "m.npy", "--covariance", "--support", "99"), 2, "index 99")


def test_exact(pitprops: Path, tmp_path: Path) -> None:
    result = run("exact", pitprops, "--covariance", "-k", "5", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "bracket closed after" in result.stdout
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert document["answer"]["value"] == pytest.approx(3.406155, abs=1e-6)


def test_limits_end_with_code_4_and_an_answer(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).standard_normal((60, 120))
    np.save(tmp_path / "noise.npy", noise)
    result = run("exact", tmp_path / "noise.npy", "-k", "12", "--time-limit", "0.001")
    assert result.exit_code == 4
    assert "variance share" in result.stdout
    assert "time limit" in result.stderr
    answer = run(
        "pca", tmp_path / "noise.npy", "-k", "40", "--max-iterations", "1", "--start", "max-variance", "--json"
    )
    stopped = json.loads(answer.stdout)[0]["stop_reason"] == "iteration_limit"
    assert answer.exit_code == (4 if stopped else 0)
    assert stopped


def test_dks_with_names(graph: Path, tmp_path: Path) -> None:
    text = run("dks", graph, "-k", "5").stdout
    assert "members: p; q; r; s; t" in text
    assert "optimal" in text
    (tmp_path / "who.csv").write_text(
        "id,name,lat,lon\n" + "".join(f"{c},Town {c},{i},{i}\n" for i, c in enumerate("pqrstuvwx"))
    )
    named = run("dks", graph, "-k", "5", "--vertices", tmp_path / "who.csv", "--report", tmp_path / "map.html")
    assert "Town p; Town q" in named.stdout
    assert "Town p" in (tmp_path / "map.html").read_text()
    rows = run("dks", graph, "-k", "5", "--csv", "--vertices", tmp_path / "who.csv").stdout.splitlines()
    assert rows[1] == "1,5,p,Town p,2.0"
    assert "members: p; q; r; s; t; u" in run("dks", graph, "-k", "6", "--include", "u").stdout
    check_refused(run("dks", graph, "-k", "2", "--include", "zz"), 3, "'zz', which is not a vertex")
    check_refused(run("dks", graph, "-k", "2", "--vertices", tmp_path / "none.csv"), 3, "does not exist")
    (tmp_path / "who.csv").write_text("id,lat,lon\np,1,2\n")
    check_refused(
        run("dks", graph, "-k", "2", "--vertices", tmp_path / "who.csv", "--report", tmp_path / "m.html"),
        3,
        "vertex 'q'",
    )


def test_disjoint_sets_and_standard_input(graph: Path) -> None:
    answer = json.loads(run("dks", graph, "-k", "3", "--count", "2", "--json").stdout)
    assert not set(answer[0]["nodes"]) & set(answer[1]["nodes"])
    piped = json.loads(run("dks", "-", "-k", "5", "--json", input=graph.read_bytes()).stdout)
    assert piped["nodes"] == list("pqrst")


def test_curve(graph: Path, tmp_path: Path) -> None:
    result = run("curve", graph, "--k", "2:6:2", "--out", tmp_path / "out", "--report", tmp_path / "c.html")
    assert result.exit_code == 0, result.stderr
    rows = (tmp_path / "out" / "curve.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["k", "2", "4", "6"]
    assert (tmp_path / "out" / "members.csv").read_text().count("\n") == 13
    assert (tmp_path / "c.html").stat().st_size > 1000


def test_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path))
    text = run("datasets").stdout
    assert str(tmp_path) in text
    assert "pitprops        no" in text
    (tmp_path / "pitprops").mkdir()
    (tmp_path / "pitprops" / "pitprops_correlation.csv").write_text("")
    assert "pitprops        yes" in run("datasets").stdout
    assert "try: sparseigen pca" in run("datasets", "pitprops").stdout
    assert json.loads(run("datasets", "--json").stdout)["datasets"]["colon"]["there"] is False
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path / "none"))
    assert "set SPARSEIGEN_DATA" in run("datasets").stdout
    check_refused(run("datasets", "moon"), 2, "'moon' is not a data set")


def test_benchmarks_need_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.cli import checkout

    check_refused(run("bench", "nothing"), 2, "'nothing' is not a part of the benchmarks")
    assert "start-up" in run("bench", "--list").stdout
    started = []
    monkeypatch.setattr(
        checkout.subprocess,
        "run",
        lambda *given, **named: started.append((given, named)) or subprocess.CompletedProcess(given, 0),
    )
    monkeypatch.setattr(checkout, "__file__", __file__)  # in the source, wherever the package is installed
    monkeypatch.chdir(tmp_path)
    assert run("reproduce", "T4", "T1.spca", "--data", "here", "--fresh").exit_code == 0
    assert run("reproduce", "--list").exit_code == 0
    assert [given[0][1:] for given, _ in started] == [
        ["-m", "benchmarks.paper", f"--data={tmp_path / 'here'}", "--fresh", "--", "T4", "T1.spca"],
        ["-m", "benchmarks.paper", "--list", "--"],
    ]
    started.clear()
    assert run("bench", "quick").exit_code == 0
    assert run("bench", "speed", "startup").exit_code == 0
    assert [given[0][1:] for given, _ in started] == [
        ["-m", "benchmarks.speed", "quick"],
        ["-m", "benchmarks.speed", "startup"],
    ]
    monkeypatch.setattr(checkout, "__file__", str(tmp_path / "installed" / "checkout.py"))
    monkeypatch.chdir(tmp_path)
    for command in ("bench", "reproduce"):
        check_refused(run(command), 2, "run this inside a checkout of the sparseigen repository")


def test_doctor_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.cli import doctor

    assert json.loads(run("doctor", "--json").stdout)["failures"] == dict.fromkeys(doctor.TESTS)
    monkeypatch.setitem(doctor.TESTS, "graphs", lambda: "no clique")
    result = run("doctor")
    assert result.exit_code == 1
    assert "FAILED: no clique" in result.stdout


def test_demo_writes_its_report(tmp_path: Path) -> None:
    result = run("demo", "--report", tmp_path / "demo.html")
    assert result.exit_code == 0
    assert f"report: {tmp_path / 'demo.html'}" in result.stderr
    assert "topdiam" in (tmp_path / "demo.html").read_text()


INTERRUPTIBLE = {
    "path": ("sparseigen.solve.path", "cardinality_path", ["--k", "1:3"], "suggested k"),
    "curve": ("sparseigen.graphs", "density_curve", ["--k", "2:3"], "density"),
    "dks": ("sparseigen.graphs", "densest_k_subgraph", ["-k", "3"], "members"),
    "exact": ("sparseigen.solve", "solve_exact", ["-k", "3"], "variance share"),
}


INTERRUPTIONS = [(command, True) for command in INTERRUPTIBLE]
INTERRUPTIONS += [(command, False) for command in INTERRUPTIBLE if command != "exact"]  # that always has a bracket


@pytest.mark.parametrize(("command", "answered"), INTERRUPTIONS)
def test_ctrl_c_keeps_the_answer(
    command: str, answered: bool, pitprops: Path, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, more, shown = INTERRUPTIBLE[command]
    real = getattr(__import__(module, fromlist=[name]), name)

    def interrupted(*given: Any, **options: Any) -> None:
        raise SolveInterrupted(real(*given, **options) if answered else None)

    monkeypatch.setattr(f"{module}.{name}", interrupted)
    source = [graph] if command in ("curve", "dks") else [pitprops, "--covariance"]
    result = run(command, *source, *more)
    if answered:
        assert result.exit_code == 4
        assert shown in result.stdout
        assert result.stderr.startswith("stopped early")
    else:
        check_refused(result, 130, "stopped before there was an answer")


def long_search(folder: Path, seconds: int) -> list[str]:
    """An exact search on noise, which never ends by itself."""
    np.save(folder / "noise.npy", np.random.default_rng(0).standard_normal((80, 150)))
    limit = ["--time-limit", str(seconds)]
    return [sys.executable, "-m", "sparseigen", "exact", str(folder / "noise.npy"), "-k", "15", *limit]


def test_progress_on_a_terminal_only(tmp_path: Path) -> None:
    command = long_search(tmp_path, seconds=2)
    for more, shown in (([], True), (["--quiet"], False)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        os.close(ours)
        assert process.wait(timeout=60) == 4
        assert (b"proving" in seen) is shown
        assert b"Traceback" not in seen


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a child process")
def test_ctrl_c_of_an_exact_search(tmp_path: Path) -> None:
    command = long_search(tmp_path, seconds=90)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4.0)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 4, errors
    assert "variance share" in output
    assert "Traceback" not in errors
