"""
How many clusters?
==================

One call chooses the number of clusters, their dimensions and whether they have their own centres.
The table has four measurements of penguins of three species.
"""

import sys

from subspaces import PSC, plots
from subspaces.datasets import load_penguins
from subspaces.diagnostics import stability

penguins = load_penguins()
birds = penguins.frame.dropna()  # two birds were not measured
X = birds / birds.std()  # the variables have different units

# %%
# The verdict names the choice and other numbers that are about as good.
model = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(X)
print(model.selection_["verdict"])
for answer in model.selection_["answers"]:
    print(answer)

# %%
# The figure shows all candidates. Lower is better, and the ring marks the choice.
ax = plots.candidates(model)
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])

# %%
# Do other birds give the same clusters? ``stability`` splits the birds in half at random and
# clusters each half. If the clusters are equal, the agreement is 1. By chance it is 0.
again = stability(model, X, n_resamples=3, random_state=0)
print(f"stability {again.stability:.2f}")
