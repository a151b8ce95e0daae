"""The mathematics: pure functions on arrays and frozen values; no estimator, no file, no plot.

PSC reads from end to end in this order: `samples` (what the loop asks of data), `alternation` (the
one loop), `criteria` (what a row costs in a cluster), `influence` and `likelihood` (two of the
costs), `rows` (few samples, and the scores and residuals of all rows under a cluster's PCA),
`problem` (rows, dimensions and criterion, which all starts share), `search` (many starts, the best
run). Exact leave-one-out is in `secular` and `leave_one_out`, sparse loadings are in
`sparse_loadings` and `sparse_view`, and `choosing` has the rules for the numbers of clusters,
dimensions and variables.
"""
