"""Many images: the default call on 10,000 to 70,000 of them, beside K-means and beside a sample.

    python benchmarks/many_images.py [--rows 10000 30000 70000]

The images are made from scikit-learn's 1797 digits: each is one of them at 16 x 16 pixels, turned,
sheared, scaled and shifted at random, with noise, and of length 1. So a class is a curved set of
higher dimension than in the digits themselves, as with photographed numbers. Writes
benchmarks/results/many_images.md. BLAS is held to one thread; seconds are those of the processor.
"""

import argparse
import time
import warnings

import numpy as np
from harness import markdown, mean_and_error, save
from scipy.ndimage import affine_transform, zoom
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from subspaces import PSC
from subspaces.metrics import adjusted_rand_score, matched_accuracy

SIDE, N_CLASSES, DIMENSION = 16, 10, 9
SEEDS = 3
SAMPLE = 5000
METHODS = ("PSC", f"PSC on {SAMPLE}, the others predicted", "KMeans")


def images(n, seed):
    """Rows (n, 256) of length 1, and their digits."""
    digits, random = load_digits(), np.random.default_rng(seed)
    large = np.array([zoom(image, 2, order=1) for image in digits.images / 16.0])
    chosen = random.integers(len(large), size=n)
    rows = np.empty((n, SIDE * SIDE), dtype=np.float32)
    middle = np.full(2, (SIDE - 1) / 2)
    for row, image in zip(rows, large[chosen], strict=True):
        angle, shear = random.normal(scale=[0.12, 0.12])
        stretch = np.diag(random.normal(1.0, 0.07, size=2))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        warp = turn @ np.array([[1.0, shear], [0.0, 1.0]]) @ stretch
        shift = random.normal(scale=0.6, size=2)
        moved = affine_transform(image, warp, middle - warp @ middle + shift, order=1)
        row[:] = moved.ravel()
    rows += random.normal(scale=0.05, size=rows.shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), digits.target[chosen]


def labels_of(method, rows, seed):
    model = PSC(N_CLASSES, n_components=DIMENSION, random_state=seed)
    if method == "KMeans":
        return KMeans(N_CLASSES, n_init=10, random_state=seed).fit_predict(rows)
    if method == "PSC":
        return model.fit_predict(rows)
    chosen = np.random.default_rng(seed).choice(len(rows), SAMPLE, replace=False)
    return model.fit(rows[chosen]).predict(rows)


def judge(method, rows, truth, seed):
    """Error in %, adjusted Rand index, processor seconds."""
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = labels_of(method, rows, seed)
    seconds = time.process_time() - start
    error = 100 * (1 - matched_accuracy(truth, labels))
    return error, adjusted_rand_score(truth, labels), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 30_000, 70_000])
    given = parser.parse_args()
    table = []
    for n in given.rows:
        found = {method: [] for method in METHODS}
        for seed in range(SEEDS):
            rows, truth = images(n, seed)
            for method in METHODS:
                found[method].append(judge(method, rows, truth, seed))
                print(n, seed, method, *np.round(found[method][-1], 3), flush=True)
        for method in METHODS:
            errors, agreement, seconds = np.transpose(found[method])
            cells = mean_and_error(errors, digits=1), mean_and_error(agreement, digits=3)
            table.append([n, method, *cells, f"{seconds.mean():.1f}"])
    save(
        "many_images",
        "# Many images\n\n`python benchmarks/many_images.py`: deformed digits, 256 pixels, ten "
        f"clusters of nine dimensions; mean and its standard error over {SEEDS} seeds.\n\n"
        + markdown(["images", "method", "error, %", "adjusted Rand index", "seconds"], table),
    )


if __name__ == "__main__":
    main()
