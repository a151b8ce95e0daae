"""How many clusters are chosen in nine kinds of noise and in clear unions, and who is warned.

    python benchmarks/noise_families.py [--sets 20] [--auto-sets 20] [--stability-sets 10]

Writes benchmarks/results/noise_families.md. 150 samples of 20 variables, candidates 1 to 4, two
starts a fit. The noise has no clusters: K = 1 is right. R = 1 is given for noise and R = 2 for the
planes, or left open. A run that was interrupted goes on where it stopped.
"""

import argparse
import warnings

import numpy as np
from harness import markdown, run_cells, save

from subspaces import PSC
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import stability
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
UNIONS = {"2 planes": 2, "3 planes": 3}
LINES = [(affine, margins) for affine in (False, True) for margins in ("data", "normal")]
WARNED, AGREED = "have heavy tails or are skewed", 0.2


def correlated(cells):
    """Columns of which each resembles the one before."""
    rows = cells.copy()
    for j in range(1, P):
        rows[:, j] = 0.9 * rows[:, j - 1] + np.sqrt(1 - 0.9**2) * cells[:, j]
    return rows


def draw(family, affine, seed):
    """Rows of one set."""
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
    return int(found.best_), any(WARNED in str(warning.message) for warning in heard)


def agreement(family, affine, seed):
    """How far halves agree on two forced clusters, and whether its doubt was said."""
    given = 2 if family in UNIONS else 1
    model = PSC(
        UNIONS.get(family, 2), n_components=given, affine=affine, n_init=N_INIT, random_state=seed
    )
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        value = stability(model, draw(family, affine, seed), n_resamples=3, random_state=seed)
    told = any("one subspace describes" in str(warning.message) for warning in heard)
    return value.stability, told


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--auto-sets", type=int, default=20, help="sets with dimensions left open")
    parser.add_argument("--stability-sets", type=int, default=10)
    parser.add_argument("--margins", nargs="+", default=["data", "normal"])
    given = parser.parse_args()
    families = [*NOISE, *UNIONS]
    lines = [line for line in LINES if line[1] in given.margins]
    sets = {"given": given.sets, "auto": given.auto_sets}
    cells = [
        (family, affine, dimensions, margins, seed)
        for dimensions, count in sets.items()
        for affine, margins in lines
        for seed in range(count)
        for family in families
    ]
    found = run_cells(chosen, cells, keep="noise_families")
    halves = run_cells(
        agreement,
        [(f, a, s) for a in (False, True) for s in range(given.stability_sets) for f in families],
        keep="noise_families_stability",
    )
    save("noise_families", page(found, halves, families, lines, sets))


def page(found, halves, families, lines, sets):
    """The whole page."""
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
    kinds = "\n".join(f"- {name}: {words}" for name, words in NOISE.items())
    return (
        f"# How many clusters in noise without any, and in clear unions\n\n"
        f"`python benchmarks/noise_families.py`. {N} samples of {P} variables, candidates 1 to "
        f"{CANDIDATES[-1]}, `n_init={N_INIT}`.\nR given: 1 for noise, 2 for the planes.\n\n{kinds}"
        "\n- 2 planes, 3 planes: unions of planes with noise .2, apart by an offset if affine\n\n"
        f"{sets['given']} sets a cell with R given, {sets['auto']} with R auto. "
        "Share of the sets in which K is right, which is 1 in noise:\n\n"
        + markdown(["", *families], shares)
        + "\n\nThe warning of heavy tails, for margins as they are: in how many of the wrong "
        "choices it was given,\nand in how many of the right ones:\n\n"
        + markdown(["wrong; right", *families], warned)
        + "\n\nHalves that agree on two clusters forced on noise (planes: on as many as there "
        f"are): the mean of `diagnostics.stability`,\nthe largest, and in how many of the sets "
        f"above {AGREED} it was said that one subspace describes the samples better:\n\n"
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
