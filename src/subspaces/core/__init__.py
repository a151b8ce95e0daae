"""The mathematics: pure functions on arrays and frozen values; no estimator, no file, no plot.

How `PSC(3).fit(X)` comes to its labels, from the call down:

1. `estimators/_base.py`, `fit`: checks X and collects warnings; `PSC._fit` calls `psc.fit.fit`.
2. `psc/dense.py`, `fit_dense`: the order of events, from rows to the frozen `Fit`.
3. `psc/settings.py`, `pose`: rows, dimensions and criterion as one `Problem` (`core/problem.py`).
4. `psc/best_partition.py`: the starts (`starts/registry.py`), searched by `core/search.py`.
5. `core/loop.py`, `alternate`: the one loop, from a first partition until no label moves;
   `core/in_view.py` fits the subspaces and assigns the rows for it.
6. `core/criteria.py`: what a row costs in a cluster; the sum of these costs is the objective.
7. `core/which_run.py`: what decides which run wins. It is not the objective.

`rows` has few samples, and the scores and residuals of all rows under a cluster's PCA, `influence`
and `likelihood` have two of the costs. Exact leave-one-out is in `secular` and `leave_one_out`,
sparse loadings are in `sparse_loadings` and `sparse_view`, and `choosing` has the rules for the
numbers of clusters, dimensions and variables.
"""
