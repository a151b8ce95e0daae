"""Samples with weights: equal to repeated samples, to refits, and to no weights; peak memory.

    python benchmarks/weights.py [--fits 50] [--rows 100000]

Writes benchmarks/results/weights.md. Every fit begins at the same labels, a fifth of them wrong, so
that both fits take the same way. A weight is a whole number from 0 to 3. The memory of a fit is
measured in a process of its own, beyond what X and the weights take.
"""

import argparse
import warnings
from multiprocessing import get_context

import numpy as np
from big_data import watched
from harness import markdown, save

from subspaces import PSC
from subspaces.core.leave_one_out import left_out
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import pca_influence, pca_press

CRITERIA = ("auto", "influence", "loo", "hat", "likelihood")


def posed(seed):
    """Rows near subspaces, first labels, weights, and the parameters of a fit."""
    random = np.random.default_rng(seed)
    k, affine = int(random.integers(2, 5)), bool(random.integers(2))
    dimensions = random.integers(1, 4, size=k).tolist()
    p, noise = int(random.integers(5, 40)), float(random.uniform(0.05, 0.3))
    made = make_subspaces([30] * k, p, dimensions, noise=noise, random_state=seed)
    wrong = random.integers(k, size=30 * k)
    first = np.where(random.random(30 * k) < 0.8, made.target, wrong)
    weights = random.integers(0, 4, size=30 * k).astype(float)
    criterion = CRITERIA[seed % len(CRITERIA)]
    model = {"n_components": dimensions, "affine": affine, "criterion": criterion}
    return made.data + 2.0 * affine, first, weights, {"n_clusters": k, **model}


def relative(found, expected):
    """The largest relative difference."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    differ = np.abs(found - expected) / np.maximum(np.abs(expected), np.finfo(float).tiny)
    return float(np.max(np.where(found == expected, 0.0, differ)))


def against_repeated(seed):
    """Differences of a fit with weights from one to repeated rows, and of the labels."""
    X, first, weights, model = posed(seed)
    again = np.repeat(np.arange(len(X)), weights.astype(int))
    weighted = PSC(**model, init=first, random_state=0).fit(X, sample_weight=weights)
    repeated = PSC(**model, init=first[again], random_state=0).fit(X[again])
    center, r = model["affine"], max(model["n_components"])
    press, drives = (
        of(X, r, center=center, sample_weight=weights) for of in (pca_press, pca_influence)
    )
    expected, driven = (of(X[again], r, center=center) for of in (pca_press, pca_influence))
    return {
        "labels": float(np.mean(weighted.labels_[again] != repeated.labels_)),
        "objective": relative(weighted.objective_, repeated.objective_),
        "PRESS": relative(weighted.press_, repeated.press_),
        "influence": relative(weighted.influence_[again], repeated.influence_),
        "probabilities": float(
            np.abs(weighted.probabilities_[again] - repeated.probabilities_).max()
        ),
        "PRESS of one PCA": relative(press.press, expected.press),
        "influence on one PCA": relative(drives.influence[again], driven.influence),
    }


def against_refits(seed):
    """The largest relative difference of left-out errors from refits, of weights of all sizes."""
    X, _, _, model = posed(seed)
    X, affine, r = X[:30], model["affine"], max(model["n_components"])
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, size=30)
    found, refitted = left_out(X, r, affine=affine, weights=weights).squared_error, []
    for i in range(30):
        left = weights.copy()
        left[i] -= min(left[i], 1.0)
        mean = np.average(X, axis=0, weights=left) if affine else np.zeros(X.shape[1])
        axes = np.linalg.svd(np.sqrt(left)[:, None] * (X - mean))[2][:r]
        rest = (X[i] - mean) - (X[i] - mean) @ axes.T @ axes
        refitted.append(rest @ rest)
    return relative(found, refitted)


def is_as_without(seed):
    """Whether weights of one change no bit of labels, objective, PRESS and influence."""
    X, first, _, model = posed(seed)
    plain, ones = (
        PSC(**model, init=first, random_state=0).fit(X, sample_weight=weights)
        for weights in (None, np.ones(len(X)))
    )
    names = ("labels_", "objective_", "press_", "influence_", "probabilities_")
    return all(
        np.asarray(getattr(plain, name)).tobytes() == np.asarray(getattr(ones, name)).tobytes()
        for name in names
    )


def memory(n_rows, kind):
    """Seconds are not measured: peak bytes beyond X, and bytes of X."""
    warnings.simplefilter("ignore")
    X = make_subspaces([n_rows // 4] * 4, 50, [3] * 4, noise=0.2, random_state=0).data
    weights = np.random.default_rng(0).uniform(0.5, 3.0, size=len(X))
    weights[::10] = 0.0
    if kind == "fit without weights":
        weights = None
    model = PSC(4, n_components=3, random_state=0)
    with watched() as peaks:
        model.fit(X, sample_weight=weights)
    return peaks[-1], X.nbytes


def page(n_fits, n_rows):
    """The page in Markdown."""
    warnings.simplefilter("ignore")
    found = [against_repeated(seed) for seed in range(n_fits)]
    table = [[name, f"{max(each[name] for each in found):.1e}"] for name in found[0]]
    refits = max(against_refits(seed) for seed in range(n_fits))
    same = sum(is_as_without(seed) for seed in range(n_fits))
    kinds = ("fit without weights", "fit with weights")
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        peaks = pool.starmap(memory, [(n_rows, kind) for kind in kinds], chunksize=1)
    rows = [
        [kind, f"{peak / 2**20:.0f}", f"{peak / held:.2f}"]
        for kind, (peak, held) in zip(kinds, peaks, strict=True)
    ]
    return f"""# Samples with weights

`python benchmarks/weights.py --fits {n_fits} --rows {n_rows}`

{n_fits} random fits with whole weights from 0 to 3, compared with fits of repeated samples from the
same first labels. The table has the largest relative difference over all fits. For labels it is the
largest share that differs, and for probabilities the largest difference.

{markdown(["measure", "largest difference"], table)}

Left-out errors of samples with weights from 0.1 to 3 differ from those of refits by {refits:.1e} at
most, relative to the refit.

Weights of one change no bit of labels, objective, PRESS, influence and probabilities in {same} of
{n_fits} fits.

Peak memory beyond X and the weights, for {n_rows:,} samples of 50 variables in 4 clusters of 3
dimensions. A tenth of the weights is 0.

{markdown(["what", "MiB", "share of X"], rows)}"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=50)
    parser.add_argument("--rows", type=int, default=100_000)
    asked = parser.parse_args()
    save("weights", page(asked.fits, asked.rows))
