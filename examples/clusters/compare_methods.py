"""
Several methods on one data set
===============================

The samples lie near two planes in 200 variables. Each axis of a plane uses only ten variables, and
all variables have noise. Which methods find the planes, and which methods agree?
"""

import sys

from subspaces import compare
from subspaces.datasets import make_scenario

planes = make_scenario("c", sparse=True, random_state=0)

# %%
# If you know the classes, pass them as ``labels``. Otherwise the table shows how far each method
# agrees with the others.
methods = ["PSC", "KSubspaces", "SSC", "SCC", "GPCA", "MPPCA", "KMeans"]
found = compare(planes.data, 2, 2, methods=methods, labels=planes.target)
print(found.table[["ari", "accuracy", "warnings"]].round(2))

# %%
# Methods that find the same clusters form a block in the figure.
ax = found.plot()
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])
