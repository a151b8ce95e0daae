"""Table of the number of clusters chosen on the gene-expression data sets.

    python -m reproduction.expression_clusters --sets 10        # needs SUBSPACES_DATA

R = 1, ten variables, K from 1 to 8. "As printed": PRESS of the printed algorithm on the intensities
as they are, the clusters' means averaged (`press`) or summed (`press_sum`). "Defaults":
`select_n_clusters` on data prepared by `ExpressionScaler`. A seed is one of the starts, as in
expression.py.
"""

import numpy as np

from reproduction.expression import load, sets_at_hand
from reproduction.harness import Cell, Study, main
from reproduction.printed import pose, solve
from subspaces import PSC
from subspaces.core.problem import view_clusters
from subspaces.psc import choosing
from subspaces.recipes import ExpressionScaler
from subspaces.selection import select_n_clusters

CANDIDATES = range(1, 9)
N_VARIABLES, N_STARTS = 10, 5


def cells(seeds):
    return [
        Cell("PRESS", variant, column, seed)
        for seed in seeds
        if seed % 10 == 0
        for column in sets_at_hand()
        for variant in ("as printed", "defaults")
    ]


def measure(cell):
    X, _ = load(cell.column)
    if cell.variant == "as printed":
        averages = np.array([press_as_printed(X, k, cell.seed) for k in CANDIDATES])
        return {"press": _least(averages), "press_sum": _least(averages * CANDIDATES)}
    model = PSC(n_variables=N_VARIABLES, n_init=N_STARTS, random_state=cell.seed)
    return {
        "press": select_n_clusters(model, ExpressionScaler().fit_transform(X), CANDIDATES).best_
    }


def press_as_printed(X, n_clusters, seed):
    """Mean over the clusters of their mean PRESS, as the printed algorithm leaves them."""
    problem = pose(X, [1] * n_clusters, N_VARIABLES)
    views = view_clusters(problem, solve(problem, seed).labels)
    errors = [choosing.closed_form_errors(X[view.members], view.basis).mean() for view in views]
    return float(np.mean(errors))


def _least(values):
    return CANDIDATES[int(np.argmin(values))]


STUDY = Study("expression_clusters", ("press", "press_sum"), cells, measure)

if __name__ == "__main__":
    main(STUDY)
