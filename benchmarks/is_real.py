"""How often `diagnostics.is_real` calls clusters more than chance: in noise, unions, real tables.

    python benchmarks/is_real.py [--sets 60] [--more-sets 200] [--jobs -1] [--data DIRECTORY]

Writes benchmarks/results/is_real.md. Every p-value is that of a test with 19 tables, which rejects
at .05 if none of them gains as much as the samples. So no more tables are drawn after the first
that does (``early_stop=1``), and the decision is the same. Gaussian noise and AR .9 have
--more-sets sets a cell, the others --sets. A run that was interrupted goes on where it stopped.
DIRECTORY holds faces/faces.npz, gene_expression/ and omics/; without it these tables are left out.
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


def p_value(X, k, r, affine, null, seed, against=1):
    """The p-value with 19 tables, or more than .05."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PSC(k, n_components=r, affine=affine, n_init=1, random_state=seed).fit(X)
        found = is_real(
            model, X, against=against, null=null, n_nulls=19, early_stop=1, random_state=seed
        )
    return found.p_value


def in_noise(family, n, p, affine, null, seed):
    """The p-value of two lines."""
    return p_value(noise(family, n, p, seed), 2, 1, affine, null, seed)


def in_union(kind, null, seed):
    """The p-value of the right clusters."""
    k, r, _ = UNIONS[kind]
    return p_value(union(kind, seed), k, r, False, null, seed)


def of_fewer(kind, null, seed):
    """The p-value against one cluster less."""
    _, r, _, affine, asked = FEWER[kind]
    return p_value(fewer(kind, seed), asked, r, affine, null, seed, against=asked - 1)


def rate(values):
    """Share of p-values up to .05, and its exact 95 % lower bound."""
    rejected, n = int(np.sum(np.array(values) <= LEVEL)), len(values)
    low = stats.beta.ppf(LEVEL, rejected, n - rejected + 1) if rejected else 0.0
    return f"{rejected / n:.3f} ({low:.3f})"


def rates(results, heads):
    """A rate for each of the first entries of the cells, over their seeds."""
    return [rate([p for cell, p in results.items() if cell[: len(head)] == head]) for head in heads]


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
    for name, k, known in (
        ("leukemia", 3, "3 subtypes"),
        ("st_jude", 6, "6 subtypes"),
    ):
        with np.load(Path(data) / "gene_expression" / f"{name}.npz") as stored:
            yield name, stored["X"].astype(float), recipes.expression(k), known


def on_real(data):
    """A row for each real table, against one subspace and against one cluster less."""
    rows = []
    for name, X, model, known in tables_of(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            last = model[-1] if isinstance(model, Pipeline) else model
            last.set_params(random_state=0)
            k = len(np.unique(model.fit(X).labels_))
            found = [is_real(model, X, against=a, random_state=0) for a in (1, k - 1)]
        shown = [f"{each.p_value:.2g} (z = {each.z:.1f})" for each in found]
        rows.append([name, " x ".join(map(str, X.shape)), known, *shown, found[0].grade.value])
    return rows


def seconds():
    """Wall-clock seconds of 99 tables of 250 x 1000, two threads."""
    X = np.random.default_rng(0).normal(size=(250, 1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PSC(3, n_components=2, random_state=0, n_jobs=2).fit(X)
        began = time.perf_counter()
        is_real(model, X, early_stop=None, random_state=0)
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument("--more-sets", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--data", type=Path, default=os.environ.get("SUBSPACES_DATA"))
    args = parser.parse_args()
    began = time.perf_counter()
    kinds = [(affine, null) for affine in (False, True) for null in NULLS]
    cells = [
        (family, *shape, *kind, seed)
        for family in NOISE
        for shape in SHAPES
        for kind in kinds
        for seed in range(args.more_sets if family in LARGE else args.sets)
    ]
    size = run_cells(in_noise, cells, args.jobs, keep="is_real_noise")
    cells = [(kind, null, seed) for kind in UNIONS for null in NULLS for seed in range(args.sets)]
    power = run_cells(in_union, cells, args.jobs, keep="is_real_union")
    cells = [(kind, null, seed) for kind in FEWER for null in NULLS for seed in range(args.sets)]
    less = run_cells(of_fewer, cells, args.jobs, keep="is_real_fewer")
    spent = time.perf_counter() - began
    header = ["noise", "samples x variables", *(
        f"{'affine' if affine else 'through the origin'}, {null}" for affine, null in kinds
    )]  # fmt: skip
    size_rows = [
        [family, f"{n} x {p}", *rates(size, [(family, n, p, *kind) for kind in kinds])]
        for family in NOISE
        for n, p in SHAPES
    ]
    text = [
        "# Is it real?",
        f"`python benchmarks/is_real.py --sets {args.sets} --more-sets {args.more_sets}`. Share of "
        "sets in which `diagnostics.is_real` rejects at .05, with the exact 95 % lower bound of "
        "the rate in brackets. A test that holds its level has .05 in noise.",
        "## Noise without clusters, K = 2, R = 1",
        markdown(header, size_rows),
        "\n".join(f"- {name}: {what}." for name, what in NOISE.items()),
        "## Weak unions, 150 x 20, K and R right",
        markdown(
            ["union", *NULLS],
            [
                [f"{kind}, noise {spread}", *rates(power, [(kind, null) for null in NULLS])]
                for kind, (_, _, spread) in UNIONS.items()
            ],
        ),
        "## K against K - 1 clusters, 150 x 20, noise .2",
        markdown(
            ["data", *NULLS],
            [[kind, *rates(less, [(kind, null) for null in NULLS])] for kind in FEWER],
        ),
        "The last row is power: there K is right. In the others it is one too many.",
        "## Real tables, 99 tables without clusters",
        markdown(
            ["table", "shape", "known", "p against 1", "p against K - 1", "grade"],
            on_real(args.data),
        ),
        f"250 x 1000 with 99 tables takes {seconds():.0f} s on two threads. The three studies took "
        f"{spent:.0f} s.",
    ]
    save("is_real", "\n\n".join(text))


if __name__ == "__main__":
    main()
