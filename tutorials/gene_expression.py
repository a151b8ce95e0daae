"""
Subtypes and their genes
========================

This tutorial takes 15 minutes. It starts from counts of 500 genes in 60 patients and ends with the
genes of three subtypes, with p-values that you can rely on. The counts are simulated, so you can
check every answer.
"""

# %%
# Make the table
# --------------
# There are three subtypes of 20 patients. In each, 30 genes are four times as high as elsewhere.
# Patients differ in how deeply they were sequenced, which says nothing about their subtype.
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
# For your own data, read a file: ``datasets.read_expression("counts.csv")`` reads CSV, Excel, GCT,
# Parquet, H5AD and more. Use ``samples="columns"`` if genes are in rows.
#
# Why the raw counts do not work
# ------------------------------
# A few loud genes and the depth of sequencing decide about raw counts. Compare K-means on them with
# the recipe, which prepares the counts first:
from sklearn.cluster import KMeans

from subspaces import recipes
from subspaces.metrics import adjusted_rand_score

raw = KMeans(3, n_init=10, random_state=0).fit_predict(counts)
recipe = recipes.expression(3, random_state=0).fit(counts)
print(f"K-means on counts {adjusted_rand_score(subtype, raw):.2f}")
print(f"recipe            {adjusted_rand_score(subtype, recipe.labels_):.2f}")

# %%
# A recipe is a Pipeline. Its first step tells you what the values were taken for:
print(recipe[0].verdict_)

# %%
# Read this sentence every time. **If it is wrong, everything after it is wrong.** You can overrule
# it with ``set_params(prepare__kind="log")``, or ``"intensities"``, ``"ratios"``, ``"shares"``.
#
# The two panels show the patients along two axes, before and after the preparation:
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
# You cannot compare likelihoods here, because each number of clusters uses other axes. Instead the
# patients are split in half ten times, to see which number gives the same clusters in both halves:
from subspaces.selection import select_n_clusters

found = select_n_clusters(recipes.expression(random_state=0), counts, range(2, 6))
print(found.verdict)
ax = found.plot()

# %%
# **A reason to doubt.** On real tables this choice is often smaller than the number of classes: a
# coarser division is more stable. If the verdict names several numbers, you can defend each.
#
# The genes of a subtype
# ----------------------
# ``markers`` tests each gene of a cluster against all other patients, on the log scale. Two columns
# look like p-values:
cluster = int(recipe.labels_[0])  # the cluster of the first patient, who has subtype A
markers = recipe.markers(counts, cluster, split_half=True, random_state=0)
columns = ["variable", "difference", "effect", "auc", "fdr", "fdr_split"]
print(markers.table[columns].head(8).round(3).to_string(index=False))

# %%
# **Use** ``fdr_split``. The clusters were found in the same counts that ``fdr`` tests, so ``fdr``
# is too small. ``fdr_split`` finds the clusters again without the gene that it tests. Count the
# right ones: subtype A has genes 0 to 29.
called = markers.table[(markers.table.fdr_split <= 0.05) & (markers.table.difference > 0)]
right = called.variable.isin(genes[:30]).sum()
print(f"{len(called)} genes are higher, {right} of them are right, of 30")

# %%
# See the difference in a table without any subtypes. Here all 60 patients are one group, and three
# processes move many genes together:
processes = random.normal(size=(60, 3)) @ random.normal(size=(3, 500))
one_group = pd.DataFrame(2.0 ** (8 + processes + random.normal(size=(60, 500))))
one_group.columns = genes
nothing = recipes.expression(3, random_state=0).fit(one_group)
tests = nothing.markers(one_group, 0, split_half=True, random_state=0).table
print("called by fdr:", int((tests.fdr <= 0.05).sum()))
print("called by fdr_split:", int((tests.fdr_split <= 0.05).sum()))

# %%
# If you had used ``fdr``, you would now be writing about the genes of subtypes that do not exist.
#
# Should you believe the subtypes?
# --------------------------------
# Stability gives the answer for both tables. It is high if halves of the patients find the same
# clusters:
from subspaces.diagnostics import stability

for name, model, table in (("counts", recipe, counts), ("one group", nothing, one_group)):
    again = stability(model, table, n_resamples=3, random_state=0)
    print(f"{name:9s} {again.stability:.2f} {again.grade.value}")

# %%
# **Stable is not the same as interesting.** Batches, tissues and hospitals give stable clusters
# too. Compare the clusters with everything you know about the patients before you name them.
#
# Programmes of genes
# -------------------
# Subtypes can also differ in which genes move *together*, with the same means. Mean profiles cannot
# see that. Simulate 90 patients of two subtypes with programmes of 12 genes, and let each cluster
# choose its own genes:
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
# The genes that vary within the first cluster, the strongest first:
figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="tight")
plots.scores(programmes, union.data, 0, ax=axes[0])
plots.loadings(programmes, 0, n_shown=12, ax=axes[1])

# %%
# On real expression data such programmes rarely decide about subtypes, and the recipe with mean
# profiles is the better start. Use ``n_variables`` if you have a reason to expect programmes.
#
# Place new patients and save the work
# ------------------------------------
# The recipe prepares new patients in the same way. The saved model takes raw counts as well:
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
# - Use ``recipes.expression``, and read what it took the values for.
# - Test genes with ``split_half=True``, and read ``fdr_split``.
# - Simulate a table of one group as well. It shows what "nothing" looks like.
# - Look for batches before you name a subtype.
