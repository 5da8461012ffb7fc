"""What is read is never replaced by what is written, and no link of the system becomes a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sparseigen.errors import OptionError
from sparseigen.io.writing import check_target, write_whole
from tests.unit.cli.running import check_refused, run

TABLE = "a,b,c\n1,2,3\n4,5,7\n2,1,9\n8,8,1\n"
EDGES = "source,target,weight\n1,2,1\n2,3,0.5\n1,3,2\n3,4,1\n"
COMMANDS = {
    "pca": ("pca", "-k", 2, "--report"),
    "path": ("path", "--report"),
    "exact": ("exact", "-k", 2, "--report"),
    "dks": ("dks", "-k", 2, "--report"),
    "curve": ("curve", "--k", "2:3", "--report"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("data.csv", "loadings.csv", "certificate.csv"):
        (tmp_path / name).write_text(TABLE)
    for name in ("graph.csv", "members.csv"):
        (tmp_path / name).write_text(EDGES)
    (tmp_path / "names.csv").write_text("n1\nn2\nn3\n")
    (tmp_path / "start.csv").write_text("1\n1\n1\n")
    (tmp_path / "vertices.csv").write_text("number,name\n1,a\n2,b\n3,c\n4,d\n")
    (tmp_path / "link.csv").symlink_to("data.csv")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_does_not_replace_the_data(command: str, folder: Path) -> None:
    data = "graph.csv" if command in ("dks", "curve") else "data.csv"
    before = contents(folder)
    name, *rest = COMMANDS[command]
    check_refused(run(name, data, *rest, data), 2, "which is read")
    assert contents(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("pca", "link.csv", "-k", 2, "--report", "data.csv"),
        ("pca", "data.csv", "-k", 2, "--report", "link.csv"),
        ("pca", "data.csv", "-k", 2, "--names", "names.csv", "--report", "names.csv"),
        ("pca", "data.csv", "-k", 2, "--names", "names.csv:n", "--report", "names.csv"),
        ("pca", "data.csv", "-k", 2, "--start", "start.csv", "--report", "start.csv"),
        ("dks", "graph.csv", "-k", 2, "--vertices", "vertices.csv", "--report", "vertices.csv"),
        ("pca", "loadings.csv", "-k", 2, "--out", "."),
        ("certify", "certificate.csv", "-k", 2, "--out", "."),
        ("dks", "members.csv", "-k", 2, "--out", "."),
        ("curve", "members.csv", "--k", "2:3", "--out", "."),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_no_file_that_is_read_is_replaced(arguments, folder: Path) -> None:
    before = contents(folder)
    check_refused(run(*arguments), 2, "which is read; choose another place")
    assert contents(folder) == before


def test_page_and_folder_keep_apart(folder: Path) -> None:
    check_refused(run("pca", "data.csv", "-k", 2, "--out", "new", "--report", "new"), 2, "also written by --out")
    (folder / "old").mkdir()
    refused = run("pca", "data.csv", "-k", 2, "--out", "old", "--report", "old/loadings.csv")
    check_refused(refused, 2, "also written by --out")
    assert not (folder / "new").exists()
    assert not list((folder / "old").iterdir())


def test_a_folder_of_results_may_hold_the_data(folder: Path) -> None:
    (folder / "loadings.csv").unlink()
    assert run("pca", "data.csv", "-k", 2, "-q", "--out", ".").exit_code == 0
    assert (folder / "data.csv").read_text() == TABLE


def test_a_link_to_nothing_is_refused_before_the_work(folder: Path) -> None:
    (folder / "gone").symlink_to("nowhere")
    check_refused(run("pca", "data.csv", "-k", 2, "--out", "gone"), 2, "give a folder")


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="needs the devices of POSIX")
@pytest.mark.parametrize("device", ["/dev/null", "/proc/self/fd/1", "/dev/fd/1"])
def test_links_to_devices_stay_links(device: str, folder: Path) -> None:
    link = folder / "stdout"
    link.symlink_to(device)
    with pytest.raises(OptionError, match="not a plain file"):
        write_whole(link, "page")
    check_refused(run("pca", "data.csv", "-k", 2, "--report", "stdout"), 2, "not a plain file")
    assert os.readlink(link) == device


def test_links_to_files_are_replaced(folder: Path) -> None:
    check_target(folder / "link.csv")
    write_whole(folder / "link.csv", "page")
    assert not (folder / "link.csv").is_symlink()
    assert (folder / "data.csv").read_text() == TABLE


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    refused = run("convert", "pipe.csv", "table.npy")
    assert refused.exit_code == 3
    assert "pipe.csv is not a file" in refused.stderr
    assert not (folder / "table.npy").exists()


def test_progress_of_a_conversion_is_not_part_of_its_answer(folder: Path) -> None:
    assert run("convert", "data.csv", "table.npy").stdout == "table.npy: 4 x 3\n"
