"""The recipe of docs/develop/extend.md: a kind of data is one class that fits and assigns."""

import numpy as np

from subspaces.core.loop import Assignment, Fitted, Samples, alternate


class Directions(Samples):
    """A toy: points on a circle, known by their angles; a cluster is its mean direction."""

    def __init__(self, angles, n_clusters):
        self.points, self.dimensions = np.exp(1j * angles), (0,) * n_clusters

    def fit(self, labels):
        """The mean direction of every cluster; of an empty one, which the loop refills, none."""
        means = [self.points[labels == k].sum() for k in range(len(self.dimensions))]
        return Fitted(labels, subspaces=np.array(means))

    def assign(self, here):
        """Each point to the mean direction it is nearest to."""
        costs = np.abs(self.points[:, None] - here.subspaces / np.abs(here.subspaces)) ** 2
        labels, own = costs.argmin(axis=1), costs[np.arange(len(costs)), here.labels].sum()
        return Assignment(labels, own, own, np.count_nonzero(labels != here.labels), here.subspaces)

    def closeness(self, row):
        """Points nearest in angle are nearest."""
        return -np.abs(self.points - self.points[row])


def test_the_loop_clusters_a_new_kind_of_data():
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 50)
    angles = 2.0 * truth + random.normal(0, 0.1, 150)
    first = random.integers(3, size=150)
    found = alternate(Directions(angles, 3), first, max_iter=50, random=random)
    assert found.stop_reason == "converged"
    assert np.all(np.diff(found.path) <= 1e-9)
    assert len({*zip(truth.tolist(), found.labels.tolist(), strict=True)}) == 3
    assert found.subspaces.shape == (3,)


def test_an_empty_cluster_of_it_is_refilled_and_a_cap_is_kept():
    angles = np.linspace(0, 6, 60)
    found = alternate(
        Directions(angles, 3),
        np.zeros(60, dtype=np.intp),
        max_iter=1,
        random=np.random.default_rng(0),
    )
    assert (found.stop_reason, found.n_iter) == ("max_iter", 1)
    assert len(np.unique(found.labels)) == 3
