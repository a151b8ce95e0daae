"""How long a fit of many rows takes on a GPU, beside Lloyd's K-means in the same array library.

    SCIPY_ARRAY_API=1 python benchmarks/gpu.py [--quick | --brief]

Writes benchmarks/results/gpu.md, with --quick to the terminal alone. With --brief it prints, for
each size, the time of one start and of the default call, how many kernels each launches, how often
it copies and waits, and what takes longest on the host, in a few minutes. Float32 data made on the
device; one start (of PSC: in the manner
of k-means++ on a sample of the rows, then all rows; of K-means: random labels), at most 50 sweeps;
both loops stop when no label moves. The time is the median over the seeds of the start, each after
a fit to warm up; sweeps and what is right are of the median fit. The two floors of a fit are the
operations of its sweeps over all rows at the measured rate of a large float32 matrix product, and
their bytes at the measured rate of a copy.
"""

import argparse
import cProfile
import pstats
import statistics
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from harness import markdown, save
from sklearn import config_context

from subspaces import PSC

SIZES = [
    (1_000_000, 50, 10, 5, 20),
    (20_000_000, 50, 10, 5, 100),
    (100_000, 2000, 15, 10, 40),
    (1_000_000, 2000, 15, 10, 150),
]
QUICK = [(200_000, 50, 10, 5, 20), (20_000, 2000, 15, 10, 40)]
# Functions that --brief shows, those that take longest themselves.
MOST_SHOWN = 8
NOISE, CAP, REPEATS, SEEDS, CHUNK = 0.1, 50, 3, 5, 1 << 18
COLUMNS = [
    *("size", "K", "R", "PSC, ms", "all seeds", "goal", "sweeps", "CuPy, ms", "default, ms"),
    *("starts", "flash-kmeans, ms", "K-means, ms", "sweeps"),
    *("PSC / K-means", "floor: operations, ms", "bytes, ms", "PSC / larger floor"),
    *("peak memory / X", "right"),
]


def union(torch, n, p, k, r, seed=0):
    """Rows near K subspaces through the origin, and which is near which."""
    random = torch.Generator("cuda").manual_seed(seed)
    bases = torch.linalg.qr(torch.randn(k, p, r, device="cuda", generator=random))[0]
    target = torch.randint(k, (n,), device="cuda", generator=random, dtype=torch.int32)
    X = torch.empty(n, p, device="cuda")
    for start in range(0, n, CHUNK):
        part = slice(start, min(start + CHUNK, n))
        scores = torch.randn(part.stop - start, r, device="cuda", generator=random)
        axes = bases[target[part].long()]
        X[part] = torch.einsum("ir,ipr->ip", scores, axes)
        X[part] += (NOISE * r / p) ** 0.5 * torch.randn(
            part.stop - start, p, device="cuda", generator=random
        )
    return X, target


def lloyd(torch, X, labels, k):
    """K-means from labels: sums by one product with the memberships, distances by another."""
    clusters = torch.arange(k, device="cuda")
    sweeps = 0
    while sweeps < CAP:
        sweeps += 1
        sums, sizes = torch.zeros(k, X.shape[1], device="cuda"), torch.zeros(k, device="cuda")
        for start in range(0, len(X), CHUNK):
            part = slice(start, start + CHUNK)
            member = (labels[part, None] == clusters).float()
            sums += member.T @ X[part]
            sizes += member.sum(0)
        centres = sums / sizes.clamp(min=1)[:, None]
        lengths = (centres**2).sum(1)
        new = torch.empty_like(labels)
        for start in range(0, len(X), CHUNK):
            part = slice(start, start + CHUNK)
            new[part] = (lengths - 2 * (X[part] @ centres.T)).argmin(1).to(labels.dtype)
        if torch.equal(new, labels):
            break
        labels = new
    return labels, sweeps


def timed(torch, action):
    """Milliseconds, the median of the repeats after one to warm up, and the last result."""
    action()
    taken = []
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        result = action()
        torch.cuda.synchronize()
        taken.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(taken), result


def rates(torch):
    """Operations a second of a float32 product, bytes a second of a copy."""
    a = torch.randn(8192, 8192, device="cuda")
    product, _ = timed(torch, lambda: a @ a)
    b = torch.empty(1 << 29, device="cuda")
    c = torch.empty_like(b)
    copy, _ = timed(torch, lambda: c.copy_(b))
    return 2 * 8192**3 / product * 1e3, 2 * b.nbytes / copy * 1e3


def row(torch, size, speed, bandwidth):
    n, p, k, r, goal = size
    X, target = union(torch, n, p, k, r)
    start = torch.randint(k, (n,), device="cuda", dtype=torch.int32)
    model = PSC(k, n_components=r, criterion="influence", init="k-means++", n_init=1, max_iter=CAP)
    taken = {}
    for seed in range(SEEDS):
        model.set_params(random_state=seed)
        taken[seed], _ = timed(torch, lambda: model.fit(X))
    middle = sorted(taken, key=taken.get)[SEEDS // 2]
    ours = taken[middle]
    model.set_params(random_state=middle)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    model.fit(X)
    peak = (torch.cuda.max_memory_allocated() - before + X.nbytes) / X.nbytes
    passes, right = model.n_iter_, agreement(torch, model.labels_, target, k)
    by_cupy = in_cupy(torch, X, model)
    default = PSC(k, n_components=r, random_state=0)
    usual, _ = timed(torch, lambda: default.fit(X))
    theirs, (_, sweeps) = timed(torch, lambda: lloyd(torch, X, start, k))
    operations = 2 * n * p * k * r * passes / speed * 1e3
    traffic = X.nbytes * passes / bandwidth * 1e3
    return [
        *(f"{n:,} x {p}", k, r, f"{ours:.0f}"),
        *(f"{min(taken.values()):.0f} to {max(taken.values()):.0f}", goal, passes, by_cupy),
        *(f"{usual:.0f}", len(default.starts_), by_flash_kmeans(torch, X, k)),
        *(f"{theirs:.0f}", sweeps, f"{ours / theirs:.2f}", f"{operations:.1f}", f"{traffic:.1f}"),
        *(f"{ours / max(operations, traffic):.1f}", f"{peak:.2f}"),
        f"{right:.4f}",
    ]


def brief(torch, size):
    """Print the times of a size, and what one fit of each kind asks of the device."""
    n, p, k, r, goal = size
    X, _ = union(torch, n, p, k, r)
    one = {"init": "k-means++", "n_init": 1, "max_iter": CAP}
    print(f"{n:,} x {p}: flash-kmeans {by_flash_kmeans(torch, X, k)} ms, goal {goal} ms")
    for name, options in (
        ("one start, influence", {**one, "criterion": "influence"}),
        ("one start, default criterion", one),
        ("default", {}),
    ):
        model = PSC(k, n_components=r, random_state=0, **options)
        taken, _ = timed(torch, lambda model=model: model.fit(X))
        kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=kinds) as profile:
            model.fit(X)
        counts = {event.key: event.count for event in profile.key_averages()}
        asked = {
            kind: sum(counts[key] for key in counts if key.startswith(names))
            for kind, names in (
                ("launches", ("cudaLaunch", "cuLaunch")),
                ("copies", ("cudaMemcpy",)),
                ("waits", ("cudaStreamSync", "cudaDeviceSync", "cudaEventSync")),
            )
        }
        told = ", ".join(f"{count} {kind}" for kind, count in asked.items())
        sweeps = f"{model.n_iter_} sweeps, {len(model.starts_)} starts"
        print(f"  {name}: {taken:.0f} ms, {sweeps}, {told}", flush=True)
        python = cProfile.Profile()
        python.runcall(model.fit, X)
        stats = sorted(pstats.Stats(python).stats.items(), key=lambda item: -item[1][2])
        for (file, line, function), found in stats[:MOST_SHOWN]:
            place = f"{Path(file).name}:{line} {function}"
            print(f"    {1e3 * found[2]:.1f} ms in {found[1]} calls of {place}")


def in_cupy(torch, X, model):
    """Milliseconds of the same fit of a CuPy array of the same memory; "-" without CuPy."""
    if not find_spec("cupy"):
        return "-"
    import cupy

    there = cupy.from_dlpack(X)
    return f"{timed(torch, lambda: model.fit(there))[0]:.0f}"


def by_flash_kmeans(torch, X, k):
    """Milliseconds of as many iterations of flash-kmeans; "-" where it is not installed."""
    if not find_spec("flash_kmeans"):
        return "-"
    from flash_kmeans import batch_kmeans_Euclid

    def fit():
        return batch_kmeans_Euclid(X[None], n_clusters=k, max_iters=CAP, tol=-1.0)

    return f"{timed(torch, fit)[0]:.0f}"


def agreement(torch, labels, target, k):
    """Share of rows in the class that is most frequent in their cluster."""
    table = torch.bincount(labels.long() * k + target.long(), minlength=k * k).reshape(k, k)
    return float(table.max(1).values.sum() / table.sum())


def same_as_on_the_host(torch):
    """Rows labelled otherwise than by the same fit in main memory, on smaller sets."""
    found = []
    for n, p, affine in [(100_000, 50, False), (100_000, 50, True), (20_000, 300, False)]:
        X, target = union(torch, n, p, 8, 4, seed=1)
        start = torch.where(torch.rand(n, device="cuda") < 0.6, target, (target + 1) % 8)
        for dtype in (torch.float64, torch.float32):
            model = PSC(8, n_components=4, affine=affine, criterion="influence", random_state=0)
            here = model.set_params(init=start).fit(X.to(dtype)).labels_.cpu().numpy()
            there = model.set_params(init=start.cpu().numpy()).fit(X.to(dtype).cpu().numpy())
            kind = "affine" if affine else "linear"
            found.append(
                f"- {n:,} x {p}, {kind}, {str(dtype).split('.')[1]}: "
                f"{int(np.sum(here != there.labels_))} of {n:,} rows labelled otherwise"
            )
    return "\n".join(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sets, to see that it runs")
    parser.add_argument("--brief", action="store_true", help="times, launches and waits alone")
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        sys.exit("torch finds no GPU here, and this benchmark measures nothing else")
    warnings.simplefilter("ignore")
    with config_context(array_api_dispatch=True):
        if options.brief:
            for size in SIZES:
                brief(torch, size)
                torch.cuda.empty_cache()
            return
        speed, bandwidth = rates(torch)
        rows = []
        for size in QUICK if options.quick else SIZES:
            rows.append(row(torch, size, speed, bandwidth))
            print(*rows[-1], sep=" | ", flush=True)
            torch.cuda.empty_cache()
        if options.quick:
            print(markdown(COLUMNS, rows))
            return
        same = same_as_on_the_host(torch)
    save(
        "gpu",
        "# A fit on a GPU\n\n`SCIPY_ARRAY_API=1 python benchmarks/gpu.py`: float32, exact finish, "
        f"`criterion='influence'`, one start (`init='k-means++'`), the median of {SEEDS} seeds. "
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}; float32 product "
        f'{speed / 1e12:.0f} TFLOP/s, copy {bandwidth / 1e12:.1f} TB/s. "Right": the share of '
        "rows in the class most frequent in their cluster. CuPy: the same fit of an array of CuPy; "
        "default: `PSC(K, n_components=R)` as it comes, and the starts it made; flash-kmeans: "
        f"{CAP} iterations.\n\n"
        + markdown(COLUMNS, rows)
        + "\n\nBeside the same fit in main memory, from the same start:\n\n"
        + same,
    )


if __name__ == "__main__":
    main()
