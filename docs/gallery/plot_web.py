"""
cnr-2000: the dense cores of a web graph
========================================

325,557 pages and 3,216,152 links of the Italian National Research Council, as crawled in 2000, read from the compressed
file of the Laboratory for Web Algorithmics. Needs the data set ``cnr-2000`` in the folder named by ``SPARSEIGEN_DATA``.
"""

import matplotlib.pyplot as plt

import sparseigen as se

graph = se.read_graph(se.datasets.data_folder() / "cnr-2000" / "cnr-2000.graph")
ks = [100, 200, 500, 1000, 2000, 5000, 10_000]
curve = se.density_curve(graph, ks, self_loops="keep")
for result in curve:
    print(f"k = {result.k:>6}: density {result.density:8.4f}, {result.certificate}")

# %%
# Algorithm 2 of the paper as printed starts at the pages with most links and sticks at hubs; greedy methods do worse.

others = {
    "Algorithm 2 (paper)": {"start": "degree", "polish": None},
    "greedy-feige": {"method": "greedy-feige"},
    "greedy-ravi": {"method": "greedy-ravi"},
}
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(ks, [result.certificate.upper_bound for result in curve], "k:", label="no set is denser")
axis.plot(ks, curve.densities, "o-", label="default")
for name, settings in others.items():
    found = se.density_curve(graph, ks, self_loops="keep", certify=False, **settings)
    axis.plot(ks, found.densities, ".-", label=name)
axis.set(xscale="log", xlabel="number of pages k", ylabel="density")
axis.legend()
