"""How often outliers of a PCA are named: in clean tables, in crowds, and for the right reason.

    python benchmarks/pca_outliers.py [--tables 20]   # clean tables per row; a fifth for crowds
                                      [--jobs -1]

Writes benchmarks/results/pca_outliers.md. An interrupted run goes on where it stopped: remove
build/pca_outliers to begin anew.

Tables are Gaussian, n samples of p variables with R components of random directions and noise:
"equal" of variance 1, "unequal" of standard deviations spread log-evenly from 0.4 to 2.5,
"standardised" as unequal, each variable then divided by its standard deviation. Components have
variances of 8 down to 4 times the edge of noise of variance 1, ``(1 + sqrt(p/n))^2``.

Crowds: the first samples of a table with equal noise are moved together, off the components, by a
distance whose square is 20 standard deviations of Q. A reason: one cell of one sample is moved by
10 standard deviations of its variable. The package pca (erdogant) is compared
if it is installed. robpy's ROBPCA does not run with this scikit-learn.
"""

import argparse
import warnings

import numpy as np
from harness import markdown, run_cells, save
from scipy import stats
from threadpoolctl import threadpool_limits

from subspaces.diagnostics import pca_outliers

SIZES = [
    (15, 8, 2), (15, 60, 2), (20, 8, 2), (20, 200, 3), (30, 8, 2), (30, 20, 3), (30, 200, 3),
    (50, 20, 3), (50, 200, 3), (100, 8, 0), (100, 20, 3), (100, 200, 2), (200, 8, 3), (200, 60, 3),
]  # fmt: skip
NOISE = ("equal", "unequal", "standardised")
CROWDS = [(50, 20, 3), (100, 20, 3), (100, 60, 3), (60, 200, 3), (200, 10, 2)]
SHARES = (0.1, 0.2, 0.3)
LEVEL = 0.05
# Other tables than those that the size of the first half was chosen on.
FIRST_SEED = 90_000


def table(n, p, r, noise, seed):
    """A clean table and its axes (p, r)."""
    random = np.random.default_rng([FIRST_SEED + seed, n, p, r, NOISE.index(noise)])
    axes = np.linalg.qr(random.normal(size=(p, r)))[0] if r else np.zeros((p, 0))
    scores = random.normal(size=(n, r)) * np.sqrt(np.linspace(8, 4, r)) * (1 + np.sqrt(p / n))
    spread = 1.0 if noise == "equal" else random.permutation(np.geomspace(0.4, 2.5, p))
    X = scores @ axes.T + spread * random.normal(size=(n, p))
    return (X / X.std(axis=0, ddof=1) if noise == "standardised" else X) + 3.0, axes


def named(X, r, robust):
    """Which samples are named, (n,)."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pca_outliers(X, r, level=LEVEL, robust=robust).is_outlier


def clean(n, p, r, noise, seed):
    """How many samples of a clean table are named by the PCA of all, and robustly."""
    X, _ = table(n, p, r, noise, seed)
    return [int(named(X, r, robust).sum()) for robust in (False, True)]


def crowd(n, p, r, share, seed):
    """Shares of the crowd that are found, and of the others that are named, for each method."""
    X, axes = table(n, p, r, "equal", seed)
    random = np.random.default_rng([FIRST_SEED + seed, 1])
    away = random.normal(size=p)
    away -= axes @ (axes.T @ away)
    k = round(share * n)
    X[:k] += np.sqrt(20 * np.sqrt(2 * (p - r))) * away / np.linalg.norm(away)
    methods = {"plain": named(X, r, False), "robust": named(X, r, True), **rivals(X, r)}
    return {name: [float(out[:k].mean()), float(out[k:].mean())] for name, out in methods.items()}


def rivals(X, r):
    """Which samples the package pca names, if it is installed."""
    found = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from pca import pca
        except ImportError:
            pass
        else:
            model = pca(n_components=r, alpha=LEVEL, detect_outliers=["ht2", "spe"], verbose=0)
            outliers = model.fit_transform(X, verbose=0)["outliers"]
            found["pca"] = (outliers["y_bool"] | outliers["y_bool_spe"]).to_numpy()
    return found


def reason(n, p, r, seed):
    """Whether a sample with one moved cell is named, and that variable as the reason."""
    X, _ = table(n, p, r, "unequal", seed)
    random = np.random.default_rng([FIRST_SEED + seed, 2])
    i, j = int(random.integers(n)), int(random.integers(p))
    X[i, j] += 10 * X[:, j].std()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pca_outliers(X, r, level=LEVEL)
    return [
        bool(found.is_outlier[i]),
        int(np.abs(found.contributions(i)["q"]).to_numpy().argmax()) == j,
    ]


def lower_bound(count, total):
    """The exact one-sided 95 % lower bound of a share."""
    return float(stats.beta.ppf(0.05, count, total - count + 1)) if count else 0.0


def rates(counts):
    """Shares of tables with a named sample, with their lower bounds."""
    counts = np.array(counts)
    cells = []
    for k in (0, 1):
        tables = int(np.count_nonzero(counts[:, k]))
        cells += [f"{tables / len(counts):.3f}", f"{lower_bound(tables, len(counts)):.3f}"]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    seeds, few = range(options.tables), range(max(options.tables // 5, 4))
    keep, n_jobs = "pca_outliers", options.jobs
    rows = [(*size, noise) for size in SIZES for noise in NOISE]
    found = run_cells(clean, [(*row, s) for row in rows for s in seeds], n_jobs, f"{keep}/clean")
    first = markdown(
        ["n", "p", "R", "noise", "plain", "at least", "robust", "at least"],
        [[*row, *rates([found[*row, s] for s in seeds])] for row in rows],
    )
    rows = [(*size, share) for size in CROWDS for share in SHARES]
    crowds = run_cells(crowd, [(*row, s) for row in rows for s in few], n_jobs, f"{keep}/crowd")
    methods = list(crowds[*rows[0], 0])
    second = markdown(
        ["n", "p", "R", "crowd", *(f"{m}: {what}" for m in methods for what in ("found", "false"))],
        [
            [*row, *(f"{np.mean([crowds[*row, s][m][k] for s in few]):.3f}"
                     for m in methods for k in (0, 1))]
            for row in rows
        ],
    )  # fmt: skip
    reasons = run_cells(reason, [(*row, s) for row in CROWDS for s in seeds], n_jobs, f"{keep}/why")
    third = markdown(
        ["n", "p", "R", "named", "right variable"],
        [[*row, *(f"{x:.3f}" for x in np.mean([reasons[*row, s] for s in seeds], axis=0))]
         for row in CROWDS],
    )  # fmt: skip
    save(
        keep,
        f"# Outliers of a PCA\n\n`python benchmarks/pca_outliers.py --tables {options.tables}`\n\n"
        f"## Clean tables\nShare of {options.tables} tables per row in which some sample is named "
        f"at level {LEVEL}, and its exact lower bound of 95 %.\n\n{first}\n\n"
        f"## Crowds\nShares of the crowd that are found, and of the other samples that are named. "
        f"{len(few)} tables per row.\n\n{second}\n\n"
        f"## Reasons\nOne cell of one sample is wrong by 10 standard deviations of its variable. "
        f"Is the sample named, and is the variable its largest residual?\n\n{third}",
    )


if __name__ == "__main__":
    main()
