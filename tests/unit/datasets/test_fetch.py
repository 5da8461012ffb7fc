"""Fetching data sets, against a server on this machine: what arrives is whole and checked, or nothing arrives."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
from pathlib import Path

import pooch
import pytest

from sparseigen.datasets import fetch, fetch_dataset
from sparseigen.datasets.catalogue import SOURCES, Source
from sparseigen.errors import DownloadError, InputError, MissingDependencyError, WriteError
from tests.unit.cli.running import check_refused, run
from tests.unit.datasets.server import GRAPH, PLACE, Site, left_in, publish_sums


def test_fetches_and_checks(site: Site, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    files = fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url, on_progress=lambda *news: seen.append(news))
    assert left_in(tmp_path) == ["amazon-2008", "amazon-2008/amazon-2008.graph", "amazon-2008/amazon-2008.properties"]
    assert files[1].path.read_bytes() == GRAPH
    assert files[1].sha256 == hashlib.sha256(GRAPH).hexdigest()
    assert [file.checked_by for file in files] == ["MD5 published beside it"] * 2
    assert seen[-1] == ("amazon-2008.graph", len(GRAPH), len(GRAPH))
    again = fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert [file.downloaded for file in again] == [False, False]
    assert [path for path, _ in site.asked].count(f"{PLACE}.graph") == 1


def test_mirror_from_the_environment(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fetch.MIRROR, site.url + "/")
    assert fetch_dataset("amazon-2008", to=tmp_path)[1].downloaded


def test_wrong_checksum_leaves_nothing(site: Site, tmp_path: Path) -> None:
    site.files[f"{PLACE}.graph"] = GRAPH[:-1] + b"!"
    with pytest.raises(DownloadError, match=r"is not the published file: its MD5 is \w+, \w+ is published"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == ["amazon-2008", "amazon-2008/amazon-2008.properties"]


def test_known_checksum_is_compared_without_the_list(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, listed = SOURCES["amazon-2008"].files, SOURCES["amazon-2008"].md5_list
    del site.files[f"{PLACE}.md5sums"]
    for content, expected in ((GRAPH, None), (b"other", "its SHA-256 is")):
        pinned = right[1]._replace(sha256=hashlib.sha256(content).hexdigest())
        source = Source((right[0], pinned), "test", listed)
        monkeypatch.setitem(SOURCES, "amazon-2008", source)
        if expected is None:
            files = fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
            assert files[0].checked_by == "its own figures only: nodes=735323, arcs=5158388"
            assert files[1].checked_by == "SHA-256 known to this package"
            continue
        with pytest.raises(
            DownloadError, match=r"is there but is not the published file: its SHA-256 is .* replace it"
        ):
            fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
        with pytest.raises(DownloadError, match=expected):
            fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url, replace=True)
        assert files[1].path.read_bytes() == GRAPH


def test_without_any_checksum_a_graph_is_refused(site: Site, tmp_path: Path) -> None:
    site.files[f"{PLACE}.md5sums"] = b"abc  another.graph\n"
    with pytest.raises(DownloadError, match="the publisher's list of MD5 sums does not name it"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    del site.files[f"{PLACE}.md5sums"]
    with pytest.raises(DownloadError, match=r"amazon-2008.md5sums does not exist \(404"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)


def test_another_graph_is_refused(site: Site, tmp_path: Path) -> None:
    site.files[f"{PLACE}.properties"] = b"nodes=735323\narcs=1\n"
    publish_sums(site)
    with pytest.raises(DownloadError, match="it does not say arcs=5158388"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


def test_the_data_folder_is_the_default(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path))
    assert fetch_dataset("amazon-2008", base_url=site.url)[1].path == tmp_path / "amazon-2008" / "amazon-2008.graph"


def test_the_cache_folder_is_made(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARSEIGEN_DATA")
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    files = fetch_dataset("amazon-2008", base_url=site.url)
    assert files[1].path == tmp_path / "cache" / "sparseigen" / "amazon-2008" / "amazon-2008.graph"


def test_pooch_is_asked_for_and_says_nothing_itself(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    level = pooch.get_logger().level
    fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert capfd.readouterr() == ("", "")
    assert pooch.get_logger().level == level
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(
        MissingDependencyError, match=r"fetching data sets needs pooch.*pip install 'sparseigen\[datasets\]'"
    ):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)


def test_figures_of_a_file_without_a_checksum_are_replaced(site: Site, tmp_path: Path) -> None:
    properties = fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)[0].path
    right = properties.read_bytes()
    properties.write_bytes(b"nodes=1")
    site.files[f"{PLACE}.md5sums"] = site.files[f"{PLACE}.md5sums"].splitlines()[0]
    with pytest.raises(
        DownloadError, match=r"it does not say nodes=735323 and arcs=5158388\. Remove it, or replace it"
    ):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    files = fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url, replace=True)
    assert (properties.read_bytes(), files[0].downloaded, files[1].downloaded) == (right, True, False)


def test_a_source_without_a_list_of_checksums(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = SOURCES["amazon-2008"]
    monkeypatch.setitem(SOURCES, "amazon-2008", source._replace(md5_list=None))
    with pytest.raises(DownloadError, match="the publisher's list of MD5 sums does not name it"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == ["amazon-2008", "amazon-2008/amazon-2008.properties"]


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'moon' cannot be fetched: no public address is known. Allowed are 'amazon-"):
        fetch_dataset("moon", to=tmp_path)
    with pytest.raises(DownloadError, match="'file:///etc' is not an address"):
        fetch_dataset("cnr-2000", to=tmp_path, base_url="file:///etc")
    for wrong in ("http://host:port", "http://[half", "https://"):
        with pytest.raises(DownloadError, match=r"is not an address that can be fetched; it must begin with http"):
            fetch_dataset("cnr-2000", to=tmp_path, base_url=wrong)
    with pytest.raises(DownloadError, match="is not a folder; create it first"):
        fetch_dataset("cnr-2000", to=tmp_path / "none")


def test_places_that_cannot_be_written(site: Site, tmp_path: Path) -> None:
    (tmp_path / "amazon-2008").write_text("mine")
    with pytest.raises(WriteError, match=r"amazon-2008 could not be written: File exists"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert (tmp_path / "amazon-2008").read_text() == "mine"
    (tmp_path / "amazon-2008").unlink()
    (tmp_path / "amazon-2008" / ".amazon-2008.properties.partial").mkdir(parents=True)
    with pytest.raises(WriteError, match=r"properties.partial could not be written: Is a directory"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)


def packed(names: dict[str, bytes], link: str | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in names.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        if link is not None:
            member = tarfile.TarInfo("link")
            member.type, member.linkname = tarfile.SYMTYPE, link
            tar.addfile(member)
    return out.getvalue()


def offer_archive(site: Site, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    site.files["/newsgroups20/20news-bydate.tar.gz"] = content
    source = SOURCES["newsgroups20"]
    pinned = source.files[0]._replace(sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(SOURCES, "newsgroups20", source._replace(files=(pinned,)))


def test_archive_becomes_a_folder(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_archive(site, packed({"20news-bydate-train/sci.space/1": b"From: moon\n"}), monkeypatch)
    found = fetch_dataset("newsgroups20", to=tmp_path, base_url=site.url)
    assert (found[0].path / "20news-bydate-train" / "sci.space" / "1").read_bytes() == b"From: moon\n"
    assert sorted(path.name for path in (tmp_path / "newsgroups20").iterdir()) == ["20news-bydate"]
    assert not fetch_dataset("newsgroups20", to=tmp_path, base_url=site.url)[0].downloaded


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (packed({"fine": b"1", "../../outside": b"2"}), "cannot be unpacked"),
        (packed({"fine": b"1"}, link="/etc"), "cannot be unpacked"),
        (packed({"fine": b"1" * 3000})[:-20], "cannot be unpacked"),
        (b"no archive at all", "cannot be unpacked"),
    ],
    ids=["leads outside", "link", "cut", "no archive"],
)
def test_bad_archive_leaves_nothing(
    content: bytes, reason: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_archive(site, content, monkeypatch)
    target = tmp_path / "data"
    target.mkdir()
    with pytest.raises(DownloadError, match=reason):
        fetch_dataset("newsgroups20", to=target, base_url=site.url)
    assert left_in(tmp_path) == ["data"]


def test_python_without_safe_unpacking(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_archive(site, packed({"fine": b"1"}), monkeypatch)
    monkeypatch.delattr(tarfile, "data_filter")
    with pytest.raises(DownloadError, match=r"unpacking safely needs Python 3\.11\.4 or newer"):
        fetch_dataset("newsgroups20", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


def test_command_says_how_to_read_messages(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_archive(site, packed({"fine": b"1"}), monkeypatch)
    answer = run("datasets", "fetch", "newsgroups20", "--to", tmp_path, "--base-url", site.url)
    assert answer.exit_code == 0
    assert "These are the raw messages" in answer.stdout


def test_command(site: Site, tmp_path: Path) -> None:
    answer = run("datasets", "fetch", "amazon-2008", "--to", tmp_path, "--base-url", site.url)
    assert answer.exit_code == 0
    assert f"fetched: {tmp_path}/amazon-2008/amazon-2008.graph" in answer.stdout
    assert "checked by MD5 published beside it; SHA-256 " in answer.stdout
    site.files[f"{PLACE}.graph"] = b"other"
    publish_sums(site)
    again = run("datasets", "fetch", "amazon-2008", "--to", tmp_path, "--base-url", site.url)
    check_refused(again, 3, "Remove it, or replace it ('replace'). See --replace.")
    assert run("datasets", "fetch", "amazon-2008", "--to", tmp_path, "--base-url", site.url, "--replace").exit_code == 0
    check_refused(run("datasets", "fetch", "colon"), 2, "'colon' has no public address; newsgroups20, cnr-2000")
    check_refused(run("datasets", "fetch", "moon"), 2, "'moon' is not a data set")
    check_refused(run("datasets", "fetch"), 2, "Missing argument")
