"""
20 Newsgroups: topics as short lists of words
=============================================

18,846 messages, 1000 words, as a sparse matrix that is never made dense. Needs the data set ``newsgroups20`` in the
folder named by ``SPARSEIGEN_DATA``.
"""

import csv

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import sparseigen as se

folder = se.datasets.data_folder() / "newsgroups20"
with open(folder / "vocabulary_body.csv") as file:
    words = [row["term"] for row in csv.DictReader(file)]
long_words = [j for j, word in enumerate(words) if len(word) > 2 and not word.isdigit()][:1000]
counts = sp.load_npz(folder / "counts_body_18846x5000.npz").tocsc()[:, long_words].astype(float)
words = [words[j] for j in long_words]
print(counts.shape, f"{counts.nnz / np.prod(counts.shape):.1%} of the entries are not zero")

# %%
# Square roots keep a few long postings from deciding everything; scaling lets rare words count as much as common ones.

operator = se.covariance(counts.sqrt(), scale=True)
operator.names = tuple(words)
topics = se.sparse_components(operator, [10] * 6, nonnegative=True)
for topic in topics:
    print(f"{', '.join(topic.loadings)}  ({topic.certificate})")

# %%
# Words are stems (Porter). Each certificate speaks of what the topics before it left over.

figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
for axis, topic in zip(axes.flat, topics, strict=True):
    loadings = list(topic.loadings.items())[::-1]
    axis.barh([word for word, _ in loadings], [weight for _, weight in loadings], color="tab:blue")
    axis.tick_params(labelsize=8)

# %%
# The paper's own table of terms is not reproduced by this or by its settings, because the authors' tokenisation is not
# known: see the page on the paper.
