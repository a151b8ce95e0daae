"""How often `diagnostics.is_real` calls clusters more than chance: in noise, unions, real tables.

    python benchmarks/is_real.py [--sets 60] [--more-sets 200] [--jobs -1] [--out FILE]
    python benchmarks/is_real.py --real [--data DIRECTORY]      # real tables and time, printed

Prints each row when it is there, and writes FILE, by default benchmarks/results/is_real.md. Every
p-value is that of a test with 19 tables, which rejects
at .05 if none of them gains as much as the samples. So no more tables are drawn after the first
that does (``early_stop=1``), and the decision is the same. Gaussian noise and AR .9 have
--more-sets sets a cell, the others --sets. A run that was interrupted goes on where it stopped.
DIRECTORY holds faces/faces.npz and gene_expression/; without it these tables are left out.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from harness import markdown, run_cells, save
from scipy import stats
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.pipeline import Pipeline

from subspaces import PSC, recipes
from subspaces.datasets import load_penguins, make_subspaces
from subspaces.diagnostics import is_real

LEVEL = 0.05
SHAPES = ((150, 20), (60, 200))
NOISE = {
    "Gauss": "independent standard normal cells",
    "t3": "independent cells, Student with 3 degrees of freedom",
    "lognormal": "independent lognormal cells, less their mean",
    "scales": "normal columns with standard deviations from .01 to 100",
    "AR .9": "each column .9 times the one before, plus normal noise",
    "plane": "one plane with noise .2",
    "rows t3": "rows of a spherical t with 3 degrees of freedom",
    "raw lognormal": "lognormal cells with their mean",
    "binary": "independent cells 0 or 1, the share of ones from .1 to .9 over the columns",
    "binary AR .9": "the signs of AR .9",
    "counts": "Poisson counts of mean exp(AR .9)",
}
LARGE = ("Gauss", "AR .9")
UNIONS = {"2 lines": (2, 1, 0.35), "2 planes": (2, 2, 0.3), "3 planes": (3, 2, 0.3)}
NULLS = ("copula", "rotation")
# Tested against one cluster less: clusters of the data and their dimension, noise, affine, K asked.
FEWER = {
    "2 lines, K = 3": (2, 1, 0.2, False, 3),
    "3 planes, K = 4": (3, 2, 0.2, False, 4),
    "2 lines in t3 noise, K = 3": (2, 1, 0.2, False, 3),
    "2 affine lines, K = 3": (2, 1, 0.2, True, 3),
    "3 planes, K = 3": (3, 2, 0.2, False, 3),
}
# Samples without clusters that keep a share of the one before them.
SERIES = {"AR .5": 0.5, "AR .7": 0.7, "AR .9": 0.9, "random walk": 1.0}
N, P = 150, 20


def noise(family, n, p, seed):
    """Samples (n, p) without clusters."""
    random = np.random.default_rng([seed, n, p, 54])
    normal = random.normal(size=(n, p))
    correlated = normal.copy()
    for j in range(1, p):
        correlated[:, j] = 0.9 * correlated[:, j - 1] + np.sqrt(1 - 0.9**2) * normal[:, j]
    axes = np.linalg.qr(random.normal(size=(p, 2)))[0]
    rows = {
        "Gauss": lambda: normal,
        "t3": lambda: random.standard_t(3, size=(n, p)),
        "lognormal": lambda: np.exp(normal) - np.exp(0.5),
        "scales": lambda: normal * 10 ** random.uniform(-2, 2, p),
        "AR .9": lambda: correlated,
        "plane": lambda: random.normal(size=(n, 2)) @ axes.T + 0.2 * normal,
        "rows t3": lambda: normal / np.sqrt(random.chisquare(3, size=(n, 1)) / 3),
        "raw lognormal": lambda: np.exp(normal),
        "binary": lambda: (random.random((n, p)) < random.uniform(0.1, 0.9, p)).astype(float),
        "binary AR .9": lambda: (correlated > 0).astype(float),
        "counts": lambda: random.poisson(np.exp(correlated)).astype(float),
    }
    return rows[family]()


def union(kind, seed):
    """Samples of one of `UNIONS`."""
    k, r, spread = UNIONS[kind]
    return make_subspaces([N // k] * k, P, [r] * k, noise=spread, random_state=seed).data


def fewer(kind, seed):
    """Samples of one of `FEWER`."""
    k, r, spread, affine, _ = FEWER[kind]
    heavy = "t3" in kind
    X = make_subspaces(
        [N // k] * k, P, [r] * k, noise=0.0 if heavy else spread, offset=float(affine),
        random_state=seed,
    ).data  # fmt: skip
    if heavy:
        X += spread / np.sqrt(3) * np.random.default_rng([seed, 3]).standard_t(3, size=X.shape)
    return X


def answer(X, k, r, affine, null, seed, against=1):
    """The answer with 19 tables, or fewer if one of them gains as much as X."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PSC(k, n_components=r, affine=affine, n_init=1, random_state=seed).fit(X)
        return is_real(
            model, X, against=against, null=null, n_nulls=19, early_stop=1, random_state=seed
        )


def in_noise(family, n, p, affine, null, seed):
    """The p-value of two lines."""
    return answer(noise(family, n, p, seed), 2, 1, affine, null, seed).p_value


def in_union(kind, null, seed):
    """The p-value of the right clusters."""
    k, r, _ = UNIONS[kind]
    return answer(union(kind, seed), k, r, False, null, seed).p_value


def of_fewer(kind, null, seed):
    """The p-value against one cluster less."""
    _, r, _, affine, asked = FEWER[kind]
    return answer(fewer(kind, seed), asked, r, affine, null, seed, against=asked - 1).p_value


def in_series(kind, affine, seed):
    """The p-value of two lines in a series without clusters, and the grade of the verdict."""
    steps = np.random.default_rng([seed, 55]).normal(size=(N, P))
    X, kept = steps.copy(), SERIES[kind]
    for i in range(1, N):
        X[i] += kept * X[i - 1]
    found = answer(X, 2, 1, affine, "copula", seed)
    return found.p_value, found.grade.value


def rate(values):
    """Share of p-values up to .05, and its exact 95 % lower bound."""
    rejected, n = int(np.sum(np.array(values) <= LEVEL)), len(values)
    low = stats.beta.ppf(LEVEL, rejected, n - rejected + 1) if rejected else 0.0
    return f"{rejected / n:.3f} ({low:.3f})"


def study(title, header, function, cells, jobs, row):
    """Lines of a table, with its title: printed line by line, each when its cells are done.

    cells: the cells of each line, by its name; row: turns their results into the line's entries.
    """
    lines = markdown(header, []).splitlines()
    print("\n".join(["", title, "", *lines]), flush=True)
    for name, some in cells.items():
        found = run_cells(function, some, jobs, keep=f"is_real_{function.__name__[3:]}")
        lines.append(f"| {name} | " + " | ".join(row(found)) + " |")
        print(lines[-1], flush=True)
    return [title, "\n".join(lines)]


def by_kind(kinds, start):
    """A function that returns the rate for each kind: those entries of a cell from start on."""

    def row(found):
        ends = {kind: start + len(kind) for kind in kinds}
        return [
            rate([p for cell, p in found.items() if cell[start : ends[kind]] == kind])
            for kind in kinds
        ]

    return row


def tables_of(data):
    """Real tables: name, samples, model, and what is known of them."""
    digits = load_digits()
    five = digits.target < 5
    yield "digits 0 to 4", digits.data[five], PSC(5, n_components=9), "5 digits"
    penguins = load_penguins()
    species = "3 species"
    adelie = penguins.data[penguins.target == 0]
    for name, X, k, known in (
        ("penguins", penguins.data, 3, species),
        ("Adelie penguins", adelie, 2, "1 species, 2 sexes"),
        ("iris", load_iris().data, 3, species),
        ("iris setosa", load_iris().data[:50], 2, "1 species"),
        ("wine", load_wine().data, 3, "3 cultivars"),
    ):
        whole = X[~np.isnan(X).any(axis=1)]
        scaled = (whole - whole.mean(axis=0)) / whole.std(axis=0)
        yield name, scaled, PSC(k, n_components=1, affine=True), known
    if data is None:
        return
    with np.load(Path(data) / "faces" / "faces.npz") as stored:
        X, person = stored["X"].astype(float), stored["y"]
    some = np.isin(person, np.unique(person)[:3])
    yield "faces", X[some], PSC(3, n_components=9), "3 people under many lights"
    for name, k, known in (("leukemia", 3, "3 subtypes"), ("st_jude", 6, "6 subtypes")):
        with np.load(Path(data) / "gene_expression" / f"{name}.npz") as stored:
            yield name, stored["X"].astype(float), recipes.expression(k), known


def on_real(data):
    """Print answers on real data, against one subspace and against one cluster less."""
    header = ["table", "shape", "known", "p against 1", "p against K - 1", "grade"]
    print(markdown(header, []), flush=True)
    for name, X, model, known in tables_of(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            last = model[-1] if isinstance(model, Pipeline) else model
            last.set_params(random_state=0)
            k = len(np.unique(model.fit(X).labels_))
            found = [is_real(model, X, against=a, random_state=0) for a in sorted({1, k - 1})]
        shown = [f"{each.p_value:.2g} (z = {each.z:.1f})" for each in found]
        shown += [""] * (2 - len(shown))
        shape = " x ".join(map(str, X.shape))
        row = [f"{name}, K = {k}", shape, known, *shown, found[0].grade.value]
        print("| " + " | ".join(row) + " |", flush=True)


def seconds():
    """Seconds of processor time for 99 tables of 250 x 1000, on two threads."""
    X = np.random.default_rng(0).normal(size=(250, 1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PSC(3, n_components=2, random_state=0, n_jobs=2).fit(X)
        began = time.process_time()
        is_real(model, X, early_stop=None, random_state=0)
    return time.process_time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument("--more-sets", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--data", type=Path, default=os.environ.get("SUBSPACES_DATA"))
    parser.add_argument("--real", action="store_true", help="print real tables and the time")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.real:
        on_real(args.data)
        print(f"\n250 x 1000 with 99 tables: {seconds():.0f} s of processor time")
        return
    few, jobs = range(args.sets), args.jobs
    kinds = [(affine, null) for affine in (False, True) for null in NULLS]
    models = [f"{'affine' if a else 'through the origin'}, {null}" for a, null in kinds]
    size = {
        f"{family}, {n} x {p}": [
            (family, n, p, *kind, seed)
            for kind in kinds
            for seed in range(args.more_sets if family in LARGE else args.sets)
        ]
        for family in NOISE
        for n, p in SHAPES
    }
    power = {
        f"{kind}, noise {UNIONS[kind][2]}": [(kind, null, s) for null in NULLS for s in few]
        for kind in UNIONS
    }
    less = {kind: [(kind, null, s) for null in NULLS for s in few] for kind in FEWER}
    series = {kind: [(kind, a, s) for a in (False, True) for s in few] for kind in SERIES}

    def in_both(found):
        answers = [[v for cell, v in found.items() if cell[1] == a] for a in (False, True)]
        sure = [f"{np.mean([grade == 'sure' for _, grade in each]):.2f}" for each in answers]
        rejected = [rate([p for p, _ in each]) for each in answers]
        return [rejected[0], sure[0], rejected[1], sure[1]]

    nulls = [(null,) for null in NULLS]
    text = [
        "# Is it real?",
        f"`python benchmarks/is_real.py --sets {args.sets} --more-sets {args.more_sets}`. Share of "
        "sets in which `diagnostics.is_real` rejects at .05, with the exact 95 % lower bound of "
        "the rate in brackets. A test that holds its level has .05 in noise.",
    ]
    title = "## Noise without clusters, K = 2, R = 1"
    text += study(title, ["noise", *models], in_noise, size, jobs, by_kind(kinds, 3))
    text.append("\n".join(f"- {name}: {what}." for name, what in NOISE.items()))
    title = "## Weak unions, 150 x 20, K and R right"
    text += study(title, ["union", *NULLS], in_union, power, jobs, by_kind(nulls, 1))
    title = "## K against K - 1 clusters, 150 x 20, noise .2"
    text += study(title, ["data", *NULLS], of_fewer, less, jobs, by_kind(nulls, 1))
    text.append("The last row is power: there K is right. In the others it is one too many.")
    title = "## Samples that depend on their neighbours, 150 x 20, no clusters, copula"
    header = ["series", "through the origin", "verdict sure", "affine", "verdict sure"]
    text += study(title, header, in_series, series, jobs, in_both)
    text.append(
        "The p-value is wrong for a series. The verdict is then doubtful, if neighbours are alike."
    )
    save("is_real", "\n\n".join(text), args.out)


if __name__ == "__main__":
    main()
