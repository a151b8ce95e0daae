"""The algorithm as the paper prints it, and what a partition is worth to an algorithm.

Predictive influence on all variables, random first partitions, the lowest objective wins. What the
paper leaves open is read as in docs/derivations/errata.md. A cluster that falls below R + 2 samples
is refilled, without which the lowest objectives of all are degenerate.
"""

from dataclasses import replace

import numpy as np

from subspaces.core.in_view import RowsInView
from subspaces.core.loop import Clustering, objective_of
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows, choose_rows
from subspaces.core.search import Plan, search
from subspaces.core.sparse_loadings import Sparsity
from subspaces.metrics import adjusted_rand_score, rand_score
from subspaces.psc.settings import pose as posed
from subspaces.starts.sampled_subspaces import random_labels

STARTS = 10


def pose(X, dimensions, n_variables=None):
    """The printed objective on these data; loadings on all variables where none are counted."""
    dimensions = tuple(int(r) for r in dimensions)
    if n_variables is None or n_variables >= X.shape[1]:
        rows = choose_rows(X, len(dimensions))
        return Problem(rows, dimensions, "influence", False, None)
    sparsity = Sparsity((n_variables,) * len(dimensions), "l1")
    return Problem(DenseRows(X), dimensions, "sparse_influence", False, sparsity)


def solve(problem, seed, n_starts=STARTS):
    """The run with the lowest objective from random first partitions."""
    seeds = range(n_starts * seed, n_starts * (seed + 1))
    starts = [("random", random_labels)] * n_starts
    runs = search(problem, starts, seeds, Plan("objective", False, 50))
    return min((run.clustering for run in runs), key=lambda found: found.objective)


def judged_as_printed(X, truth, dimensions, n_variables, seed, n_starts=STARTS):
    """Rand, adjusted Rand, and the objective at what was found and at the truth."""
    problem = pose(X, dimensions, n_variables)
    found = solve(problem, seed, n_starts)
    values = {"objective": found.objective, "at_truth": objective_of(problem, truth)}
    return {**agreement(truth, found.labels), **values}


def agreement(truth, labels):
    """How well the labels agree with the truth."""
    return {"rand": rand_score(truth, labels), "ari": adjusted_rand_score(truth, labels)}


def judged(model, X, truth):
    """The same for a fitted PSC, by what it chooses among its starts with."""
    settings, labels = model._settings(), model.labels_
    problem = posed(settings, X)
    choice = "t_likelihood" if settings.compares_by_likelihood(problem) else "objective"
    worth = [_selection_cost(problem, partition, choice) for partition in (labels, truth)]
    return {**agreement(truth, labels), "objective": worth[0], "at_truth": worth[1]}


def _selection_cost(problem, labels, choice):
    empty = Clustering(np.asarray(labels), np.nan, (), "", 0)
    found = replace(empty, objective=objective_of(problem, labels))
    return RowsInView(problem).selection_cost(found, choice)
