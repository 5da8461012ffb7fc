"""The page about components, used as a person would."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

import sparseigen as se
from sparseigen.report import component_report

HOSTILE = "<script>alert(1)</script>"
FORMULA = '=HYPERLINK("x")'
IMAGE = "<img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def pitprops():
    data = se.datasets.load_pitprops()
    names = [HOSTILE, FORMULA, *data.names[2:]]
    results = se.sparse_components(data.operator(), [5, 3, 2])
    return names, results, se.cardinality_path(data.matrix, range(1, 14))


@pytest.fixture(scope="module")
def page_file(pitprops, tmp_path_factory) -> Path:
    names, results, path = pitprops
    rng = np.random.default_rng(0)
    stability = se.components.SelectionStability(
        np.clip(rng.random((3, 13)), 0.1, 1.0), np.array([r.vector != 0 for r in results]), 20, tuple(names)
    )
    report = component_report(
        results,
        path=path,
        names=names,
        scores=rng.standard_normal((40, 3)),
        labels=["tumor", IMAGE] * 20,
        stability=stability,
        title=f"Pit props {HOSTILE}",
    )
    return report.save(tmp_path_factory.mktemp("page") / "page.html")


def shown_names(page) -> list[str]:
    return page.locator("#loadings tbody th").all_inner_texts()


def settle(page) -> None:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")


def test_slider_changes_the_components(open_page, page_file, pitprops) -> None:
    names, results, path = pitprops
    page = open_page(page_file)
    assert len(shown_names(page)) == len(set(np.concatenate([r.support for r in results]).tolist()))
    slider = page.get_by_role("slider", name="Number of variables k")
    slider.focus()
    page.keyboard.press("Home")
    for k in range(1, 14):
        if k > 1:
            page.keyboard.press("ArrowRight")
        settle(page)
        expected = {names[i] for i in path[k].support}
        assert set(shown_names(page)) == expected
        assert page.locator("#k-shown").inner_text().startswith(f"k = {k}:")
        bars = page.evaluate("document.getElementById('bars').data[0].x")
        np.testing.assert_allclose(sorted(np.abs(bars)), sorted(np.abs(path[k].vector[path[k].support])), rtol=1e-5)
        assert page.locator("#heat .ytick text").count() == len(expected)
    page.get_by_role("button", name="Back to the answer").click()
    settle(page)
    assert len(shown_names(page)) > 5


def test_hover_says_name_and_loading(open_page, page_file, pitprops) -> None:
    _, results, _ = pitprops
    page = open_page(page_file)
    page.locator("#bars").scroll_into_view_if_needed()
    bar = page.locator("#bars .barlayer .point path").last.bounding_box()
    page.mouse.move(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
    text = page.locator("#bars .hoverlayer .hovertext").text_content(timeout=10_000)
    assert f"loading {max(results[0].vector):.4g}"[:11] in text
    assert "number 1 of 5" in text


def test_names_are_text_everywhere(open_page, page_file) -> None:
    page = open_page(page_file)
    assert HOSTILE in page.locator("h1").inner_text()
    assert HOSTILE in shown_names(page)
    assert any(text.startswith("<script>") for text in page.locator("#bars .ytick text").all_text_contents())
    assert any(text.startswith("<script>") for text in page.locator("#heat .ytick text").all_text_contents())
    assert IMAGE[:20] in " ".join(page.locator("#scores .legendtext").all_text_contents())
    assert page.locator("img").count() == 0
    assert page.locator("main script").count() == 0


def test_table_sorts_by_name_and_by_size(open_page, page_file) -> None:
    page = open_page(page_file)
    page.get_by_role("button", name="variable", exact=True).click()
    names = shown_names(page)
    assert names == sorted(names, key=lambda name: re.sub(r"\W", "", name.lower())) or names[0] in (HOSTILE, FORMULA)
    assert page.locator("#loadings th[aria-sort=ascending]").inner_text() == "variable"
    column = page.get_by_role("button", name="PC2", exact=True)
    column.click()
    first = page.locator("#loadings tbody tr").first.locator("td").nth(1).inner_text()
    column = page.get_by_role("button", name="PC2", exact=True)
    assert page.evaluate("document.activeElement.textContent") == "PC2"
    column.click()
    last = page.locator("#loadings tbody tr").last.locator("td").nth(1).inner_text()
    assert first == last != ""
    assert page.locator("#loadings th[aria-sort=ascending]").inner_text() == "PC2"


def downloaded(page, button: str) -> bytes:
    with page.expect_download() as download:
        page.locator(button).click()
    return Path(download.value.path()).read_bytes()


def test_downloads_hold_the_results(open_page, page_file, pitprops) -> None:
    names, results, path = pitprops
    page = open_page(page_file)
    assert json.loads(downloaded(page, "#answer-json")) == json.loads(
        json.dumps([result.to_dict() for result in results])
    )
    rows = list(csv.reader(io.StringIO(downloaded(page, "#answer-csv").decode())))
    assert rows[0] == ["variable", "PC1", "PC2", "PC3"]
    table = {row[0]: [float(cell or 0) for cell in row[1:]] for row in rows[1:]}
    guarded = {name: "'" + name if name == FORMULA else name for name in names}
    for i, name in enumerate(names):
        assert table.get(guarded[name], [0.0] * 3) == [float(result.vector[i]) for result in results]
    path_rows = list(csv.reader(io.StringIO(downloaded(page, "#path-csv").decode())))
    assert [int(row[0]) for row in path_rows[1:]] == list(range(1, 14))
    np.testing.assert_allclose([float(row[1]) for row in path_rows[1:]], path.values, rtol=1e-5)
    np.testing.assert_allclose([float(row[3]) for row in path_rows[1:]], path.upper_bounds, rtol=1e-5)
    assert len(downloaded(page, "#scores-csv").decode().splitlines()) == 41
    assert len(downloaded(page, "#stability-csv").decode().splitlines()) == 40
    picture = downloaded(page, "[data-png=curve]")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) > 10_000


def colours(page) -> tuple[str, str]:
    return page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, document.getElementById('bars').layout.font.color]"
    )


def wait_until(holds, seconds: float = 5.0) -> None:
    """Ask again and again; the page's own rules forbid the browser's way of waiting, which evaluates text."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_dark_and_light(open_page, page_file) -> None:
    light = open_page(page_file)
    dark = open_page(page_file, scheme="dark")
    assert colours(light) != colours(dark)
    light.get_by_role("button", name="Use dark colours").click()
    assert colours(light) == colours(dark)
    dark.get_by_role("button", name="Use light colours").click()
    assert colours(dark)[0] == "rgb(246, 247, 249)"
    # The page hears of a change of the system's colours a moment later; two changes at once may be none to it.
    dark.emulate_media(color_scheme="light")
    wait_until(lambda: not dark.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"))
    dark.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    dark.emulate_media(color_scheme="dark")
    wait_until(lambda: colours(dark)[0] == "rgb(19, 22, 26)")


@pytest.mark.parametrize("width", [360, 768])
def test_no_sideways_scrolling(open_page, page_file, width: int) -> None:
    page = open_page(page_file, width=width, height=740)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for box in page.evaluate(
        "[...document.querySelectorAll('button, select, input, .plot .main-svg, figcaption, h1, h2, h3')]"
        ".filter((e) => e.offsetParent !== null || e.ownerSVGElement === null)"
        ".map((e) => e.getBoundingClientRect()).filter((r) => r.width).map((r) => [r.left, r.right])"
    ):
        assert box[0] >= -1
        assert box[1] <= width + 1


def test_everything_to_press_has_a_name(open_page, page_file) -> None:
    page = open_page(page_file)
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, select, input, [role=img], [role=region], table')].filter((e) => "
        "!(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.labels?.length || "
        "e.textContent.trim()))"
        ".map((e) => e.outerHTML)"
    )
    assert unnamed == []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_words_and_table_without_script(open_page, page_file, pitprops) -> None:
    _, results, _ = pitprops
    page = open_page(page_file, script=False)
    assert "explains" in page.locator(".proof").first.inner_text()
    assert len(shown_names(page)) == len(set(np.concatenate([r.support for r in results]).tolist()))
    assert not page.locator("#theme").is_visible()


def test_in_a_notebook_frame(open_page, page_file, tmp_path) -> None:
    report = component_report([se.sparse_eigenvector(se.datasets.load_pitprops().matrix, 4)])
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><meta charset=utf-8><html data-ready><body>{report._repr_html_()}</body></html>")
    page = open_page(cell)
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(timeout=30_000)
    assert frame.locator("#bars .barlayer .point").count() == 4


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """Pages about samples in so many groups."""
    result = se.sparse_components(se.datasets.load_pitprops().operator(), [4, 4])
    rng = np.random.default_rng(0)

    def build(count: int) -> Path:
        labels = [f"cell type number {i} of some tissue" for i in range(count) for _ in range(3 + (i == 2))]
        page = component_report(
            result, scores=rng.standard_normal((len(labels), 2)), labels=labels, label_title="cell type"
        )
        return page.save(tmp_path_factory.mktemp("groups") / "page.html")

    return build


def marks(page) -> list[tuple[str, str]]:
    return [tuple(m) for m in page.evaluate("byId('scores').data.map((t) => [t.marker.color, t.marker.symbol])")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_up_to_twenty_groups_look_different(open_page, grouped, scheme: str) -> None:
    page = open_page(grouped(20), scheme=scheme)
    assert len(set(marks(page))) == 20
    assert page.locator("#scores .legendtitletext").text_content() == "cell type"
    assert page.locator("#scores .legendtext").first.text_content() == "cell type number 0 of some tissue"


def test_more_groups_are_joined_under_a_word(open_page, grouped) -> None:
    page = open_page(grouped(25))
    assert len(set(marks(page))) == 20
    names = page.locator("#scores .legendtext").all_text_contents()
    assert names[-1] == "6 smaller groups"
    assert "cell type number 2 of some tissue" in names
    assert "the 6 others share one" in page.locator("#scores-note").text_content()
    assert len({row[-1] for row in csv.reader(io.StringIO(downloaded(page, "#scores-csv").decode()))}) == 26


@pytest.fixture(scope="module")
def blocks(tmp_path_factory) -> tuple[Path, list, object]:
    """Three components of 20 variables each, 60 in all, far below what all variables explain."""
    rng = np.random.default_rng(2)
    data = rng.standard_normal((80, 400))
    for part in range(3):
        data[:, 20 * part : 20 * part + 20] += (1.6 - 0.2 * part) * rng.standard_normal((80, 1))
    operator = se.covariance(data)
    results = se.sparse_components(operator, [20, 20, 20])
    overlap = se.components.find_overlap(operator, [result.vector for result in results])
    page = component_report(
        results, path=se.cardinality_path(operator, range(1, 4)), overlap=overlap, total_variance=overlap.total
    )
    return page.save(tmp_path_factory.mktemp("blocks") / "page.html"), results, overlap


def test_components_lie_side_by_side_in_blocks(open_page, blocks) -> None:
    page = open_page(blocks[0])
    rows = page.evaluate("byId('heat').data[0].z")[::-1]
    assert len(rows) == 60
    heaviest = [int(np.argmax([abs(cell or 0.0) for cell in row])) for row in rows]
    assert heaviest == sorted(heaviest)
    assert set(heaviest) == {0, 1, 2}


def test_the_page_tells_plain_variances_and_correlations(open_page, blocks) -> None:
    file, _, overlap = blocks
    page = open_page(file)
    heads = page.locator(".answers h3").all_inner_texts()
    for j, head in enumerate(heads):
        assert f"{overlap.plain[j] / overlap.total:.2%} of the total variance" in head
    assert page.locator("#correlations td").all_inner_texts() == [
        f"{overlap.correlations[1, 0]:+.2f}",
        "",
        f"{overlap.correlations[2, 0]:+.2f}",
        f"{overlap.correlations[2, 1]:+.2f}",
    ]


def test_a_far_dense_line_does_not_squash_the_curve(open_page, blocks) -> None:
    page = open_page(blocks[0])
    top = page.evaluate("byId('curve').layout.yaxis.range[1]")
    highest = page.evaluate("Math.max(...byId('curve').data.flatMap((trace) => trace.y))")
    assert highest > 0.7 * top
    assert "Without a limit on k a component explains" in page.locator("#curve-note").inner_text()


def contrast(first: str, second: str) -> float:
    """WCAG's ratio of two colours as the browser writes them."""

    def light(colour: str) -> float:
        parts = (
            [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
            if colour[0] == "#"
            else list(map(int, re.findall(r"\d+", colour)))[:3]
        )
        linear = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    pair = sorted((light(first), light(second)))
    return (pair[1] + 0.05) / (pair[0] + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_in_the_heat_map_are_readable(open_page, blocks, scheme: str) -> None:
    page = open_page(blocks[0], scheme=scheme)
    ink = page.evaluate("byId('heat').data[0].textfont.color")
    for _, shade in page.evaluate("byId('heat').data[0].colorscale"):
        assert contrast(ink, shade) > 4.5
