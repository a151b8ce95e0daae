"""
How many clusters?
==================

Each number of clusters is scored by how well it predicts samples that it has not seen. One cluster
is a possible answer.
"""

import sys

from subspaces import PSC
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import stability
from subspaces.selection import select_n_clusters

union = make_subspaces([60, 60, 60], 20, [2, 2, 2], noise=0.1, random_state=0)

# %%
# The lowest value wins; the last line says how near the next comes.
found = select_n_clusters(PSC(n_components=2, n_init=5, random_state=0), union.data, range(1, 6))
print(found)

# %%
# The curve.
ax = found.plot()
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])

# %%
# Would these clusters be found in other samples? Two halves of the data are clustered apart, and
# each predicts all samples: 1 is perfect agreement, 0 is chance.
again = stability(found.best_estimator_, union.data, n_resamples=3, random_state=0)
print(f"stability {again.stability:.2f}")
