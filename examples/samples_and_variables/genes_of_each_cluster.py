"""
Subtypes and the genes behind each
==================================

We simulate 120 samples of 1000 genes with three subtypes. Each subtype has two programmes, which
are groups of 15 genes that go up and down together. The rest is noise. Which samples belong
together, and which genes set them apart?
"""

import sys

import matplotlib.pyplot as plt
import pandas as pd

from subspaces import PSC, plots
from subspaces.datasets import make_subspaces
from subspaces.metrics import adjusted_rand_score

union = make_subspaces(
    [30, 40, 50], 1000, [2, 2, 2], noise=0.3, scores="normal", n_variables=15, random_state=3
)

# %%
# The table has samples in rows and named genes in columns.
genes = [f"G{j:04d}" for j in range(1000)]
patients = [f"patient{i:03d}" for i in range(120)]
table = pd.DataFrame(union.data, index=patients, columns=genes)
print(table.iloc[:3, :5].round(2))

# %%
# Find three clusters of two dimensions, with 15 genes for each dimension.
model = PSC(3, n_components=2, n_variables=15, random_state=0).fit(table)
agreement = adjusted_rand_score(union.target, model.labels_)
print(f"agreement with the true subtypes (adjusted Rand index): {agreement:.2f}")

# %%
# Which genes vary within each cluster? Count how many of them are right.
for k in range(3):
    found = model.get_variables(k)
    owner = pd.Series(union.target[model.labels_ == k]).mode()[0]
    right = {genes[j] for j in union.loadings[owner].any(axis=1).nonzero()[0]}
    print(f"cluster {k}: {', '.join(found[:6])}, ...")
    print(f"  {len(right & set(found))} of the {len(right)} genes of its subtype are among them")

# %%
# Which genes are higher or lower in a cluster than in all other samples? Hardly any, because these
# subtypes differ in which genes go up and down together, and not in their means.
for k in range(3):
    apart = model.get_variables(k, by="difference")
    print(f"cluster {k} against the others: {', '.join(apart[:6])}, ...")

# %%
# Draw the samples of one cluster in its own subspace, and its genes.
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
plots.scores(model, table, 0, ax=left)
plots.loadings(model, 0, n_shown=12, ax=right)
if sys.argv[1:]:
    figure.savefig(sys.argv[1], dpi=120)

# %%
# ``predict`` assigns new samples to the cluster that predicts them best.
new = table.iloc[[0, 60, 119]]
print("clusters of", ", ".join(new.index), "->", model.predict(new).tolist())
