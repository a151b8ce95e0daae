"""A fit as a function: `fit(X, weights, settings)` returns a frozen `Fit`.

`fit.py` says which of four ways is gone: `dense.py` (rows in memory), `blocks.py` (many rows,
sparse, Dask, devices), `incomplete.py` (missing cells) or `auto.py` (numbers to be chosen).
`settings.py` has what a fit needs, `result.py` what it found. `stream.py` is for batches.
"""
