"""Figure of the four illustrations in three dimensions: data, K-means, PSC.

    python -m reproduction.illustrations [--sets 10]

The cells say how often the illustration would have come out; the figure shows seed 0.
"""

from sklearn.cluster import KMeans

from reproduction.harness import Cell, Study, main
from reproduction.printed import agreement
from subspaces import PSC
from subspaces.datasets import make_scenario

METHODS = ("K-means", "PSC")


def cells(seeds):
    return [
        Cell(method, "defaults", column, seed)
        for seed in seeds
        for column in "abcd"
        for method in METHODS
    ]


def labels_of(method, scenario, seed):
    """The partition; clusters numbered by their dimension where the method knows it."""
    dimensions = [int(r) for r in scenario.n_components]
    if method == "PSC":
        return PSC(len(dimensions), n_components=dimensions, random_state=seed).fit_predict(
            scenario.data
        )
    return KMeans(len(dimensions), n_init=10, random_state=seed).fit_predict(scenario.data)


def measure(cell):
    scenario = make_scenario(cell.column, random_state=cell.seed)
    return agreement(scenario.target, labels_of(cell.row, scenario, cell.seed))


STUDY = Study("illustrations", ("rand", "ari"), cells, measure)

if __name__ == "__main__":
    main(STUDY)
