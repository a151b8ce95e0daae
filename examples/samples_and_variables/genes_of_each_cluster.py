"""
Sub-types and the genes behind each
===================================

The table is simulated: 120 samples of 1000 genes. There are three sub-types. In each, two
programmes of 15 genes go up and down together, and the rest is noise. Which samples belong
together, and which genes make them so?
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
# A table as it comes from the lab: samples in rows, genes in named columns.
genes = [f"G{j:04d}" for j in range(1000)]
patients = [f"patient{i:03d}" for i in range(120)]
table = pd.DataFrame(union.data, index=patients, columns=genes)
print(table.iloc[:3, :5].round(2))

# %%
# Three clusters, two dimensions, 15 genes for each dimension.
model = PSC(3, n_components=2, n_variables=15, random_state=0).fit(table)
agreement = adjusted_rand_score(union.target, model.labels_)
print(f"agreement with the true sub-types (adjusted Rand index): {agreement:.2f}")

# %%
# The genes that vary within each cluster, the strongest first, and how many of them are right.
for k in range(3):
    found = model.get_variables(k)
    owner = pd.Series(union.target[model.labels_ == k]).mode()[0]
    right = {genes[j] for j in union.loadings[owner].any(axis=1).nonzero()[0]}
    print(f"cluster {k}: {', '.join(found[:6])}, ...")
    print(f"  {len(right & set(found))} of the {len(right)} genes of its sub-type are among them")

# %%
# Another question: which genes set a cluster apart, being higher or lower there than in all other
# samples? Here hardly any: the sub-types differ in which genes move together, not in their levels.
for k in range(3):
    apart = model.get_variables(k, by="difference")
    print(f"cluster {k} against the others: {', '.join(apart[:6])}, ...")

# %%
# One cluster in its own subspace, and its genes.
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
plots.scores(model, table, 0, ax=left)
plots.loadings(model, 0, n_shown=12, ax=right)
if sys.argv[1:]:
    figure.savefig(sys.argv[1], dpi=120)

# %%
# New samples go to the cluster that predicts them best.
new = table.iloc[[0, 60, 119]]
print("clusters of", ", ".join(new.index), "->", model.predict(new).tolist())
