"""
Check a PCA
===========

This tutorial takes 10 minutes. You run a PCA of 178 wines with 13 measurements, and check it. How
many components are there? Which loadings can you trust? Which wines do not fit, and does the result
depend on a few of them?
"""

# %%
# Load the table
# --------------
# The measurements have different units, so use ``scale=True``. Otherwise proline dominates the
# first component, because its values are in the hundreds. This fit shows it:
from sklearn.datasets import load_wine

from subspaces import PCA, plots

wine = load_wine(as_frame=True)
X, kind = wine.data, wine.target_names[wine.target]

raw = PCA(1).fit(X)
print(X.columns[abs(raw.components_[0]).argmax()], raw.explained_variance_ratio_.round(3))

# %%
# How many components?
# --------------------
# ``PCA`` chooses the number itself. It compares each component with the strongest one that noise
# alone would have.
model = PCA(scale=True).fit(X)
print(model.choice_.verdict)
axes = plots.components(model.choice_)

# %%
# The left panel shows the strength of each component. A component above 1 is stronger than noise.
# The right panel answers another question: how well do the first components predict values that
# were left out?
#
# **A reason to doubt.** The two answers differ. Six components are stronger than noise, but only
# three help to predict. The other three are real, but 178 wines are too few to find their exact
# directions. Use six components to describe the wines, and three to denoise or to fill in values.
#
# A rule of thumb gives yet another answer: keep 95 % of the variance. This takes ten components,
# but does not tell you which of them are noise:
print(PCA(0.95, scale=True).fit(X).n_components_)

# %%
# Which loadings can you trust?
# -----------------------------
# Each loading has an interval. It comes from 178 PCAs that each leave one wine out. All of them
# follow exactly from one decomposition, so this is fast.
model = PCA(3, scale=True).fit(X)
table = model.loadings()
print(table[table.component == 1].round(2).to_string(index=False))

# %%
# If a mark is filled, the loading is not 0. If it is hollow, the loading may be 0. The first
# component depends on flavanoids for sure, and hardly on ash.
ax = plots.loadings(model)

# %%
# **Another reason to doubt.** Look at the column ``mixed``. If two components have almost the same
# variance, their directions are arbitrary within a plane. Other wines would give other directions.
# Ask for two more components to see this:
five = PCA(5, scale=True).fit(X).loadings()
print(five.groupby("component")["mixed"].any())

# %%
# If components are mixed, interpret the plane and not its axes, or rotate them. After a varimax
# rotation each component has only a few large loadings:
rotated = PCA(5, scale=True, rotation="varimax").fit(X).loadings()
strong = rotated[rotated.loading.abs() > 0.5]
print(strong[["component", "variable", "loading", "low", "high"]].round(2).to_string(index=False))

# %%
# See the wines and the variables together
# ----------------------------------------
# In a biplot each wine is a point and each variable an arrow. The cross at the tip of an arrow
# shows the intervals of both loadings. The colours are the three kinds of wine, which the PCA did
# not see:
ax = plots.biplot(model, X, classes=kind)

# %%
# **A third reason to doubt.** The scores form three clouds. One PCA for all wines may be the wrong
# model. :doc:`/tutorials/when_k_means_is_right` clusters the same wines.
#
# Which wines do not fit?
# -----------------------
# ``outliers`` compares each wine with a PCA of all other wines. A wine can be far from the centre
# along the components (T2), or far from the components (Q):
outliers = model.outliers()
print(outliers.verdict)
above, below = outliers.plot()

# %%
# See the reason. Wine 95 has more magnesium and less ash than the components predict:
print(outliers.contributions(95).round(1))
ax = plots.contributions(outliers, 95)

# %%
# Even if there were no outliers, some wine would be named with a chance of 5 %. Many outliers of
# one kind are harder to find, because they turn the components towards themselves. Check again with
# a method that starts from the half of the wines that fits best:
from subspaces.diagnostics import pca_influence, pca_outliers

scaled = (X - X.mean()) / X.std()
print(pca_outliers(scaled, 3, robust=True).verdict)

# %%
# Does it depend on a few wines?
# ------------------------------
# ``pca_influence`` measures the influence of each wine. Fit again without the five most influential
# wines, and compare the components. A cosine of 1 means that a component did not turn:
import numpy as np

result = pca_influence(scaled, 3)
ax = plots.influence(result, n_named=3)
strongest = np.argsort(-result.influence)[:5]
without = PCA(3, scale=True).fit(X.drop(index=strongest))
agreement = abs((without.components_ * model.components_).sum(axis=1))
print("cosines without the five most influential wines:", agreement.round(3))

# %%
# All cosines are near 1, so the components do not depend on these wines.
#
# Keep missing values as they are
# -------------------------------
# Remove a tenth of the values and fit again. ``impute`` fills them in:
random = np.random.default_rng(0)
gaps = X.mask(random.random(X.shape) < 0.1)
with_gaps = PCA(3, scale=True).fit(gaps)
error = ((with_gaps.impute(gaps) - X) / X.std()).to_numpy()[gaps.isna()]
by_mean = ((gaps.fillna(gaps.mean()) - X) / X.std()).to_numpy()[gaps.isna()]
print(f"error of a filled value {np.std(error):.2f}, of the mean {np.std(by_mean):.2f}")

# %%
# What to remember
# ----------------
# - Scale variables that have different units.
# - "How many components are there?" and "How many predict best?" are different questions.
# - Interpret a loading only if its interval excludes 0 and its component is not mixed.
# - Check which samples do not fit, and whether the result depends on a few of them.
# - If the scores form separate clouds, look for clusters.
