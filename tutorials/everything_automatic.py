"""
Everything automatic
====================

This tutorial takes 10 minutes. You have a table and know nothing about its groups: not how many
there are, not what they look like, not whether there are any. The table has four measurements of
344 penguins. They belong to three species, which you will only look at in the end.
"""

# %%
# Load the table
# --------------
# Two birds were not measured. The library accepts missing values, but these two have no values at
# all, so leave them out. The units differ, so scale the variables.
import matplotlib.pyplot as plt
import numpy as np

from subspaces import PSC, plots
from subspaces.datasets import load_penguins

penguins = load_penguins()
birds = penguins.frame.dropna()
species = penguins.target[penguins.frame.notna().all(axis=1)]
X = birds / birds.std()
print(birds.describe().loc[["mean", "std"]].round(1).to_string())

# %%
# Fit with everything open
# ------------------------
# Three settings are ``"auto"``: the number of clusters, the dimension of each cluster, and whether
# clusters have centres of their own. One cluster is a possible answer.
model = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(X)
print(model.selection_["verdict"])
print("clusters:", model.n_clusters_)
print("dimensions:", model.n_components_.tolist())
print("centres:", model.affine_)

# %%
# The model finds three clusters, and each is a line with a centre of its own. That makes sense. A
# large bird is large in everything, so the birds of one species lie along a line. Species differ
# in the direction of the line and in its place.
#
# See what was compared
# ---------------------
# Each point in the next plot is one candidate, and lower is better. The ring marks the choice. The
# grey band holds candidates that are about as good.
ax = plots.candidates(model)

# %%
# **A reason to doubt.** Two clusters are inside the band. The verdict says the same: look at two
# clusters as well. So do that. A cross table shows how the two answers are related:
two = PSC(2, n_components="auto", affine="auto", random_state=0).fit(X)
table = np.zeros((3, 2), dtype=int)
np.add.at(table, (model.labels_, two.labels_), 1)
print(table)

# %%
# Two clusters join two of the three. This is a coarser view of the same structure, not another
# structure. Both answers can be right, depending on your question.
#
# Would the clusters come back?
# -----------------------------
# Split the birds at random, cluster both halves, and compare:
from subspaces.diagnostics import is_real, label_confidence, stability

for each in (model, two):
    print(each.n_clusters_, stability(each, X, n_resamples=3, random_state=0).verdict)

# %%
# Both answers are stable. Now ask whether the third cluster is more than chance. ``against=2``
# compares three clusters with tables that have two:
print(is_real(model, X, against=2, n_nulls=19, random_state=0).verdict)

# %%
# How sure is each bird?
# ----------------------
# ``probabilities_`` has the probability of each cluster for each bird. Most birds are sure. Name
# the three that are least so:
ax = plots.probabilities(model, n_named=3)
print(label_confidence(model, X, random_state=0).verdict)

# %%
# A sample between two clusters is not an error. It tells you where the groups touch. Look at these
# birds in the table, beside the means of the clusters:
sure = model.probabilities_.max(axis=1)
print(birds.iloc[np.argsort(sure)[:3]].to_string())
print(birds.groupby(model.labels_).mean().round(1).to_string())

# %%
# What sets the clusters apart, and what varies within
# ----------------------------------------------------
# Each cluster answers two questions. What sets it apart is a matter of means:
figure, axes = plt.subplots(1, 3, figsize=(8, 2.6), layout="tight")
for k, ax in enumerate(axes):
    plots.loadings(model, k, by="difference", ax=ax)

# %%
# What varies within a cluster is a matter of directions. All four measurements have the same sign
# on each line: birds of one species differ in size.
for k in range(3):
    loadings = model.subspaces_[k].basis[:, 0]
    print(k, dict(zip(X.columns, loadings.round(2).tolist(), strict=True)))

# %%
# Only now look at the species
# ----------------------------
# Each row is a cluster, each column a species:
table = np.zeros((3, 3), dtype=int)
np.add.at(table, (model.labels_, np.unique(species, return_inverse=True)[1]), 1)
print(table)

# %%
# All but four birds are in the cluster of their species. Compare the adjusted Rand index with what
# you would have used instead. Both rivals were given the right number, which our model was not:
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
# Remove a tenth of all measurements at random and fit again. A bird with a single value left says
# nothing about its line, so leave such birds out:
gaps = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
gaps = gaps[gaps.notna().sum(axis=1) > 1]
with_gaps = PSC(3, n_components=1, affine=True, random_state=0).fit(gaps)
kept = X.index.isin(gaps.index)
print(f"{adjusted_rand_score(species[kept], with_gaps.labels_):.2f} with a tenth missing")

# %%
# What if there is nothing to find?
# ---------------------------------
# A method that always finds clusters is of no use. Shuffle each variable on its own, which destroys
# every relation between them, and ask again:
random = np.random.default_rng(0)
shuffled = X.apply(lambda column: random.permutation(column))
nothing = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(shuffled)
print(nothing.selection_["verdict"])

# %%
# What to remember
# ----------------
# - Start with ``PSC("auto", n_components="auto", affine="auto")``, and read the verdict.
# - Fit the other answers that the verdict names. Often one is a coarser view of another.
# - Ask for stability, for ``is_real``, and for the least sure samples, in this order.
# - Try a shuffled copy of your table. If it has clusters too, do not believe yours.
