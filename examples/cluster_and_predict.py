"""Cluster one half of the data, predict the other half, and look at what was found.

python examples/cluster_and_predict.py
"""

import numpy as np

from subspaces import PSC
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy, subspace_angles


def main():
    union = make_subspaces(
        [80, 120, 160], 100, [1, 2, 3], noise=0.05, offset=0.5, shuffle=True, random_state=0
    )
    X, new = union.data[::2], union.data[1::2]
    truth, truth_new = union.target[::2], union.target[1::2]

    model = PSC(3, n_components=[1, 2, 3], affine=True, random_state=0).fit(X)
    print(
        f"criterion {model.criterion_}, stopped: {model.stop_reason_} after {model.n_iter_} sweeps"
    )
    print(f"in the right cluster: {matched_accuracy(truth, model.labels_):.3f}")
    print(f"new samples:          {matched_accuracy(truth_new, model.predict(new)):.3f}")

    for k, (found, true) in enumerate(zip(model.subspaces_, union.subspaces, strict=True)):
        angle = np.degrees(subspace_angles(found, true)).max()
        print(f"cluster {k}: dimension {found.basis.shape[1]}, {angle:.1f} degrees from the truth")

    scores = np.sort(model.transform(new), axis=1)
    between = np.argsort(scores[:, 1] - scores[:, 0])[:3]
    print("new samples that sit between two clusters:", between.tolist())


if __name__ == "__main__":
    main()
