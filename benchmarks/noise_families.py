"""How many clusters are chosen in nine kinds of noise and in clear unions, and who is warned.

    python benchmarks/noise_families.py [--sets 20] [--auto-sets 20] [--stability-sets 10]
    python benchmarks/noise_families.py --structure [--sets 20] [--auto-sets 5]

Writes benchmarks/results/noise_families.md. With --structure it writes
benchmarks/results/structure_without_clusters.md: few values, order, curves and gradients. 150
samples of 20 variables, candidates 1 to 4, two starts a fit. The noise has no clusters: K = 1 is
right. R = 1 is given for noise and R = 2 for the planes, or left open. A run that was interrupted
goes on where it stopped.
"""

import argparse
import warnings

import numpy as np
from harness import markdown, run_cells, save

from subspaces import PSC
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import pca_components, stability
from subspaces.messages import Grade, code_of
from subspaces.selection import select_n_clusters

N, P, N_INIT = 150, 20, 2
CANDIDATES = range(1, 5)
NOISE = {
    "Gauss": "independent standard normal cells",
    "t3": "independent cells, Student with 3 degrees of freedom",
    "lognormal": "independent lognormal cells, less their mean",
    "raw lognormal": "the same with their mean, so that all lie on one side of the origin",
    "scales": "normal columns with standard deviations from .01 to 100",
    "AR .9": "each column .9 times the one before, plus normal noise",
    "plane": "one plane with noise .2",
    "rows t3": "rows of a spherical t with 3 degrees of freedom",
    "AR of t3": "as AR .9, of t3 cells",
}
STRUCTURE = {
    "binary": "independent cells 0 or 1, the share of ones from .1 to .9 over the columns",
    "0, 1, 2": "independent binomial cells of two draws with share .2",
    "gamma": "independent gamma cells of shape 4: skewness 1, excess kurtosis 1.5",
    "walk": "a random walk: each row the one before plus normal steps",
    "AR .5 rows": "each row .5 times the one before, plus normal noise",
    "closed curve": "a circle of radius 1 in one plane, with noise .1, in random order",
    "gradient": "even positions on one line from -1 to 1, with noise .1, in random order",
    "gradient, 5": "the same in 5 variables",
    "sorted planes": "two planes 3 apart with noise .2, sorted by cluster, where K = 2 is right",
}
UNIONS = {"2 planes": 2, "3 planes": 3, "sorted planes": 2}
# Kinds of order of noise in which the components of one PCA are counted.
ORDERED = ("walk", "AR .5 rows", "no order")
SHAPES = ((25, 8), (60, 20), (600, 12), (40, 80))
LINES = [(affine, margins) for affine in (False, True) for margins in ("data", "normal")]
WARNED, AGREED = ("neighbours_depend", "few_levels", "heavy_tails"), 0.2


def correlated(cells):
    """Columns of which each resembles the one before."""
    rows = cells.copy()
    for j in range(1, P):
        rows[:, j] = 0.9 * rows[:, j - 1] + np.sqrt(1 - 0.9**2) * cells[:, j]
    return rows


def autoregressive(cells):
    """Rows of which each resembles the one before."""
    rows = cells.copy()
    for i in range(1, len(rows)):
        rows[i] = 0.5 * rows[i - 1] + np.sqrt(1 - 0.5**2) * rows[i]
    return rows


def structure(family, seed):
    """Rows of one set of `STRUCTURE` without clusters."""
    random = np.random.default_rng([seed, 2030])
    normal, turn = random.normal(size=(N, P)), random.uniform(0, 2 * np.pi, N)
    axes = np.linalg.qr(random.normal(size=(P, 2)))[0]
    even = random.permutation(np.linspace(-1, 1, N))
    rows = {
        "binary": lambda: (random.random((N, P)) < random.uniform(0.1, 0.9, P)).astype(float),
        "0, 1, 2": lambda: random.binomial(2, 0.2, (N, P)).astype(float),
        "gamma": lambda: random.gamma(4.0, size=(N, P)),
        "walk": lambda: np.cumsum(normal, axis=0),
        "AR .5 rows": lambda: autoregressive(normal),
        "closed curve": lambda: np.c_[np.cos(turn), np.sin(turn)] @ axes.T + 0.1 * normal,
        "gradient": lambda: np.outer(even, axes[:, 0]) + 0.1 * normal,
        "gradient, 5": lambda: np.outer(even, _unit(axes[:5, 0])) + 0.1 * normal[:, :5],
    }
    return rows[family]()


def _unit(vector):
    return vector / np.linalg.norm(vector)


def draw(family, affine, seed):
    """Rows of one set."""
    if family == "sorted planes":
        offset = 3.0 if affine else 0.0
        return make_subspaces(
            [N // 2] * 2, P, [2, 2], noise=0.2, offset=offset, shuffle=False, random_state=seed
        ).data
    if family in STRUCTURE:
        return structure(family, seed)
    if family in UNIONS:
        k = UNIONS[family]
        offset = 1.0 if affine else 0.0
        union = make_subspaces(
            [N // k] * k, P, [2] * k, noise=0.2, offset=offset, random_state=seed
        )
        return union.data
    random = np.random.default_rng([seed, 2029])
    normal, student = random.normal(size=(N, P)), random.standard_t(3, size=(N, P))
    axes = np.linalg.qr(random.normal(size=(P, 2)))[0]
    rows = {
        "Gauss": lambda: normal,
        "t3": lambda: student,
        "lognormal": lambda: np.exp(normal) - np.exp(0.5),
        "raw lognormal": lambda: np.exp(normal),
        "scales": lambda: normal * 10 ** random.uniform(-2, 2, P),
        "AR .9": lambda: correlated(normal),
        "plane": lambda: random.normal(size=(N, 2)) @ axes.T + 0.2 * normal,
        "rows t3": lambda: normal / np.sqrt(random.chisquare(3, size=(N, 1)) / 3),
        "AR of t3": lambda: correlated(student),
    }
    return rows[family]()


def chosen(family, affine, dimensions, margins, seed):
    """The number of clusters, and whether its doubt was said."""
    given = 2 if family in UNIONS else 1
    model = PSC(
        n_components=given if dimensions == "given" else "auto",
        affine=affine,
        n_init=N_INIT,
        random_state=seed,
    )
    options = {} if margins == "data" else {"margins": margins}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = select_n_clusters(model, draw(family, affine, seed), CANDIDATES, **options)
    return int(found.best_), any(code_of(each.message) in WARNED for each in heard)


def agreement(family, affine, seed):
    """How far halves agree on two forced clusters, and whether a doubt was said."""
    given = 2 if family in UNIONS else 1
    model = PSC(
        UNIONS.get(family, 2), n_components=given, affine=affine, n_init=N_INIT, random_state=seed
    )
    value = stability(model, draw(family, affine, seed), n_resamples=3, random_state=seed)
    return value.stability, value.grade is not Grade.SURE


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--auto-sets", type=int, help="sets with dimensions left open")
    parser.add_argument("--stability-sets", type=int, default=10)
    parser.add_argument("--margins", nargs="+", default=["data", "normal"])
    parser.add_argument("--structure", action="store_true", help="few values, order, curves")
    given = parser.parse_args()
    families = list(STRUCTURE) if given.structure else [*NOISE, "2 planes", "3 planes"]
    margins = ["data"] if given.structure else given.margins
    lines = [line for line in LINES if line[1] in margins]
    sets = {"given": given.sets, "auto": given.auto_sets or (5 if given.structure else 20)}
    cells = [
        (family, affine, dimensions, margins, seed)
        for dimensions, count in sets.items()
        for affine, margins in lines
        for seed in range(count)
        for family in families
    ]
    if given.structure:
        found = run_cells(chosen, cells, keep="structure_without_clusters")
        one_pca = run_cells(
            components, [(k, n, p, s) for k in ORDERED for n, p in SHAPES for s in range(20)]
        )
        save("structure_without_clusters", structure_page(found, one_pca, families, lines, sets))
        return
    found = run_cells(chosen, cells, keep="noise_families")
    halves = run_cells(
        agreement,
        [(f, a, s) for a in (False, True) for s in range(given.stability_sets) for f in families],
        keep="noise_families_stability",
    )
    save("noise_families", page(found, halves, families, lines, sets))


def components(kind, n, p, seed):
    """Whether `pca_components` finds a component in noise, and whether it warns of the order."""
    random = np.random.default_rng([seed, 2031])
    rows = random.normal(size=(n, p))
    if kind == "walk":
        rows = np.cumsum(rows, axis=0)
    elif kind == "AR .5 rows":
        rows = autoregressive(rows)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = pca_components(rows).n_components > 0
    return found, any(code_of(each.message) == "neighbours_depend" for each in heard)


def structure_page(found, one_pca, families, lines, sets):
    """The page of `STRUCTURE`."""
    kinds = "\n".join(f"- {name}: {words}" for name, words in STRUCTURE.items())
    shares, warned = tables(found, families, lines, sets)
    return (
        "# How many clusters in tables that have other structure\n\n"
        f"`python benchmarks/noise_families.py --structure`. {N} samples of {P} variables, "
        f"candidates 1 to {CANDIDATES[-1]}, `n_init={N_INIT}`.\nR given: 2 for the planes, 1 for "
        f"all others.\n\n{kinds}\n\n"
        f"{sets['given']} sets a cell with R given, {sets['auto']} with R auto. "
        "Share of the sets in which K is right, which is 1 but for the planes:\n\n"
        + markdown(["", *families], shares)
        + "\n\nThe warning that such a table can look like clusters: in how many of the wrong "
        "choices it was given,\nand in how many of the right ones:\n\n"
        + markdown(["wrong; right", *families], warned)
        + "\n\nOne PCA of noise, 20 tables a cell: in how many `pca_components` finds components, "
        "and in how many of these\nit warns that neighbouring samples depend on each other:\n\n"
        + markdown(
            ["samples x variables", *(f"{n} x {p}" for n, p in SHAPES)],
            [[kind, *(_counted(one_pca, kind, *shape) for shape in SHAPES)] for kind in ORDERED],
        )
    )


def _counted(one_pca, kind, n, p):
    cells = [value for cell, value in one_pca.items() if cell[:3] == (kind, n, p)]
    return f"{sum(found for found, _ in cells)}, {sum(warned for _, warned in cells)}"


def tables(found, families, lines, sets):
    """Rows of two tables: how often K is right, and how often the warning was given."""
    shares, warned = [], []
    for dimensions, count in sets.items():
        for affine, margins in lines:
            name = f"{'affine' if affine else 'linear'}, R {dimensions}"
            name += ", normal margins" if margins == "normal" else ""
            columns = [
                [found[f, affine, dimensions, margins, s] for s in range(count)] for f in families
            ]
            right = [
                [k == UNIONS.get(f, 1) for k, _ in column]
                for f, column in zip(families, columns, strict=True)
            ]
            shares.append([name, *(f"{np.mean(r):.2f}" for r in right)])
            if margins == "data":
                warned.append([name, *(_warned(c, r) for c, r in zip(columns, right, strict=True))])
    return shares, warned


def page(found, halves, families, lines, sets):
    """The whole page."""
    kinds = "\n".join(f"- {name}: {words}" for name, words in NOISE.items())
    shares, warned = tables(found, families, lines, sets)
    return (
        f"# How many clusters in noise without any, and in clear unions\n\n"
        f"`python benchmarks/noise_families.py`. {N} samples of {P} variables, candidates 1 to "
        f"{CANDIDATES[-1]}, `n_init={N_INIT}`.\nR given: 1 for noise, 2 for the planes.\n\n{kinds}"
        "\n- 2 planes, 3 planes: unions of planes with noise .2, apart by an offset if affine\n\n"
        f"{sets['given']} sets a cell with R given, {sets['auto']} with R auto. "
        "Share of the sets in which K is right, which is 1 in noise:\n\n"
        + markdown(["", *families], shares)
        + "\n\nThe warning that such a table can look like clusters, for margins as they are: "
        "in how many of the wrong choices it was given,\nand in how many of the right ones:\n\n"
        + markdown(["wrong; right", *families], warned)
        + "\n\nHalves that agree on two clusters forced on noise (planes: on as many as there "
        f"are): the mean of `diagnostics.stability`,\nthe largest, and in how many of the sets "
        f"above {AGREED} they were called doubtful or not stable:\n\n"
        + markdown(["", *families], [_halves(halves, families, affine) for affine in (False, True)])
    )


def _warned(column, right):
    told = {True: [], False: []}
    for (_, said), is_right in zip(column, right, strict=True):
        told[is_right].append(said)
    return "; ".join(
        f"{sum(told[is_right])} of {len(told[is_right])}" for is_right in (False, True)
    )


def _halves(halves, families, affine):
    line = ["affine" if affine else "linear"]
    for family in families:
        cells = [value for (f, a, _), value in halves.items() if (f, a) == (family, affine)]
        values = [value for value, _ in cells]
        above = [told for value, told in cells if value > AGREED]
        line.append(f"{np.mean(values):.2f}, {max(values):.2f}, {sum(above)} of {len(above)}")
    return line


if __name__ == "__main__":
    main()
