"""
Which samples do not belong to a PCA, and why?
==============================================

One PCA of 13 measurements of 178 wines, each judged by the PCA of all others.
"""

import sys

from sklearn.datasets import load_wine

from subspaces import PCA, plots

wine = load_wine(as_frame=True).data
found = PCA(3, scale=True).fit(wine).outliers()
print(found.verdict)

# %%
# A control chart: how far each wine is within the components, and from them. A table without
# outliers has a wine beyond a limit in 5 % of the cases.
above, below = found.plot()

# %%
# The reason for the clearest one: much magnesium for so little ash.
print(found.contributions(95).round(2))
ax = plots.contributions(found, 95)
if sys.argv[1:]:
    above.figure.savefig(sys.argv[1])
