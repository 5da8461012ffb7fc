"""What pooch's downloads lack: continuing one that broke off, a limit on its size, failures told in one sentence."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from sparseigen.errors import DownloadError
from sparseigen.io.writing import writing

TIMEOUT_SECONDS = 30.0
PIECE = 2**14
"""Bytes per read; less than this is lost of a connection that breaks off."""
SPARE = 2**24
"""Bytes left free on the disk."""


@dataclass
class Download:
    """A downloader for pooch, of one file.

    The file grows under the name ``partial`` and goes to pooch when it is whole. A connection that breaks off leaves
    ``partial`` to be continued and raises the error of requests, on which pooch tries again; a DownloadError leaves
    nothing.
    """

    partial: Path
    largest: int
    """More bytes than this are refused, whatever the server says."""
    find_fault: Callable[[Path], str | None]
    """Why a file is not the right one; None if it is."""
    on_progress: Callable[[int, int], object] | None = None
    """Called with the bytes that are here and the bytes there will be (0: unknown)."""
    size: int = field(default=0, init=False)
    total: int = field(default=0, init=False)
    file: Any = field(default=None, init=False)
    response: Any = field(default=None, init=False)

    def __call__(self, url: str, output_file: str, pooch: object) -> None:
        """Bring ``url`` to ``output_file``."""
        import requests

        if self.partial.is_symlink():
            self.partial.unlink()
        continued = self.partial.is_file()
        try:
            self._transfer(url)
            wrong = self.find_fault(self.partial)
            if wrong is not None:
                message = f"{url} is not the published file: {wrong}. Nothing was kept."
                if not continued:
                    raise DownloadError(message)
                # The earlier part may have been of another file: pooch tries again, from the beginning.
                self.partial.unlink()
                raise requests.RequestException(message)
        except DownloadError:
            self.partial.unlink(missing_ok=True)
            raise
        os.replace(self.partial, output_file)

    def _transfer(self, url: str) -> None:
        import pooch
        import requests

        with writing(self.partial):
            self.file = self.partial.open("ab")
        self.size, self.total, self.response = self.file.tell(), 0, None
        headers = {"User-Agent": "sparseigen", "Accept-Encoding": "identity"}
        if self.size:
            headers["Range"] = f"bytes={self.size}-"
        hooks = {"response": self.begin}
        transfer = pooch.HTTPDownloader(chunk_size=PIECE, timeout=TIMEOUT_SECONDS, headers=headers, hooks=hooks)
        try:
            with self.file:
                transfer(url, self, None)
                os.fsync(self.file.fileno())
        except (requests.HTTPError, requests.TooManyRedirects) as refusal:
            if refusal.response.status_code == 416:  # what is here is no beginning of it: pooch tries again
                self.partial.unlink()
                raise
            raise DownloadError(_describe_refusal(url, refusal.response)) from None
        except requests.ConnectionError as failure:
            if self.response is not None:
                raise
            message = (
                f"{urlsplit(url).netloc} cannot be reached ({find_cause(failure)}). Check the network and the proxy "
                "settings, or use a mirror ('base_url')."
            )
            raise DownloadError(message, parameter="base_url") from None
        finally:
            if self.response is not None:
                self.response.close()

    def begin(self, response: Any, **_: object) -> None:
        """What requests calls with the head of every answer, before it follows a redirect or reads on."""
        self.response = response
        if response.is_redirect:
            _check_redirect(response.url, urljoin(response.url, response.headers["Location"]))
        if response.is_redirect or not response.ok:
            return
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            message = (
                f"{response.url} comes encoded as {encoding!r}, which was not asked for. Use a mirror ('base_url')."
            )
            raise DownloadError(message, parameter="base_url")
        start = response.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
        if response.status_code != 206 or start != str(self.size):
            self.size = 0
            self.file.truncate(0)
        length = response.headers.get("Content-Length", "0")
        if not length.isdigit():
            length = response.headers["Content-Length"] = "0"  # pooch takes it for a number
        self.total = self.size + int(length) if length != "0" else 0
        self._check_size(self.total)
        _check_space(self.partial.parent, int(length))

    def write(self, piece: bytes) -> None:
        """What pooch calls with every piece that came."""
        self.size += len(piece)
        self._check_size(self.size)
        try:
            self.file.write(piece)
        except OSError as failure:
            message = (
                f"{self.partial} cannot be written ({failure.strerror}). Make room or choose another folder ('to')."
            )
            raise DownloadError(message, parameter="to") from None
        if self.on_progress is not None:
            self.on_progress(self.size, self.total)

    def flush(self) -> None:
        """What pooch calls after every piece; the file is flushed when it is whole."""

    def _check_size(self, size: int) -> None:
        if size > self.largest:
            message = (
                f"{self.response.url} sends {size:,} bytes or more, at most {self.largest:,} are expected: "
                "this is another file. Refused."
            )
            raise DownloadError(message)


def check_address(url: str) -> None:
    """Refuse what is not a web address."""
    try:
        parts = urlsplit(url)
        web = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # a port that is no number, half a pair of brackets
        web = False
    if not web:
        message = f"{url!r} is not an address that can be fetched; it must begin with http:// or https://."
        raise DownloadError(message)


def find_cause(failure: BaseException) -> str:
    """What went wrong first; requests and urllib3 wrap it several times."""
    while failure.__context__ is not None:
        failure = failure.__context__
    return str(failure) or type(failure).__name__


def _check_redirect(url: str, to: str) -> None:
    before, after = urlsplit(url).scheme, urlsplit(to).scheme
    if after not in ("http", "https") or (before == "https" and after == "http"):
        message = f"{url} redirects to a place that is not fetched (from {before} to {after}). Refused."
        raise DownloadError(message)


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed + SPARE > free:
        message = (
            f"{folder} has {free:,} bytes free, {needed + SPARE:,} are needed. "
            "Make room or choose another folder ('to')."
        )
        raise DownloadError(message, parameter="to")


def _describe_refusal(url: str, response: Any) -> str:
    code = f"{response.status_code} {response.reason}"
    if response.status_code in (404, 410):
        return f"{url} does not exist ({code}). If it moved, use a mirror ('base_url')."
    return f"{url} was refused by its server ({code}). Try later, or use a mirror ('base_url')."
