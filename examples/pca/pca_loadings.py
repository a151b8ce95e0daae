"""
Which variables make a component, and how sure is that?
=======================================================

One PCA of 13 measurements of 178 wines, with an interval for every loading.
"""

import sys

from sklearn.datasets import load_wine

from subspaces import PCA, plots

wine = load_wine(as_frame=True)
model = PCA(scale=True).fit(wine.data)
print(model)

# %%
# Every loading has an interval, from 178 PCAs that each leave one wine out. All of them come from
# one decomposition, so this takes no time.
table = model.loadings()
unsure = table[table.p_value > 0.05]
print(f"{len(unsure)} of {len(table)} loadings may be 0")
print(table[table.component == 1].round(2).to_string(index=False))

# %%
# A filled mark is a loading that is not 0, a hollow one may be. Stars count the p-value's zeros.
plots.loadings(model)

# %%
# Wines as points, variables as arrows. The cross at a tip spans the intervals of both loadings.
ax = plots.biplot(model, wine.data, classes=wine.target_names[wine.target])
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])
