"""
A ring of accounts: dense subgraphs for a fraud analyst
=======================================================

Payments between accounts: most pay a few others now and then. A ring of accounts passes money around among its members,
through many small payments that no single account gives away. It is the densest group of its size.

The payments are made up, so that the ring is known.
"""

# %%
# 3,000 accounts and some 15,000 payments. The ring has 18 members, each of which pays a third of the others.
import networkx as nx
import numpy as np
import pandas as pd

import sparseigen as se

rng = np.random.default_rng(7)
ordinary = nx.powerlaw_cluster_graph(3000, 5, 0.3, seed=7)
columns = ["source", "target", "amount"]
payments = pd.DataFrame([(u, v, rng.lognormal(3.0, 1.0)) for u, v in ordinary.edges()], columns=columns)
ring = sorted(rng.choice(3000, 18, replace=False).tolist())
inside = [(u, v, rng.lognormal(3.5, 0.5)) for u in ring for v in ring if u != v and rng.random() < 0.35]
payments = pd.concat([payments, pd.DataFrame(inside, columns=columns)], ignore_index=True)
print(payments.head(3).round(2).to_string(index=False))

# %%
# How many members? Counting payments (not amounts), the density of the best group of k rises while the ring is filled,
# and falls when others must join. The band is what no group of k accounts can exceed.
curve = se.density_curve(payments, range(6, 41, 2), weight=None)
best = max(curve, key=lambda found: found.density)
print(f"densest: {best.k} accounts, {best.density:.2f} payments with the others on average, {best.certificate}")
curve.plot(engine="matplotlib")

# %%
# Who are they? The 18 densest, and how many of the ring are among them.
found = se.densest_k_subgraph(payments, 18, weight=None)
print(f"{len(set(found.nodes) & set(ring))} of {len(ring)} members of the ring are among the 18")

# %%
# The drawing: lines are payments within the group.
graph = nx.from_pandas_edgelist(payments, edge_attr=None)
found.plot(nx.to_scipy_sparse_array(graph, nodelist=sorted(graph)), engine="matplotlib")

# %%
# Amounts instead of counts: one column of the payments is the weight. That is another question: large payments between
# busy accounts outweigh the many small ones of the ring, and the answer holds none of it.
by_amount = se.densest_k_subgraph(payments, 18, weight="amount")
print(f"by amount: {len(set(by_amount.nodes) & set(ring))} of the ring, {by_amount.certificate}")
