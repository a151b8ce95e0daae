"""The list of starts that ``init`` takes by name, each with a version for main memory and devices.

To add a start, add one entry to `STARTS`, and its name to `_types.InitName` for editors. PSC,
KSubspaces and MiniBatchPSC then take it, and their errors list it. The default is a `portfolio`:
random starts rarely reach the optimum of a union of subspaces, and each kind of start errs in its
own way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from subspaces.core.problem import Problem
from subspaces.core.which_run import Start
from subspaces.messages import Advice, ParameterError
from subspaces.starts import device, sampled_subspaces
from subspaces.starts.device import DeviceStart
from subspaces.starts.graphs import ADMM_MOST_ROWS, Graphs, angular, from_graph
from subspaces.starts.judges import NearExpression, ShapeInteraction
from subspaces.starts.landmarks import on_landmarks
from subspaces.starts.sampled_subspaces import energetic_subspaces, sequential, swapped
from subspaces.starts.screening import on_screened_variables
from subspaces.starts.spectral import best_of_ten

# Names and starts, in the order of the search.
Starts = list[tuple[str, Start]]
# A function of the problem and how many starts to return.
Choose = Callable[[Problem, int], Starts]


@dataclass(frozen=True)
class NamedStart:
    """One kind of first partition.

    meaning: a sentence that says what it is; in_memory: the function for rows in main memory;
    on_device: the function for rows on a device, None if there is none.
    """

    name: str
    meaning: str
    in_memory: Start
    on_device: DeviceStart | None = None

    def choose(self, problem: Problem, n_starts: int) -> Starts:
        """Return the pair of this name and start, ``n_starts`` times; the problem is not used."""
        return [(self.name, self.in_memory)] * n_starts

    def device_starts(self, dimensions: Sequence[int]) -> list[tuple[str, DeviceStart]]:
        """Return the pair of this name and its function for devices; empty if there is none."""
        return [] if self.on_device is None else [(self.name, self.on_device)]


@dataclass(frozen=True)
class Portfolio:
    """Several kinds of first partitions, chosen by the problem, which are compared on a sample.

    device_starts(dimensions): names and functions of those for rows on a device.
    """

    name: str
    meaning: str
    choose: Choose
    device_starts: Callable[[Sequence[int]], list[tuple[str, DeviceStart]]]


def portfolio(problem: Problem, n_starts: int) -> Starts:
    """Return names and starts for a problem, ``n_starts`` of them; a short list is repeated.

    Graphs of self-expression only if all clusters have one dimension, below the rank of the data;
    the lasso among them up to 700 rows. For sparse loadings one kind alone, on the variables that
    carry more than noise. If clusters are their means alone, K-means and `sequential` take turns.
    """
    if problem.sparsity is not None:
        return [("screened", on_screened_variables(energetic_subspaces, problem))] * n_starts
    if problem.of_means:
        kinds: Starts = [("k-means", best_of_ten), ("sequential", sequential(0.5))]
    else:
        kinds = _for_equal(problem) if problem.alike else _for_unequal()
    return list(islice(cycle(kinds), n_starts))


def _for_equal(problem: Problem) -> Starts:
    graphs = Graphs(problem)
    wide = -(-3 * problem.n_clusters // 2)
    few = len(problem.rows.squared_norms) <= ADMM_MOST_ROWS
    by_lasso: Starts = [
        ("LSR + ADMM", from_graph(lambda: graphs.lsr + graphs.admm)),
        ("OMP + ADMM", from_graph(lambda: graphs.omp + graphs.admm)),
        ("ADMM", from_graph(lambda: graphs.admm)),
    ]
    shape = ShapeInteraction(problem) if ShapeInteraction.suits(problem) else None
    judges: Starts = [("shape interaction", shape)] if shape else []
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


def _for_unequal() -> Starts:
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


STARTS: dict[str, NamedStart | Portfolio] = {
    entry.name: entry
    for entry in (
        Portfolio(
            "portfolio",
            "Tries several kinds of starts that suit the data.",
            portfolio,
            device.portfolio,
        ),
        NamedStart(
            "random",
            "Puts each sample in a random cluster.",
            sampled_subspaces.random_labels,
            device.random_labels,
        ),
        NamedStart(
            "k-means++",
            "Picks each next sample far from the subspaces found so far, and fits a subspace to "
            "its neighbours.",
            on_landmarks(sampled_subspaces.kmeans_parallel_subspaces),
            device.kmeans_parallel_subspaces,
        ),
        NamedStart(
            "local",
            "Picks random samples, and fits a subspace to the neighbours of each.",
            on_landmarks(sampled_subspaces.local_subspaces),
            device.local_subspaces,
        ),
    )
}


def find(init: object) -> NamedStart | Portfolio | None:
    """Return the entry that ``init`` names; None for unknown names, labels and functions."""
    return STARTS.get(init) if isinstance(init, str) else None


def device_starts(init: object, dimensions: Sequence[int]) -> list[tuple[str, DeviceStart]]:
    """Return names and functions of the starts that ``init`` names, for rows on a device.

    Empty for labels and functions of the user. Raises ValueError for a start that has no function
    for devices: no other start replaces it.
    """
    entry = find(init)
    if entry is None:
        return []
    found = entry.device_starts(dimensions)
    if not found:
        names = [name for name, other in STARTS.items() if other.device_starts(dimensions)]
        fact = "<init={value!r}> does not work for a large table on a GPU."
        others = Advice(f"choose from {', '.join(names)}, or pass labels or a function", "init")
        raise ParameterError("init", fact, others, Advice("convert X to a numpy array"), value=init)
    return found
