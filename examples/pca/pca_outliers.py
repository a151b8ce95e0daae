"""
Which samples are outliers of a PCA, and why?
=============================================

We compare each of 178 wines with a PCA of all other wines.
"""

import sys

from sklearn.datasets import load_wine

from subspaces import PCA, plots

wine = load_wine(as_frame=True).data
found = PCA(3, scale=True).fit(wine).outliers()
print(found.verdict)

# %%
# The control chart shows how far each wine is from the centre along the components, and how far
# from the components. Even without outliers, some wine would be beyond a limit with a chance of 5
# %.
above, below = found.plot()

# %%
# Why is wine 95 an outlier? It has more magnesium and less ash than the components predict.
print(found.contributions(95).round(2))
ax = plots.contributions(found, 95)
if sys.argv[1:]:
    above.figure.savefig(sys.argv[1])
