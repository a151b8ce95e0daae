"""Every method on real data: motion, faces, digits, objects.

    python benchmarks/real.py --data DIR [--sets motion faces2 ...] [--methods PSC SSC ...]

DIR, or SUBSPACES_DATA, holds the data sets, which are not part of this repository:

- motion/motion.npz: sequences of Hopkins 155 (Vision Lab, Johns Hopkins University), `names`, and
  per name `X__<name>`, points x 2F, and `y__<name>`, the motion of each point;
- faces/faces.npz: Extended Yale B (UC San Diego), 19 subjects, 48 x 42 pixels, `X` images x pixels
  and `y` subjects;
- objects/objects.npz: COIL-20 (Columbia University), ten objects, 32 x 32 pixels, `X` and `y`;
- objects/post_digits.npz: USPS (the zip codes of "The Elements of Statistical Learning"), 1500
  digits, 16 x 16 pixels, `X` and `y`.

All of it takes more than an hour on two cores; a run that was interrupted goes on where it stopped.
Writes benchmarks/results/real.md when nothing was left out. BLAS is held to one thread, and seconds
are those of the processor. The expression sets: benchmarks/expression.py.
"""

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from harness import markdown, run_cells, save
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from subspaces import PSC, RSIM, SSC
from subspaces.comparison import METHODS, Setting
from subspaces.metrics import adjusted_rand_score, matched_accuracy

DRAWS, SEEDS = 10, 3
# Sets that are drawn once: PSC runs on them with SEEDS seeds, its rivals with one.
DRAWN_ONCE = ("faces19", "digits", "objects", "post_digits")
SETS = ("motion", "faces2", "faces5", "faces10", *DRAWN_ONCE)
# Draws for the rivals; the slowest take half a minute a fit there.
FOR_RIVALS = {"faces10": 3}
# Methods that take more than three minutes a fit.
TOO_SLOW = {"faces19": ("MCtFA",), "objects": ("MCtFA",)}
OTHERS = {
    "PSC (affine, one dimension less)": lambda s: PSC(
        affine=True, **s.bare, n_components=s.dimensions[0] - 1
    ),
    "RSIM (affine, one dimension less)": lambda s: RSIM(
        affine=True, **s.bare, n_components=s.dimensions[0] - 1
    ),
    "SSC (ADMM, affine)": lambda s: SSC(affine=True, solver="admm", **s.own),
    "GaussianMixture": lambda s: make_pipeline(
        PCA(min(10, s.rank), random_state=s.random_state),
        GaussianMixture(s.n_clusters, reg_covar=1e-8, n_init=5, random_state=s.random_state),
    ),
    "SpectralClustering": lambda s: SpectralClustering(affinity="nearest_neighbors", **s.bare),
}
# What the authors of SSC use on each kind of data: orthogonal matching pursuit with five non-zeros
# on all pixels of faces [You et al. 2016], ADMM with affine flats on motion [Elhamifar & Vidal
# 2013]. None is known of for the digits and the objects.
PUBLISHED = {
    "motion": lambda s: SSC(affine=True, solver="admm", **s.own),
    "faces": lambda s: SSC(solver="omp", n_nonzero=5, **s.own),
}
AS_PUBLISHED = "SSC (as published)"
ALL_METHODS = METHODS | OTHERS | {AS_PUBLISHED: None}


def leading_coordinates(rows, n_axes):
    left, singular, _ = np.linalg.svd(rows, full_matrices=False)
    return left[:, :n_axes] * singular[:n_axes]


def sequences(folder):
    return np.load(Path(folder) / "motion" / "motion.npz")


def unit_images(path):
    """Images in rows, scaled to unit length, and their classes."""
    data = np.load(path)
    images = data["X"].astype(float)
    return images / np.linalg.norm(images, axis=1, keepdims=True), data["y"]


def published(name):
    """SSC as its authors use it on that kind of data; None where no setting is known."""
    return PUBLISHED.get(name.rstrip("0123456789"))


def load(folder, name, index, all_pixels=False):
    """Rows, classes and the dimension of the clusters."""
    if name == "motion":
        data = sequences(folder)
        sequence = data["names"][index % len(data["names"])]
        truth = data[f"y__{sequence}"]
        n_motions = len(np.unique(truth))
        return leading_coordinates(data[f"X__{sequence}"].astype(float), 4 * n_motions), truth, 4
    if name == "digits":
        digits = load_digits()
        return digits.data, digits.target, 9
    if name in ("objects", "post_digits"):
        images, classes = unit_images(Path(folder) / "objects" / f"{name}.npz")
        return leading_coordinates(images, 100), classes, 9
    n_subjects = int(name.removeprefix("faces"))
    images, subjects = unit_images(Path(folder) / "faces" / "faces.npz")
    chosen = np.random.default_rng(index).choice(np.unique(subjects), n_subjects, replace=False)
    member = np.isin(subjects, chosen)
    n_axes = None if all_pixels else 9 * n_subjects  # None: nothing is lost
    return leading_coordinates(images[member], n_axes), subjects[member], 9


def seed_of(folder, name, index):
    """The random state: all sequences of motion take turns with each; a draw of faces has 0."""
    if name == "motion":
        return index // len(sequences(folder)["names"])
    return index if name in DRAWN_ONCE else 0


def judge(folder, name, index, method):
    """Error in %, adjusted Rand index and seconds of one fit; a text where there is none."""
    rows, truth, dimension = load(folder, name, index, all_pixels=method == AS_PUBLISHED)
    n_clusters = len(np.unique(truth))
    seed = seed_of(folder, name, index)
    setting = Setting(n_clusters, [dimension] * n_clusters, False, seed, rows.shape[1])
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make = ALL_METHODS[method] or published(name)
            labels = make(setting).fit_predict(rows)
        except ValueError as error:
            return str(error)
    seconds = time.process_time() - start
    error = 100 * (1 - matched_accuracy(truth, labels))
    return error, adjusted_rand_score(truth, labels), seconds


def repeats(name, method, n_sequences):
    """How many fits: sequences, draws or seeds; 0 where the method is left out."""
    if method in TOO_SLOW.get(name, ()) or (method == AS_PUBLISHED and published(name) is None):
        return 0
    n_seeds = SEEDS if method.startswith("PSC") else 1
    if name == "motion":
        return n_sequences * n_seeds
    if name in DRAWN_ONCE:
        return n_seeds
    return DRAWS if method.startswith("PSC") else FOR_RIVALS.get(name, DRAWS)


def summary(outcomes):
    """Mean error, adjusted Rand index and seconds; or why there are none."""
    if not outcomes:
        return "-"
    refused = [outcome for outcome in outcomes if isinstance(outcome, str)]
    if refused:
        return f"refused {len(refused)} of {len(outcomes)}"
    errors, agreement, seconds = np.mean(outcomes, axis=0)
    return f"{errors:.2f} / {agreement:.2f} / {seconds:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--methods", nargs="+", default=list(ALL_METHODS), choices=ALL_METHODS)
    given = parser.parse_args()
    if not given.data:
        parser.error("--data DIR, or SUBSPACES_DATA, is needed")
    n_sequences = len(sequences(given.data)["names"])
    cells = [
        (name, index, method)
        for name in given.sets
        for method in given.methods
        for index in range(repeats(name, method, n_sequences))
    ]
    results = run_cells(partial(judge, given.data), cells, keep="real")
    rows = [
        [
            method,
            *[
                summary([value for cell, value in results.items() if cell[::2] == (name, method)])
                for name in given.sets
            ],
        ]
        for method in given.methods
    ]
    table = markdown(["method", *given.sets], rows)
    if len(given.sets) < len(SETS) or len(given.methods) < len(ALL_METHODS):
        print(table)
        return
    save(
        "real",
        "# Every method on real data\n\n`python benchmarks/real.py --data DIR`. Each cell: mean "
        "error in %, adjusted Rand index, processor seconds a fit.\n\n"
        f"Motion: {n_sequences} sequences, SVD to 4K coordinates, dimension 4, {SEEDS} seeds. "
        "Faces of 2, 5 and 10 subjects: unit length, SVD to 9K coordinates, dimension 9, "
        f"{DRAWS} draws of the subjects; all 19 subjects: {SEEDS} seeds. Digits: 64 pixels, "
        f"dimension 9, {SEEDS} seeds. Objects (ten, 72 views each) and digits of the postal "
        f"service (1500): unit length, SVD to 100 coordinates, dimension 9, {SEEDS} seeds. Methods "
        f"other than PSC: {FOR_RIVALS['faces10']} draws of ten subjects, 1 seed. The "
        "methods of this library have their defaults (SSC: by elastic net), given the number of "
        "clusters and the dimension (MCFA and MCtFA: the sum of the dimensions), but RSIM, SCC and "
        "SLBF, whose default is affine flats, seek linear ones unless the row says affine. KMeans "
        "has ten starts, GaussianMixture ten coordinates and five starts, SpectralClustering a "
        "graph of nearest neighbours. Nothing is told by the labels, but the constants of PSC's "
        "default were chosen on these very collections (docs/derivations/starts.md): expect a "
        "little more error elsewhere. The authors of RSIM use affine flats, those of SCC and SLBF "
        "on motion, too, of dimension 3. SSC as published: by ADMM with affine flats on motion, by "
        "orthogonal matching pursuit with five non-zeros on all pixels of faces. A dash: no such "
        "setting is known, or a fit takes more than three minutes.\n\n" + table,
    )


if __name__ == "__main__":
    main()
