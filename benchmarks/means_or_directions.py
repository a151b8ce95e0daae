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
DRAWS = 10  # data sets of each scenario


def draws_of(name):
    """Seeds of the data sets to draw; a table is there once."""
    return range(DRAWS if name.startswith("scenario") else 1)


def data_of(name, draw):
    """Samples, classes and the dimensions to ask for."""
    if name in TABLES:
        table = TABLES[name]()
        return StandardScaler().fit_transform(table.data), table.target, 1
    if name == "digits":
        return *load_digits(return_X_y=True), 9
    union = make_scenario(name[-1], noise=0.05, random_state=draw)
    return union.data, union.target, list(union.n_components)


def measured(name, affine, draw):
    """Adjusted Rand index of PSC and of K-means, the agreement, and the stability of both."""
    X, classes, dimensions = data_of(name, draw)
    K = len(np.unique(classes))
    with threadpool_limits(1), collect_warnings():
        model = PSC(K, n_components=dimensions, affine=affine, random_state=0).fit(X)
        lloyd = KMeans(K, n_init=10, random_state=0).fit(X)
        halves = stability(model, X, budget_s=60, random_state=0)
        agreement = means_or_directions(model, X).agreement
    right = [float(adjusted_rand_score(classes, m.labels_)) for m in (model, lloyd)]
    return [*right, agreement, halves.stability, halves.k_means]


def summary(values):
    """Mean of the draws and, of more than one, their range."""
    mean, ends = f"{np.mean(values):.2f}", f"{min(values):.2f} to {max(values):.2f}"
    return (mean if len(values) == 1 else f"{mean} ({ends})").replace("-0.00", "0.00")


def main():
    names = [*TABLES, "digits", *(f"scenario {name}" for name in SCENARIOS)]
    kinds = [(name, affine) for name in names for affine in (False, True)]
    found = run_cells(measured, [(*kind, draw) for kind in kinds for draw in draws_of(kind[0])])
    rows = []
    for name, affine in kinds:
        columns = zip(*(found[name, affine, draw] for draw in draws_of(name)), strict=True)
        rows.append([f"{name}{', affine' if affine else ''}", *map(summary, columns)])
    header = ["data", "PSC", "K-means", "K-means agrees with PSC", "halves agree: PSC", "K-means"]
    save(
        "means_or_directions",
        "# Means or directions: PSC compared with K-means\n\n"
        "`python benchmarks/means_or_directions.py`. The first two columns are the adjusted Rand "
        "index with the known classes, K given.\nThe third is the share of PSC's labels that "
        "K-means gives, too (`diagnostics.means_or_directions`). The last two are the\n"
        "agreement of models of two halves of the samples (`diagnostics.stability`, up to 10 "
        "halvings). Wine, breast cancer and iris\nare scaled, with dimension 1. Digits have "
        f"dimension 9, and the scenarios their own dimensions and noise 0.05. {DRAWS} data sets\n"
        "are drawn of each scenario: mean, lowest and highest.\n\n" + markdown(header, rows),
    )


if __name__ == "__main__":
    main()
