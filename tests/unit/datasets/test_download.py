"""Downloads against a server on this machine: continued, limited, and refused in one sentence."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import requests

from sparseigen.datasets import download, fetch_dataset
from sparseigen.errors import DownloadError
from tests.unit.datasets.server import GRAPH, PLACE, Site, left_in, serving


@pytest.mark.parametrize("ranges", [True, False], ids=["server continues", "server starts over"])
def test_interrupted_download_is_continued(site: Site, tmp_path: Path, ranges: bool) -> None:
    site.break_off_after = (6 if ranges else 18) * download.PIECE
    here = (24 if ranges else 18) * download.PIECE
    site.ranges = ranges
    with pytest.raises(DownloadError, match=r"broke off 4 times .* Run the same again to continue"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    kept = tmp_path / "amazon-2008" / ".amazon-2008.graph.partial"
    assert kept.stat().st_size == here
    assert not (tmp_path / "amazon-2008" / "amazon-2008.graph").exists()
    site.break_off_after = None
    site.asked.clear()
    files = fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert files[1].path.read_bytes() == GRAPH
    assert not kept.exists()
    assert (f"{PLACE}.graph", f"bytes={here}-") in site.asked


def test_short_break_is_mended_in_one_call(site: Site, tmp_path: Path) -> None:
    site.break_off_after = 12 * download.PIECE
    assert fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)[1].path.read_bytes() == GRAPH
    assert [wanted for path, wanted in site.asked if path.endswith(".graph")] == [
        None,
        f"bytes={12 * download.PIECE}-",
        f"bytes={24 * download.PIECE}-",
        f"bytes={36 * download.PIECE}-",
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


def test_declared_size_that_is_no_number(site: Site, tmp_path: Path) -> None:
    site.declared = "many"
    seen: list[tuple[str, int, int]] = []
    files = fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url, on_progress=lambda *news: seen.append(news))
    assert files[1].path.read_bytes() == GRAPH
    assert seen[-1] == ("amazon-2008.graph", len(GRAPH), 0)


def test_full_disk_is_noticed_before(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    with pytest.raises(DownloadError, match=r"has 1,000 bytes free, .* are needed. Make room"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


def test_a_disk_that_fills_up_on_the_way(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, piece: object) -> int:
            raise OSError(28, "No space left on device")

    opened = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, mode="r", *rest, **named: Full() if mode == "ab" else opened(path, mode)
    )
    with pytest.raises(
        DownloadError, match=r"partial cannot be written \(No space left on device\). Make room or choose"
    ):
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


def test_redirect_from_https_to_http_is_refused(tmp_path: Path) -> None:
    """What was asked for over a checked connection must not come over another."""
    answer = requests.Response()
    answer.url, answer.status_code = "https://mirror.example/x", 302
    answer.headers["Location"] = "http://mirror.example/x"
    fetched = download.Download(tmp_path / "x", 10, lambda path: None)
    with pytest.raises(DownloadError, match=r"redirects to a place that is not fetched \(from https to http\)"):
        fetched.begin(answer)
    answer.headers["Location"] = "https://other.example/x"
    fetched.begin(answer)


def test_endless_redirects_are_refused(site: Site, tmp_path: Path) -> None:
    site.redirects[f"{PLACE}.properties"] = f"{site.url}{PLACE}.properties"
    with pytest.raises(DownloadError, match=r"was refused by its server \(302 Found\)"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=site.url)
    assert left_in(tmp_path) == []


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
    fetched = download.Download(tmp_path / "x.partial", len(GRAPH), lambda path: None)
    fetched(f"{site.url}{PLACE}.graph", str(tmp_path / "x"), None)
    assert (tmp_path / "x").read_bytes() == GRAPH


def test_no_network(tmp_path: Path) -> None:
    with serving() as site:
        gone = site.url
    with pytest.raises(DownloadError, match=r"127.0.0.1:\d+ cannot be reached .* Check the network"):
        fetch_dataset("amazon-2008", to=tmp_path, base_url=gone)
    assert left_in(tmp_path) == []
