"""One file over HTTP: continued where an earlier attempt stopped, never larger than allowed.

Only http and https are spoken, also after a redirect; nothing that is read is executed or unpickled.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sparseigen.errors import DownloadError
from sparseigen.io.writing import writing

Progress = Callable[[int, int], object]
"""Called with the bytes that are here and the bytes there will be (0: unknown)."""

ATTEMPTS = 4
PAUSE_SECONDS = 1.0
TIMEOUT_SECONDS = 30.0
PIECE = 2**18
SPARE = 2**24
"""Bytes left free on the disk."""


class _BrokenOff(Exception):
    """The connection ended before the file did; what is here can be continued."""


def download(url: str, partial: Path, *, largest: int, on_progress: Progress | None = None) -> None:
    """Bring ``url`` to ``partial``. What lies there already is continued if the server can do that.

    A download that breaks off is tried again; when that does not help either, what is here stays for the next call.
    After every other error nothing is left.
    """
    check_address(url)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _transfer(url, partial, largest, on_progress)
            return
        except _BrokenOff as broken:
            if attempt == ATTEMPTS:
                message = (
                    f"{url} broke off {ATTEMPTS} times ({broken}); {size_of(partial):,} bytes are kept in {partial}. "
                    "Run the same again to continue."
                )
                raise DownloadError(message) from None
            time.sleep(PAUSE_SECONDS * attempt)
        except DownloadError:
            partial.unlink(missing_ok=True)
            raise


def check_address(url: str) -> None:
    """Refuse what is not a web address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        message = f"{url!r} is not an address that can be fetched; it must begin with http:// or https://."
        raise DownloadError(message)


def check_space(folder: Path, needed: int) -> None:
    """Refuse to begin what the disk cannot hold."""
    free = shutil.disk_usage(folder).free
    if needed + SPARE > free:
        message = (
            f"{folder} has {free:,} bytes free, {needed + SPARE:,} are needed. "
            "Make room or choose another folder ('to')."
        )
        raise DownloadError(message, parameter="to")


def size_of(path: Path) -> int:
    """Bytes of a file, 0 if there is none."""
    return path.stat().st_size if path.is_file() else 0


def _transfer(url: str, partial: Path, largest: int, on_progress: Progress | None) -> None:
    if partial.is_symlink():
        partial.unlink()
    have = size_of(partial)
    with closing(_open(url, have)) as response:
        if have and (response.status == 416 or not _continues(response, have)):
            have = 0
            partial.unlink(missing_ok=True)
        if response.status == 416:
            raise _BrokenOff("what was here could not be continued")
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None and length.isdigit() else 0
        if total > largest:
            raise DownloadError(_too_large(url, total, largest))
        check_space(partial.parent, max(total - have, 0))
        _write(response, partial, have, total, largest, url, on_progress)


def _continues(response: Any, have: int) -> bool:
    given = str(response.headers.get("Content-Range", ""))
    return response.status == 206 and given.removeprefix("bytes ").split("-")[0] == str(have)


def _write(
    response: Any, partial: Path, have: int, total: int, largest: int, url: str, on_progress: Progress | None
) -> None:
    from http.client import HTTPException

    with writing(partial):
        opened = partial.open("ab")
    with opened as file:
        while True:
            try:
                piece = response.read(PIECE)
            except (OSError, HTTPException) as broken:
                raise _BrokenOff(str(broken) or type(broken).__name__) from None
            if not piece:
                break
            have += len(piece)
            if have > largest:
                raise DownloadError(_too_large(url, have, largest))
            _append(file, piece, partial)
            if on_progress is not None:
                on_progress(have, total)
        file.flush()
        os.fsync(file.fileno())
    if total and have < total:
        message = f"{have:,} of {total:,} bytes came"
        raise _BrokenOff(message)


def _append(file: Any, piece: bytes, partial: Path) -> None:
    try:
        file.write(piece)
    except OSError as failure:
        message = f"{partial} cannot be written ({failure.strerror}). Make room or choose another folder ('to')."
        raise DownloadError(message, parameter="to") from None


def _too_large(url: str, size: int, largest: int) -> str:
    return f"{url} sends {size:,} bytes or more, at most {largest:,} are expected: this is another file. Refused."


def _open(url: str, have: int) -> Any:
    from urllib.error import HTTPError, URLError
    from urllib.request import Request

    headers = {"User-Agent": "sparseigen", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        response = _opener().open(Request(url, headers=headers), timeout=TIMEOUT_SECONDS)
    except HTTPError as answer:
        if answer.code == 416:
            return answer
        with answer:
            raise DownloadError(_refusal(url, answer.code, str(answer.reason))) from None
    except URLError as failure:
        message = (
            f"{urlsplit(url).netloc} cannot be reached ({failure.reason}). Check the network and the proxy settings, "
            "or use a mirror ('base_url')."
        )
        raise DownloadError(message, parameter="base_url") from None
    except OSError as failure:
        raise _BrokenOff(str(failure) or type(failure).__name__) from None
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        response.close()
        message = f"{url} comes encoded as {encoding!r}, which was not asked for. Use a mirror ('base_url')."
        raise DownloadError(message, parameter="base_url")
    return response


def _refusal(url: str, code: int, reason: str) -> str:
    if 300 <= code < 400:
        return f"{url} redirects to a place that is not fetched ({' '.join(reason.split())}). Refused."
    if code in (404, 410):
        return f"{url} does not exist ({code} {reason}). If it moved, use a mirror ('base_url')."
    return f"{url} was refused by its server ({code} {reason}). Try later, or use a mirror ('base_url')."


def _opener() -> Any:
    """An opener that knows http and https and nothing else; urllib's usual one also reads file: and ftp: addresses."""
    from urllib import request

    class WebOnly(request.HTTPRedirectHandler):
        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
            if after not in ("http", "https") or (before == "https" and after == "http"):
                fp.close()
                raise DownloadError(_refusal(req.full_url, code, f"from {before} to {after}"))
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        WebOnly(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener
