"""
What varies in one group and not in the other
=============================================

The handwritten digits 8 vary in many ways that all digits share: slant, size, thickness. What varies in eights and
*not* in threes? The contrast of the two covariances answers, with a few pixels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import sparseigen as se

images, labels = load_digits(return_X_y=True)
eights, threes = se.covariance(images[labels == 8]), se.covariance(images[labels == 3])

# %%
# The component of ten pixels of the eights alone, of their contrast with the threes, and of the quotient of the two:

own = se.sparse_eigenvector(eights, 10)
difference = se.sparse_eigenvector(se.contrast(eights, threes, 1.0), 10)
quotient = se.sparse_eigenvector(eights, 10, metric=threes, ridge=1.0)
answers = {"eights": own, "eights - threes": difference, "eights / threes": quotient}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for axis, (name, result) in zip(axes, answers.items(), strict=True):
    limit = np.abs(result.vector).max()
    axis.imshow(result.vector.reshape(8, 8), cmap="coolwarm", vmin=-limit, vmax=limit)
    axis.set(title=f"{name}\n{result.certificate}", xticks=[], yticks=[])
    print(name, result)

# %%
# How much each direction varies in both groups:

for name, result in answers.items():
    indices, weights = result.support, result.vector[result.support]
    here, there = (operator.quadratic_form(indices, weights)[0] for operator in (eights, threes))
    print(f"{name:16} variance {here:6.1f} in eights, {there:6.1f} in threes")

# %%
# ``gamma`` moves between the target alone (0) and directions that the background hardly has:

for gamma in (0.0, 0.5, 1.0, 2.0, 4.0):
    result = se.sparse_eigenvector(se.contrast(eights, threes, gamma), 10)
    indices, weights = result.support, result.vector[result.support]
    here, there = (operator.quadratic_form(indices, weights)[0] for operator in (eights, threes))
    print(f"gamma {gamma:3.1f}: {here:6.1f} in eights, {there:6.1f} in threes, {result.certificate}")
