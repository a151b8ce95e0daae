"""
Subtypes and their genes
========================

This tutorial takes 15 minutes. You start from counts of 500 genes in 60 patients. You find three
subtypes, and the genes of each subtype with p-values that you can rely on. The counts are
simulated, so you can check every answer.
"""

# %%
# Make the table
# --------------
# There are three subtypes of 20 patients. In each subtype, 30 genes are four times as high as in
# the others. Patients also differ in the depth of sequencing, which tells you nothing about their
# subtype.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

random = np.random.default_rng(0)
subtype = np.repeat(["A", "B", "C"], 20)
mean = random.lognormal(2, 1.5, 500)
rates = np.tile(mean, (60, 1))
for k in range(3):
    rates[20 * k : 20 * k + 20, 30 * k : 30 * k + 30] *= 4
depth = random.lognormal(0, 0.5, (60, 1))
genes = [f"gene{j}" for j in range(500)]
patients = [f"patient{i}" for i in range(60)]
counts = pd.DataFrame(random.poisson(rates * depth), index=patients, columns=genes)
print(counts.iloc[:3, :6])

# %%
# If your own data are in a file, use ``datasets.read_expression("counts.csv")``. It reads CSV,
# Excel, GCT, Parquet, H5AD and more. Add ``samples="columns"`` if genes are in rows.
#
# Why you need to prepare counts
# ------------------------------
# Raw counts differ mostly in a few strongly expressed genes and in the depth of sequencing. Compare
# K-means on the raw counts with the recipe, which prepares the counts first:
from sklearn.cluster import KMeans

from subspaces import recipes
from subspaces.metrics import adjusted_rand_score

raw = KMeans(3, n_init=10, random_state=0).fit_predict(counts)
recipe = recipes.expression(3, random_state=0).fit(counts)
print(f"K-means on counts {adjusted_rand_score(subtype, raw):.2f}")
print(f"recipe            {adjusted_rand_score(subtype, recipe.labels_):.2f}")

# %%
# A recipe is a Pipeline. Its first step tells you what kind of values it recognised:
print(recipe[0].verdict_)

# %%
# Always read this sentence. **If it is wrong, all other results are wrong too.** You can overrule
# the recipe with ``set_params(prepare__kind="log")``, or with ``"intensities"``, ``"ratios"`` or
# ``"shares"``.
#
# The two panels show the patients along the first two principal axes, before and after the
# preparation:
from subspaces import PCA, plots

figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="tight")
for ax, table, title in zip(
    axes, (counts, recipe[:-1].transform(counts)), ("counts", "prepared"), strict=True
):
    scores = PCA(2).fit_transform(np.asarray(table, dtype=float))
    for k, name in enumerate("ABC"):
        ax.scatter(*scores[subtype == name].T, s=14, color=plots.COLOURS[k], label=name)
    ax.set(title=title, xlabel="axis 1", ylabel="axis 2")
axes[0].legend(title="subtype")

# %%
# How many subtypes?
# ------------------
# You cannot compare likelihoods here, because the recipe uses different axes for each number of
# clusters. Instead, ``select_n_clusters`` splits the patients in half ten times. It checks for
# which number both halves give the same clusters:
from subspaces.selection import select_n_clusters

found = select_n_clusters(recipes.expression(random_state=0), counts, range(2, 6))
print(found.verdict)
ax = found.plot()

# %%
# **A reason to doubt.** On real tables this choice is often smaller than the number of classes,
# because a coarser division is more stable. If the verdict names several numbers, look at all of
# them.
#
# The genes of a subtype
# ----------------------
# ``markers`` compares each gene in a cluster with all other patients, on the log scale. Two columns
# are false discovery rates:
cluster = int(recipe.labels_[0])  # the cluster of the first patient, who has subtype A
markers = recipe.markers(counts, cluster, split_half=True, random_state=0)
columns = ["variable", "difference", "effect", "auc", "fdr", "fdr_split"]
print(markers.table[columns].head(8).round(3).to_string(index=False))

# %%
# **Use** ``fdr_split``. The clusters were found in the same counts that ``fdr`` tests, so ``fdr``
# is too small. For ``fdr_split``, the clusters are found again without the gene that is tested.
# Here you can count how many genes are right, because genes 0 to 29 are those of subtype A:
called = markers.table[(markers.table.fdr_split <= 0.05) & (markers.table.difference > 0)]
right = called.variable.isin(genes[:30]).sum()
print(f"{len(called)} genes are higher, {right} of them are right, of 30")

# %%
# To see the difference, make a table without subtypes. All 60 patients are one group, and three
# biological processes change many genes together:
processes = random.normal(size=(60, 3)) @ random.normal(size=(3, 500))
one_group = pd.DataFrame(2.0 ** (8 + processes + random.normal(size=(60, 500))))
one_group.columns = genes
nothing = recipes.expression(3, random_state=0).fit(one_group)
tests = nothing.markers(one_group, 0, split_half=True, random_state=0).table
print("called by fdr:", int((tests.fdr <= 0.05).sum()))
print("called by fdr_split:", int((tests.fdr_split <= 0.05).sum()))

# %%
# By ``fdr`` you would report genes of subtypes that do not exist.
#
# Should you believe the subtypes?
# --------------------------------
# Compare the stability of both tables. It is high if two halves of the patients give the same
# clusters:
from subspaces.diagnostics import stability

for name, model, table in (("counts", recipe, counts), ("one group", nothing, one_group)):
    again = stability(model, table, n_resamples=3, random_state=0)
    print(f"{name:9s} {again.stability:.2f} {again.grade.value}")

# %%
# **Stable clusters need not be subtypes.** Batches, tissues and hospitals also give stable
# clusters. Compare the clusters with everything you know about the patients before you name them.
#
# Programmes of genes
# -------------------
# Two subtypes can have the same means, and differ in which genes go up and down *together*. Mean
# profiles do not show this. Simulate 90 patients of two subtypes. Each subtype has programmes,
# which are groups of 12 genes that go up and down together. Let each cluster choose its own genes:
from subspaces import PSC
from subspaces.datasets import make_subspaces

union = make_subspaces(
    [40, 50], 500, [2, 2], n_variables=12, noise=0.3, scores="normal", random_state=1
)
programmes = PSC(2, n_components=2, n_variables=12, random_state=0).fit(union.data)
profiles = KMeans(2, n_init=10, random_state=0).fit_predict(union.data)
print(f"PSC with its own genes {adjusted_rand_score(union.target, programmes.labels_):.2f}")
print(f"K-means                {adjusted_rand_score(union.target, profiles):.2f}")

# %%
# Draw the patients of the first cluster, and the genes that vary most in it:
figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="tight")
plots.scores(programmes, union.data, 0, ax=axes[0])
plots.loadings(programmes, 0, n_shown=12, ax=axes[1])

# %%
# On real expression data, subtypes rarely differ in such programmes alone. So start with the
# recipe, and use ``n_variables`` only if you have a reason to expect programmes.
#
# Label new patients and save the model
# -------------------------------------
# The recipe prepares new patients in the same way. The saved model accepts raw counts too:
from pathlib import Path
from tempfile import mkdtemp

from subspaces import load

path = Path(mkdtemp()) / "subtypes.npz"
recipe.save(path)
new = counts.iloc[[0, 25, 50]]
print(recipe.predict(new).tolist(), load(path).predict(new).tolist())

# %%
# What to remember
# ----------------
# - Use ``recipes.expression``, and check that it recognised your values.
# - Test genes with ``split_half=True``, and read ``fdr_split``.
# - Simulate a table of one group too. It shows what you would find without subtypes.
# - Check whether clusters are batches before you call them subtypes.
