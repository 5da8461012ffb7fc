"""
Three wines told apart by few measurements
==========================================

178 wines of three growers and 13 chemical measurements. Fisher's discriminants use all of them; how far do three get?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score

import sparseigen as se

wines, growers = load_wine(return_X_y=True, as_frame=True)
lda = se.SparseLDA(cardinality=3).fit(wines, growers)
for number, result in enumerate(lda.results_):
    print(f"discriminant {number}: ratio {result.value:.2f}, {result.certificate}: {', '.join(result.loadings)}")

# %%
# The scores separate the growers:

scores = lda.transform(wines)
figure, axis = plt.subplots(figsize=(5.5, 4), layout="constrained")
for grower in np.unique(growers):
    chosen = (growers == grower).to_numpy()
    axis.scatter(*scores[chosen].T, s=14, label=f"grower {grower}")
axis.set(xlabel="first discriminant", ylabel="second discriminant")
axis.legend()

# %%
# Accuracy on wines left out, by the number of measurements of each discriminant:

cardinalities = [1, 2, 3, 4, 6, 8, 13]
accuracy = [
    cross_val_score(se.SparseLDA(cardinality=k, certify=False), wines, growers, cv=5).mean() for k in cardinalities
]
everything = cross_val_score(LinearDiscriminantAnalysis(), wines, growers, cv=5).mean()
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(cardinalities, accuracy, "o-", color="tab:blue", label="SparseLDA")
axis.axhline(everything, color="tab:orange", linestyle="--", label="LDA, all 13")
axis.set(xlabel="measurements of each discriminant", ylabel="accuracy on wines left out")
axis.legend()
print({k: round(float(value), 3) for k, value in zip(cardinalities, accuracy, strict=True)}, round(everything, 3))
