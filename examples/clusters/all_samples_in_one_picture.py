"""
All samples in one picture
==========================

Body measurements of 342 penguins. Which clusters are there, what do they have to do with what else
is known of the birds, and which measurements tell them apart?
"""

import sys

import numpy as np

from subspaces import PSC, plots
from subspaces.datasets import load_penguins

penguins = load_penguins()
measured = ~np.isnan(penguins.data).any(axis=1)
table = penguins.frame[measured]
table = (table - table.mean()) / table.std()
model = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(table)
print(model.selection_["verdict"])

# %%
# Each bird on the two leading axes. A ring marks a bird whose label has a probability below 0.9.
first = plots.overview(model, table, names=np.array(penguins.sample_names)[measured])

# %%
# The same picture, with the species as colours. A species has the colour of the cluster that it
# matches best.
species = penguins.target_names[penguins.target][measured]
ax = plots.overview(model, table, by=species)

# %%
# The measurements of all birds, ordered by cluster, under what else is known of them.
known = {"species": species, "island": penguins.island[measured], "sex": penguins.sex[measured]}
ax = plots.heat_map(model, table, by=known)
if sys.argv[1:]:
    first.figure.savefig(sys.argv[1])
