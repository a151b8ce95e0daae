"""
Which samples influence the clusters?
=====================================

A sample that is far out pulls the subspace of its cluster towards itself. Its influence measures
how fast its leave-one-out error changes as the sample moves.
"""

import sys

import numpy as np

from subspaces import PSC, plots
from subspaces.datasets import make_subspaces

union = make_subspaces([50, 70], 30, [2, 2], noise=0.1, random_state=0)
X = union.data
X[7] *= 4
X[90] *= 3

# %%
# The largest influence belongs to samples 7 and 90, which we moved away from the others.
model = PSC(2, n_components=2, random_state=0).fit(X)
print("most influential:", np.argsort(-model.influence_)[:3].tolist())

ax = plots.influence(model, n_named=3)
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])

# %%
# Also look at the samples with the least sure labels.
sure = model.probabilities_.max(axis=1)
print("least sure:", np.argsort(sure)[:3].tolist(), sure.min().round(2))
