"""
When K-means is right
=====================

This tutorial takes 10 minutes. You cluster 178 wines by 13 measurements. Subspaces, the main method
of the library, are the wrong choice for them. You will see how to notice this without the true
classes, and what to do instead.
"""

# %%
# Load the table
# --------------
# The wines come from three cultivars. The measurements have different units, so scale each of them
# to standard deviation 1. Otherwise proline alone would decide, because its values are in the
# hundreds.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

wine = load_wine(as_frame=True)
print(wine.data.std().round(1).to_string())
X = (wine.data - wine.data.mean()) / wine.data.std()

# %%
# The first try
# -------------
# Suppose you know that there are three groups. Try a line for each of them:
from subspaces import PSC

lines = PSC(3, n_components=1, random_state=0).fit(X)
print("samples per cluster:", np.bincount(lines.labels_).tolist())

# %%
# The clusters look fine, because none is tiny. But a method finds clusters in any table. Check
# whether other wines give the same clusters:
from subspaces.diagnostics import stability

found = stability(lines, X, n_resamples=3, random_state=0)
print(found.verdict)
print(f"agreement of the halves: lines {found.stability:.2f}, K-means {found.k_means:.2f}")

# %%
# **A reason to doubt.** Two random halves of the wines give different lines, but nearly the same
# clusters of K-means. The verdict advises you to try ``affine=True``, alone or with
# ``n_components=0``. Let us see why.
#
# Means or directions
# -------------------
# Look at the wines along the first two components of a PCA. On the left the colours are the
# clusters of lines, and on the right those of K-means.
from sklearn.cluster import KMeans

from subspaces import PCA, plots

scores = PCA(2).fit_transform(X)
k_means = KMeans(3, n_init=10, random_state=0).fit(X)
figure, axes = plt.subplots(1, 2, figsize=(7, 3), sharex=True, sharey=True, layout="tight")
for ax, labels, title in zip(
    axes, (lines.labels_, k_means.labels_), ("three lines", "K-means"), strict=True
):
    for k in range(3):
        members = scores[labels == k]
        ax.scatter(*members.T, s=14, color=plots.COLOURS[k], marker=plots.MARKERS[k])
    ax.set(title=title, xlabel="component 1", ylabel="component 2")

# %%
# There are three clouds, and each has its own centre. No cloud lies along a line through the
# origin. Instead, each line takes parts of two clouds on opposite sides of the origin. The
# cultivars differ in their *means*, and not in the direction in which their wines vary.
#
# Give the clusters centres
# -------------------------
# If ``affine=True``, each line passes through the mean of its cluster. If you also set
# ``n_components=0``, each cluster is only its mean, as in K-means. We call this a mean profile.
models = {
    "lines through the origin": lines,
    "lines with centres": PSC(3, n_components=1, affine=True, random_state=0).fit(X),
    "mean profiles": PSC(3, n_components=0, affine=True, random_state=0).fit(X),
}
for name, model in models.items():
    again = stability(model, X, n_resamples=3, random_state=0)
    print(f"{name:25s} agreement of the halves {again.stability:.2f}: {again.grade.value}")

# %%
# The simplest model is the most stable one, so use it. ``means_or_directions`` confirms that
# K-means finds the same clusters:
from subspaces.diagnostics import is_real, means_or_directions

profiles = models["mean profiles"]
print(means_or_directions(profiles, X).verdict)

# %%
# Are three clusters more than chance? ``is_real`` runs the same search on random tables without
# clusters. These have the same values in each variable, and almost the same correlations:
print(is_real(profiles, X, n_nulls=19, random_state=0).verdict)

# %%
# Look at the classes at the end
# ------------------------------
# Compare the clusters with the cultivars by the adjusted Rand index. It is 1 if they are equal, and
# 0 by chance.
from subspaces.metrics import adjusted_rand_score

for name, model in models.items():
    print(f"{name:25s} {adjusted_rand_score(wine.target, model.labels_):.2f}")
print(f"{'K-means':25s} {adjusted_rand_score(wine.target, k_means.labels_):.2f}")

# %%
# The most stable model is also the best one. You could have chosen it without the classes.
#
# What sets the wines apart
# -------------------------
# A mean profile has no axes, so list the variables whose means differ. ``markers`` tests each
# variable. The model found the clusters in the same values, so use ``fdr_split`` and not ``fdr``:
for k in range(3):
    print(k, profiles.get_variables(k)[:3].tolist())
markers = profiles.markers(X, 0, split_half=True, random_state=0)
print(markers.table[["variable", "difference", "effect", "fdr_split"]].head(5).round(2))

# %%
# For every variable, the plot shows how far the mean of the cluster is from the mean of the other
# wines, in standard deviations.
ax = plots.loadings(profiles, 0, by="difference")

# %%
# Let the model choose everything
# -------------------------------
# ``"auto"`` chooses the number of clusters, their dimensions, and whether they have centres. Its
# first answer is two clusters, and the verdict says that three fit about as well:
chosen = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(X)
print(chosen.selection_["verdict"])
for answer in chosen.selection_["answers"]:
    number = answer["n_clusters"]
    other = PSC(number, n_components="auto", affine="auto", random_state=0).fit(X)
    index = adjusted_rand_score(wine.target, other.labels_)
    print(f"{number} clusters: adjusted Rand index {index:.2f}")
ax = plots.candidates(chosen)

# %%
# **Another reason to doubt.** The first answer is not the best one here. If the verdict names other
# numbers, fit them too, and compare what they tell you about your samples.
#
# What to remember
# ----------------
# - Large clusters prove nothing. Check their stability first.
# - If K-means is more stable, your groups probably differ in their means.
# - ``affine=True`` gives clusters centres, and ``n_components=0`` makes them mean profiles.
# - PSC with ``n_components=0`` is as good as K-means on such data, not better. It adds verdicts and
#   tests of the variables.
