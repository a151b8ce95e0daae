"""How often `pca_components` finds the right number, beside cross-validation; and its time.

    python benchmarks/components.py [--part PART]    # see the end of this file
                                    [--data DIR]     # DIR, or SUBSPACES_DATA: gene_expression/*.npz

Writes benchmarks/results/components.md when all parts are run. An interrupted run goes on where it
stopped: remove build/components* to begin anew. With process-improve installed, its `sacv` and
`ekf` stand beside ours on small tables.

Tables are noise plus components of random directions. The strength c of the weakest is that over
the threshold below which no method sees it; the others have 1.4 c, 1.8 c, ... The threshold of
noise with the column covariance Sigma, whose eigenvalues are d_j, is theta with

    theta^-2 = c0 (c0 mu - 1 + p/n)/p,

c0 in (0, 1/max d) the root of ``sum_j (d_j c0/(1 - d_j c0))^2 = n`` and ``mu = (1 + sum_j d_j c0/
(1 - d_j c0)/n)/c0`` [Benaych-Georges & Nadakuditi 2012]; (n p)^(1/4) for white noise.
"""

import argparse
import os
import time
import warnings
from importlib.util import find_spec

import numpy as np
from harness import markdown, run_cells, save
from scipy import optimize
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from threadpoolctl import threadpool_limits

from subspaces.diagnostics import pca_components
from subspaces.pca.components import all_axes, count_components, noise_after
from subspaces.pca.leave_one_cell_out import cell_errors
from subspaces.pca.noise_edge import edge_of_noise

KINDS = {"equal": "Gaussian", "heavy": "t4", "unequal": "scales 1 to 10", "correlated": "AR(.5)"}
SIZES = [(60, 20), (200, 60), (100, 400), (800, 100), (250, 250)]
SETTINGS = [(0, 0.0), *((rank, c) for c in (1.2, 1.5, 2.0) for rank in (2, 5))]
FIRST_SEED = 77_000
ENOUGH = 10_000
LEVELS = (0.5, 0.9, 0.95, 0.98, 0.99)
# Rows, columns, how many of these are loud, and their standard deviation beside 1.
LOUD = [
    (100, 200, 1, 3), (100, 200, 1, 5), (100, 500, 1, 5), (100, 500, 1, 10), (100, 1000, 1, 5),
    (100, 1000, 1, 10), (100, 1000, 10, 5), (60, 300, 3, 4), (200, 60, 1, 1.6),
]  # fmt: skip
# Tables without components whose columns are not independent of each other, or have heavy tails.
BOUND = {
    "closed, equal parts": "parts of a whole, gamma of shape 5",
    "clr, equal parts": "logarithms less their mean, Gaussian",
    "closed, unequal parts": "parts of a whole, gamma of shapes 5 to 50",
    "closed, one large part": "the same, 5, and 100 in one part",
    "clr, unequal parts": "logarithms less their mean, scales 1 to 3",
    "AR(.5)": "correlation .5 of neighbouring columns",
    "independent": "Gaussian",
    "t4": "heavy tails",
    "Laplace": "heavy tails",
}


def threshold(d, n):
    """Length of the weakest component that leaves noise of these column eigenvalues."""
    p, top = len(d), 1.0 / d.max()

    def excess(c):
        return np.sum((d * c / (1.0 - d * c)) ** 2) - n

    c = optimize.brentq(excess, 1e-9 * top, (1.0 - 1e-12) * top, xtol=1e-15 * top)
    mu = (1.0 + np.sum(d * c / (1.0 - d * c)) / n) / c
    return (c * (c * mu - 1.0 + p / n) / p) ** -0.5


def noise_of(kind, n, p, random):
    """Noise (n, p), and the eigenvalues (p,) of its column covariance."""
    if kind == "heavy":
        return random.standard_t(4, size=(n, p)) / np.sqrt(2.0), np.ones(p)
    rows = random.normal(size=(n, p))
    if kind == "unequal":
        spread = np.exp(random.uniform(0.0, np.log(10.0), p))
        return rows * spread, spread**2
    if kind == "correlated":
        for j in range(1, p):
            rows[:, j] = 0.5 * rows[:, j - 1] + np.sqrt(0.75) * rows[:, j]
        places = np.arange(p)
        return rows, np.linalg.eigvalsh(0.5 ** np.abs(places[:, None] - places))
    return rows, np.ones(p)


def table(kind, n, p, rank, c, seed):
    """Noise, components and a mean."""
    random = np.random.default_rng([FIRST_SEED + seed, n, p, rank, round(10 * c), len(kind)])
    rows, spectrum = noise_of(kind, n, p, random)
    lengths = c * threshold(spectrum, n) * (1.0 + 0.4 * np.arange(rank))
    left = np.linalg.qr(random.normal(size=(n, rank)))[0]
    right = np.linalg.qr(random.normal(size=(p, rank)))[0]
    return rows + (left * lengths) @ right.T + 3.0 * random.normal(size=p)


def found_in(kind, n, p, rank, c, seed):
    """Our answer: count, low, high, kind of noise and the count of the tangent form."""
    X = table(kind, n, p, rank, c, seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pca_components(X, random_state=0)
        axes = all_axes(X - X.mean(axis=0))
        most = min(12, min(n - 1, p) // 2)
        tangent = [np.mean(e**2) for e in cell_errors(axes, most, center=True, curved=False)]
    return [found.n_components, found.low, found.high, found.noise, int(np.argmin(tangent))]


def scores(answers, rank):
    """Right in %, mean absolute error, interval covers in %, its width; tangent form right."""
    counts = np.array([answer[0] for answer in answers])
    told = [answer for answer in answers if answer[1] is not None]
    covers = [low <= rank <= high for _, low, high, *_ in told]
    width = [high - low for _, low, high, *_ in told]
    by_tangent = [answer[4] == rank for answer in answers]
    return (counts == rank, np.abs(counts - rank), covers, width, by_tangent)


def pooled(results, cells):
    parts = [scores([results[cell]], cell[3]) for cell in cells]
    right, error, covers, width, tangent = (
        np.concatenate([part[i] for part in parts]) for i in range(5)
    )
    interval = f"{100 * covers.mean():.0f} {width.mean():.1f}" if len(covers) else "-"
    return f"{100 * right.mean():.0f}", f"{error.mean():.2f}", interval, tangent.mean()


def detection():
    """900 tables: right, mean absolute error, interval covers and its width; large tables alone."""
    cells = [
        (kind, n, p, rank, c, seed)
        for kind in KINDS
        for n, p in SIZES
        for rank, c in SETTINGS
        for seed in range(6 if rank else 9)
    ]
    results = run_cells(found_in, cells, keep="components")
    parts = []
    for title, chosen in (
        (f"All {len(cells)} tables", cells),
        ("Those with at least 10,000 cells", [x for x in cells if x[1] * x[2] >= ENOUGH]),
    ):
        rows = []
        for c in (0.0, 1.2, 1.5, 2.0):
            row = ["rank 0" if c == 0 else f"c = {c:g}"]
            for kind in KINDS:
                own = [cell for cell in chosen if cell[0] == kind and cell[4] == c]
                right, error, interval, tangent = pooled(results, own)
                row.append(f"**{right}** {error} {interval} ({100 * tangent:.0f})")
            rows.append(row)
        parts.append(f"### {title}\n\n" + markdown(["", *KINDS.values()], rows))
    words = (
        "Ranks 0, 2 and 5; sizes "
        + ", ".join(f"{n} x {p}" for n, p in SIZES)
        + ". Each cell: **right in %**, mean absolute error, how often `low` to `high` covers the "
        "rank and its mean width, and in brackets how often the minimum of the tangent form of "
        "leave-one-cell-out (`sacv`) is right."
    )
    return "## How often it is right\n\n" + words + "\n\n" + "\n\n".join(parts)


def small(repeats=40):
    """60 x 20, beside cross-validation: where the edge used to lose."""
    settings = [(0, 0.0), (1, 1.5), (2, 1.5), (5, 1.5), (1, 2.0), (2, 2.0), (5, 2.0)]
    cells = [
        (kind, 60, 20, rank, c, 1000 + seed)
        for kind in KINDS
        for rank, c in settings
        for seed in range(repeats)
    ]
    results = run_cells(found_in, cells, keep="components")
    others = run_cells(by_process_improve, cells, keep="components_pi")
    rows = []
    for kind, name in KINDS.items():
        own = [cell for cell in cells if cell[0] == kind]
        counts = {
            "pca_components": [results[cell][0] == cell[3] for cell in own],
            "sacv": [results[cell][4] == cell[3] for cell in own],
        }
        strong = [cell for cell in own if cell[3] > 0]
        shares = [f"{100 * np.mean(values):.1f}" for values in counts.values()]
        beside = "-", "-"
        if others[own[0]] is not None:
            beside = tuple(
                f"{100 * np.mean([others[cell][i] == cell[3] for cell in strong]):.1f}"
                for i in range(2)
            )
        mine = 100 * np.mean([results[cell][0] == cell[3] for cell in strong])
        rows.append([name, *shares, f"{mine:.1f}", *beside])
    header = ["60 x 20", "ours", "sacv, tangent form", "ours, without rank 0"]
    header += ["process-improve sacv, without rank 0", "process-improve ekf, without rank 0"]
    return (
        f"## Small tables\n\n{repeats} tables each of rank 0, and of ranks 1, 2 and 5 at c = 1.5 "
        "and 2: right in %. process-improve cannot answer 0.\n\n" + markdown(header, rows)
    )


def by_process_improve(kind, n, p, rank, c, seed):
    """The numbers that process-improve's `sacv` and `ekf` choose; None where not installed."""
    if not find_spec("process_improve"):
        return None
    import pandas as pd
    from process_improve.multivariate import PCA

    X = pd.DataFrame(table(kind, n, p, rank, c, seed))
    X = X - X.mean()
    answers = []
    for scheme in ("sacv", "ekf"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = PCA.select_n_components(
                X, max_components=10, cv_scheme=scheme, scale_inside_folds=False, random_state=0
            )
        answers.append(int(found.n_components))
    return answers


def large():
    """1000 x 2000."""
    settings = [(0, 0.0), (5, 1.5), (5, 2.0)]
    cells = [(kind, 1000, 2000, r, c, s) for kind in KINDS for r, c in settings for s in range(4)]
    results = run_cells(found_in, cells, keep="components")
    rows = []
    for kind, name in KINDS.items():
        row = [name]
        for rank, c in settings:
            right = [results[kind, 1000, 2000, rank, c, s][0] == rank for s in range(4)]
            row.append(f"{sum(right)} of 4")
        rows.append(row)
    heads = ["rank 0" if rank == 0 else f"rank {rank}, c = {c:g}" for rank, c in settings]
    return "## 1000 x 2000\n\n" + markdown(["", *heads], rows)


def false_alarms(kind, n, p, seed):
    """Whether the largest eigenvalue of noise is above the edge at each level."""
    rows = table(kind, n, p, 0, 0.0, seed)
    with threadpool_limits(1):
        axes = all_axes(rows - rows.mean(axis=0))
    edge = noise_after(axes, 0, n - 1, kind)
    return [bool(axes.eigenvalues[0] > edge.at(level)) for level in LEVELS]


def level(repeats=300):
    """How often noise alone is above the edge."""
    cells = [
        (kind, n, p, 5000 + seed)
        for kind in ("equal", "unequal")
        for n, p in SIZES
        for seed in range(repeats)
    ]
    results = run_cells(false_alarms, cells, keep="components_level")
    rows = []
    for kind in ("equal", "unequal"):
        for n, p in SIZES:
            found = np.mean([results[kind, n, p, 5000 + s] for s in range(repeats)], axis=0)
            share = edge_of_noise(np.ones(p), n - 1).share if kind == "equal" else np.nan
            rows.append([KINDS[kind], f"{n} x {p}", *(f"{100 * x:.1f}" for x in found),
                         f"{share:.2f}" if share == share else ""])  # fmt: skip
    heads = [f"{100 * (1 - each):.0f} %" for each in LEVELS]
    return (
        f"## False alarms\n\n{repeats} tables of noise a row: in how many % the first eigenvalue "
        "is above the edge, where it should be so many. Share: of the variance of the Tracy-Widom "
        "distribution, what remains where the noise is estimated from the same table.\n\n"
        + markdown(["noise", "size", *heads, "share"], rows)
    )


def loud_columns(n, p, count, scale, tails, seed):
    """How many components are found in noise with a few loud columns."""
    random = np.random.default_rng([FIRST_SEED + seed, n, p, count])
    X = random.normal(size=(n, p)) if tails == "Gaussian" else random.standard_t(4, size=(n, p))
    X[:, :count] *= scale
    with threadpool_limits(1):
        return count_components(all_axes(X - X.mean(axis=0)), center=True).count


def share(found):
    """Per cent, and its standard error."""
    return f"{100 * np.mean(found):.1f} ({100 * np.std(found) / np.sqrt(len(found)):.1f})"


def loud(repeats=100):
    """Loud columns in noise."""
    cells = [
        (*one, tails, seed)
        for one in LOUD
        for tails in ("Gaussian", "t4")
        for seed in range(repeats)
    ]
    results = run_cells(loud_columns, cells, keep="components_loud")
    rows = []
    for n, p, count, scale in LOUD:
        found = [
            share([results[n, p, count, scale, tails, s] > 0 for s in range(repeats)])
            for tails in ("Gaussian", "t4")
        ]
        rows.append([f"{n} x {p}", count, scale, *found])
    return (
        f"## Loud columns\n\n{repeats} tables of independent noise a row, a few columns of which "
        "are louder: in how many % some component is found, with the standard error.\n\n"
        + markdown(["size", "loud columns", "their sd", "Gaussian", "t4"], rows)
    )


def in_unequal_noise(by, n, p, rank, c, seed):
    """The number found in noise of sd .5 to 2 by sample or variable; c is for equal noise."""
    random = np.random.default_rng([FIRST_SEED + seed, n, p, rank, round(10 * c), len(by)])
    samples, variables = np.ones((n, 1)), np.ones(p)
    if "samples" in by:
        samples = random.uniform(0.5, 2.0, (n, 1))
    if "variables" in by:
        variables = random.uniform(0.5, 2.0, p)
    weakest = c * (n * p) ** 0.25 / np.sqrt(np.mean(samples**-2.0) * np.mean(variables**-2.0))
    left = np.linalg.qr(random.normal(size=(n, rank)))[0]
    right = np.linalg.qr(random.normal(size=(p, rank)))[0]
    rows = samples * variables * random.normal(size=(n, p))
    mean = 3.0 * random.normal(size=p)
    rows += (left * weakest * (1.0 + 0.4 * np.arange(rank))) @ right.T
    known = rows / (samples * variables)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pca_components(rows + mean, random_state=0)
        plain, told = (
            count_components(all_axes(X - X.mean(axis=0)), center=True) for X in (rows, known)
        )
    return [found.n_components, plain.count, told.count]


def unequal(repeats=40):
    """Noise that differs between samples or variables."""
    kinds = ("equal", "samples", "variables", "samples and variables")
    settings = [(0, 0.0), (3, 1.5), (3, 2.0), (3, 5.0)]
    cells = [
        (by, n, p, rank, c, seed)
        for by in kinds
        for n, p in SIZES
        for rank, c in settings
        for seed in range(repeats)
    ]
    results = run_cells(in_unequal_noise, cells, keep="components_unequal")
    heads = ["noise differs by", "rank 0", *(f"rank 3, c = {c:g}" for _, c in settings[1:])]
    parts = []
    for title, sizes in (
        ("All sizes", SIZES),
        ("Those with at least 10,000 cells", [(n, p) for n, p in SIZES if n * p >= ENOUGH]),
    ):
        rows = []
        for by in kinds:
            row = [by]
            for setting in settings:
                own = [results[by, *size, *setting, s] for size in sizes for s in range(repeats)]
                found, plain, told = 100 * np.mean(np.array(own) == setting[0], axis=0)
                row.append(f"**{found:.0f}** ({plain:.0f}, {told:.0f})")
            rows.append(row)
        parts.append(f"### {title}\n\n" + markdown(heads, rows))
    return (
        "## Noise that differs between samples or variables\n\nStandard deviations of 0.5 to 2, "
        f"{repeats} tables of each size above: right in %, and in brackets without dividing by the "
        "noise, and divided by the true noise, which nobody knows. c is the strength of the "
        "weakest component in the units of that noise.\n\n" + "\n\n".join(parts)
    )


def few(repeats=100):
    """Three strong components among few variables."""
    rows = []
    for n, p in ((60, 6), (60, 8), (60, 10), (60, 15), (150, 6), (150, 8)):
        tables = []
        for seed in range(repeats):
            random = np.random.default_rng([FIRST_SEED + seed, n, p])
            scores, axes = random.normal(size=(n, 3)), random.normal(size=(3, p))
            tables.append(2.0 * scores @ axes + 0.1 * random.normal(size=(n, p)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [pca_components(table) for table in tables]
            equal = [pca_components(table, method="equal") for table in tables]
        covered = [each.low is not None and each.low <= 3 <= each.high for each in found]
        counts = [
            100 * np.mean([each.n_components == 3 for each in ways]) for ways in (found, equal)
        ]
        rows.append(
            [f"{n} x {p}", f"{counts[0]:.0f}", f"{100 * np.mean(covered):.0f}", f"{counts[1]:.0f}"]
        )
    heads = ["size", "right in %", "`low` to `high` covers 3, in %", 'right with `method="equal"`']
    return (
        "## Few variables\n\nThree components that hold 99 % of the variance, "
        f"{repeats} tables a row.\n\n" + markdown(heads, rows)
    )


def closed(parts):
    return parts / parts.sum(axis=1, keepdims=True)


def without_components(kind, n, p, random):
    if kind.startswith("closed"):
        shapes = np.full(p, 5.0)
        if kind == "closed, unequal parts":
            shapes = 5.0 * np.geomspace(1.0, 10.0, p)
        if kind == "closed, one large part":
            shapes[0] = 100.0
        return closed(random.gamma(shapes, size=(n, p)))
    if kind.startswith("clr"):
        X = random.normal(size=(n, p)) * np.geomspace(1.0, 3.0 if "unequal" in kind else 1.0, p)
        return X - X.mean(axis=1, keepdims=True)
    if kind == "Laplace":
        return random.laplace(size=(n, p))
    return noise_of({"AR(.5)": "correlated", "t4": "heavy"}.get(kind, "equal"), n, p, random)[0]


def counted(kind, n, p, seed):
    """How many components are found, and what the noise is called."""
    random = np.random.default_rng([FIRST_SEED + seed, n, p, len(kind)])
    X = without_components(kind, n, p, random)
    with threadpool_limits(1):
        found = count_components(all_axes(X - X.mean(axis=0)), center=True)
    return [found.count, found.noise]


def bound(repeats=200):
    """Parts of a whole, correlated columns of long tables, heavy tails."""
    sizes = [(600, 12), (300, 12), (200, 30), (100, 400)]
    cells = [(kind, n, p, s) for kind in BOUND for n, p in sizes for s in range(repeats)]
    results = run_cells(counted, cells, keep="components_bound")
    rows = []
    for kind, words in BOUND.items():
        row = [f"{kind}: {words}"]
        for n, p in sizes:
            own = [results[kind, n, p, s] for s in range(repeats)]
            told = np.mean([noise == "correlated" for _, noise in own])
            row.append(f"{share([count > 0 for count, _ in own])}, {100 * told:.0f}")
        rows.append(row)
    return (
        f"## Parts of a whole, correlated columns, heavy tails\n\n{repeats} tables without a "
        "component each: in how many % some component is found, with the standard error, and in "
        "how many % the columns are called correlated.\n\n"
        + markdown(["", *(f"{n} x {p}" for n, p in sizes)], rows)
    )


def fitted(X, r, center):
    mean = X.mean(axis=0) if center else 0.0
    left, singular, right = np.linalg.svd(X - mean, full_matrices=False)
    return mean + (left[:, :r] * singular[:r]) @ right[:r]


def left_out(X, r, center):
    """Errors (n, p) of each cell, by finding the value that its own fit has there."""
    errors, start = np.empty(X.shape), fitted(X, r, center)
    for i, j in np.ndindex(X.shape):
        filled, z, before = X.copy(), start[i, j], None
        for _ in range(1000):
            filled[i, j] = z
            image = fitted(filled, r, center)[i, j]
            if abs(image - z) < 1e-11 * (1.0 + abs(z)):
                break
            slope = 0.0
            if before is not None and z != before[0]:
                slope = (image - before[1]) / (z - before[0])
            before, z = (z, image), z + (image - z) / (1.0 - np.clip(slope, -0.9, 0.98))
        errors[i, j] = abs(X[i, j] - z)
    return errors


def cell_accuracy(n, p, rank, center, seed):
    """Median relative error of a cell at the true rank and beyond, curved and tangent."""
    X = table("equal", n, p, rank, 2.0, seed)
    X = X if center else X - X.mean(axis=0)
    axes = all_axes(X - X.mean(axis=0) if center else X)
    medians = []
    for r in (rank, rank + 1):
        plain = left_out(X, r, center)
        for curved in (True, False):
            found = np.abs(list(cell_errors(axes, r, center=center, curved=curved))[r])
            medians.append(float(np.median(np.abs(found - plain) / plain)))
    return medians


def cells():
    """Leave-one-cell-out against refitting."""
    shapes = [(30, 15, 2), (25, 12, 1), (20, 30, 2), (40, 20, 3)]
    cells = [(*shape, center, 0) for shape in shapes for center in (True, False)]
    results = run_cells(cell_accuracy, cells, keep="components_cells")
    rows = [
        [f"{n} x {p}", rank, "yes" if center else "no",
         *(f"{100 * value:.1f}" for value in results[n, p, rank, center, 0])]
        for n, p, rank, center, _ in cells
    ]  # fmt: skip
    heads = ["size", "rank", "centred", "ours, true rank", "tangent", "ours, one more", "tangent"]
    return (
        "## A left-out cell, beside refitting without it\n\nEvery cell in turn; the median over "
        "the cells of the relative error of the left-out error, in %.\n\n" + markdown(heads, rows)
    )


def timed(call, repeats=3):
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return float(np.median(taken))


def seconds():
    """Time beside the decomposition."""
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, p, repeats in ((250, 200, 9), (150, 2000, 3), (1000, 2000, 1)):
            X = table("equal", n, p, 3, 2.0, 0)
            rest = X - X.mean(axis=0)
            axes = all_axes(rest)

            def curve(curved, rest=rest):
                for errors in cell_errors(all_axes(rest), 12, center=True, curved=curved):
                    np.mean(errors**2)

            row = [
                timed(lambda rest=rest: np.linalg.svd(rest, full_matrices=False), repeats),
                timed(lambda axes=axes: count_components(axes, center=True), repeats),
                timed(lambda: curve(True), repeats),
                timed(lambda: curve(False), repeats),
                timed(lambda X=X: pca_components(X, random_state=0), repeats),
            ]
            rows.append([f"{n} x {p}", *(f"{1e3 * value:.0f}" for value in row),
                         f"{row[2] / row[3]:.1f}"])  # fmt: skip
    heads = ["size", "SVD", "detection beyond it", "curve to 12 axes", "the same, tangent"]
    heads += ["pca_components", "curve / tangent"]
    return (
        "## Milliseconds\n\nOne BLAS thread, medians. A curve includes its decomposition.\n\n"
        + markdown(heads, rows)
    )


def real(folder):
    """What it says of real tables."""
    tables = {
        "wine (178 x 13), scaled": (load_wine().data, True),
        "wine, raw": (load_wine().data, False),
        "breast cancer (569 x 30), scaled": (load_breast_cancer().data, True),
        "digits (1797 x 64)": (load_digits().data, False),
    }
    if folder:
        for name in ("leukemia", "st_jude"):
            with np.load(os.path.join(folder, "gene_expression", f"{name}.npz")) as file:
                X = np.asarray(file["X"], dtype=float)
            logs = np.log2(np.maximum(X, 20.0)) if X.max() > 30 else X
            varied = logs[:, np.argsort(-logs.var(axis=0))[:2000]]
            shape = f"{len(X)} x {varied.shape[1]}"
            tables[f"{name} ({shape}), logarithms of the genes that vary most"] = (varied, False)
    if find_spec("scanpy"):
        from scanpy.datasets import pbmc68k_reduced

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cells = pbmc68k_reduced()
        X = np.asarray(cells.X, dtype=float)
        tables[f"pbmc68k_reduced ({X.shape[0]} x {X.shape[1]})"] = (X, False)
    rows = []
    for name, (X, scale) in tables.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = pca_components(X, scale=scale, random_state=0)
        rows.append([name, found.noise, found.n_components, found.n_predictive, found.verdict])
    return "## Real tables\n\n" + markdown(
        ["table", "noise", "components", "predict best", "verdict"], rows
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part")
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    given = parser.parse_args()
    parts = {
        "detection": detection,
        "small": small,
        "large": large,
        "level": level,
        "loud": loud,
        "unequal": unequal,
        "few": few,
        "bound": bound,
        "cells": cells,
        "time": seconds,
        "real": lambda: real(given.data),
    }
    if given.part:
        print(parts[given.part]())
        return
    pages = "\n\n".join(part() for part in parts.values())
    save("components", f"# How many components\n\n`python benchmarks/components.py`.\n\n{pages}")


if __name__ == "__main__":
    main()
