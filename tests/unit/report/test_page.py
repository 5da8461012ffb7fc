"""Pages without a browser: whole, escaped, loading nothing, and written all or not at all."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen.checks.frames import as_labels, fingerprint
from sparseigen.errors import OptionError
from tests.unit.report.outline import HOSTILE, Outline


def test_page_is_whole_and_loads_nothing(full) -> None:
    outline = Outline(full.html)
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.outside == []
    assert outline.scripts == 3
    for used in re.findall(r'byId\("([a-z-]+)"\)', full.html):
        assert used in outline.ids
    assert "default-src 'none'" in full.html
    assert len(full.html.encode()) < 3_000_000


def test_names_are_escaped(full) -> None:
    assert HOSTILE not in full.html
    text = "".join(Outline(full.html).text)
    assert text.count(HOSTILE) >= 4  # title, heading, settings, members, table


def test_save_is_all_or_nothing(full, tmp_path, monkeypatch) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    assert full.save(target) == target
    assert target.read_text(encoding="utf-8") == full.html
    assert full.save(str(target)) == target
    target.write_text("old")

    def no_rename(old, new):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", no_rename)
    with pytest.raises(OSError, match="disk full"):
        full.save(target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_save_says_what_is_wrong_with_the_name(full, tmp_path) -> None:
    with pytest.raises(OptionError, match=r"the folder .*nowhere does not exist; create it first"):
        full.save(tmp_path / "nowhere" / "page.html")
    with pytest.raises(OptionError, match="is a folder; give the name of a file"):
        full.save(tmp_path)


def test_notebook_form_is_one_escaped_frame(full) -> None:
    frame = full._repr_html_()
    assert frame.startswith("<iframe ")
    assert frame.count("<") == 2
    assert "MB" in repr(full)


def test_labels_are_names_or_a_scale() -> None:
    assert as_labels([1, 0, 1], 3) == {"names": ["0", "1"], "codes": [1, 0, 1]}
    assert as_labels([True, None], 2)["names"] == ["True", "missing"]
    assert as_labels(range(21), 21)["numbers"][:2] == [0.0, 1.0]
    assert as_labels([0.5, float("nan")], 2) == {"numbers": [0.5, None]}


def test_fingerprint_sees_every_number_and_not_the_layout() -> None:
    values = np.arange(12.0).reshape(3, 4)
    same = [values, np.asfortranarray(values), values[::-1][::-1]]
    assert len({fingerprint(v)["sha256"] for v in same}) == 1
    changed = values.copy()
    changed[2, 3] += 1e-12
    assert fingerprint(changed)["sha256"] != fingerprint(values)["sha256"]
    assert fingerprint(values.T)["sha256"] != fingerprint(values)["sha256"]
    assert fingerprint(sp.csr_array(values))["sha256"] == fingerprint(sp.csc_array(values))["sha256"]


def test_the_page_guards_its_downloads_alike() -> None:
    import sparseigen.report.page as module

    script = (module.TEMPLATES / "common.js").read_text(encoding="utf-8")
    assert r"/^[' ]*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/" in script
    for name in ("common.js", "components.js", "graph.js"):
        text = (module.TEMPLATES / name).read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
