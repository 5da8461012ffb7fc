"""
Genotypes: populations from a PLINK file
========================================

300 samples of three populations, 8,000 variants in linkage, some calls missing, written as PLINK's .bed, .bim and .fam
and read back in passes: the file is never held in memory. Needs ``pip install 'sparseigen[genetics]'``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from bed_reader import to_bed

import sparseigen as se

rng = np.random.default_rng(0)
population = np.repeat([0, 1, 2], 100)
frequencies = rng.uniform(0.1, 0.9, 800)
own = np.clip(frequencies + 0.12 * rng.standard_normal((3, 800)), 0.02, 0.98)
blocks = rng.binomial(2, own[population])  # one haplotype tells on its neighbours: blocks of ten variants
calls = np.repeat(blocks, 10, axis=1).astype(float)
again = rng.random(calls.shape) < 0.3
calls[again] = rng.binomial(2, np.repeat(own, 10, axis=1)[population])[again]
calls[rng.random(calls.shape) < 0.01] = np.nan
file = Path(tempfile.mkdtemp()) / "cohort.bed"
to_bed(file, calls.astype(np.float32), properties={"sid": [f"rs{i}" for i in range(8000)]})

# %%
# ``scale="patterson"`` divides a variant of frequency f by sqrt(2f(1 - f)); ``missing="mean"`` puts the mean where a
# call is missing. Every result says how much was missing of the variants it chose.

operator = se.covariance(file, scale="patterson", missing="mean")
found = se.sparse_components(operator, [30, 30])
for result in found:
    missing = max(result.settings["missing_shares"].values())
    print(f"{result.value:.2f}, {result.certificate}; at most {missing:.1%} of a variant missing")
print(f"{operator.passes_made} passes over the file")

# %%
# The scores of sixty variants are enough to tell the populations apart.

filled = np.where(np.isnan(calls), operator.means, calls)
scores = ((filled - operator.means) / operator.deviations) @ found.vectors.T
figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
for group in range(3):
    axis.scatter(*scores[population == group].T, s=12, label=f"population {group + 1}")
axis.set(xlabel="first component", ylabel="second component")
axis.legend()
plt.show()
