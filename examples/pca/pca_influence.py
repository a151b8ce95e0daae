"""
Which samples drive a PCA?
==========================

This is one PCA of the images of a 3 in scikit-learn's digits. See what each image does to it.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

from subspaces import plots
from subspaces.diagnostics import pca_influence, pca_press

digits = load_digits()
threes = digits.data[digits.target == 3]

# %%
# How well do the first axes predict an image that they have not seen? The error falls with every
# axis, even with axes of noise. Use `~subspaces.diagnostics.pca_components` to count components.
none = pca_press(threes, 0).press
share = pca_press(threes, 5).press / none
print(f"5 axes: {share:.3f} of the error without any")

# %%
# An image of high leverage claims an axis for itself. One of large error is unlike the others.
result = pca_influence(threes, 5)
worst = np.argsort(-result.loo_error)[:3]
times = result.loo_error[worst] / np.median(result.loo_error)
print("predicted worst:", worst.tolist(), "at", times.round(1).tolist(), "times the median error")

ax = plots.influence(result)
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])
