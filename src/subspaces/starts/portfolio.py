"""The default starts: several kinds, chosen by the problem.

Random starts rarely reach the optimum of a union of subspaces, and each kind of start errs in its
own way.
"""

from itertools import cycle, islice

from subspaces.core.problem import Problem
from subspaces.core.search import Start
from subspaces.starts.graphs import ADMM_MOST_ROWS, Graphs, angular, from_graph
from subspaces.starts.judges import NearExpression, ShapeInteraction
from subspaces.starts.k_means import best_of_ten
from subspaces.starts.sampled_subspaces import energetic_subspaces, sequential, swapped
from subspaces.starts.screening import on_screened_variables


def portfolio(problem: Problem, n_starts: int, *, learned: bool = False) -> list[tuple[str, Start]]:
    """Return names and starts for a problem, ``n_starts`` of them; a short list is repeated.

    Graphs of self-expression only where all clusters have one dimension, below the rank of the
    data, and are to keep it (not ``learned``); the lasso among them up to 700 rows. For sparse
    loadings one kind alone, on the variables that carry more than noise. Where clusters are their
    means alone, K-means and `sequential` take turns.
    """
    if problem.sparsity is not None:
        return [("screened", on_screened_variables(energetic_subspaces, problem))] * n_starts
    return list(islice(cycle(_kinds(problem, learned)), n_starts))


def _kinds(problem: Problem, learned: bool) -> list[tuple[str, Start]]:
    if learned:
        return _for_unequal()
    if problem.of_means:
        return [("k-means", best_of_ten), ("sequential", sequential(0.5))]
    return _for_equal(problem) if problem.alike else _for_unequal()


def _for_equal(problem: Problem) -> list[tuple[str, Start]]:
    graphs = Graphs(problem)
    wide = -(-3 * problem.n_clusters // 2)
    few = len(problem.rows.squared_norms) <= ADMM_MOST_ROWS
    by_lasso: list[tuple[str, Start]] = [
        ("LSR + ADMM", from_graph(lambda: graphs.lsr + graphs.admm)),
        ("OMP + ADMM", from_graph(lambda: graphs.omp + graphs.admm)),
        ("ADMM", from_graph(lambda: graphs.admm)),
    ]
    shape = ShapeInteraction(problem) if ShapeInteraction.suits(problem) else None
    judges: list[tuple[str, Start]] = [("shape interaction", shape)] if shape else []
    if NearExpression.suits(problem):
        judges.append(("near expression", NearExpression(graphs, shape)))
    # The quick ones first: most searches of clear clusters end with them.
    return [
        ("angular", from_graph(lambda: graphs.angular(20), wide)),
        *judges,
        ("swapped", swapped),
        ("sequential", sequential(0.5)),
        ("angular", from_graph(lambda: graphs.angular(10), wide)),
        ("OMP + LSR", from_graph(lambda: graphs.omp + graphs.lsr)),
        ("angular", from_graph(lambda: graphs.angular(5))),
        ("sequential", sequential(0.3)),
        *(by_lasso if few else []),
    ]


def _for_unequal() -> list[tuple[str, Start]]:
    return [
        ("sequential", sequential(0.5)),
        ("angular", angular(10)),
        ("swapped", swapped),
        ("sequential", sequential(0.3)),
        ("angular", angular(5)),
        ("sequential", sequential(0.7)),
        ("sequential", sequential(0.5, any_order=True)),
        ("angular", angular(20)),
        ("swapped", swapped),
        ("sequential", sequential(0.3, any_order=True)),
    ]
