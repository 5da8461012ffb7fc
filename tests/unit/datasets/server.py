"""A web server on this machine that can misbehave, and what it offers."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

GRAPH = np.random.default_rng(1).bytes(700_000)
PROPERTIES = b"#BVGraph properties\nnodes=735323\narcs=5158388\n"
PLACE = "/amazon-2008/amazon-2008"


class Site:
    """What the server has, what it does wrong, and what it was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.url = ""
        self.ranges = True
        self.break_off_after: int | None = None
        self.declared: int | str | None = None
        self.chunked = False
        self.redirects: dict[str, str] = {}
        self.refusals: dict[str, int] = {}
        self.encoding: str | None = None
        self.asked: list[tuple[str, str | None]] = []


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            self.close_connection = True
            wanted = self.headers.get("Range")
            site.asked.append((self.path, wanted))
            if self.path in site.redirects:
                self.send_response(302)
                self.send_header("Location", site.redirects[self.path])
                self.send_header("Content-Length", "0")
                self.send_header("Connection", "close")
                self.end_headers()
                return
            if self.path in site.refusals:
                self.send_error(site.refusals[self.path])
                return
            if self.path not in site.files:
                self.send_error(404)
                return
            content = site.files[self.path]
            begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and site.ranges else 0
            if begin >= len(content) and begin:
                self.send_error(416)
                return
            self.answer(content, begin)

        def answer(self, content: bytes, begin: int) -> None:
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            if site.encoding is not None:
                self.send_header("Content-Encoding", site.encoding)
            body = content[begin:]
            if site.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            else:
                self.send_header("Content-Length", str(len(body) if site.declared is None else site.declared))
            self.end_headers()
            if site.chunked:
                self.wfile.write(b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n")
            else:
                self.wfile.write(body if site.break_off_after is None else body[: site.break_off_after])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def publish_sums(site: Site) -> None:
    rows = [
        f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {path.rsplit('/', 1)[1]}"
        for path, content in site.files.items()
        if not path.endswith(".md5sums")
    ]
    site.files[f"{PLACE}.md5sums"] = "\n".join(rows).encode() + b"\n"


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
