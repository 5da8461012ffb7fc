"""
Canonical correlations of few variables, and of noise
=====================================================

Two blocks of measurements of the same tumours: the first fifteen columns of the breast cancer data and the others.
Which three of each have most in common?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import sparseigen as se

table = load_breast_cancer(as_frame=True).data
first, second = table.iloc[:, :15], table.iloc[:, 15:]
cca = se.SparseCCA(n_components=2, cardinality=(3, 3)).fit(first, second)
for result, correlation in zip(cca.results_, cca.correlations_, strict=True):
    print(f"correlation {correlation:.4f}, {result.certificate}")
    print("   ", ", ".join(result.loadings))

# %%
# Proven: no three of the first block and three of the other correlate more. How much do more variables add?

cardinalities = range(1, 9)
fits = [se.SparseCCA(cardinality=(k, k)).fit(first, second).results_[0] for k in cardinalities]
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(cardinalities, [fit.value for fit in fits], "o-", color="tab:blue", label="found")
bounds = [fit.certificate.upper_bound for fit in fits]
axis.plot(cardinalities, bounds, "--", color="tab:orange", label="cannot be exceeded")
axis.set(xlabel="variables of each block", ylabel="canonical correlation")
axis.legend()

# %%
# Beware of noise
# ---------------
#
# A certificate speaks of the samples at hand. Where variables are many and samples few, some variables correlate by
# chance, and a search through all of them finds those. Here both blocks are independent noise: 50 samples, more and
# more variables.

rng = np.random.default_rng(0)
sizes = [5, 10, 20, 40, 100]
fitted, held_out = [], []
for size in sizes:
    X, Y = rng.standard_normal((50, size)), rng.standard_normal((50, size))
    found = se.SparseCCA(cardinality=(4, 4), ridge=0.1, effort="quick").evidence(X, Y, permutations=0)
    fitted.append(found.fitted[0])
    held_out.append(found.held_out[0])

figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(sizes, fitted, "o-", color="tab:red", label="samples fitted")
axis.plot(sizes, held_out, "s-", color="tab:green", label="samples left out")
axis.axhline(0.0, color="gray", linewidth=0.8)
axis.set(xscale="log", xlabel="variables of each block", ylabel="correlation found in noise", ylim=(-0.5, 1.0))
axis.legend()
print([f"{value:.2f}" for value in fitted])

# %%
# What was fitted looks strong; samples left out say that there is nothing. ``evidence`` also shuffles the samples of
# one block and counts how often chance does as well:

plain = se.SparseCCA(cardinality=(3, 3), effort="quick")
print("tumours:", plain.evidence(first.iloc[:150], second.iloc[:150], permutations=9))
print("noise:  ", plain.evidence(rng.standard_normal((150, 15)), rng.standard_normal((150, 15)), permutations=9))
