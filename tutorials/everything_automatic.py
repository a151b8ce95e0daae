"""
Everything automatic
====================

This tutorial takes 10 minutes. You have a table and do not know its groups. How many are there?
What do they look like? Are there any? The table has four measurements of 344 penguins of three
species. You will look at the species only at the end.
"""

# %%
# Load the table
# --------------
# Two birds were not measured. The library accepts missing values, but these birds have no values at
# all, so leave them out. The units differ, so scale the variables.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from subspaces import PSC, plots
from subspaces.datasets import load_penguins

penguins = load_penguins()
birds = penguins.frame.dropna()
species = penguins.target[penguins.frame.notna().all(axis=1)]
X = birds / birds.std()
print(birds.describe().loc[["mean", "std"]].round(1).to_string())

# %%
# Let the model choose everything
# -------------------------------
# Three settings are ``"auto"``: the number of clusters, the dimension of each cluster, and whether
# each cluster has its own centre. The answer can also be one cluster.
model = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(X)
print(model.selection_["verdict"])
print("clusters:", model.n_clusters_)
print("dimensions:", model.n_components_.tolist())
print("centres:", model.affine_)

# %%
# The model finds three clusters. Each is a line with its own centre. That makes sense: a large bird
# is large in all measurements, so the birds of one species lie along a line. The lines of two
# species have different directions and positions.
#
# See the candidates
# ------------------
# Each point in the next plot is one candidate, and lower is better. A ring marks the choice. All
# candidates in the grey band are about as good.
ax = plots.candidates(model)

# %%
# **A reason to doubt.** The point for two clusters is inside the band, and the verdict advises you
# to look at it. A cross table shows how the two answers are related:
two = PSC(2, n_components="auto", affine="auto", random_state=0).fit(X)
print(pd.crosstab(model.labels_, two.labels_, rownames=["three"], colnames=["two"]))

# %%
# The second answer joins two of the three clusters, and keeps the other. Both answers can be right,
# depending on your question.
#
# Do other birds give the same clusters?
# --------------------------------------
# ``stability`` splits the birds in half at random, clusters each half, and compares the clusters:
from subspaces.diagnostics import is_real, label_confidence, stability

for each in (model, two):
    print(each.n_clusters_, stability(each, X, n_resamples=3, random_state=0).verdict)

# %%
# Both answers are stable. Now ask whether the third cluster is more than chance. ``against=2`` runs
# the same search on random tables that have two clusters:
print(is_real(model, X, against=2, n_nulls=19, random_state=0).verdict)

# %%
# How sure is each bird?
# ----------------------
# ``probabilities_`` gives each bird's probability for every cluster. Most labels are certain. The
# plot names the three birds with the least certain labels:
ax = plots.probabilities(model, n_named=3)
print(label_confidence(model, X, random_state=0).verdict)

# %%
# These birds lie between two clusters. Compare their measurements with the means of the clusters:
sure = model.probabilities_.max(axis=1)
print(birds.iloc[np.argsort(sure)[:3]].to_string())
print(birds.groupby(model.labels_).mean().round(1).to_string())

# %%
# What sets the clusters apart, and what varies within
# ----------------------------------------------------
# You can ask two questions about each cluster. First, how does its mean differ from that of all
# other birds?
figure, axes = plt.subplots(1, 3, figsize=(10, 2.6), layout="tight")
for k, ax in enumerate(axes):
    plots.loadings(model, k, by="difference", ax=ax).set_title(f"cluster {k}")

# %%
# Second, in which direction do its birds vary? All four measurements have the same sign on each
# line, so the birds of one species differ in size.
directions = [subspace.basis[:, 0] for subspace in model.subspaces_]
print(pd.DataFrame(directions, columns=X.columns).round(2).to_string())

# %%
# Look at the species at the end
# ------------------------------
# A cross table shows which species each cluster holds:
names = np.array(penguins.target_names)[species]
print(pd.crosstab(model.labels_, names, rownames=["cluster"], colnames=["species"]))

# %%
# Only four birds are not in the cluster of their species. Compare this with other methods by the
# adjusted Rand index. We give K-means and the Gaussian mixture the number of clusters, which is
# three. PSC finds that out by itself:
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from subspaces.metrics import adjusted_rand_score

print(f"PSC, nothing given          {adjusted_rand_score(species, model.labels_):.2f}")
k_means = KMeans(3, n_init=10, random_state=0).fit_predict(X)
print(f"K-means, 3 clusters         {adjusted_rand_score(species, k_means):.2f}")
mixture = GaussianMixture(3, n_init=5, random_state=0).fit_predict(X)
print(f"Gaussian mixture, 3 clusters {adjusted_rand_score(species, mixture):.2f}")

# %%
# What if values are missing?
# ---------------------------
# Remove a tenth of all measurements at random and fit again. One value is not enough to tell which
# line a bird lies on, so leave out birds with only one value:
gaps = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
gaps = gaps[gaps.notna().sum(axis=1) > 1]
with_gaps = PSC(3, n_components=1, affine=True, random_state=0).fit(gaps)
kept = X.index.isin(gaps.index)
print(f"{adjusted_rand_score(species[kept], with_gaps.labels_):.2f} with a tenth missing")

# %%
# What if there is nothing to find?
# ---------------------------------
# If a method always finds clusters, you cannot trust it. So shuffle the values of each variable.
# The variables are then unrelated, and the answer should be one cluster:
random = np.random.default_rng(0)
shuffled = X.apply(lambda column: random.permutation(column))
nothing = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(shuffled)
print(nothing.selection_["verdict"])

# %%
# What to remember
# ----------------
# - Start with ``PSC("auto", n_components="auto", affine="auto")``, and read the verdict.
# - Fit the other answers that the verdict names. Often one joins the clusters of another.
# - Check ``stability``, then ``is_real``, then the least sure samples.
# - Try a shuffled copy of your table. If it has clusters too, do not believe
#   the ones in your own table.
