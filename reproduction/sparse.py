"""Tables of Rand and adjusted Rand index on the sparse scenarios, eight rows.

    python -m reproduction.sparse [--sets 10]

Loadings N(0, 1) on 10 of 200 variables, scores N(0, 1), noise of standard deviation 0.5
(docs/derivations/errata.md says why not variance 0.5). The limit
is the classifier that knows every parameter.
"""

import numpy as np
from scipy.stats import multivariate_normal

from reproduction import nonsparse
from reproduction.harness import Cell, Study, main
from reproduction.printed import agreement, judged, judged_as_printed
from subspaces import PSC, SparseKMeans
from subspaces.comparison import METHODS
from subspaces.datasets import SPARSE_NOISE, make_scenario

COUNTS = {"PSC, 10 variables": 10, "PSC, 100 variables": 100, "PSC, P variables": None}
SKM = "Sparse K-means, 10 variables"
RIVALS = ("GPCA", SKM, "K-subspaces", "SCC", "MCtFA")
ROWS = (*COUNTS, *RIVALS)
EXTRA = (("PSC, 10 variables", "refined"), ("", "Bayes"), (SKM, nonsparse.POSITIVE))


def cells(seeds):
    variants = [(row, variant) for row in ROWS for variant in ("as printed", "defaults")]
    return [
        Cell(row, variant, column, seed)
        for seed in seeds
        for column in "abcde"
        for row, variant in (*variants, *EXTRA)
    ]


def bayes(scenario):
    """Labels of the classifier that knows every parameter."""
    noise = SPARSE_NOISE**2 * np.eye(scenario.data.shape[1])
    density = [
        multivariate_normal(cov=loadings @ loadings.T + noise).logpdf(scenario.data)
        for loadings in scenario.loadings
    ]
    return np.argmax(density, axis=0)


def measure(cell):
    scenario = make_scenario(cell.column, sparse=True, random_state=cell.seed)
    X, truth = scenario.data, scenario.target
    setting = nonsparse.setting_of(scenario, cell.seed)
    if cell.variant == "Bayes":
        return agreement(truth, bayes(scenario))
    if cell.variant == nonsparse.POSITIVE:
        X = nonsparse.with_positive_scores(scenario, cell.seed, SPARSE_NOISE)
    if cell.row in RIVALS:
        return agreement(truth, rival(cell, setting).fit_predict(X))
    count = COUNTS[cell.row]
    if cell.variant == "as printed":
        return judged_as_printed(X, truth, setting.dimensions, count, cell.seed)
    refine = "ppca" if cell.variant == "refined" else None
    model = PSC(n_variables=count, refine=refine, **setting.own).fit(X)
    return judged(model, X, truth)


def rival(cell, setting):
    printed = cell.variant == "as printed"
    if cell.row == SKM:
        return SparseKMeans(n_variables=10, n_init=1 if printed else 10, **setting.bare)
    name = nonsparse.NAMES.get(cell.row, cell.row)
    return nonsparse.PRINTED[cell.row](setting) if printed else METHODS[name](setting)


STUDY = Study("sparse", nonsparse.MEASURES, cells, measure)

if __name__ == "__main__":
    main(STUDY)
