"""
Which samples influence a PCA?
==============================

We fit a PCA to images of the digit 3, and find the images that change it most.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

from subspaces import plots
from subspaces.diagnostics import pca_influence, pca_press

digits = load_digits()
threes = digits.data[digits.target == 3]

# %%
# How well do the first five axes predict an image that was left out? This error falls with every
# axis you add, even if the axis is noise. To count components, use
# `~subspaces.diagnostics.pca_components`.
none = pca_press(threes, 0).press
share = pca_press(threes, 5).press / none
print(f"5 axes: {share:.3f} of the error without any")

# %%
# If an image has a high leverage, it pulls an axis towards itself. If it has a large error, it is
# unlike the others.
result = pca_influence(threes, 5)
worst = np.argsort(-result.loo_error)[:3]
times = result.loo_error[worst] / np.median(result.loo_error)
print("predicted worst:", worst.tolist(), "at", times.round(1).tolist(), "times the median error")

ax = plots.influence(result)
if sys.argv[1:]:
    ax.figure.savefig(sys.argv[1])
