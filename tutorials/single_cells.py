"""
Single cells with scanpy
========================

This tutorial takes 10 minutes. You cluster 700 blood cells that come with scanpy, and compare the
clusters with the Louvain clusters and the known types in the same file. All results stay in the
AnnData.
"""

# %%
# Load the cells
# --------------
# The values are logarithms of normalised counts, and each gene is scaled. ``obsm`` has 50 principal
# components and a UMAP. ``obs`` has the cell types that the authors assigned.
import warnings

import matplotlib.pyplot as plt
import numpy as np
import scanpy

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the file format, which is an old one
    cells = scanpy.datasets.pbmc68k_reduced()
print(cells)

# %%
# How many components?
# --------------------
# The default of scanpy is 50 components. Count how many are stronger than noise:
from subspaces import scverse

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    number = scverse.pca_components(cells)
print(number)
print(cells.uns["pca_components"]["verdict"])

# %%
# **A reason to doubt.** Genes of the same pathway are correlated, so the number is a guess, and the
# verdict says so. Keep a few more components rather than fewer.
#
# Cluster the cells
# -----------------
# ``scverse.psc`` clusters the components in ``obsm["X_pca"]``. By default each cluster is a mean
# profile, which is the right model for types of cells.
scverse.psc(cells, n_clusters=6, random_state=0)
print(cells.obs["psc"].value_counts().to_string())

# %%
# The labels are in ``obs["psc"]``, so all functions of scanpy can use them. One example is
# ``scanpy.pl.umap(cells, color="psc")``. Here we draw the map with matplotlib, on the left with the
# clusters and on the right with the known types:
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="tight")
for ax, key in zip(axes, ("psc", "bulk_labels"), strict=True):
    for k, name in enumerate(cells.obs[key].cat.categories):
        members = cells.obsm["X_umap"][(cells.obs[key] == name).to_numpy()]
        ax.scatter(*members.T, s=4, color=plt.get_cmap("tab10")(k % 10), label=name)
    ax.set(title=key, xticks=[], yticks=[])
    ax.legend(fontsize=6, markerscale=2)

# %%
# How many clusters?
# ------------------
# If you pass ``n_clusters="auto"``, the function splits the cells in half several times. It checks
# for which number both halves give the same clusters:
scverse.psc(cells, n_clusters="auto", key_added="chosen", random_state=0)
print(cells.obs["chosen"].nunique(), "clusters")
print(cells.uns["chosen"].get("verdict", ""))

# %%
# Compare your clusters and the Louvain clusters with the known types. The adjusted Rand index is 1
# if two groupings are equal, and 0 by chance.
from subspaces.metrics import adjusted_rand_score

for key in ("psc", "chosen", "louvain"):
    index = adjusted_rand_score(cells.obs["bulk_labels"], cells.obs[key])
    print(f"{key:8s} {cells.obs[key].nunique():2d} clusters, {index:.2f}")

# %%
# **Another reason to doubt.** None of these indices is near 1. Several of the ten types are kinds
# of T cells, which express similar genes. A cross table shows which types share a cluster:
import pandas as pd

print(pd.crosstab(cells.obs["bulk_labels"], cells.obs["psc"]).to_string())

# %%
# How sure is each cell?
# ----------------------
# ``obs["psc_probability"]`` has the probability of the label of each cell. Naive T cells, natural
# killer cells and cytotoxic T cells have the least sure labels. These are the types that share
# clusters:
sure = cells.obs.groupby("bulk_labels", observed=True)["psc_probability"].mean()
print(sure.sort_values().round(3).to_string())

# %%
# The genes of a cluster
# ----------------------
# ``diagnostics.markers`` accepts the AnnData and the name of a column. The values in ``X`` are
# scaled, so use those in ``raw``, which are logarithms:
from subspaces.diagnostics import markers

logs = cells.raw.to_adata()
logs.obs["psc"] = cells.obs["psc"]
table = markers(logs, "psc").table
for k in cells.obs["psc"].cat.categories:
    own = table[(table["cluster"].astype(str) == str(k)) & (table["difference"] > 0)]
    print(k, own["variable"].head(5).tolist())

# %%
# You can tell the types from these genes: MS4A1 and CD79A mean B cells, NKG7 means natural killer
# cells, and CD3D means T cells. The p-values are too small, because the model found the clusters in
# the same cells. Use them to rank genes, but do not count how many are significant.
#
# Are the clusters stable?
# ------------------------
# Fit a model to the components, and check its stability:
from subspaces import PSC
from subspaces.diagnostics import stability

components = cells.obsm["X_pca"][:, :20]
model = PSC(6, n_components=0, affine=True, random_state=0).fit(components)
print(stability(model, components, n_resamples=3, random_state=0).verdict)

# %%
# Do not trust a map
# ------------------
# A UMAP can show separate groups even in noise. Look at distances along the components instead. For
# each cell, compare the distance to its own cluster with the distance to the next cluster:
distance = np.sqrt(model.transform(components))
nearest = np.sort(distance, axis=1)
gap = nearest[:, 1] / nearest[:, 0]
figure, ax = plt.subplots(figsize=(4, 2.6), layout="tight")
ax.hist(gap, bins=40, color="0.6")
ax.axvline(1, color="k", lw=1)
ax.set(xlabel="distance to the next cluster / to its own", ylabel="cells")

# %%
# If the ratio is near 1, the cell lies between two clusters, whatever the map shows.
#
# What to remember
# ----------------
# - Use mean profiles for types of cells, not subspaces.
# - Choose the number by stability, and read the verdict.
# - Look at the cross table and the probabilities before you name a cluster.
# - Test genes on logarithms, not on scaled values.
