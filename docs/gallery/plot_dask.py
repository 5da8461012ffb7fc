"""
Data on a cluster, with Dask
============================

The rows stay with the workers; a pass over the data sends one vector back to the client. Needs the extra ``dask``. Here
the cluster is two threads of this process; on a real one give the scheduler's address to ``Client``.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

import sparseigen as se


def partition(number):
    """2000 rows of 400 variables, twelve of which move together; in real life read from a shared file."""
    rng = np.random.default_rng(number)
    rows = rng.standard_normal((2000, 400))
    rows[:, :12] += 2.0 * rng.standard_normal((2000, 1))
    return rows


cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
client = Client(cluster)
parts = [da.from_delayed(delayed(partition)(number), shape=(2000, 400), dtype=float) for number in range(6)]
X = da.concatenate(parts)
print(X)

# %%
# From here on nothing differs from data in memory.

operator = se.covariance(X, scale=True, client=client)
path = se.cardinality_path(operator, [2, 4, 8, 12, 16, 24])
for result in path:
    print(result)

# %%
# The twelve variables are there, and the answer is that of the same data in memory.

figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.plot(path.cardinalities, path.shares, "o-")
axis.set(xlabel="number of variables k", ylabel="share of the variance")

here = se.sparse_eigenvector(se.covariance(X.compute(), scale=True), 12)
print(sorted(path[12].support.tolist()) == sorted(here.support.tolist()), abs(path[12].value / here.value - 1) < 1e-9)
client.close()
cluster.close()
