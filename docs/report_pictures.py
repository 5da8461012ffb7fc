"""Photograph the report pages of real data: `make pictures`. The pages stay in build/reports."""

from __future__ import annotations

import csv
import gzip
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from PIL import Image

import sparseigen as se
from sparseigen.checks.graphs import graph_from_matrix
from sparseigen.report import Report, component_report, graph_report

PAGES, IMAGES = Path("build") / "reports", Path("docs") / "images"
GENES, VARIABLES, COMPONENTS = 500, 20, 3


def colon_report() -> Report:
    """Tumour and normal tissue: the 500 genes of largest variance, as in the paper's figure."""
    with gzip.open(se.datasets.data_folder() / "colon" / "colon_62x2000.csv.gz", "rt") as file:
        rows = list(csv.reader(file))
    names, tissue = rows[0][2:], [row[1] for row in rows[1:]]
    everything = np.array([[float(cell) for cell in row[2:]] for row in rows[1:]])
    kept = np.sort(np.argsort(-everything.var(axis=0))[:GENES])
    data, names = everything[:, kept], [names[i] for i in kept]
    operator = se.covariance(data)
    results = se.sparse_components(operator, [VARIABLES] * COMPONENTS)
    vectors = np.array([result.vector for result in results])
    return component_report(
        results,
        path=se.cardinality_path(operator, range(1, GENES + 1)),
        names=names,
        data=data,
        scores=(data - data.mean(axis=0)) @ vectors.T,
        labels=tissue,
        stability=se.components.selection_stability(data, VARIABLES, n_components=COMPONENTS, n_resamples=50),
        title="Colon tissue: 62 samples, 500 genes",
        settings={"file": "colon_62x2000.csv.gz, the 500 genes of largest variance"},
    )


def airline_report() -> Report:
    """Cities with short travel times among them, on the map."""
    folder = se.datasets.data_folder() / "airline"
    with (folder / "cities.csv").open(newline="", encoding="utf-8") as file:
        cities = list(csv.DictReader(file))
    names = [row["city"] for row in cities]
    table = np.loadtxt(folder / "weights.csv.gz", delimiter=",", skiprows=1)
    ends = tuple(table[:, :2].astype(int).T)
    graph = graph_from_matrix(sp.csr_array((table[:, 2], ends), shape=(len(names), len(names))), labels=names)
    return graph_report(
        se.density_curve(graph, range(10, 101, 5)),
        graph=graph,
        positions={row["city"]: (float(row["latitude"]), float(row["longitude"])) for row in cities},
        chosen=30,
        title="Air travel: which cities are closest to each other?",
        settings={"file": "airline/weights.csv.gz: inverse travel times between 456 cities"},
    )


def photograph(browser: Any, page_file: Path, image: str, *, width: int, until: str) -> None:
    """From the top of the page to the end of the card that holds the element ``until``."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.goto(page_file.resolve().as_uri())
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    target = IMAGES / image
    bottom = page.locator(f".card:has({until})").bounding_box()
    page.screenshot(
        path=target,
        full_page=True,
        clip={"x": 0, "y": 0, "width": width, "height": bottom["y"] + bottom["height"] + 14},
    )
    context.close()
    with Image.open(target) as picture:  # 128 colours are enough for a page, and a third of the bytes
        picture.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


def main() -> None:
    from playwright.sync_api import sync_playwright

    PAGES.mkdir(parents=True, exist_ok=True)
    colon = colon_report().save(PAGES / "colon.html")
    airline = airline_report().save(PAGES / "airline.html")
    chromium = shutil.which(os.environ.get("SPARSEIGEN_CHROMIUM", "chromium"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        photograph(browser, colon, "report_light.png", width=1100, until="#heat")
        photograph(browser, airline, "airline_report.png", width=1100, until="#drawing")
        browser.close()


if __name__ == "__main__":
    main()
