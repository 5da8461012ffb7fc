"""
Air travel: 30 cities that are close to each other
==================================================

456 cities of North America; the weight of a pair is the inverse of the mean time to fly from one to the other. The
densest 30-city subgraph is the region in which one travels fastest; it is removed and the search repeated. Needs the
data set ``airline`` in the folder named by ``SPARSEIGEN_DATA``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp

import sparseigen as se

folder = se.datasets.data_folder() / "airline"
cities = pd.read_csv(folder / "cities.csv")
table = np.loadtxt(folder / "weights.csv.gz", delimiter=",", skiprows=1)
weights = sp.csr_array((table[:, 2], table[:, :2].astype(int).T), shape=(len(cities), len(cities)))

groups = se.disjoint_dense_subgraphs(weights, k=30, count=6)
for number, group in enumerate(groups, start=1):
    some = cities.city[np.flatnonzero(group.indicator)[:4]]
    print(f"{number}: density {group.density:.3f}, {', '.join(some)}, ...")

# %%
# On the map: no coastlines are drawn, the grey cities show the continent.

figure, axis = plt.subplots(figsize=(8, 4.8), layout="constrained")
axis.scatter(cities.longitude, cities.latitude, s=6, color="0.8")
for number, group in enumerate(groups, start=1):
    chosen = cities[group.indicator == 1]
    axis.scatter(chosen.longitude, chosen.latitude, s=22, label=f"group {number}")
axis.set(xlim=(-130, -62), ylim=(24, 58), xlabel="longitude", ylabel="latitude", aspect=1.25)
axis.legend(loc="lower left", fontsize=8)

# %%
# How dense can 30 cities be? The proven bound is far off here: weights are uneven, and the bounds for graphs are made
# for plain ones. The gap says so.

print(groups[0].certificate, f"(no 30 cities are denser than {groups[0].certificate.upper_bound:.3f})")
