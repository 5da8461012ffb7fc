"""
PitProps: six components one can read
=====================================

Jeffers measured 13 properties of 180 pit props, the timbers that hold up a mine, in 1967. Plain principal components of
these data mix all 13 properties; sparse ones use a few each. The correlations ship with the package.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparseigen as se

pitprops = se.datasets.load_pitprops()
operator = pitprops.operator()

# %%
# How many properties does the first component need? The curve is what k properties explain, the band above it ends
# where a proof says that no k properties explain more.

path = se.cardinality_path(operator, range(1, 14))
shares, bounds = path.shares, path.upper_bounds / path.total_variance

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.fill_between(path.cardinalities, shares, bounds, color="tab:orange", alpha=0.4, label="not excluded")
axis.plot(path.cardinalities, shares, "o-", color="tab:blue", label="found")
axis.axhline(path.dense_optimum / path.total_variance, color="0.5", linestyle="--", label="all 13")
axis.set(xlabel="number of properties k", ylabel="share of the variance")
axis.legend()

# %%
# The band is hardly visible: at most of these k the answer is proven to be the best, or nearly so.

for result in path:
    print(f"k = {result.cardinality:>2}: {result.value / 13:.2%}, {result.certificate}")

# %%
# Six components with the cardinalities and the deflation of the paper. The first is the size of the prop, the second
# its moisture and specific gravity; the others are single properties.

results = se.sparse_components(operator, [7, 2, 1, 1, 1, 1], deflation="projection")
loadings = np.array([result.vector for result in results])
dense = np.linalg.eigh(pitprops.matrix)[1][:, ::-1][:, :6].T

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
for axis, values, title in ((axes[0], dense, "PCA: 78 numbers"), (axes[1], loadings, "sparse: 13 numbers")):
    shown = np.where(values.T == 0.0, np.nan, values.T)
    image = axis.imshow(shown, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    axis.set_title(title)
    axis.set_xticks(range(6), [f"PC{j + 1}" for j in range(6)])
axes[0].set_yticks(range(13), pitprops.names)
figure.colorbar(image, ax=axes, label="loading")

# %%
# What that costs: three definitions of explained variance, because papers mean different things by the word.

for name in ("plain", "adjusted", "span"):
    sparse = se.explained_variance(operator, loadings, definition=name).sum() / 13
    print(f"{name:<9}{sparse:.4f}  (PCA {se.explained_variance(operator, dense, definition=name).sum() / 13:.4f})")
