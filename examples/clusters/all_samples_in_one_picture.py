"""
All samples in one picture
==========================

We cluster 342 penguins by their body measurements. Do the clusters match the species, the island
or the sex of the birds? Which measurements set the clusters apart?
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
# Draw each bird on the first two axes of the table. A ring marks a bird whose label has a
# probability below 0.9.
first = plots.overview(model, table, names=np.array(penguins.sample_names)[measured])

# %%
# Draw the same picture with the species as colours. Each species has the colour of the cluster that
# it matches best.
species = penguins.target_names[penguins.target][measured]
ax = plots.overview(model, table, by=species)

# %%
# The heat map shows the measurements of all birds, ordered by cluster. The bars above it show the
# species, the island and the sex.
known = {"species": species, "island": penguins.island[measured], "sex": penguins.sex[measured]}
ax = plots.heat_map(model, table, by=known)
if sys.argv[1:]:
    first.figure.savefig(sys.argv[1])
