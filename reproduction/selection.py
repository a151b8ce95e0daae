"""Table of how often the right number of clusters is chosen, sparse scenarios, ten variables.

    python -m reproduction.selection [--sets 10]

K from 1 to 6. Where the dimension is given, it is one for all clusters: 1 in a, 2 in b, c and d, 3
in e. A cell is the K that each criterion takes. "icl": the library's choice, with dimensions of its
own; "joint": the paper's R_k, chosen anew at every sweep.
"""

import numpy as np

from reproduction.harness import Cell, Study, main
from reproduction.joint import fit_jointly
from subspaces import PSC
from subspaces.datasets import SCENARIOS, make_scenario
from subspaces.psc.auto import press
from subspaces.selection import select_n_clusters

CANDIDATES = range(1, 7)
COMMON = {"a": 1, "b": 2, "c": 2, "d": 2, "e": 3}
TRUE = {name: len(dimensions) for name, (dimensions, _) in SCENARIOS.items()}
N_STARTS, JOINT_STARTS = 5, 2
CRITERIA = ("sod", "press", "press_sum", "likelihood", "icl")
MEASURES = (*CRITERIA, "joint", "joint_sum")


def cells(seeds):
    return [
        Cell("", variant, column, seed)
        for seed in seeds
        for column in "abcde"
        for variant in ("criteria", "joint")
    ]


def measure(cell):
    X = make_scenario(cell.column, sparse=True, random_state=cell.seed).data
    if cell.variant == "joint":
        return chosen_jointly(X, cell.seed)
    return chosen(X, COMMON[cell.column], cell.seed)


def chosen(X, dimension, seed):
    """The K of every criterion; "press_sum" adds up the clusters' means, which "press" averages."""
    model = PSC(n_components=dimension, n_variables=10, n_init=N_STARTS, random_state=seed)
    columns = dict(select_n_clusters(model, X, CANDIDATES, criterion="likelihood").columns)
    columns["sod"] = -columns["sod"]
    columns["press_sum"] = columns["press"] * CANDIDATES
    found = {name: _least(columns[name]) for name in CRITERIA if name in columns}
    return found | {"icl": select_n_clusters(model, X, CANDIDATES).best_}


def chosen_jointly(X, seed):
    """PRESS of the paper's joint scheme: clusters' means averaged, and summed as printed."""
    averages = []
    for k in CANDIDATES:
        model = PSC(k, n_variables=10, n_init=JOINT_STARTS, random_state=seed)
        averages.append(press(fit_jointly(model, X).fit_.clusters, X))
    return {
        "joint": _least(np.array(averages)),
        "joint_sum": _least(np.array(averages) * CANDIDATES),
    }


def _least(values):
    return CANDIDATES[int(np.nanargmin(np.where(np.isfinite(values), values, np.inf)))]


STUDY = Study("selection", MEASURES, cells, measure)

if __name__ == "__main__":
    main(STUDY)
