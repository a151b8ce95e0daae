"""How long a fit takes beside K-means: the default call, and random starts with the same cap.

    python benchmarks/speed.py [--quick | --real] [--data DIR]

Writes benchmarks/results/speed.md; with --quick the first three default calls are printed, with
--real the table of real and noisy data. DIR, or SUBSPACES_DATA, holds objects/post_digits.npz and
gene_expression/novartis.npz, which are left out without it (see benchmarks/real.py). One thread
each; process time, the models in turn, medians. Peak memory is what Python's own tracer sees
in one more fit, beyond X. K-means of scikit-learn-intelex and of faiss stand beside where they are
installed.
"""

import argparse
import os
import platform
import time
import tracemalloc
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from harness import drawn_digits, markdown, mean_and_error, save
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from threadpoolctl import threadpool_limits

from subspaces import PSC
from subspaces.datasets import load_penguins, make_subspaces
from subspaces.kernels import compiled
from subspaces.metrics import adjusted_rand_score

# N, P, K, R, and the ratio to KMeans(K, n_init=10) that is aimed at
DEFAULT_CALLS = [
    (100, 2000, 4, 2, 3),
    (250, 1000, 6, 3, 2),
    (500, 20_000, 5, 5, 0.3),
    (1000, 50, 5, 3, 3),
    (1000, 500, 8, 4, 2),
    (2000, 50, 10, 5, 3),
    (5000, 100, 10, 5, 0.7),
    (20_000, 50, 10, 5, 0.2),
    (100_000, 50, 10, 5, 0.05),
]
# Seeds of the starts for a table of real data, and for one of more numbers than MANY_NUMBERS.
SEEDS, FEWER_SEEDS, MANY_NUMBERS = 10, 3, 1 << 20
REPEATS, MOST_REPEATS = 3, 25
CAP = 50
# name, N, P, K, R, starts, noise energy over signal energy
REGIMES = [
    ("expression, clear", 38, 1000, 3, 2, 50, 0.1),
    ("expression, clear", 100, 1000, 4, 2, 50, 0.1),
    ("expression, clear", 250, 1000, 6, 3, 50, 0.1),
    ("expression, noisy", 38, 1000, 3, 2, 50, 1.0),
    ("expression, noisy", 100, 1000, 4, 2, 50, 1.0),
    ("expression, noisy", 250, 1000, 6, 3, 50, 1.0),
    ("wide", 500, 20_000, 5, 5, 20, 0.1),
]

COLUMNS = [
    *("regime", "size", "K", "R", "starts", "KMeans, ms", "influence, ms", "loo, ms"),
    *("influence / KMeans", "loo / KMeans", "sweeps", "MB: X / peak beyond X"),
]


def labelled_union(n, p, k, r, noise):
    sizes = [len(part) for part in np.array_split(np.arange(n), k)]
    spread = np.sqrt(noise * r / p)
    found = make_subspaces(sizes, p, [r] * k, noise=spread, scores="normal", random_state=0)
    return found.data, found.target


def union(n, p, k, r, noise):
    return labelled_union(n, p, k, r, noise)[0]


def in_turn(X, models, after=lambda model: None):
    """Seconds of each model's fit, medians; the machine's moods meet all alike.

    after: called with each model after every fit that is timed.
    """
    began = time.process_time()
    for model in models:
        model.fit(X)
    # Short fits more often: a moment of the machine is long to them.
    repeats = int(np.clip(3.0 / (time.process_time() - began), REPEATS, MOST_REPEATS))
    taken = np.empty((repeats, len(models)))
    for repeat in range(repeats):
        for j, model in enumerate(models):
            start = time.process_time()
            model.fit(X)
            taken[repeat, j] = time.process_time() - start
            after(model)
    return np.median(taken, axis=0)


def peak_megabytes(X, model):
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def ours(k, r, starts, criterion, seed=0):
    return PSC(
        k,
        n_components=r,
        init="random",
        n_init=starts,
        max_iter=CAP,
        criterion=criterion,
        random_state=seed,
    )


def lloyd(k, starts):
    return KMeans(k, init="random", n_init=starts, max_iter=CAP, tol=0, random_state=0)


def random_starts():
    rows = []
    for name, n, p, k, r, starts, noise in REGIMES:
        X = union(n, p, k, r, noise)
        models = [lloyd(k, starts), ours(k, r, starts, "influence"), ours(k, r, starts, "loo")]
        means, influence, loo = in_turn(X, models)
        sweeps = [models[0].n_iter_]
        sweeps += [sum(start["n_iter"] for start in model.starts_) / starts for model in models[1:]]
        rows.append(
            [name, f"{n} x {p}", k, r, starts, f"{1e3 * means:.0f}"]
            + [f"{1e3 * taken:.0f}" for taken in (influence, loo)]
            + [f"{taken / means:.2f}" for taken in (influence, loo)]
            + [" / ".join(f"{count:.1f}" for count in sweeps)]
            + [f"{X.nbytes / 1e6:.1f} / {peak_megabytes(X, models[2]):.1f}"]
        )
        print(*rows[-1], flush=True)
    return markdown(COLUMNS, rows)


class Faiss:
    """K-means of faiss with ten starts, as an estimator."""

    def __init__(self, n_clusters):
        self.n_clusters = n_clusters

    def fit(self, X):
        """Find the clusters of the rows of X, in single precision and one thread."""
        import faiss

        faiss.omp_set_num_threads(1)
        rows = np.ascontiguousarray(X, dtype=np.float32)
        model = faiss.Kmeans(X.shape[1], self.n_clusters, niter=300, nredo=10, seed=0)
        model.max_points_per_centroid = len(X)
        model.train(rows)


def other_k_means():
    """Name and maker of each K-means beside scikit-learn's that is installed."""
    found = {}
    if find_spec("sklearnex"):
        from sklearnex.cluster import KMeans as Intelex

        found["intelex"] = lambda k: Intelex(k, n_init=10, random_state=0)
    if find_spec("faiss"):
        found["faiss"] = Faiss
    return found


def note_starts(starts, model):
    """Append the number of starts of a fit of PSC to the list."""
    if isinstance(model, PSC):
        starts.append(len(model.starts_))


def spread_of(numbers):
    """The median and the range, as text."""
    return f"{np.median(numbers):g} ({min(numbers)} to {max(numbers)})"


def default_calls(calls):
    others = other_k_means()
    rows = []
    for n, p, k, r, goal in calls:
        X = union(n, p, k, r, 0.1)
        seeds = np.random.RandomState(0)  # another one for every fit
        models = [KMeans(k, n_init=10, random_state=seeds)]
        models += [PSC(k, n_components=r, random_state=seeds)]
        models += [make(k) for make in others.values()]
        starts = []
        means, taken, *rest = in_turn(X, models, partial(note_starts, starts))
        rows.append(
            [f"{n} x {p}", k, r, f"{1e3 * taken:.0f}", f"{1e3 * means:.0f}"]
            + [f"{1e3 * other:.0f}" for other in rest]
            + [f"{taken / means:.2f}", goal, spread_of(starts)]
        )
        print(*rows[-1], flush=True)
    names = [f"{name}, ms" for name in others]
    columns = ["size", "K", "R", "PSC, ms", "KMeans, ms", *names, "PSC / KMeans", "goal", "starts"]
    return (
        "The default call, `PSC(K, n_components=R).fit(X)`, beside `KMeans(K, n_init=10)`; starts: "
        "how many were made before three agreed, the median and the range over the fits:\n\n"
        + markdown(columns, rows)
    )


def scaled(found):
    """Complete rows, variables in units of their standard deviation, and the classes."""
    complete = ~np.isnan(found.data).any(axis=1)
    rows = found.data[complete]
    return (rows - rows.mean(axis=0)) / rows.std(axis=0), found.target[complete]


def real_tables(data):
    """Name, rows, classes, K, R, other parameters and the goal of each table."""
    digits = load_digits()
    found = [
        ("MNIST-like images", *drawn_digits(5000), 10, 9, {}, 3),
        ("MNIST-like images", *drawn_digits(2500), 10, 9, {}, 4),
        ("digits", digits.data, digits.target, 10, 9, {}, 3),
        ("union, noise 1", *labelled_union(1000, 50, 5, 3, 1.0), 5, 3, {}, 3),
        ("union, noise 2", *labelled_union(1000, 50, 5, 3, 2.0), 5, 3, {}, 3),
        ("union, noise 2", *labelled_union(20_000, 50, 10, 5, 2.0), 10, 5, {}, ""),
        ("wine, scaled", *scaled(load_wine()), 3, 2, {"affine": True}, ""),
        ("penguins, scaled", *scaled(load_penguins()), 3, 1, {"affine": True}, ""),
        ("iris", load_iris().data, load_iris().target, 3, 1, {"affine": True}, ""),
    ]
    for name, place, k, r in (
        ("post digits", "objects/post_digits.npz", 10, 9),
        ("expression", "gene_expression/novartis.npz", 4, 2),
    ):
        if data is not None:
            kept = np.load(Path(data, place))
            found.append((name, kept["X"].astype(float), kept["y"], k, r, {}, ""))
    return found


def real_data(data):
    """The default call on real and noisy data: time, and adjusted Rand index over seeds."""
    rows = []
    for name, X, classes, k, r, options, goal in real_tables(data):
        taken, agreed, ends = ([], []), ([], []), []
        for seed in range(FEWER_SEEDS if X.size > MANY_NUMBERS else SEEDS):
            models = (
                PSC(k, n_components=r, random_state=seed, **options),
                KMeans(k, n_init=10, random_state=seed),
            )
            for place, model in enumerate(models):
                start = time.process_time()
                model.fit(X)
                taken[place].append(time.process_time() - start)
                agreed[place].append(adjusted_rand_score(classes, model.labels_))
            ends.append((models[0].n_iter_, len(models[0].starts_)))
        ours, theirs = (np.median(each) for each in taken)
        sweeps, starts = np.transpose(ends)
        rows.append(
            [name, f"{X.shape[0]} x {X.shape[1]}", k, r, f"{1e3 * ours:.0f}"]
            + [f"{1e3 * theirs:.0f}", f"{ours / theirs:.1f}", goal]
            + [mean_and_error(each) for each in agreed]
            + [spread_of(sweeps), spread_of(starts)]
        )
        print(*rows[-1], sep=" | ", flush=True)
    columns = ["data", "size", "K", "R", "PSC, ms", "KMeans, ms", "PSC / KMeans", "goal"]
    columns += ["index of PSC", "of KMeans", "sweeps", "starts"]
    return (
        "Real and noisy data: `PSC(K, n_components=R).fit(X)` beside `KMeans(K, n_init=10)`, in "
        "turn with the same seeds; medians, and the adjusted Rand index with its standard error "
        f"over {SEEDS} seeds ({FEWER_SEEDS} for large tables). Wine, penguins and iris have "
        "`affine=True`. The images are made from scikit-learn's digits "
        "(`drawn_digits` in `benchmarks/harness.py`):"
        "\n\n" + markdown(columns, rows)
    )


def sparse_loadings():
    """Sparse PSC from random starts, where each cluster has twenty variables for each axis."""
    lines = []
    for noise in (0.1, 1.0):
        sizes = [len(part) for part in np.array_split(np.arange(250), 6)]
        given = {"noise": np.sqrt(noise * 2 / 1000), "scores": "normal", "n_variables": 20}
        X = make_subspaces(sizes, 1000, [2] * 6, random_state=0, **given).data
        sparse = ours(6, 2, 50, "auto").set_params(n_variables=20)
        means, taken = in_turn(X, [lloyd(6, 50), sparse])
        lines.append(f"noise {noise}: {1e3 * taken:.0f} ms, ratio {taken / means:.1f}")
        print(lines[-1], flush=True)
    return (
        "`PSC(6, n_components=2, n_variables=20)`, 50 random starts, 250 x 1000, beside `KMeans` "
        f"as above: {'; '.join(lines)}."
    )


def machine():
    """The processor's name and the number of cores; what ran on it, `save` adds."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if given.quick or given.real:
            print(real_data(given.data) if given.real else default_calls(DEFAULT_CALLS[:3]))
            return
        parts = [
            real_data(given.data),
            default_calls(DEFAULT_CALLS),
            random_starts(),
            sparse_loadings(),
        ]
    code = "plain code" if compiled("gram") is None else "compiled kernels"
    save(
        "speed",
        "# The time of a fit beside K-means\n\n"
        f"`python benchmarks/speed.py`: {code}, one thread, process time, medians of {REPEATS} "
        f"to {MOST_REPEATS} fits in turn, at most {CAP} sweeps, `tol=0`. Noise energy over signal "
        "energy: 0.1 (clear, wide), 1 (noisy). Sweeps: of K-means' best start, and the means over "
        "our starts.\n\n" + "\n\n".join([*parts, f"{machine()}."]),
    )


if __name__ == "__main__":
    main()
