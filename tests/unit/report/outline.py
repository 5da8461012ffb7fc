"""What is inside a page: a check of its elements, and the values behind its pictures."""

from __future__ import annotations

import html.parser
import re

from sparseigen.report import Report
from sparseigen.report.page import unpack

HOSTILE = "</script><script>alert(1)</script><!--"
VOID = {"meta", "input", "br", "link"}


class Outline(html.parser.HTMLParser):
    """Checks that every element is closed, and collects ids, labels and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.scripts = 0
        self.text: list[str] = []
        self.outside: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes) -> None:
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.scripts += tag == "script"
        self.outside += [v for k, v in attributes if k in ("src", "href") and not (v or "").startswith("#")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def payload(report: Report) -> dict:
    return unpack(re.search(r'id="payload">([^<]+)<', report.html).group(1))
