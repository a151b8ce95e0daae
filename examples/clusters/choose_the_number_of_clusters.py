"""
How many clusters?
==================

The number of clusters, their dimensions and whether they have centres are chosen in one call.
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
# The verdict names the choice and the numbers that come near it.
model = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(X)
print(model.selection_["verdict"])
for answer in model.selection_["answers"]:
    print(answer)

# %%
# What was compared: less is better, and the ring is the choice.
ax = plots.candidates(model)
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])

# %%
# Would these clusters be found in other samples? Two halves of the data are clustered apart, and
# each predicts all samples: 1 is perfect agreement, 0 is chance.
again = stability(model, X, n_resamples=3, random_state=0)
print(f"stability {again.stability:.2f}")
