"""Every command on the real data, end to end, against numbers known from elsewhere."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sparseigen.datasets.catalogue import CATALOGUE, is_there
from tests.unit.cli.running import run


def answer(*arguments: object) -> object:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def authors_curve(path: Path, column: str) -> dict[int, float]:
    with path.open() as file:
        return {int(row["cardinality"]): float(row[column]) for row in csv.DictReader(file)}


def test_pca_of_pitprops_is_the_papers_table(real_data: Path) -> None:
    found = answer("pca", real_data / "pitprops/pitprops_correlation.csv", "--covariance", "-k", "7,2,1,1,1,1")
    assert [len(component["support"]) for component in found] == [7, 2, 1, 1, 1, 1]
    assert dict(zip(found[0]["names"], found[0]["loadings"], strict=True))["topdiam"] == pytest.approx(0.4235, abs=1e-4)


def test_pca_of_colon_with_labels_folder_and_report(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "colon/colon_62x2000.csv.gz"
    refused = run("pca", source, "-k", "5")
    assert refused.exit_code == 3
    assert "column 'tissue': 'tumor' is not a number; 1 of 2002 columns" in refused.stderr
    result = run(
        "pca", source, "-k", "5", "--label", "tissue", "--out", tmp_path / "out", "--report", tmp_path / "page.html"
    )
    assert result.exit_code == 0, result.stderr
    assert "62 samples x 2000 variables; row names from column 'sample'" in result.stdout
    with (tmp_path / "out" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows].count("tumor") == 40
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert len(document["answer"][0]["support"]) == 5
    assert document["answer"][0]["certificate"]["optimal"]
    assert (tmp_path / "page.html").stat().st_size <= 6e6


def test_pca_of_other_files(real_data: Path) -> None:
    lymphoma = real_data / "lymphoma"
    found = answer("pca", lymphoma / "lymphoma_62x4026_standardised.npz", "--label", "label", "-k", "5", "--no-certify")
    assert found[0]["n_features"] == 4026
    text = lymphoma / "lymphoma_4026x96_log2ratio.csv.gz"
    assert "19667 NaN or infinite values" in run("pca", text, "--transpose", "-k", "5").stderr
    filled = answer("pca", text, "--transpose", "--missing", "mean", "-k", "5", "--no-certify")
    assert filled[0]["n_features"] == 4026
    assert filled[0]["names"][0].startswith("g")


def test_pca_of_words(real_data: Path) -> None:
    folder = real_data / "newsgroups20"
    names = f"{folder / 'vocabulary.csv'}:term"
    options = ["--names", names, "-k", "5", "--no-certify", "--start", "max-variance"]
    found = answer("pca", folder / "counts_18846x5000.npz", *options)
    vocabulary = (folder / "vocabulary.csv").read_text()
    assert all(f",{word}," in vocabulary for word in found[0]["names"])


def test_path_is_nowhere_below_the_authors(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "colon/authors_covariance_500.npz"
    page = tmp_path / "path.html"
    result = run("path", source, "--covariance", "--k", "1:20", "--json", "--report", page)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    header = (real_data / "colon/authors_curve.csv").read_text().splitlines()[0].split(",")
    column = next(name for name in header if "tpower" in name.lower())
    published = authors_curve(real_data / "colon/authors_curve.csv", column)
    for point in found["results"]:
        assert point["value"] / found["total_variance"] >= published[point["cardinality"]] * (1.0 - 1e-9)
    assert page.exists()


def test_certify_and_exact_agree(real_data: Path) -> None:
    source = real_data / "colon/authors_covariance_500.npz"
    proven = answer("exact", source, "--covariance", "-k", "10")
    assert proven["certificate"]["optimal"]
    support = ",".join(f"x{i}" for i in proven["support"])
    own = answer("certify", source, "--covariance", "--support", support)
    assert own["lower_bound"] == pytest.approx(proven["value"], rel=1e-9)
    assert own["upper_bound"] >= proven["value"] * (1.0 - 1e-12)
    assert answer("certify", source, "--covariance", "-k", "10")["lower_bound"] == pytest.approx(proven["value"])


def test_dense_subgraphs_of_the_airline(real_data: Path, tmp_path: Path) -> None:
    weights, cities = real_data / "airline/weights.csv.gz", real_data / "airline/cities.csv"
    found = answer("dks", weights, "-k", "30", "--vertices", cities, "--report", tmp_path / "map.html")
    assert found["density"] >= 0.302078762
    assert "Cleveland, OH" in run("dks", weights, "-k", "30", "--vertices", cities).stdout
    assert "Cleveland" in (tmp_path / "map.html").read_text()


def test_curve_of_the_airline(real_data: Path, tmp_path: Path) -> None:
    result = run("curve", real_data / "airline/weights.csv.gz", "--k", "10:300:10", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    published = authors_curve(real_data / "airline/authors_curve.csv", "tpower_density")
    with (tmp_path / "out" / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["k"]) for row in rows] == list(range(10, 301, 10))
    for row in rows:
        assert float(row["density"]) >= published[int(row["k"])] * (1.0 - 1e-9)
        assert float(row["upper_bound"]) >= float(row["density"])


def test_dense_subgraph_of_the_web(real_data: Path) -> None:
    by_format = [
        answer("dks", real_data / "cnr-2000" / name, "-k", "100", "--no-certify")
        for name in ("cnr-2000.graph", "cnr-2000-edges.npz")
    ]
    assert by_format[0]["density"] == by_format[1]["density"]
    assert by_format[0]["nodes"] == by_format[1]["nodes"]


def test_flights(real_data: Path) -> None:
    folder = real_data / "air_routes"
    airports = folder / "us2008_airports.csv"
    text = run("dks", folder / "us2008_flight_counts.csv", "-k", "5", "--vertices", airports).stdout
    assert "305 vertices, 5366 arcs" in text
    routes = folder / "direct_routes.csv"
    assert run("dks", routes, "-k", "5").exit_code == 3
    assert run("dks", routes, "-k", "5", "--weight", "n_airlines").exit_code == 0


def test_datasets_are_all_there(real_data: Path) -> None:
    text = run("datasets").stdout
    assert str(real_data) in text
    fetched_only = {"amazon-2008", "ljournal-2008", "hollywood-2009"}  # too large for the folder
    assert {name for name, entry in CATALOGUE.items() if not is_there(entry, real_data)} <= fetched_only
    for name in CATALOGUE:
        missing = not is_there(CATALOGUE[name], real_data)
        assert ("fetch" if missing else "try: sparseigen ") in run("datasets", name).stdout


def test_standard_input_in_a_pipe(real_data: Path) -> None:
    source = real_data / "pitprops/pitprops_correlation.csv"
    command = [sys.executable, "-m", "sparseigen", "pca", "-", "--covariance", "-k", "5", "--json"]
    with source.open("rb") as file:
        piped = subprocess.run(command, stdin=file, capture_output=True, check=True)
    assert json.loads(piped.stdout)[0]["value"] == pytest.approx(3.406155, abs=1e-6)


def test_reproduce_and_bench(real_data: Path) -> None:
    root = Path(__file__).parents[2]
    if not (root / "benchmarks").is_dir():
        pytest.fail("the tests of the source tree need its benchmarks folder")
    for arguments, shown in ((["reproduce", "T4"], "T4.PC1.topdiam"), (["reproduce", "--list"], "T3.spca.share")):
        command = [sys.executable, "-m", "sparseigen", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=300)
        assert result.returncode == 0, result.stderr
        assert shown in result.stdout
        assert len(result.stdout.splitlines()) > 3
    command = [sys.executable, "-m", "sparseigen", "reproduce", "T99"]
    refused = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=300)
    assert refused.returncode == 2
    assert "'T99' names no table and no row" in refused.stderr


def test_doctor_and_demo(tmp_path: Path) -> None:
    assert run("doctor").exit_code == 0
    result = run("demo", "--report", tmp_path / "demo.html")
    assert result.exit_code == 0
    assert ["plain", "0.7599"] in [line.split() for line in result.stdout.splitlines()]
    assert (tmp_path / "demo.html").exists()
