"""How long a fit of many rows takes beside K-means, and how the time of a sweep grows.

    python benchmarks/speed_many_rows.py

Writes benchmarks/results/speed_many_rows.md and docs/images/speed_many_rows.png. One thread each;
process time, the models in turn, medians. A sweep is the mean over a run of at most 30 from random
flats; K-means' iteration is what fits with more of them take longer. The
score GEMM is the product of all rows with all axes, in blocks. Peak memory is what Python's tracer
sees in one more fit, beyond X.
"""

import sys
import time
import tracemalloc
import warnings
from functools import partial
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from harness import ROOT, markdown, save
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.mixture import GaussianMixture
from speed import machine
from threadpoolctl import threadpool_limits

from subspaces import PSC
from subspaces.core.loop import alternate
from subspaces.data.blocks import ArrayBlocks
from subspaces.data.in_blocks import BlockProblem, RowsInBlocks, subspaces_of_sample
from subspaces.data.kinds import FEW_ROWS
from subspaces.kernels import compiled

CAP, REPEATS = 50, 3
CLEAR, NOISY = 0.1, 1.0
# name, N, P, K, R, precision
REGIMES = [
    ("tall", 100_000, 50, 10, 5, "float64"),
    ("tall", 100_000, 50, 10, 5, "float32"),
    ("tall", 1_000_000, 50, 10, 5, "float32"),
    ("single cell", 100_000, 2000, 15, 10, "float32"),
    ("many variables", 5000, 5000, 20, 10, "float64"),
    ("few clusters", 4000, 4500, 3, 3, "float64"),
]
GROWTH = {
    "rows": [(n, 50, 10) for n in (25_000, 50_000, 100_000, 200_000)],
    "variables": [(100_000, p, 10) for p in (25, 50, 100, 200)],
    "clusters": [(100_000, 50, k) for k in (5, 10, 20, 40)],
}


def union(n, p, k, r, noise, precision):
    """Rows of K random subspaces, noise energy over signal energy, without a copy in float64."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p), dtype=precision)
    X *= np.sqrt(noise * r / p)
    for part in np.array_split(np.arange(n), 10 * k):
        axes = np.linalg.qr(np.random.default_rng(part[0] * k // n).standard_normal((p, r)))[0]
        X[part] += (random.standard_normal((len(part), r)) @ axes.T).astype(precision)
    random.shuffle(X)
    return X


def seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def in_turn(calls, repeats=REPEATS):
    """Medians; the machine's moods meet all alike."""
    return np.median([[seconds(call) for call in calls] for _ in range(repeats)], axis=0)


def lloyd(k, cap=CAP):
    return KMeans(k, init="random", n_init=1, max_iter=cap, tol=0, random_state=0)


def ours(k, r, criterion):
    options = {"init": "random", "n_init": 1, "max_iter": CAP, "random_state": 0}
    return PSC(k, n_components=r, criterion=criterion, **options)


def sweep_time(X, k, r, criterion, most=30):
    """Seconds of a sweep, in the mean over a run from random flats."""
    random, ticks = np.random.default_rng(0), []
    options = {
        "max_iter": most,
        "random": random,
        "tell": lambda _: ticks.append(time.process_time()),
    }
    from_random_flats(X, k, r, criterion, **options)
    return np.mean(np.diff(ticks))


def from_random_flats(X, k, r, criterion, random, **options):
    """A run over many rows that begins with the flats of a sample's random labels."""
    sample = X[np.sort(random.choice(len(X), 3000, replace=False))].astype(float)
    energy, p = float(np.mean(sample**2)), X.shape[1]
    bulk = BlockProblem(ArrayBlocks(X, 1), (r,) * k, criterion, False, p, energy, lambda: sample)
    start = subspaces_of_sample(bulk, random.integers(k, size=len(sample)))
    return alternate(RowsInBlocks(bulk), start, random=random, **options)


def iteration_time(X, k):
    """Seconds of an iteration of K-means."""
    few, many = lloyd(k, 2), lloyd(k, 32)
    less, more = seconds(lambda: few.fit(X)), seconds(lambda: many.fit(X))
    return (more - less) / (many.n_iter_ - few.n_iter_)


def gemm_time(X, k, r):
    """Seconds of all rows times all axes."""
    axes = np.random.default_rng(0).standard_normal((X.shape[1], k * r)).astype(X.dtype)

    def multiply():
        for start in range(0, len(X), 4096):
            X[start : start + 4096] @ axes

    return seconds(multiply)


def peak_megabytes(X, model):
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def fits():
    rows = []
    for name, n, p, k, r, precision in REGIMES:
        X = union(n, p, k, r, CLEAR, precision)
        models = [lloyd(k), ours(k, r, "influence"), ours(k, r, "loo")]
        repeats = 1 if X.size > 100_000_000 or n <= FEW_ROWS else REPEATS
        means, influence, loo = in_turn([partial(model.fit, X) for model in models], repeats)
        peak = peak_megabytes(X, models[1])
        labels = [name, f"{n} x {p}", precision, k, r]
        times = [f"{1e3 * taken:.0f}" for taken in (means, influence, loo)]
        ratios = [f"{influence / means:.2f}", f"{loo / means:.2f}"]
        counts = " / ".join(str(model.n_iter_) for model in models)
        memory = f"{X.nbytes / 1e6:.0f} + {peak:.1f} ({100e6 * peak / X.nbytes:.0f} %)"
        rows.append([*labels, *times, *ratios, counts, memory])
        print(*rows[-1], flush=True, file=sys.stderr)
        del X
    columns = [
        *("regime", "size", "precision", "K", "R", "KMeans, ms", "influence, ms", "loo, ms"),
        *("influence / KMeans", "loo / KMeans", "sweeps", "MB: X + peak beyond"),
    ]
    return markdown(columns, rows)


def both_criteria(X, k, r):
    return [sweep_time(X, k, r, criterion) for criterion in ("influence", "loo")]


def sweep_row(noise, means, gemm, influence, loo):
    """Times of an iteration, the product, sweeps by two criteria; ratios."""
    times = [f"{1e3 * taken:.1f}" for taken in (means, gemm, influence, loo)]
    pairs = [(influence, means), (loo, means), (influence, gemm)]
    return [noise, *times, *(f"{mine / other:.2f}" for mine, other in pairs)]


def sweeps():
    rows = []
    in_passes = [regime for regime in REGIMES if regime[1] > FEW_ROWS]
    for (name, n, p, k, r, precision), noise in product(in_passes, (CLEAR, NOISY)):
        X = union(n, p, k, r, noise, precision)
        repeats = 1 if X.size > 100_000_000 else REPEATS
        found = [
            [iteration_time(X, k), gemm_time(X, k, r), *both_criteria(X, k, r)]
            for _ in range(repeats)
        ]
        means, gemm, *ours = np.median(found, axis=0)
        rows.append([name, f"{n} x {p}", precision, *sweep_row(noise, means, gemm, *ours)])
        print(*rows[-1], flush=True, file=sys.stderr)
        del X
    columns = [
        *("regime", "size", "precision", "noise", "KMeans' iteration, ms", "score GEMM, ms"),
        *("sweep: influence, ms", "loo, ms", "influence / KMeans", "loo / KMeans"),
        "influence / GEMM",
    ]
    return markdown(columns, rows)


def growth():
    """Times of a sweep and of an iteration along each size; R 5, float32."""
    found = {}
    for along, sizes in GROWTH.items():
        data = [(union(n, p, k, 5, NOISY, "float32"), k) for n, p, k in sizes]
        found[along] = [(sweep_time(X, k, 5, "influence"), iteration_time(X, k)) for X, k in data]
        print(along, found[along], flush=True, file=sys.stderr)
    return found


def varied(along):
    place = list(GROWTH).index(along)
    return np.array([size[place] for size in GROWTH[along]], dtype=float)


def exponents(found):
    rows = []
    for along, times in found.items():
        slopes = np.polyfit(np.log(varied(along)), np.log(np.array(times)), 1)[0]
        low, high = varied(along)[[0, -1]].astype(int)
        rows.append([along, f"{low} to {high}", *(f"{slope:.2f}" for slope in slopes)])
    return markdown(["along", "from", "PSC, a sweep", "KMeans, an iteration"], rows)


def figure(found):
    drawn, panels = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
    for panel, (along, times) in zip(panels, found.items(), strict=True):
        for j, (name, mark) in enumerate([("PSC, a sweep", "o"), ("KMeans, an iteration", "s")]):
            panel.loglog(varied(along), [1e3 * t[j] for t in times], marker=mark, label=name)
        panel.set_xlabel(along)
        names = [f"{value:g}" if value < 1e4 else f"{value / 1e3:g}k" for value in varied(along)]
        panel.set_xticks(varied(along), names)
        panel.minorticks_off()
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("milliseconds")
    panels[0].legend(frameon=False)
    drawn.suptitle("100,000 x 50, float32, 10 clusters of dimension 5, and what changes", size=10)
    drawn.savefig(ROOT / "docs" / "images" / "speed_many_rows.png", dpi=150)


def others():
    """Two more of scikit-learn's on the tall set, once."""
    X = union(100_000, 50, 10, 5, CLEAR, "float64")
    models = {
        "PSC": ours(10, 5, "influence"),
        "KMeans": lloyd(10),
        "MiniBatchKMeans": MiniBatchKMeans(10, init="random", n_init=1, random_state=0),
        "GaussianMixture": GaussianMixture(10, max_iter=CAP, init_params="random_from_data"),
    }
    rows = [[name, f"{seconds(lambda m=m: m.fit(X)):.2f}", m.n_iter_] for name, m in models.items()]
    return markdown(["100,000 x 50, float64", "seconds", "iterations"], rows)


def main():
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        tables = [fits(), sweeps(), others()]
        found = growth()
    figure(found)
    code = "plain code" if compiled("block_pass") is None else "compiled kernels"
    titles = ["A whole fit, clear structure", "A sweep", "Beside others", "Growth"]
    parts = zip(titles, [*tables, exponents(found)], strict=True)
    save(
        "speed_many_rows",
        "# Many rows: time and memory beside K-means\n\n"
        f"`python benchmarks/speed_many_rows.py`: {code}, one thread, process time, one random "
        f"start each, at most {CAP} sweeps, `tol=0`. Noise energy over signal energy: {CLEAR} in "
        f"fits. A sweep: the mean of a run of 30 at most, the median of {REPEATS} runs. Up to "
        f"{FEW_ROWS} rows are fitted from their inner products, and no pass sweeps them.\n\n"
        + "\n\n".join(f"## {title}\n{table}" for title, table in parts)
        + f"\n\n![Time of a sweep](../../docs/images/speed_many_rows.png)\n\n{machine()}.",
    )


if __name__ == "__main__":
    main()
