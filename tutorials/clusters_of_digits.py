"""
Clusters of digits
==================

This tutorial takes 10 minutes. You cluster 901 images of handwritten digits, and write a report
that you can mail. You know that there are five digits, and want to know how good the clusters are.

You will see three things. First, PSC puts more images into the right cluster than K-means. Second,
each label has a probability, and you can check whether it is too high. Third, if you let the model
choose the number of clusters, it finds more than five, and you can see why.
"""

# %%
# Load the table
# --------------
# Each sample is an image of 8 x 8 pixels, and each pixel is a variable. All pixels have the same
# unit, so you do not scale them. If your variables have different units, scale them first.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

digits = load_digits(n_class=5)
X, digit = digits.data, digits.target
print(X.shape)

figure, axes = plt.subplots(2, 8, figsize=(7, 2), layout="tight")
for ax, image in zip(axes.flat, X, strict=False):
    ax.imshow(image.reshape(8, 8), cmap="gray_r")
    ax.set_axis_off()

# %%
# Why subspaces
# -------------
# If you write a 1 thicker, longer or more slanted, many pixels change together. The images of one
# digit therefore lie near a subspace of a few dimensions. Other digits change in other ways, so
# they have other subspaces. All subspaces pass through the origin, because an image with half the
# ink is still the same digit. Use ``affine=False`` for such subspaces. It is the default.
#
# How many dimensions should you choose? People often use nine for images of one object. You will
# see below that the result hardly depends on it.
from subspaces import PSC

model = PSC(n_clusters=5, n_components=9, random_state=0).fit(X)
print("samples per cluster:", np.bincount(model.labels_).tolist())

# %%
# We know the true digits, and the model did not see them. So you can count how many images are in
# the right cluster:
from sklearn.cluster import KMeans

from subspaces.metrics import matched_accuracy

k_means = KMeans(5, n_init=10, random_state=0).fit(X)
print(f"PSC     {matched_accuracy(digit, model.labels_):.2f}")
print(f"K-means {matched_accuracy(digit, k_means.labels_):.2f}")

# %%
# K-means puts one image in ten into a wrong cluster, and PSC one in a hundred. Try other dimensions
# to see whether nine was just luck:
for dimension in (3, 6, 12):
    other = PSC(5, n_components=dimension, random_state=0).fit(X)
    print(f"dimension {dimension:2d}: {matched_accuracy(digit, other.labels_):.2f}")

# %%
# Look at a cluster
# -----------------
# You can draw the axes of a subspace as images. The first axis of each cluster looks like its
# digit, because the subspace passes through the origin. The next axes show how the digit varies: if
# blue pixels get lighter, red ones get darker.
from subspaces import plots

axes = plots.basis_images(model.subspaces_, (8, 8))

# %%
# ``plots.angles`` shows how far apart the subspaces are. Two subspaces at an angle of 90 degrees
# have nothing in common. If an angle is small, two digits share a direction, such as the amount of
# ink.
ax = plots.angles(model)

# %%
# Would you have known without the labels?
# ----------------------------------------
# Your own data have no true labels. Ask two questions instead. First, do other samples give the
# same clusters? ``stability`` splits the images in half at random, clusters each half, and compares
# the clusters. If they are equal, the agreement is 1. By chance it is 0.
from subspaces.diagnostics import means_or_directions, stability

found = stability(model, X, n_resamples=3, random_state=0)
print(found.verdict)
print(f"PSC {found.stability:.2f}, K-means {found.k_means:.2f}")

# %%
# Both methods are stable here, so stability does not tell you which one is right. Second, does
# K-means find the same clusters?
print(means_or_directions(model, X).verdict)

# %%
# The two methods disagree on one image in ten. Look at some of these images, with the label of each
# method. If you can tell which label is right, you know which method to use.
from subspaces.metrics import matched_labels

same_names = matched_labels(model.labels_, k_means.labels_)
differ = np.flatnonzero(same_names != model.labels_)
names = [np.bincount(digit[model.labels_ == k]).argmax() for k in range(5)]
figure, axes = plt.subplots(2, 6, figsize=(7, 2.8), layout="tight")
for ax, i in zip(axes.flat, differ[:: len(differ) // 12], strict=False):
    ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"PSC {names[model.labels_[i]]}\nK-means {names[same_names[i]]}", fontsize=8)
    ax.set_axis_off()

# %%
# How sure is each label?
# -----------------------
# ``probabilities_`` has the probability of each cluster for each image. Look at the images with the
# least sure labels:
sure = model.probabilities_.max(axis=1)
worst = np.argsort(sure)[:6]
figure, axes = plt.subplots(1, 6, figsize=(7, 1.6), layout="tight")
for ax, i in zip(axes, worst, strict=True):
    ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{names[model.labels_[i]]} with {sure[i]:.2f}", fontsize=8)
    ax.set_axis_off()

# %%
# **A reason to doubt.** The model assumes Gaussian noise, but pixels are not Gaussian, so the
# probabilities can be too high. ``label_confidence`` clusters two halves of the images. The more
# their labels disagree, the more it lowers the probabilities:
from subspaces.diagnostics import label_confidence

honest = label_confidence(model, X, random_state=0)
print(honest.verdict)
right = (np.array(names)[model.labels_] == digit).mean()
lowered = honest.shrink(model.probabilities_).max(axis=1).mean()
print(f"right {right:.3f}, mean probability {sure.mean():.3f}, lowered {lowered:.3f}")

# %%
# The mean probability was a little above the share of right labels, and is now a little below it.
#
# Let the model choose the number
# -------------------------------
# What if you did not know that there are five digits? Let the model choose the number of clusters
# too. Use every third image to save time:
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    chosen = PSC("auto", n_components="auto", affine="auto", random_state=0).fit(X[::3])
print(chosen.selection_["verdict"])
for each in caught:
    print("-", each.message)

# %%
# **Another reason to doubt.** The number is not 5, and the warning says why: the values of pixels
# are skewed. But look at the clusters before you call them wrong. A cross table shows which digits
# each cluster holds:
print(pd.crosstab(chosen.labels_, digit[::3], rownames=["cluster"], colnames=["digit"]))

# %%
# Almost every cluster holds one digit. But there are several ways to write a 1, and each way has
# its own cluster. The pixels do not show that they are the same digit. If you know the number, pass
# it.
#
# Label new images and save the model
# -----------------------------------
# A fitted model can label new samples. Fit one half of the images and predict the other:
half = PSC(5, n_components=9, random_state=0).fit(X[::2])
print(f"new images: {matched_accuracy(digit[1::2], half.predict(X[1::2])):.2f} right")

# %%
# Write a report and save the model. You can use both without the data:
from pathlib import Path
from tempfile import mkdtemp

folder = Path(mkdtemp())
model.report(X, folder / "digits.html", classes=digit)
model.save(folder / "digits.npz")
print(sorted(path.name for path in folder.iterdir()))

# %%
# What to remember
# ----------------
# - Use subspaces if the samples of each group vary in a few directions.
# - Check stability, and compare with K-means. Look at samples whose labels differ.
# - Probabilities assume that the clusters are right. Check them with ``label_confidence``.
# - The number of clusters can differ from yours and still be right. Look at what they contain.
