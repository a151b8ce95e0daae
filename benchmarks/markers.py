"""Markers: how wrong naive p-values are on one group, what split halves say, and real genes.

    python benchmarks/markers.py --data DIR [--seeds 3] [--nulls 60]
    python benchmarks/markers.py --shapes

1. Tables of one Gaussian group cut in two: how often anything is called a marker.
2. Other ways to honest p-values on the same tables: only variables halved, samples halved, noise
   added and subtracted (data thinning).
3. Two real groups: the false discovery rate and the share of the markers found.
4. Counts of two types of cells, one with larger totals: how many genes are called that do not
   differ. Counts of three types, with genes that go up in one or in each: the same, and how many of
   those are found, with samples at one total and at one size, as `model.markers` has them.
5. DIR, or SUBSPACES_DATA, holds gene_expression/*.npz and omics/*.npz (`X`, samples x genes; `y`,
   classes; only to measure with): the share of a cluster's first 20 markers that are among the top
   2 % (at least 20) of genes by the F test of the class that it matches against all others.

Writes benchmarks/results/markers.md; an interrupted run goes on where it stopped. With --shapes it
takes two minutes and writes benchmarks/results/markers_shapes.md alone: how often K-means clusters
of one group of another shape than a Gaussian, and of planted groups, pass the test of one group.
"""

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from harness import markdown, mean_and_error, run_cells, save
from scipy import stats
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_selection import f_classif
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from subspaces import PSC, diagnostics
from subspaces.diagnostics._composition import at_one_size
from subspaces.metrics import adjusted_rand_score, matched_labels
from subspaces.psc.one_group import null_p_values
from subspaces.recipes import ExpressionScaler, expression

LEVEL = 0.05
# What the issue of honest p-values allows above the level, and the overlap that genes should have.
ALLOWED, WANTED = 0.02, 0.6
# Drawn tables of one group: p-values from 1/20 up, all that a level of .05 asks for.
N_NULLS = 19
N_TOP = 20
# Orders of markers: the one they have, and others to see whether it could be better.
RANKINGS = {
    "effect": lambda own: np.abs(own["effect"]),
    "p-value": lambda own: -own["p_value"],
    "AUC": lambda own: np.abs(own["auc"] - 0.5),
    "difference of means": lambda own: np.abs(own["difference"]),
}
# How many times as large the totals of one type of cells are as those of the other.
RATIOS = (1.0, 1.5, 1.75, 2.0, 2.7)
# In how many types genes of their own go up, how many times, and the shape of the gamma noise.
COMPOSITIONS = [(types, fold, shape) for types in (1, 3) for fold in (2, 4, 8) for shape in (0, 5)]
FACTORS = np.array([1.0, 0.7, 0.5])


def isotropic(n, p, random):
    return random.normal(size=(n, p))


def factors(n, p, random):
    return isotropic(n, p, random) + random.normal(size=(n, 3)) @ _loadings(p, random)


def unequal(n, p, random):
    return isotropic(n, p, random) * np.exp(random.normal(size=p))


def heavy_factors(n, p, random):
    return isotropic(n, p, random) + random.standard_t(5, size=(n, 3)) @ _loadings(p, random)


def heavy_samples(n, p, random):
    return isotropic(n, p, random) / np.sqrt(random.chisquare(8, size=(n, 1)) / 8)


def gradient(n, p, random):
    uniform = np.sqrt(12) * random.uniform(size=(n, 1))
    return isotropic(n, p, random) + uniform * random.normal(size=p)


def counts(n, p, random):
    """Over-dispersed counts of unequal depth with two factors, brought to the recipe's scale."""
    means = np.exp(random.normal(1, 1.5, p)) * np.exp(random.normal(0, 0.4, (n, 1)))
    means = means * np.exp(0.4 * random.normal(size=(n, 2)) @ random.normal(size=(2, p)))
    drawn = random.poisson(means * random.gamma(4, 1 / 4, (n, p)))
    return ExpressionScaler(n_genes=None, kind="counts").fit_transform(drawn)


def _loadings(p, random):
    return FACTORS[:, None] * random.normal(size=(3, p))


GROUPS = {
    "independent genes": isotropic,
    "three factors": factors,
    "unequal variances": unequal,
    "factors with t5 scores": heavy_factors,
    "samples of unequal scale (t8)": heavy_samples,
    "an even gradient": gradient,
    "counts with two factors": counts,
}
GAUSSIAN = list(GROUPS)[:3]
SIZES = [(40, 2000), (100, 500), (400, 200)]
# Noise, samples, genes, markers, and the shift of a marker in standard deviations of its own noise.
SETTINGS = [
    ("independent genes", 60, 1000, 100, 0.7),
    ("independent genes", 60, 1000, 100, 1.0),
    ("independent genes", 60, 1000, 100, 1.5),
    ("independent genes", 200, 20, 4, 1.5),
    ("three factors", 60, 1000, 100, 1.5),
    ("three factors", 60, 1000, 100, 4.0),
    ("three factors", 100, 1000, 300, 4.0),
]
WAYS = [f"{way} {what}" for way in ("naive", "split", "thinned") for what in ("FDR", "found")]
SETTINGS = {str(place): setting for place, setting in enumerate(SETTINGS)}


def one_factor(scores):
    """Tables of independent genes and one factor with scores by a function of n and random."""
    return lambda n, p, random: (
        isotropic(n, p, random) + np.outer(scores(n, random), random.normal(size=p))
    )


def exponential_factors(n, p, random):
    return isotropic(n, p, random) + random.exponential(size=(n, 3)) @ _loadings(p, random)


def planted(shares, levels):
    """Groups of these shares whose scores along one factor of 40 genes have these means."""

    def table(n, p, random):
        X, sizes = isotropic(n, p, random), np.rint(n * np.array(shares)).astype(int)
        X[:, :40] += np.outer(np.repeat(levels, sizes), random.choice([-1, 1], 40)) / np.sqrt(40)
        return X

    return table


# Tables of one group and of several, and into how many clusters K-means cuts them.
SHAPES = {
    ("one Gaussian factor", 2): one_factor(lambda n, random: random.normal(size=n)),
    ("one Gaussian factor", 3): one_factor(lambda n, random: random.normal(size=n)),
    ("three Gaussian factors", 2): factors,
    ("one exponential factor", 2): one_factor(lambda n, random: random.exponential(size=n)),
    ("one exponential factor", 3): one_factor(lambda n, random: random.exponential(size=n)),
    ("three exponential factors", 2): exponential_factors,
    ("one log-normal factor, sigma .6", 2): one_factor(lambda n, r: r.lognormal(0, 0.6, n)),
    ("counts with two factors", 2): counts,
    ("an even gradient", 2): gradient,
    ("two groups, 50 and 50 %, 5 apart", 2): planted([0.5, 0.5], [0, 5]),
    ("two groups, 80 and 20 %, 6 apart", 2): planted([0.8, 0.2], [0, 6]),
    ("two groups, 90 and 10 %, 8 apart", 2): planted([0.9, 0.1], [0, 8]),
    ("three groups, 70, 20, 10 %, at 0, 12, 26", 3): planted([0.7, 0.2, 0.1], [0, 12, 26]),
}


def on_shape(kind, n_clusters, seed):
    """P-values of one group for K-means clusters: Gaussian, and as skewed as the samples."""
    random = np.random.default_rng([seed, 3])
    X = SHAPES[kind, n_clusters](100, 200, random)
    labels = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X)
    return list(null_p_values(X, labels, n_clusters, N_NULLS, random))


def shapes_page(n_tables):
    more = {"Gaussian": 4, "exponential": 2}  # the level is to be known better than the power
    many = {
        shape: n_tables
        * max([times for name, times in more.items() if name in shape[0]], default=1)
        for shape in SHAPES
    }
    cells = [(*shape, seed) for shape in SHAPES for seed in range(many[shape])]
    found = run_cells(partial(quiet, on_shape), cells, n_jobs=1, keep="markers/shapes")
    rows = []
    for kind, n_clusters in SHAPES:
        seeds = range(many[kind, n_clusters])
        p_values = np.array([found[kind, n_clusters, seed] for seed in seeds])
        columns = p_values[:, 0], p_values[:, 1], p_values.max(axis=1)
        passed = [mean_and_error(values <= LEVEL, 2) for values in columns]
        rows.append([kind, n_clusters, *passed])
    heads = ["samples", "clusters", "Gaussian null", "skewed null", "both, as reported"]
    return (
        "# Groups of other shapes, and the test of one group\n\n`python benchmarks/markers.py "
        "--shapes`. How often K-means clusters have a p-value of one group of at most\n"
        f"{LEVEL:g}: mean (standard error) over {n_tables} tables of 100 samples x 200 genes, "
        f"twice as many\nof exponential factors, four times as many of Gaussian ones; {N_NULLS} "
        "drawn tables each.\n\n" + markdown(heads, rows)
    )


def two_clusters(seed):
    """PSC with mean profiles on two principal axes, as the recipe cuts values on a log scale."""
    psc = PSC(2, n_components=0, affine=True, criterion="loo", init="k-means++", n_init=5)
    return make_pipeline(PCA(2, random_state=0), psc.set_params(random_state=seed))


def on_one_group(kind, n, p, seed):
    """Share of the genes that naive and split-half rates call markers of a cut of one group."""
    X = GROUPS[kind](n, p, np.random.default_rng([seed, n, p]))
    return [float(np.mean(rates <= LEVEL)) for rates in naive_and_split(X, seed)]


def naive_and_split(X, seed):
    """Both false discovery rates of all genes for two clusters, in the order of the columns."""
    model = two_clusters(seed)
    found = diagnostics.markers(
        X, model.fit_predict(X), 0, estimator=model, n_nulls=N_NULLS, random_state=seed
    ).columns
    order = np.argsort([int(name[1:]) for name in found["variable"]])
    return found["fdr"][order], found["fdr_split"][order]


def other_ways(kind, n, p, seed):
    """Whether other ways call anything a marker of a cut of one group."""
    random = np.random.default_rng([seed, n, p])
    X, model = GROUPS[kind](n, p, random), two_clusters(seed)
    halves = np.array_split(random.permutation(p), 2)
    by_halves = np.empty(p)
    for half, other in (halves, halves[::-1]):
        by_halves[half] = p_values(X[:, half], clone(model).fit_predict(X[:, other]))
    first, second = np.array_split(random.permutation(n), 2)
    # predict of the recipe's last step: the nearest mean profile.
    by_samples = p_values(X[second], clone(model).fit(X[first]).predict(X[second]))
    independent = random.normal(size=X.shape) * X.std(axis=0, ddof=1)
    correlated = random.normal(size=(n, n)) @ (X - X.mean(axis=0)) / np.sqrt(n - 1)
    found = [by_halves, by_samples, *(thinned(X, e, model) for e in (independent, correlated))]
    return [bool((stats.false_discovery_control(each) <= LEVEL).any()) for each in found]


def thinned(X, noise, model):
    """P-values of X - noise between clusters of X + noise, which has the covariance of X."""
    return p_values(X - noise, clone(model).fit_predict(X + noise))


def p_values(X, labels):
    inside = labels == labels[0]
    if min(inside.sum(), (~inside).sum()) < 3:
        return np.ones(X.shape[1])
    return stats.mannwhitneyu(X[inside], X[~inside], method="asymptotic").pvalue


def on_two_groups(setting, seed):
    """False discovery rate and share of the true markers found: naive, split-half, thinned."""
    kind, n, p, n_markers, shift = SETTINGS[setting]
    random = np.random.default_rng([seed, n, p])
    X, kinds = GROUPS[kind](n, p, random), np.arange(n) % 2
    X[:, :n_markers] += shift * np.outer(kinds, random.choice([-1, 1], n_markers))
    measured = []
    noise = random.normal(size=(n, n)) @ (X - X.mean(axis=0)) / np.sqrt(n - 1)
    by_thinning = stats.false_discovery_control(thinned(X, noise, two_clusters(seed)))
    for rates in (*naive_and_split(X, seed), by_thinning):
        called = rates <= LEVEL
        measured.append(called[n_markers:].sum() / max(called.sum(), 1))
        measured.append(called[:n_markers].mean())
    return [float(value) for value in measured]


def on_unequal_totals(ratio, seed):
    """Share called of the genes that do not differ between known types with unequal totals."""
    random = np.random.default_rng(seed)
    types, n_markers = np.repeat([0, 1], 120), 80
    rates = np.tile(random.lognormal(0, 1.5, 1000), (240, 1))
    rates[:120, : n_markers // 2] *= 4
    rates[120:, n_markers // 2 : n_markers] *= 4
    totals = 1500 * np.where(types == 0, 1.0, ratio) * random.lognormal(0, 0.2, 240)
    rates *= (totals / rates.sum(axis=1))[:, None]
    X = random.poisson(random.gamma(2, rates / 2)).astype(float)
    found = diagnostics.markers(log_counts(X)[1], types, 0).columns
    null = np.array([int(name[1:]) >= n_markers for name in found["variable"]])
    return float(np.mean(found["fdr"][null] <= LEVEL))


def log_counts(X):
    """Counts on the log scale, at one total and, where genes allow that, at one size."""
    total = ExpressionScaler(n_genes=None, kind="counts").fit(X).total_
    scaled = X * (total / X.sum(axis=1))[:, None]
    sized = at_one_size(scaled)
    return np.log2(1 + scaled), np.log2(1 + (scaled if sized is None else sized))


def on_composition(n_types, fold, shape, seed):
    """Share called of the genes that do not differ, and that do: at one total, at one size.

    60 samples of three types x 500 genes; 30 genes of the first, or of each, are higher there.
    """
    random = np.random.default_rng(seed)
    types = np.repeat([0, 1, 2], 20)
    rates = np.tile(random.lognormal(2, 1.5, 500), (60, 1)) * random.lognormal(0, 0.3, (60, 1))
    for k in range(n_types):
        rates[20 * k : 20 * k + 20, 30 * k : 30 * k + 30] *= fold
    rates = random.gamma(shape, rates / shape) if shape else rates
    measured = []
    for values in log_counts(random.poisson(rates).astype(float)):
        found = diagnostics.markers(values, types).columns
        gene = np.array([int(name[1:]) for name in found["variable"]])
        null, called = gene >= 30 * n_types, found["fdr"] <= LEVEL
        own = (gene // 30 == found["cluster"]) & ~null
        measured += [float(called[null].mean()), float(called[own].mean())]
    return measured


def on_real_data(folder, name, seed):
    """Overlap with the supervised ranking, ARI, markers called by both rates, p-value, seconds.

    Last, the overlaps that other orders of the markers would have, those of RANKINGS.
    """
    with np.load(Path(folder) / f"{name}.npz") as data:
        X, y = data["X"].astype(float), np.unique(data["y"], return_inverse=True)[1]
    n_classes = int(y.max()) + 1
    labels = expression(n_classes, random_state=seed).fit(X)[-1].labels_
    scaler = ExpressionScaler(n_genes=None).fit(X)  # values as `model.markers` tests them
    values = log_counts(X)[1] if scaler.kind_ == "counts" else scaler.fit_transform(X)
    again = expression(n_classes, random_state=seed).set_params(prepare__kind="log")
    begin = time.process_time()
    found = diagnostics.markers(values, labels, estimator=again, n_nulls=N_NULLS, random_state=seed)
    seconds = time.process_time() - begin
    shares = np.mean([_overlaps(found.of(k), values, y, c) for k, c in _matched(labels, y)], axis=0)
    called = [float(np.mean(found.columns[rate] <= LEVEL)) for rate in ("fdr", "fdr_split")]
    ari = adjusted_rand_score(y, labels)
    return [float(shares[0]), ari, *called, found.one_group, seconds, *shares[1:].tolist()]


def _matched(labels, y):
    """Each cluster with the class it matches best, one to one."""
    named = matched_labels(y, labels)
    return [(k, int(named[labels == k][0])) for k in np.unique(labels)]


def _overlaps(own, values, y, c):
    """Shares of a cluster's first markers, by RANKINGS, that are top genes of class c."""
    if not 0 < (y == c).sum() < len(y):
        return [0.0] * len(RANKINGS)
    scores = np.nan_to_num(f_classif(values, y == c)[0], nan=0.0, posinf=np.inf)
    n_top = max(N_TOP, round(0.02 * values.shape[1]))
    top = {f"x{j}" for j in np.argsort(-scores, kind="stable")[:n_top]}
    orders = [
        np.argsort(-np.nan_to_num(rank(own), nan=-1.0), kind="stable") for rank in RANKINGS.values()
    ]
    return [np.mean([name in top for name in own["variable"][each[:N_TOP]]]) for each in orders]


def quiet(function, *cell):
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        return function(*cell)


def null_tables(n_seeds):
    """Rows of both tables of one group, and how wrong split halves are by kind of Gaussian group.

    Factors are where the test of one group is exact, not conservative: four times as many tables.
    """
    cells = [
        (kind, n, p, seed)
        for kind in GROUPS
        for n, p in (SIZES if kind in GAUSSIAN else SIZES[1:2])
        for seed in range(4 * n_seeds if kind == "three factors" else n_seeds)
    ]
    found = run_cells(partial(quiet, on_one_group), cells, n_jobs=1, keep="markers/nulls")
    rows, gaussian = [], {kind: [] for kind in GAUSSIAN}
    for kind, n, p in dict.fromkeys(cell[:3] for cell in cells):
        shares = np.array([value for cell, value in found.items() if cell[:3] == (kind, n, p)])
        wrong = (shares > 0).astype(float)
        if kind in GAUSSIAN:
            gaussian[kind] += wrong[:, 1].tolist()
        rows.append(
            [kind, n, p, mean_and_error(wrong[:, 0], 2), f"{shares[:, 0].mean():.2f}",
             mean_and_error(wrong[:, 1], 2)]
        )  # fmt: skip
    cells = [(kind, *SIZES[1], seed) for kind in GAUSSIAN for seed in range(n_seeds)]
    found = run_cells(partial(quiet, other_ways), cells, n_jobs=1, keep="markers/others")
    others = [
        [kind, *np.mean([found[cell] for cell in cells if cell[0] == kind], axis=0).round(2)]
        for kind in GAUSSIAN
    ]
    return rows, gaussian, others


def group_tables(n_seeds):
    cells = [(setting, seed) for setting in SETTINGS for seed in range(n_seeds)]
    found = run_cells(partial(quiet, on_two_groups), cells, n_jobs=1, keep="markers/groups")
    return [
        [*SETTINGS[setting], *np.mean([found[setting, s] for s in range(n_seeds)], axis=0).round(2)]
        for setting in SETTINGS
    ]


def total_tables(n_seeds):
    cells = [(ratio, seed) for ratio in RATIOS for seed in range(n_seeds)]
    found = run_cells(partial(quiet, on_unequal_totals), cells, n_jobs=1, keep="markers/totals")
    return [
        [ratio, mean_and_error([found[ratio, seed] for seed in range(n_seeds)], 2)]
        for ratio in RATIOS
    ]


def composition_tables(n_seeds):
    cells = [(*setting, seed) for setting in COMPOSITIONS for seed in range(n_seeds)]
    keep = "markers/composition"
    found = run_cells(partial(quiet, on_composition), cells, n_jobs=1, keep=keep)
    rows = []
    for types, fold, shape in COMPOSITIONS:
        shares = np.mean([found[types, fold, shape, seed] for seed in range(n_seeds)], axis=0)
        noise = f"gamma, shape {shape}" if shape else "Poisson alone"
        wrong_total, right_total, wrong_size, right_size = (f"{share:.3f}" for share in shares)
        rows.append([types, fold, noise, wrong_total, wrong_size, right_total, right_size])
    return rows


def composition_page():
    heads = ["types", "times", "noise", "called, one total", "called, one size"]
    return [
        "## Composition\n\nCounts of three known types, 60 x 500; in one type, or in each, 30 "
        "genes of its own are so many times as\nhigh. Called: share of the genes that do not "
        "differ. Found: of the genes that a type has of its own. At one\ntotal all others go down "
        "where some go up; `model.markers` scales samples by the genes that nearly all\nexpress. "
        "10 tables each.",
        markdown([*heads, "found, one total", "found, one size"], composition_tables(10)),
    ]


def real_tables(folder, n_seeds):
    names = [
        f"{part}/{path.stem}"
        for part in ("gene_expression", "omics")
        for path in sorted((Path(folder) / part).glob("*.npz"))
    ]
    found = {}
    for name in names:
        seeds = [(name.replace("/", "~"), seed) for seed in range(n_seeds)]

        def measure(cell_name, seed):
            return quiet(on_real_data, folder, cell_name.replace("~", "/"), seed)

        found[name] = list(run_cells(measure, seeds, n_jobs=1, keep="markers/real").values())
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def page(given):
    nulls, gaussian, others = null_tables(given.nulls)
    worst = max(gaussian.values(), key=np.mean)
    missed = " (missed)" if np.mean(worst) > LEVEL + ALLOWED else ""
    n, p = SIZES[1]
    parts = [
        "# Markers, naive and honest\n\n`python benchmarks/markers.py --data DIR`. A marker has a "
        f"false discovery rate of at most {LEVEL:g}.",
        "## One group cut in two\n\nHow often any gene is called a marker, which is the false "
        f"discovery rate where no gene is one: mean\n(standard error) over {given.nulls} tables, "
        "of three factors four times as many. The clusters are those of PSC on\ntwo principal "
        "axes. Of the Gaussian groups the worst kind has a split-half rate of "
        f"{mean_and_error(worst)} over all sizes;\nat most {LEVEL + ALLOWED:g} is allowed{missed}. "
        "Groups that are not Gaussian are beyond what split halves promise.",
        markdown(["group", "samples", "genes", "naive", "genes called", "split-half"], nulls),
        f"Other ways, on {n} samples x {p} genes: only the variables halved, without a test of one "
        "group; samples\nhalved, the second half placed by the first; noise added and subtracted, "
        "independent or with the\ncovariance of the samples.",
        markdown(
            ["group", "variables", "samples", "independent noise", "correlated noise"], others
        ),
        "## Two groups\n\nFalse discovery rate, and share of the true markers that are found, "
        f"{given.groups} tables each. Thinned: with the\ncovariance of the samples.",
        markdown(
            ["noise", "samples", "genes", "markers", "shift", *WAYS], group_tables(given.groups)
        ),
        "## Unequal totals\n\nNegative binomial counts of two types of cells, 240 x 1000, scaled "
        "to one total: share called of the\ngenes that do not differ, by how many times as large "
        "the totals of one type are. The types are known;\n10 tables each.",
        markdown(["times", "called"], total_tables(10)),
        *composition_page(),
    ]
    return "\n\n".join(parts + (real_page(given) if given.data else []))


def real_page(given):
    real = real_tables(given.data, given.seeds)
    overlaps = np.array([row[0] for row in real.values()])
    good = np.array([row[1] >= 0.5 for row in real.values()])
    heads = ["set", "overlap", "ARI", "naive", "split-half", "one group", "seconds"]
    rows = [[name, *[f"{v:.2f}" for v in row[: len(heads) - 1]]] for name, row in real.items()]
    others = np.array([row[len(heads) - 1 :] for row in real.values()])
    worse = ", ".join(
        f"by {name} {mean_and_error(column)}"
        for name, column in zip(list(RANKINGS)[1:], others.T, strict=True)
    )
    missed = "" if overlaps.mean() >= WANTED else " (missed)"
    return [
        f"## Real data\n\nMeans over {given.seeds} seeds. Overlap: of the first {N_TOP} markers of "
        f"each cluster with the top 2 % (at least {N_TOP})\nof genes by the F test of its class "
        f"against all others. In the mean it is {mean_and_error(overlaps)}; {WANTED:g} was "
        f"wanted{missed}. Markers are\nranked by the effect, which the F test ranks by, too, so "
        f"that the right labels give 1; ranked {worse}.\n"
        "Where clusters are not the classes, their genes cannot be those of the "
        f"classes: over the {good.sum()} sets with an\nadjusted Rand index of .5 or more it is "
        f"{overlaps[good].mean():.2f}, over the others {overlaps[~good].mean():.2f}. Naive, "
        "split-half: share of all\ndifferences that are called. One group: its p-value, at least "
        f"{1 / (N_NULLS + 1):g}. Seconds: of the processor.",
        markdown(heads, rows),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    parser.add_argument("--seeds", type=int, default=3, help="of the fits to real data")
    parser.add_argument("--nulls", type=int, default=60, help="tables of one group, each kind")
    parser.add_argument("--groups", type=int, default=40, help="tables of two groups, each kind")
    parser.add_argument("--shapes", action="store_true", help="groups of other shapes alone")
    given = parser.parse_args()
    if given.shapes:
        save("markers_shapes", shapes_page(40))
    else:
        save("markers", page(given).rstrip())


if __name__ == "__main__":
    main()
