"""How often `PSC("auto", affine=True)` finds the number of clusters, and that noise is one.

    python benchmarks/automatic_clusters.py [--sets 60] [--noise-sets 40]

Writes benchmarks/results/automatic_clusters.md. Each set draws K from 1 to 4, the dimension from 0
to 2, 80 to 300 samples in unequal clusters, 10 to 60 variables, centres, and then the noise at
which a model that knows centres, axes, variances and sizes labels a share between .91 and .97 of
fresh samples right. A model that has to learn them labels fewer: the page counts apart the sets in
which the model fitted to the true partition labels 90 % right of its samples, each left out. Pure
noise is independent Gaussian of the same shapes.
"""

import argparse
import warnings

import numpy as np
from harness import markdown, run_cells, save

from subspaces import PSC
from subspaces.core.criteria import costs
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows
from subspaces.metrics import adjusted_rand_score

FRESH, HALVINGS = 4000, 30
QUIETEST, LOUDEST = 1e-2, 1e2


def shape(random):
    """Number of clusters, dimension, samples, variables."""
    return [int(random.integers(*bounds)) for bounds in ((1, 5), (0, 3), (80, 301), (10, 61))]


def draw_clusters(random, n_clusters, dimension, n_features):
    """Shares, centres, axes and the standard deviations of the scores of each cluster."""
    shares = random.uniform(1.0, 2.5, n_clusters)
    directions = random.normal(size=(n_clusters, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    centres = random.uniform(3.0, 6.0, (n_clusters, 1)) * directions
    shape = (n_clusters, n_features, dimension)
    axes = np.linalg.qr(random.normal(size=shape))[0] if dimension else np.zeros(shape)
    return shares / shares.sum(), centres, axes, random.uniform(2.0, 4.0, (n_clusters, dimension))


def sample(random, labels, clusters, noise):
    """Rows with these labels."""
    _, centres, axes, spreads = clusters
    scores = random.normal(size=(len(labels), spreads.shape[1])) * spreads[labels]
    along = np.einsum("npr,nr->np", axes[labels], scores)
    return centres[labels] + along + noise * random.normal(size=along.shape)


def oracle_accuracy(clusters, noise, seed):
    """Share of fresh rows that the true Gaussians and sizes label right."""
    shares, centres, axes, spreads = clusters
    random = np.random.default_rng(seed)
    labels = random.choice(len(shares), FRESH, p=shares)
    rows = sample(random, labels, clusters, noise)
    costs = []
    for share, centre, basis, spread in zip(shares, centres, axes, spreads, strict=True):
        scores = (rows - centre) @ basis
        variances = spread**2 + noise**2
        outside = np.sum((rows - centre) ** 2, axis=1) - np.sum(scores**2, axis=1)
        distance = outside / noise**2 + np.sum(scores**2 / variances, axis=1)
        scale = np.sum(np.log(variances)) - 2 * len(variances) * np.log(noise)
        costs.append(0.5 * (distance + scale) - np.log(share))
    return float(np.mean(np.argmin(costs, axis=0) == labels))


def calibrated_noise(random, clusters, seed):
    """The noise at which the true model labels a share between .91 and .97 right."""
    if len(clusters[0]) == 1:
        return float(random.uniform(0.3, 1.0))
    target, low, high = random.uniform(0.91, 0.97), np.log(QUIETEST), np.log(LOUDEST)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if oracle_accuracy(clusters, np.exp(middle), seed) > target:
            low = middle
        else:
            high = middle
    return float(np.exp(low))


def affine_union(seed):
    """Rows, labels, K and the dimension of one set."""
    random = np.random.default_rng([seed, 2026])
    n_clusters, dimension, n_samples, n_features = shape(random)
    clusters = draw_clusters(random, n_clusters, dimension, n_features)
    noise = calibrated_noise(random, clusters, seed)
    labels = np.sort(random.choice(n_clusters, n_samples, p=clusters[0]))
    return sample(random, labels, clusters, noise), labels, n_clusters, dimension


def learned_accuracy(rows, labels, n_clusters, dimension):
    """Share of the samples that a model fitted to the true partition labels right, left out."""
    dimensions = (dimension,) * n_clusters
    problem = Problem(DenseRows(rows - rows.mean(axis=0)), dimensions, "likelihood", True)
    cost = costs("likelihood", view_clusters(problem, labels), problem.data)
    return float(np.mean(np.argmin(cost, axis=1) == labels))


def chosen(seed):
    """K, its choice, the dimension, the agreement if K is given, what could be learned, shape."""
    rows, labels, n_clusters, dimension = affine_union(seed)
    model = PSC("auto", n_components=dimension, affine=True, random_state=seed)
    given = PSC(n_clusters, n_components=dimension, affine=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(rows).n_clusters_
        agreement = adjusted_rand_score(labels, given.fit(rows).labels_)
    learned = learned_accuracy(rows, labels, n_clusters, dimension)
    return n_clusters, int(found), dimension, float(agreement), learned, *rows.shape


def chosen_in_noise(seed):
    """The number of clusters chosen in Gaussian noise."""
    random = np.random.default_rng([seed, 1])
    _, dimension, n_samples, n_features = shape(random)
    model = PSC("auto", n_components=dimension, affine=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return int(model.fit(random.normal(size=(n_samples, n_features))).n_clusters_)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument("--noise-sets", type=int, default=40)
    given = parser.parse_args()
    sets = list(run_cells(chosen, [(seed,) for seed in range(given.sets)]).values())
    noise = list(run_cells(chosen_in_noise, [(s,) for s in range(given.noise_sets)]).values())
    wrong = [
        [seed, *cell[:3], *cell[5:], f"{cell[3]:.2f}", f"{cell[4]:.2f}"]
        for seed, cell in enumerate(sets)
        if cell[0] != cell[1]
    ]
    learnable = [cell for cell in sets if cell[4] >= 0.9]
    columns = (1, 2, 3, 4, None)
    rows = [
        ["all" if r is None else r, *[_counted(sets, k, r) for k in columns]]
        for r in (0, 1, 2, None)
    ]
    save(
        "automatic_clusters",
        f"# The number of clusters with affine=True, {len(sets)} sets\n\n"
        "`python benchmarks/automatic_clusters.py`. The dimension is given, K is left to PSC\n"
        "(1 to 10). How often it is right, by the true K:\n\n"
        + markdown(["dimension", "K = 1", "2", "3", "4", "all"], rows)
        + "\n\nWhere the model fitted to the true partition labels at least 90 % of its samples\n"
        + f"right, each left out: {_counted(learnable, None, None)}.\n"
        + f"Gaussian noise: one cluster in {noise.count(1)} of {len(noise)}.\n\n"
        + "Where it is wrong, the adjusted Rand index that the right K would have, and the share\n"
        + "that the model fitted to the true partition labels right:\n\n"
        + markdown(
            ["set", "K", "chosen", "dimension", "samples", "variables", "ARI", "learned"], wrong
        ),
    )


def _counted(sets, n_clusters, dimension):
    cells = [c for c in sets if n_clusters in (None, c[0]) and dimension in (None, c[2])]
    return f"{sum(c[0] == c[1] for c in cells)} of {len(cells)}"


if __name__ == "__main__":
    main()
