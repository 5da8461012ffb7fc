"""The group: help, completion, what is loaded, and what becomes of errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sparseigen.cli.commands import COMMANDS, explain
from sparseigen.errors import SolveInterrupted
from tests.unit.cli.running import check_refused, run


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
        "_SPARSEIGEN_COMPLETE": "bash_complete",
        "COMP_WORDS": "sparseigen d",
        "COMP_CWORD": "1",
    }
    answer = subprocess.run([sys.executable, "-m", "sparseigen"], env=environment, capture_output=True, text=True)
    assert answer.stdout.split() == ["plain,dks", "plain,datasets", "plain,demo", "plain,doctor"]


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


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (MemoryError(), 3, "there is not enough memory for these data; use fewer rows or columns."),
        (OSError(28, "No space left on device", "/tmp/x"), 2, "/tmp/x: No space left on device. Choose another place"),
        (OSError("odd"), 2, "error: odd. Choose another place to write to, or make room."),
        (ZeroDivisionError("by zero"), 1, "unexpected ZeroDivisionError: by zero. This is a defect; --debug shows"),
        (KeyboardInterrupt(), 130, "stopped before there was an answer."),
    ],
)
def test_every_failure_has_a_sentence(
    error: BaseException, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(error, debug=False) == code
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_traceback_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(ValueError("why"), debug=True) == 1
    assert "ValueError: why\nerror: unexpected ValueError: why" in capsys.readouterr().err


def test_a_pipe_that_closes_is_not_explained() -> None:
    with pytest.raises(BrokenPipeError):
        explain(BrokenPipeError(), debug=False)


def test_debug_shows_where(tmp_path: Path) -> None:
    result = run("pca", tmp_path / "none.csv", "-k", "1", "--debug")
    assert result.exit_code == 3
    assert "Traceback" in result.stderr
    assert "MissingDataError" in result.stderr


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


WRONG_VALUES = [
    ("pca table -k 9", 2, "cardinality=9 must be between 1 and the number of variables (4).", "-k, --cardinality K"),
    ("path table -k 0:3", 2, "cardinalities=0 must be between 1 and the number of", "-k, --k FIRST:LAST[:STEP]"),
    ("path table -k x", 2, "k='x' must be a whole number, several (7,2,1)", "-k, --k FIRST:LAST[:STEP]"),
    ("pca table -k 1 --method magic", 2, "method='magic' is not known. Allowed: ", "--method NAME"),
    ("pca table -k 1 --start nowhere", 2, "start='nowhere' is not known. Allowed: ", "--start NAME|FILE"),
    ("pca table -k 1 --deflation none", 2, "deflation='none' is not known. Allowed: ", "--deflation NAME"),
    ("pca table -k 1 --max-iterations 0", 2, "max_iterations=0 must be a whole number >= 1.", "--max-iterations N"),
    ("pca table -k 1 --label sex", 2, "'sex' is not a column of table.csv; it has 'a', 'b'", "--label COLUMN"),
    ("pca table -k 1 --index sex", 2, "'sex' is not a column of table.csv; it has 'a', 'b'", "--index COLUMN"),
    ("exact table -k 2 --gap -1", 2, "gap=-1.0 must be a finite number >= 0.", "--gap SHARE"),
    ("exact table -k 2 --time-limit nan", 2, "time_limit=nan must be", "--time-limit SECONDS"),
    ("certify table --support e", 2, "candidates names 'e', which is not a variable", "--support NAME,NAME,..."),
    ("dks graph -k 9", 2, "k=9 must be between 1 and the number of vertices (7).", "-k K"),
    ("dks graph -k 2,3", 2, "k='2,3' must be one whole number here.", "-k K"),
    ("dks graph -k 2 --include 9", 3, "must_include holds 9, which is not a vertex", "--include NODE,NODE"),
    ("dks graph -k 2 --weight w", 3, "weight='w' is not a column of", "--weight COLUMN"),
    ("curve graph -k 2:9", 2, "must be between 1 and the number of vertices (7).", "-k, --k FIRST:LAST[:STEP]"),
    ("pca text.csv -k 1", 3, "Encode as numbers or leave out ('drop_text').", "--drop-text or --label COLUMN"),
    ("pca gaps.csv -k 1", 3, "2 NaN or infinite values, the first at row 0, column 1", "--missing [error|mean|drop]"),
    ("pca gaps.csv -k 1 --missing drop", 3, "fill them instead (missing='mean').", "--missing [error|mean|drop]"),
    ("pca table -k 1 --covariance", 3, "it must be square. For data (samples x variables) pass", "--covariance"),
    ("pca skew.csv -k 1 --covariance", 3, "is not symmetric", "--covariance"),
    ("pca one.csv -k 1", 3, "X has 1 sample; a covariance needs at least 2.", "--covariance"),
    ("convert table x.npy --dtype int8", 2, "dtype='int8' must be 'float32', 'float64' or None.", "--dtype NAME"),
]


@pytest.mark.parametrize(("line", "code", "message", "option"), WRONG_VALUES, ids=[row[0] for row in WRONG_VALUES])
def test_errors_of_the_library_show_the_option(
    line: str, code: int, message: str, option: str, table: Path, numbered_graph: Path, tmp_path: Path
) -> None:
    """The text of the library as it is, and the option that sets the parameter at fault as --help writes it."""
    for name, text in {
        "text.csv": "a,b\n1,x\n2,y\n4,x\n",
        "gaps.csv": "a,b\n1,\n,3\n",
        "skew.csv": "1,2\n3,4\n",
        "one.csv": "a,b\n1,2\n",
    }.items():
        (tmp_path / name).write_text(text)
    files = {"table": table, "graph": numbered_graph}
    words = [files.get(word, tmp_path / word if word.endswith((".csv", ".npy")) else word) for word in line.split()]
    result = run(*words)
    check_refused(result, code, message)
    assert result.stderr.endswith(f" See {option}.\n")
    assert option.split(" or ")[0] in run(words[0], "--help").stdout


def test_errors_without_a_parameter_show_no_option(tmp_path: Path) -> None:
    result = run("pca", tmp_path / "none.csv", "-k", "1")
    check_refused(result, 3, "does not exist")
    assert " See " not in result.stderr


def test_mistakes_of_usage_name_the_help_that_mends_them(table: Path) -> None:
    for arguments, message in (
        (["--nonsense"], "--nonsense"),
        (["--nonsense"], ". Try 'sparseigen --help'."),
        (["pac"], "No such command 'pac'"),
        (["pca"], "Missing argument 'DATA'. Try 'sparseigen pca --help'."),
        (["exact", table], "Missing option '-k' / '--cardinality'. Try 'sparseigen exact --help'."),
        (["pca", table, "-k", "1", "--json", "--csv"], "choose one. Try 'sparseigen pca --help'."),
        (["pca", table, "-k", "1", "-n", "many"], "'-n' / '--components'"),
        (["datasets", "fetch", "moon"], "'moon' is not a data set"),
    ):
        check_refused(run(*arguments), 2, message)


def test_no_arguments_show_the_help_on_standard_error() -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == run("--help").stdout


@pytest.mark.parametrize(("shell", "startup"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", None)])
def test_completion_is_installed_once(
    shell: str, startup: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    if startup is not None:
        (tmp_path / startup).write_text("alias mine=yours")
    for _ in range(2):
        result = run("--install-completion")
        assert result.exit_code == 0, result.stderr
    script = run("--show-completion").stdout
    assert "_SPARSEIGEN_COMPLETE" in script
    installed = [path for path in tmp_path.rglob("*") if path.is_file() and "_SPARSEIGEN_COMPLETE" in path.read_text()]
    assert [path.read_text().strip() for path in installed] == [script.strip()]
    if startup is not None:
        assert (tmp_path / startup).read_text() == f'alias mine=yours\n. "{installed[0]}"\n'


def test_a_shell_without_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/dash")
    check_refused(run("--install-completion"), 2, "SHELL='dash' has no completion. Set the variable SHELL to one of")
