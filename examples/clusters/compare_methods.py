"""
Several methods on one data set
===============================

Two planes among 200 variables, each axis with a loading on ten of them, and noise on all. Which
methods find them, and which agree?
"""

import sys

from subspaces import compare
from subspaces.datasets import make_scenario

planes = make_scenario("c", sparse=True, random_state=0)

# %%
# Pass known classes as ``labels`` if you have any. Otherwise the table shows how far each method
# agrees with the others.
methods = ["PSC", "KSubspaces", "SSC", "SCC", "GPCA", "MPPCA", "KMeans"]
found = compare(planes.data, 2, 2, methods=methods, labels=planes.target)
print(found.table[["ari", "accuracy", "warnings"]].round(2))

# %%
# Methods that find the same clusters stand out as a block.
ax = found.plot()
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])
