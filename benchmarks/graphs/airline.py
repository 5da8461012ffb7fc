"""The air-travel experiment: the authors' curve, six sequential subgraphs, and their map."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from sparseigen.datasets import data_folder

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "airline_map.png"
RUNS = {
    "TPower-DkS (Algorithm 2)": {"start": "degree", "polish": None},
    "Greedy-Ravi (k vertices)": {"method": "greedy-ravi", "directed": "outgoing"},
    "Greedy-Feige": {"method": "greedy-feige", "directed": "outgoing"},
    "default": {},
}


def load() -> sp.csr_array:
    table = np.loadtxt(data_folder() / "airline" / "weights.csv.gz", delimiter=",", skiprows=1)
    return sp.csr_array((table[:, 2], (table[:, 0].astype(int), table[:, 1].astype(int))), shape=(456, 456))


def cities() -> list[dict[str, str]]:
    with (data_folder() / "airline" / "cities.csv").open() as file:
        return list(csv.DictReader(file))


def main() -> None:
    graph, names = load(), cities()
    table = np.loadtxt(data_folder() / "airline" / "authors_curve.csv", delimiter=",", skiprows=1)
    sizes = table[:, 0].astype(int)
    curves = {name: se.density_curve(graph, sizes.tolist(), **chosen) for name, chosen in RUNS.items()}
    one_more = se.density_curve(graph, (sizes + 1).tolist(), method="greedy-ravi", directed="outgoing")
    ravi = np.array([result.weight for result in one_more]) / sizes
    print("airline: largest difference from the authors' 30 densities")
    for name, found, column in (
        ("TPower-DkS (Algorithm 2)", curves["TPower-DkS (Algorithm 2)"].densities, 1),
        ("Greedy-Ravi with k + 1 vertices, over k", ravi, 2),
        ("Greedy-Ravi with k vertices", curves["Greedy-Ravi (k vertices)"].densities, 2),
        ("Greedy-Feige", curves["Greedy-Feige"].densities, 3),
    ):
        print(f"  {name:<42} {np.abs(found - table[:, column]).max():.1e}")
    best_other = np.max([curve.densities for name, curve in curves.items() if name != "default"], axis=0)
    default = curves["default"].densities
    above = int((default > table[:, 1] * (1 + 1e-6)).sum())
    below = int((default < best_other - 1e-12).sum())
    print(f"  default below another method at {below} of 30 k, above TPower at {above}")
    subgraphs = {}
    for name, chosen in RUNS.items():
        found = se.disjoint_dense_subgraphs(graph, 30, 6, certify=False, **chosen)
        subgraphs[name] = [np.flatnonzero(result.indicator) for result in found]
        symmetric = ((graph + graph.T) / 2).tocsr()
        inside = subgraphs[name][0]
        centre = inside[np.asarray(symmetric[inside][:, inside].sum(axis=1)).ravel().argmax()]
        total = sum(result.density for result in found)
        print(f"  six 30-city subgraphs, {name:<26} total {total:.3f}, first centre {names[centre]['city']}")
    draw(names, subgraphs)


def draw(names: list[dict[str, str]], subgraphs: dict[str, list[np.ndarray]]) -> None:
    try:
        import matplotlib
    except ImportError:
        print("  no map: drawing it needs matplotlib (pip install matplotlib)")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    latitude = np.array([float(row["latitude"]) for row in names])
    longitude = np.array([float(row["longitude"]) for row in names])
    colours = ["#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b"]
    figure, axes = pyplot.subplots(2, 2, figsize=(11, 7.6), sharex=True, sharey=True, layout="constrained")
    for axis, (name, sets) in zip(axes.flat, subgraphs.items(), strict=True):
        axis.scatter(longitude, latitude, s=5, color="0.82", linewidths=0)
        for number, (chosen, colour) in enumerate(zip(sets, colours, strict=True), start=1):
            axis.scatter(longitude[chosen], latitude[chosen], s=16, color=colour, linewidths=0, label=f"{number}")
        axis.set_title(name, fontsize=10)
        axis.set_xlim(-130, -62)
        axis.set_ylim(24, 58)
        axis.set_aspect(1.25)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(title="subgraph", fontsize=7, title_fontsize=7, loc="lower left", ncol=2, frameon=False)
    for axis in axes[1]:
        axis.set_xlabel("longitude (degrees)", fontsize=9)
    for axis in axes[:, 0]:
        axis.set_ylabel("latitude (degrees)", fontsize=9)
    figure.suptitle("Six disjoint groups of 30 cities with the shortest air-travel times among them", fontsize=12)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=90)
    pyplot.close(figure)
    print(f"  map drawn: {PICTURE.relative_to(PICTURE.parents[2])} ({PICTURE.stat().st_size // 1024} KB)")


if __name__ == "__main__":
    main()
