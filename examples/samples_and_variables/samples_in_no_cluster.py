"""
Which samples belong to no cluster?
===================================

We put six mistakes into measurements of penguins. In three birds we swap the length and depth of
the bill. In three others the body mass has the wrong unit.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from subspaces import PSC
from subspaces.datasets import load_penguins
from subspaces.metrics import matched_accuracy
from subspaces.plots import COLOURS

penguins = load_penguins()
known = penguins.frame.notna().all(axis=1).to_numpy()
birds, species = penguins.frame[known].copy(), penguins.target[known]
swapped, light = birds.index[[3, 60, 120]], birds.index[[200, 250, 300]]
bill = ["bill_length_mm", "bill_depth_mm"]
birds.loc[swapped, bill] = birds.loc[swapped, bill[::-1]].to_numpy()
birds.loc[light, "body_mass_g"] /= 1.8
X = birds / birds.std()

# %%
# ``outliers=0.1`` allows that one in ten of the outliers is a false one. The model finds all six
# mistakes. Each p-value shows how unusual the distance from the nearest cluster is.
model = PSC(3, n_components=1, affine=True, outliers=0.1, random_state=0).fit(X)
outside = model.labels_ == -1
for name, p in zip(birds.index[outside], model.p_values_[outside], strict=True):
    print(name, "mistake" if name in [*swapped, *light] else "not changed", f"p = {p:.1g}")

# %%
# If you keep the outliers, they spoil the clusters of all other birds.
plain = PSC(3, n_components=1, affine=True, random_state=0).fit(X)
for name, labels in (("outliers=0.1", model.labels_), ("outliers=None", plain.labels_)):
    print(name, f"{matched_accuracy(species, labels):.2f} of the birds are with their species")

# %%
# Draw the outliers as grey crosses.
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
for k in np.unique(model.labels_):
    own = model.labels_ == k
    look = {"color": "0.4", "marker": "x", "label": "outlier"}
    if k >= 0:
        look = {"color": COLOURS[k], "s": 12, "label": f"cluster {k}"}
    ax.scatter(*birds.loc[own, ["bill_length_mm", "body_mass_g"]].to_numpy().T, **look)
ax.set(xlabel="bill length (mm)", ylabel="body mass (g)")
ax.legend()
if sys.argv[1:]:
    figure.savefig(sys.argv[1])
