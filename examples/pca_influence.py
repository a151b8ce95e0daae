"""Which images of a 3 drive their PCA? No clustering: one PCA and its samples.

python examples/pca_influence.py [figure.png]
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

from subspaces import plots
from subspaces.diagnostics import pca_influence, pca_press


def main(path="pca_influence.png"):
    digits = load_digits()
    threes = digits.data[digits.target == 3]

    print("axes  PRESS of the images, relative to no axis")
    none = pca_press(threes, 0, center=True).press
    for n_components in range(1, 9):
        share = pca_press(threes, n_components, center=True).press / none
        print(f"{n_components:4d}  {share:.3f}")

    result = pca_influence(threes, 5, center=True)
    worst = np.argsort(-result.loo_error)[:5]
    print("\nPredicted worst by the others:", worst.tolist())
    print(
        "times the median error:", (result.loo_error[worst] / np.median(result.loo_error)).round(1)
    )

    ax = plots.influence(result)
    ax.set_title("Images of a 3 in scikit-learn's digits, 5 axes")
    ax.figure.savefig(path, dpi=150)
    print(f"\nFigure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
