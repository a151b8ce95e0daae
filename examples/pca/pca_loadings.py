"""
Which loadings can you trust?
=============================

We fit a PCA to 13 measurements of 178 wines, and get an interval for every loading.
"""

import sys

from sklearn.datasets import load_wine

from subspaces import PCA, plots

wine = load_wine(as_frame=True)
model = PCA(scale=True).fit(wine.data)
print(model)

# %%
# The intervals come from 178 PCAs that each leave one wine out. All of them follow from one
# decomposition, so this is fast.
table = model.loadings()
unsure = table[table.p_value > 0.05]
print(f"{len(unsure)} of {len(table)} loadings may be 0")
print(table[table.component == 1].round(2).to_string(index=False))

# %%
# If a mark is filled, the loading is not 0. If it is hollow, the loading may be 0. More stars mean
# a smaller p-value.
plots.loadings(model)

# %%
# In this biplot each wine is a point and each variable an arrow. The cross at the tip of an arrow
# shows the intervals of both loadings.
ax = plots.biplot(model, wine.data, classes=wine.target_names[wine.target])
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])
