"""The paper's joint scheme, which chooses the dimensions of the clusters anew at every sweep.

[MM2014, sec. model selection]. The choice is by PRESS of sparse loadings. From the labels and
dimensions that each start ends in, a fit with these dimensions held goes on.
"""

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from subspaces.core.in_view import RowsInView
from subspaces.core.loop import alternate
from subspaces.core.problem import view_clusters
from subspaces.core.search import first_partition
from subspaces.psc import choosing
from subspaces.psc.auto import press
from subspaces.psc.best_partition import starts
from subspaces.psc.settings import pose
from subspaces.runtime.parameters import as_generator


class RowsOfUnknownDimension(RowsInView):
    """Rows whose clusters get new dimensions at every sweep.

    dimension_of(k, members): the dimension of a cluster. Objectives under different dimensions are
    not comparable, so the last partition of a run is kept. The ``subspaces`` of an assignment are
    the chosen dimensions (K,).
    """

    def __init__(self, problem, dimension_of):
        super().__init__(problem)
        self._dimension_of, self._compiled = dimension_of, None

    def assign(self, here):
        """Choose dimensions, fit, and return each row's cluster of least cost."""
        found = super().assign(here)
        return replace(found, iteration_cost=0.0, subspaces=self.dimensions)

    def _views_of(self, labels):
        if labels is not self._labels:
            members = [np.flatnonzero(labels == k) for k in range(self.problem.n_clusters)]
            self.dimensions = tuple(self._dimension_of(k, own) for k, own in enumerate(members))
            self.problem = replace(self.problem, dimensions=self.dimensions)
            self._views, self._labels = view_clusters(self.problem, labels), labels
        return self._views


def fit_jointly(model, X, max_components=5):
    """The fit of least PRESS of a model with sparse loadings, through the origin."""
    settings = replace(model._settings(), n_components=min(2, max_components))
    problem = pose(settings, X)
    variables = problem.allowed_variables
    made = starts(X, problem, settings)
    seeds = as_generator(settings.random_state).integers(2**31, size=len(made))

    def dimension_of(k, members):
        rows = X[members]
        most = choosing.largest_dimension(rows, max_components)
        values = choosing.dimension_by_press(rows, most, variables[k], settings.penalty)
        return int(np.argmin(values)) + 1

    fits = []
    for (_, start), seed in zip(made, seeds.tolist(), strict=True):
        random = np.random.default_rng(seed)
        first = first_partition(RowsInView(problem), start, random)
        samples = RowsOfUnknownDimension(problem, dimension_of)
        found = alternate(samples, first, max_iter=settings.max_iter, random=random)
        held = clone(model).set_params(n_components=list(found.subspaces), init=found.labels)
        fits.append(held.fit(X))
    return min(fits, key=lambda fitted: press(fitted.fit_.clusters, X))
