"""How often the intervals of loadings hold the true loading; and the time they take.

    python benchmarks/pca_intervals.py [--tables 20]    # tables per row
                                       [--resamples 99] # of the bootstrap beside it
                                       [--jobs -1]

Writes benchmarks/results/pca_intervals.md. An interrupted run goes on where it stopped: remove
build/pca_intervals to begin anew.

Tables are Gaussian, n samples of p variables with the covariance ``Q diag(s) Q' + I``: three
components of random directions, whose variances s are given per variable. "t5" has scores from a t
distribution with 5 degrees, "near" variances in the ratio 1.15, "equal" in the ratio 1.02. "scaled"
divides variables by their standard deviations, and the truth is that of the correlation matrix.
"varimax" has groups of variables, rotates, and has the true rotated axes as its truth.

Three intervals at 95 %: the exact jackknife with t quantiles; the bootstrap's standard error with
the same quantiles; and Anderson's asymptotic standard error for Gaussian data, ``v_r`` having the
covariance ``l_r/n sum_s l_s/(l_r - l_s)^2 v_s v_s'`` [Anderson 1963].
"""

import argparse
import time
import tracemalloc

import numpy as np
from harness import markdown, run_cells, save
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import PCA as SklearnPCA
from threadpoolctl import threadpool_limits

from subspaces.pca.intervals import jackknife, t_intervals
from subspaces.pca.rotation import rotated, varimax
from subspaces.subspace import principal_axes

SIZES = [(30, 8), (50, 10), (100, 10), (300, 10), (100, 60), (60, 200), (300, 200)]
# Variances of the components, per variable, beside noise of variance 1.
PLAIN, NEAR, EQUAL = (1.0, 0.5, 0.25), (0.575, 0.5, 0.25), (0.51, 0.5, 0.25)
KINDS = {
    "Gaussian": PLAIN, "t5": PLAIN, "scaled": PLAIN, "varimax": PLAIN, "near": NEAR, "equal": EQUAL
}  # fmt: skip
FIRST_SEED = 53_000


def table(kind, n, p, seed):
    """A table and the true axes (p, 3)."""
    random = np.random.default_rng([FIRST_SEED + seed, n, p, list(KINDS).index(kind)])
    variances = p * np.array(KINDS[kind])
    if kind == "varimax":
        groups = np.eye(3)[np.arange(p) % 3] * random.uniform(0.5, 1.5, (p, 1))
        turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
        axes = np.linalg.qr(groups + 0.1 * random.normal(size=(p, 3)))[0] @ turn
    else:
        axes = np.linalg.qr(random.normal(size=(p, 3)))[0]
    scores = random.normal(size=(n, 3))
    if kind == "t5":
        scores = random.standard_t(5, size=(n, 3)) / np.sqrt(5.0 / 3.0)
    X = (scores * np.sqrt(variances)) @ axes.T + random.normal(size=(n, p))
    if kind == "scaled":
        covariance = (axes * variances) @ axes.T + np.eye(p)
        spread = np.sqrt(np.diag(covariance))
        axes = np.linalg.eigh(covariance / np.outer(spread, spread))[1][:, :-4:-1]
        X = X / X.std(axis=0, ddof=1)
    return X, axes @ varimax(axes) if kind == "varimax" else axes


def aligned(axes, reference, reorder):
    """Axes (p, R) with the signs, and if they were rotated the order, of the reference."""
    if reorder:
        axes = axes[:, linear_sum_assignment(-np.abs(reference.T @ axes))[1]]
    return axes * np.sign(np.sum(axes * reference, axis=0))


def first_axes(X, rotate):
    """The first three axes of a table, all of them, and how they were rotated."""
    axes = principal_axes(X - X.mean(axis=0))
    first = axes.basis[:, :3]
    turn = rotated(first, axes.eigenvalues[:3]) if rotate else None
    return (first if turn is None else first @ turn), axes, turn


def bootstrap(X, loadings, resamples, rotate, random):
    """Standard errors (p, 3) from resampled tables."""
    found = []
    for _ in range(resamples):
        new = first_axes(X[random.integers(len(X), size=len(X))], rotate)[0]
        found.append(aligned(new, loadings, rotate))
    return np.std(found, axis=0, ddof=1)


def asymptotic(axes, n):
    """Anderson's standard errors (p, 3), all eigenvalues as they were found."""
    values, errors = axes.eigenvalues / (n - 1), []
    for r in range(3):
        others = np.arange(len(values)) != r
        weights = values[r] * values[others] / (values[r] - values[others]) ** 2 / n
        errors.append(np.sqrt(axes.basis[:, others] ** 2 @ weights))
    return np.array(errors).T


def covered(kind, n, p, resamples, seed):
    """Share of the loadings of each component that intervals hold; which components are mixed."""
    X, truth = table(kind, n, p, seed)
    rotate = kind == "varimax"
    with threadpool_limits(1):
        loadings, axes, turn = first_axes(X, rotate)
        errors = jackknife(axes, 3, rotation=turn)
        truth = aligned(truth, loadings, rotate)
        ways = [errors.loadings]
        random = np.random.default_rng(seed)
        ways.append(bootstrap(X, loadings, resamples, rotate, random) if resamples else None)
        ways.append(None if rotate else asymptotic(axes, n))
    held = []
    for error in ways:
        if error is None:
            held.append(None)
            continue
        low, high, _ = t_intervals(loadings, error, n - 1, 0.95)
        held.append(np.mean((low <= truth) & (truth <= high), axis=0).tolist())
    return held, errors.mixed.tolist()


def row(kind, n, p, results):
    """One line of the table: coverage by three ways, and by the flag."""
    held, mixed = zip(*results, strict=True)
    mixed, own = np.array(mixed), np.array([each[0] for each in held])
    cells = [kind, f"{n} x {p}", " ".join(f"{100 * c:.0f}" for c in own.mean(axis=0))]
    for way in (1, 2):
        known = [each[way] for each in held if each[way] is not None]
        cells.append(" ".join(f"{100 * c:.0f}" for c in np.mean(known, axis=0)) if known else "-")
    cells.append(" ".join(f"{100 * share:.0f}" for share in mixed.mean(axis=0)))
    for chosen in (~mixed, mixed):
        cells.append(f"{100 * own[chosen].mean():.0f}" if chosen.any() else "-")
    return cells


def times():
    """Seconds of scikit-learn's whole PCA and of the intervals, and memory beyond X, in X."""
    from subspaces import PCA

    rows = []
    for n, p in ((200, 50), (2000, 200), (200, 20_000)):
        random = np.random.default_rng(0)
        X = random.normal(size=(n, p)) + 2.0 * random.normal(size=(n, 3)) @ random.normal(
            size=(3, p)
        )
        calls = {
            "full": lambda X=X: SklearnPCA(svd_solver="full").fit(X),
            "auto": lambda X=X: PCA().fit(X),
            "intervals": lambda X=X: PCA().fit(X).loadings(),
        }
        with threadpool_limits(1):
            took = {name: min(_seconds(call) for _ in range(5)) for name, call in calls.items()}
            tracemalloc.start()
            calls["intervals"]()
            peak = tracemalloc.get_traced_memory()[1] / X.nbytes
            tracemalloc.stop()
        rows.append([f"{n} x {p}", *(f"{1000 * took[name]:.0f}" for name in calls), f"{peak:.1f}"])
    return rows


def _seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--resamples", type=int, default=99)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    rows = [(kind, n, p) for kind in KINDS for n, p in SIZES]
    seeds = range(options.tables)
    cells = [(*size, options.resamples, seed) for size in rows for seed in seeds]
    results = run_cells(covered, cells, n_jobs=options.jobs, keep="pca_intervals")
    coverage = markdown(
        [
            "table", "size", "jackknife", "bootstrap", "asymptotic", "mixed, %",
            "jackknife, not mixed", "jackknife, mixed",
        ],
        [
            row(kind, n, p, [results[kind, n, p, options.resamples, s] for s in seeds])
            for kind, n, p in rows
        ],
    )  # fmt: skip
    speed = markdown(
        ["size", "scikit-learn, full", 'PCA("auto")', "with intervals", "memory, in X"], times()
    )
    save(
        "pca_intervals",
        "# Intervals of loadings\n\n"
        f"`python benchmarks/pca_intervals.py --tables {options.tables} "
        f"--resamples {options.resamples}`\n\n"
        f"How often, in %, a 95 % interval holds the true loading, for components 1, 2 and 3. "
        f"{options.tables} tables per row. A component is mixed if the gap to a neighbouring "
        "eigenvalue is within two standard errors of 0. The last two columns pool the "
        f"components.\n\n{coverage}\n\n"
        "Milliseconds on one core, the best of five, and the largest memory in use beyond X "
        f"with intervals, as a multiple of X.\n\n{speed}",
    )


if __name__ == "__main__":
    main()
