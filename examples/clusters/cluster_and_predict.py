"""
Cluster one half, predict the other
===================================

A fitted model can label samples that it has not seen.
"""

import sys

import numpy as np

from subspaces import PSC, plots
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy, subspace_angles

union = make_subspaces(
    [80, 120, 160], 100, [1, 2, 3], noise=0.05, offset=0.5, shuffle=True, random_state=0
)
X, new = union.data[::2], union.data[1::2]
truth, truth_new = union.target[::2], union.target[1::2]

# %%
# Each cluster has its own centre away from the origin, so use ``affine=True``.
model = PSC(3, n_components=[1, 2, 3], affine=True, random_state=0).fit(X)
print(f"stopped: {model.stop_reason_} after {model.n_iter_} iterations")
print(f"in the right cluster: {matched_accuracy(truth, model.labels_):.3f}")
print(f"new samples:          {matched_accuracy(truth_new, model.predict(new)):.3f}")

# %%
# How close are the subspaces to the true ones?
for k, (found, true) in enumerate(zip(model.subspaces_, union.subspaces, strict=True)):
    angle = np.degrees(subspace_angles(found, true)).max()
    print(f"cluster {k}: dimension {found.basis.shape[1]}, {angle:.1f} degrees from the truth")

# %%
# How close are the subspaces to each other? Two of them can share one direction and differ in
# others. The heat map shows their smallest angles below the diagonal and their largest above it.
ax = plots.angles(model)
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])

# %%
# ``transform`` returns the criterion value of each sample in each cluster. The sample joins the
# cluster with the lowest. If the two lowest are close, the sample lies between two clusters.
scores = np.sort(model.transform(new), axis=1)
between = np.argsort(scores[:, 1] - scores[:, 0])[:3]
print("new samples that sit between two clusters:", between.tolist())
