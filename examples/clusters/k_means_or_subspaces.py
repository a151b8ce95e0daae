"""
A line and two planes
=====================

K-means looks for compact groups. These three clusters all pass through the same point, so they are
not compact. But each of them lies near its own subspace, and PSC looks for these.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans

from subspaces import PSC, plots
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy

union = make_subspaces([100, 150, 150], 3, [1, 2, 2], noise=0.03, random_state=4)
X = union.data

# %%
# We pass the dimension of each cluster. If you do not know it, use ``n_components="auto"``.
model = PSC(3, n_components=[1, 2, 2], random_state=0).fit(X)
blobs = KMeans(3, n_init=10, random_state=0).fit_predict(X)
print(f"in the right cluster: PSC {matched_accuracy(union.target, model.labels_):.2f}")
print(f"                  K-means {matched_accuracy(union.target, blobs):.2f}")

# %%
# Draw the planes that PSC found, with the samples of each cluster.
figure, (left, right) = plt.subplots(
    1, 2, figsize=(7, 3.5), layout="constrained", subplot_kw={"projection": "3d"}
)
plots.clusters_3d(X, blobs, title="K-means", ax=left).view_init(20, -42)
plots.clusters_3d(X, model.labels_, model.subspaces_, title="PSC", ax=right).view_init(20, -42)
if sys.argv[1:]:
    figure.savefig(sys.argv[1])
