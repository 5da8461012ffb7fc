"""
What are my components? Five tables, no number given
====================================================

Wines, handwritten digits, two tables of gene expression and a collection of postings. For each the same call,
``SparsePCA(n_components="auto")``: how many components stand out from noise, which variables take part,
what is proven.
Needs the data sets ``colon``, ``lymphoma`` and ``newsgroups20`` in the folder named by ``SPARSEIGEN_DATA``.
"""

import csv
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine

import sparseigen as se

folder = se.datasets.data_folder()


def find(data, most=4, **options):
    """At most so many of the components that stand out, in words."""
    began = time.perf_counter()
    pca = se.SparsePCA(n_components="auto", **options).fit(data)
    seconds = time.perf_counter() - began
    correlations = np.abs(pca.score_correlations_ - np.eye(pca.n_components_))
    print(f"{pca.n_components_} components in {seconds:.1f} s; scores correlate {correlations.max():.2f} at most")
    for j, result in enumerate(pca.results_[:most]):
        share = pca.explained_variance_ratio_[j]
        print(f"  {j + 1}: adds {share:.1%} of the variance; {pca.significance_.describe(j, result.cardinality)}")
        print(f"     {result.certificate}; {', '.join(list(result.loadings)[:6])} ...")
    return pca


# %%
# **Wine.** 178 wines, 13 chemical measurements on different scales: correlations.

wine = load_wine(as_frame=True)
pca = find(wine.data, scale=True)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
weights = pd.DataFrame(pca.components_, columns=wine.data.columns).T
largest = np.abs(weights.to_numpy()).max()
picture = left.imshow(weights.T, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
left.set_xticks(range(len(weights)), weights.index, rotation=90)
left.set_yticks(range(pca.n_components_), [f"component {j + 1}" for j in range(pca.n_components_)])
figure.colorbar(picture, ax=left, label="loading")
scores = pca.transform(wine.data)
for kind, name in enumerate(wine.target_names):
    right.scatter(*scores[wine.target == kind, :2].T, s=12, label=name)
right.set(xlabel="component 1", ylabel="component 2", title="three growers, not used to find the components")
right.legend()

# %%
# **Digits.** 1,797 images of 8 x 8 pixels. Each component is a group of pixels that darken (red) and lighten (blue)
# together; white pixels are not part of it.

pca = find(load_digits().data)

figure, axes = plt.subplots(2, 6, figsize=(9, 3.4), layout="constrained")
for j, axis in enumerate(axes.flat):
    axis.axis("off")
    if j < pca.n_components_:
        weights = pca.components_[j].reshape(8, 8)
        axis.imshow(weights, cmap="RdBu_r", vmin=-np.abs(weights).max(), vmax=np.abs(weights).max())
        axis.set_title(f"{j + 1}: {pca.cardinality_[j]} pixels", fontsize=9)

# %%
# **Colon.** 62 tissues, 2,000 genes, logarithms. One programme runs through nearly all genes: that is the finding.
# A short list to look at is a choice of ours: ``max_cardinality=20`` keeps the 20 genes that carry most.

table = pd.read_csv(folder / "colon" / "colon_62x2000.csv.gz").set_index("sample")
tissue = table.pop("tissue")
pca = find(np.log2(table), max_cardinality=20)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
taking = [len(part) for part in pca.significance_.taking_part]
left.bar(range(1, pca.n_components_ + 1), taking, color="tab:grey", label="genes that take part (FDR 1 %)")
left.bar(range(1, pca.n_components_ + 1), pca.cardinality_, color="tab:blue", label="genes shown")
left.set(yscale="log", xlabel="component", ylabel="genes")
left.legend()
scores = pca.transform(np.log2(table))
for kind, colour in (("tumor", "tab:red"), ("normal", "tab:blue")):
    right.scatter(*scores[(tissue == kind).to_numpy(), :2].T, color=colour, s=14, label=kind)
right.set(xlabel="component 1", ylabel="component 2")
right.legend()

# %%
# **Lymphoma.** 62 samples of three kinds of lymphoma, 4,026 genes, standardised.

with np.load(folder / "lymphoma" / "lymphoma_62x4026_standardised.npz") as file:
    expression, kinds = file["X"].astype(float), file["label"]
pca = find(expression, max_cardinality=20)

figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
scores = pca.transform(expression)
for kind in np.unique(kinds):
    axis.scatter(*scores[kinds == kind, :2].T, s=14, label=str(kind))
axis.set(xlabel="component 1 (20 genes)", ylabel="component 2 (20 genes)")
axis.legend()

# %%
# **Newsgroups.** 18,846 postings, 1,000 words, a sparse matrix that is never made dense. With so many samples even
# faint relations are significant, so five components of at most 12 words are asked for; "take part" says how broad
# they are.

with open(folder / "newsgroups20" / "vocabulary_body.csv") as file:
    words = [row["term"] for row in csv.DictReader(file)]
kept = [j for j, word in enumerate(words) if len(word) > 2 and not word.isdigit()][:1000]
counts = sp.load_npz(folder / "newsgroups20" / "counts_body_18846x5000.npz").tocsc()[:, kept].astype(float)
operator = se.covariance(counts.sqrt(), scale=True)
operator.names = tuple(words[j] for j in kept)
began = time.perf_counter()
pca = se.SparsePCA(n_components=5, max_cardinality=12).fit(operator)
correlation = np.abs(pca.score_correlations_ - np.eye(5)).max()
print(f"{time.perf_counter() - began:.1f} s; scores correlate {correlation:.2f} at most")
for j, result in enumerate(pca.results_):
    print(f"{j + 1}: {pca.significance_.describe(j, result.cardinality)}: {', '.join(result.loadings)}")

figure, axes = plt.subplots(1, 5, figsize=(11, 3), layout="constrained")
for axis, result in zip(axes, pca.results_, strict=True):
    loadings = list(result.loadings.items())[::-1]
    colours = ["tab:blue" if weight > 0 else "tab:red" for _, weight in loadings]
    axis.barh([word for word, _ in loadings], [abs(weight) for _, weight in loadings], color=colours)
    axis.tick_params(labelsize=8)

# %%
# Would other samples choose the same variables? ``se.components.selection_stability`` answers that by refitting halves
# of the samples; the command line writes it beside the p-values: ``sparseigen pca table.csv --stability 50 --out DIR``.
