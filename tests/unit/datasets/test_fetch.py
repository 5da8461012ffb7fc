"""Fetching data sets, against a server on this machine: what arrives is whole and checked, or nothing arrives."""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sparseigen.datasets import archive, download, fetch, fetch_dataset, sources
from sparseigen.datasets.catalogue import CATALOGUE
from sparseigen.errors import DownloadError, InputError, WriteError
from tests.unit.cli.running import check_refused, run
from tests.unit.datasets.server import Site, serving

GRAPH = np.random.default_rng(1).bytes(700_000)
PROPERTIES = b"#BVGraph properties\nnodes=735323\narcs=5158388\n"
PLACE = "/amazon-2008/amazon-2008"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PAUSE_SECONDS", 0.0)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv(fetch.MIRROR, raising=False)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        site.files = {f"{PLACE}.graph": GRAPH, f"{PLACE}.properties": PROPERTIES}
        publish_sums(site)
        yield site


def publish_sums(site: Site) -> None:
    rows = [
        f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {path.rsplit('/', 1)[1]}"
        for path, content in site.files.items()
        if not path.endswith(".md5sums")
    ]
    site.files[f"{PLACE}.md5sums"] = "\n".join(rows).encode() + b"\n"


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


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


@pytest.mark.parametrize("ranges", [True, False], ids=["server continues", "server starts over"])
def test_interrupted_download_is_continued(site: Site, tmp_path: Path, ranges: bool) -> None:
    site.break_off_after = 100_000 if ranges else 300_000
    site.ranges = ranges
    with pytest.raises(DownloadError, match=r"broke off 4 times .* Run the same again to continue"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    kept = tmp_path / "amazon-2008" / ".amazon-2008.graph.partial"
    assert kept.stat().st_size == (400_000 if ranges else 300_000)
    assert not (tmp_path / "amazon-2008" / "amazon-2008.graph").exists()
    site.break_off_after = None
    site.asked.clear()
    files = fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert files[1].path.read_bytes() == GRAPH
    assert not kept.exists()
    assert (f"{PLACE}.graph", f"bytes={400_000 if ranges else 300_000}-") in site.asked


def test_short_break_is_mended_in_one_call(site: Site, tmp_path: Path) -> None:
    site.break_off_after = 200_000
    assert fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)[1].path.read_bytes() == GRAPH
    assert [wanted for path, wanted in site.asked if path.endswith(".graph")] == [
        None,
        "bytes=200000-",
        "bytes=400000-",
        "bytes=600000-",
    ]


def test_part_of_another_file_is_not_continued(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "amazon-2008"
    folder.mkdir()
    (folder / ".amazon-2008.graph.partial").write_bytes(b"x" * 1000)
    assert fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)[1].path.read_bytes() == GRAPH
    (folder / "amazon-2008.graph").unlink()
    (folder / ".amazon-2008.graph.partial").write_bytes(b"x" * (len(GRAPH) + 5))
    assert fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)[1].path.read_bytes() == GRAPH


def test_link_in_the_place_of_the_partial_file_is_not_followed(site: Site, tmp_path: Path) -> None:
    (tmp_path / "amazon-2008").mkdir()
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "amazon-2008" / ".amazon-2008.graph.partial").symlink_to(tmp_path / "mine")
    fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_wrong_checksum_leaves_nothing(site: Site, tmp_path: Path) -> None:
    site.files[f"{PLACE}.graph"] = GRAPH[:-1] + b"!"
    with pytest.raises(DownloadError, match=r"is not the published file: its MD5 is \w+, \w+ is published"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == ["amazon-2008", "amazon-2008/amazon-2008.properties"]


def test_known_checksum_is_compared_without_the_list(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, listed = sources.SOURCES["amazon-2008"].files, sources.SOURCES["amazon-2008"].md5_list
    del site.files[f"{PLACE}.md5sums"]
    for content, expected in ((GRAPH, None), (b"other", "its SHA-256 is")):
        pinned = right[1]._replace(sha256=hashlib.sha256(content).hexdigest())
        source = sources.Source((right[0], pinned), "test", listed)
        monkeypatch.setitem(sources.SOURCES, "amazon-2008", source)
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


def test_missing_file_leaves_nothing(site: Site, tmp_path: Path) -> None:
    site.files.clear()
    with pytest.raises(DownloadError, match=r"amazon-2008.properties does not exist \(404 Not Found\)"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


def test_too_large_is_refused(site: Site, tmp_path: Path) -> None:
    site.declared = 10**12
    with pytest.raises(DownloadError, match=r"sends 1,000,000,000,000 bytes or more, at most 65,536 are expected"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    site.declared, site.chunked = None, True
    site.files[f"{PLACE}.properties"] = b"x" * 70_000
    with pytest.raises(DownloadError, match=r"sends 70,000 bytes or more, at most 65,536 are expected"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


def test_declared_size_too_small_is_found_by_the_checksum(site: Site, tmp_path: Path) -> None:
    site.declared = 40
    with pytest.raises(DownloadError, match="it does not say"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


def test_full_disk_is_noticed_before(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    with pytest.raises(DownloadError, match=r"has 1,000 bytes free, .* are needed. Make room"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("elsewhere", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_redirect_away_from_the_web_is_refused(site: Site, tmp_path: Path, elsewhere: str) -> None:
    site.redirects[f"{PLACE}.properties"] = elsewhere
    with pytest.raises(DownloadError, match="redirects to a place that is not fetched"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


def test_redirect_on_the_web_is_followed(site: Site, tmp_path: Path) -> None:
    site.files["/moved"] = GRAPH
    site.redirects[f"{PLACE}.graph"] = f"{site.url}/moved"
    assert fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)[1].path.read_bytes() == GRAPH


def test_redirect_from_https_to_http_is_refused() -> None:
    """What was asked for over a checked connection must not come over another."""
    from http.client import HTTPMessage
    from urllib.request import HTTPRedirectHandler, Request

    (handler,) = [one for one in download._opener().handlers if isinstance(one, HTTPRedirectHandler)]
    asked = Request("https://mirror.example/x")
    with pytest.raises(DownloadError, match=r"redirects to a place that is not fetched \(from https to http\)"):
        handler.redirect_request(asked, io.BytesIO(), 302, "Found", HTTPMessage(), "http://mirror.example/x")
    again = handler.redirect_request(asked, io.BytesIO(), 302, "Found", HTTPMessage(), "https://other.example/x")
    assert again.full_url == "https://other.example/x"


def test_answers_that_are_refused(site: Site, tmp_path: Path) -> None:
    site.refusals[f"{PLACE}.properties"] = 503
    with pytest.raises(
        DownloadError, match=r"was refused by its server \(503 Service Unavailable\). Try later, or use"
    ):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    site.refusals.clear()
    site.encoding = "gzip"
    with pytest.raises(DownloadError, match="comes encoded as 'gzip', which was not asked for"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


def test_download_without_progress(site: Site, tmp_path: Path) -> None:
    download.download(f"{site.url}{PLACE}.graph", tmp_path / "x", largest=len(GRAPH))
    assert (tmp_path / "x").read_bytes() == GRAPH


def test_the_data_folder_is_the_default(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEIGEN_DATA", str(tmp_path))
    assert fetch_dataset("amazon-2008", base_url=site.url)[1].path == tmp_path / "amazon-2008" / "amazon-2008.graph"


def test_a_source_without_a_list_of_checksums(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = sources.SOURCES["amazon-2008"]
    monkeypatch.setitem(sources.SOURCES, "amazon-2008", source._replace(md5_list=None))
    with pytest.raises(DownloadError, match="the publisher's list of MD5 sums does not name it"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == ["amazon-2008", "amazon-2008/amazon-2008.properties"]


def test_a_disk_that_fills_up_on_the_way(site: Site, tmp_path: Path) -> None:
    class Full:
        def write(self, piece: bytes) -> None:
            raise OSError(28, "No space left on device")

    with pytest.raises(DownloadError, match=r"x cannot be written \(No space left on device\). Make room or choose"):
        download._append(Full(), b"1", tmp_path / "x")


def test_no_network(tmp_path: Path) -> None:
    with serving() as site:
        gone = site.url
    with pytest.raises(DownloadError, match=r"127.0.0.1:\d+ cannot be reached .* Check the network"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=gone)
    assert left_in(tmp_path) == []


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'moon' cannot be fetched: no public address is known. Allowed are 'amazon-"):
        fetch_dataset("moon", to=tmp_path)
    with pytest.raises(DownloadError, match="'file:///etc' is not an address"):
        fetch_dataset("cnr-2000", to=tmp_path, base_url="file:///etc")
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
    source = sources.SOURCES["newsgroups20"]
    pinned = source.files[0]._replace(sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(sources.SOURCES, "newsgroups20", source._replace(files=(pinned,)))


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
        (packed({"fine": b"1"}, link="/etc"), "'link', which is neither a file nor a folder"),
        (packed({"large": b"0" * 5000}), "would unpack to more than 4,000 bytes"),
        (packed({"fine": b"1" * 3000})[:-20], "cannot be unpacked"),
        (b"no archive at all", "cannot be unpacked"),
    ],
    ids=["leads outside", "link", "too large", "cut", "no archive"],
)
def test_bad_archive_leaves_nothing(
    content: bytes, reason: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "LARGEST", 4000)
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


def test_every_source_is_in_the_catalogue() -> None:
    assert set(sources.SOURCES) <= set(CATALOGUE)


@pytest.mark.needs_data
def test_known_checksum_is_that_of_the_real_file(real_data: Path) -> None:
    graph = sources.SOURCES["cnr-2000"].files[1]
    assert fetch.digest(real_data / "cnr-2000" / graph.name, "sha256") == graph.sha256
    lines = (real_data / "cnr-2000" / "cnr-2000.properties").read_text().split()
    assert set(sources.SOURCES["cnr-2000"].files[0].must_say) <= set(lines)
