"""PSC beside K-means on everyday tables, whose groups differ in means, and on unions of subspaces.

    python benchmarks/means_or_directions.py

Writes benchmarks/results/means_or_directions.md.
"""

import numpy as np
from harness import markdown, run_cells, save
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from subspaces import PSC
from subspaces.datasets import make_scenario
from subspaces.diagnostics import means_or_directions, stability
from subspaces.metrics import adjusted_rand_score
from subspaces.runtime.warning import collect_warnings

TABLES = {"wine": load_wine, "breast cancer": load_breast_cancer, "iris": load_iris}
SCENARIOS = ("b", "d", "e")


def data_of(name):
    """Samples, classes and the dimensions to ask for."""
    if name in TABLES:
        table = TABLES[name]()
        return StandardScaler().fit_transform(table.data), table.target, 1
    if name == "digits":
        return *load_digits(return_X_y=True), 9
    union = make_scenario(name[-1], noise=0.05, random_state=0)
    return union.data, union.target, list(union.n_components)


def measured(name, affine):
    """Adjusted Rand index of PSC and of K-means, the agreement, and the stability of both."""
    X, classes, dimensions = data_of(name)
    K = len(np.unique(classes))
    with threadpool_limits(1), collect_warnings():
        model = PSC(K, n_components=dimensions, affine=affine, random_state=0).fit(X)
        lloyd = KMeans(K, n_init=10, random_state=0).fit(X)
        halves = stability(model, X, budget_s=60, random_state=0)
        agreement = means_or_directions(model, X).agreement
    right = [float(adjusted_rand_score(classes, m.labels_)) for m in (model, lloyd)]
    return [*right, agreement, halves.stability, halves.k_means]


def main():
    names = [*TABLES, "digits", *(f"scenario {name}" for name in SCENARIOS)]
    found = run_cells(measured, [(name, affine) for name in names for affine in (False, True)])
    rows = [
        [f"{name}{', affine' if affine else ''}", *(f"{value:.2f}" for value in values)]
        for (name, affine), values in found.items()
    ]
    header = ["data", "PSC", "K-means", "K-means agrees with PSC", "halves agree: PSC", "K-means"]
    save(
        "means_or_directions",
        "# Means or directions: PSC beside K-means\n\n"
        "`python benchmarks/means_or_directions.py`. Adjusted Rand index with the known classes, K "
        "given; the share of PSC's labels\nwith which K-means agrees "
        "(`diagnostics.means_or_directions`); the agreement of models of two halves "
        "(`diagnostics.stability`,\nup to 10 halvings). Wine, breast cancer and iris are scaled, "
        "with dimension 1; digits have dimension 9; the scenarios their\nown dimensions and noise "
        "0.05.\n\n" + markdown(header, rows),
    )


if __name__ == "__main__":
    main()
