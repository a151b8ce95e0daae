"""Sub-types of samples and the genes behind each of them, on simulated expression data.

    python examples/genes_of_each_cluster.py

120 samples of 1000 genes. There are three sub-types; in each, two programmes of 15 genes go up and
down together, other genes in each sub-type. The rest is noise. Which samples belong together, and
which genes make them so?
"""

import numpy as np
import pandas as pd

from subspaces import PSC
from subspaces.datasets import make_subspaces
from subspaces.metrics import adjusted_rand_score


def simulate():
    """A table as it comes from the lab: samples in rows, genes in named columns."""
    union = make_subspaces(
        [30, 40, 50], 1000, [2, 2, 2], noise=0.3, scores="normal", n_variables=15, random_state=3
    )
    genes = [f"G{j:04d}" for j in range(1000)]
    samples = [f"patient{i:03d}" for i in range(120)]
    table = pd.DataFrame(union.data, index=samples, columns=genes)
    return table, union


def main():
    table, union = simulate()
    model = PSC(3, n_components=2, n_variables=15, random_state=0).fit(table)
    agreement = adjusted_rand_score(union.target, model.labels_)
    print(f"agreement with the true sub-types (adjusted Rand index): {agreement:.2f}\n")

    for k in range(3):
        genes = model.get_variables(k)
        size = np.count_nonzero(model.labels_ == k)
        true = union.target[model.labels_ == k]
        owner = np.bincount(true).argmax()
        right = {table.columns[j] for j in np.flatnonzero(union.loadings[owner].any(axis=1))}
        print(f"cluster {k}: {size} samples, {len(genes)} genes, the strongest first:")
        print("  " + ", ".join(genes[:8]) + ", ...")
        print(
            f"  {len(right & set(genes))} of the {len(right)} genes of its sub-type are among them"
        )

    new = table.iloc[[0, 60, 119]]
    print("\nclusters of", ", ".join(new.index), "->", model.predict(new).tolist())


if __name__ == "__main__":
    main()
