"""Missing cells: how many samples are still in the right cluster, beside other ways to fill them.

    python benchmarks/missing.py [--sets 20] [--data DIR]

Writes benchmarks/results/missing.md. An interrupted run goes on where it stopped. Cells are missing
at random, or because they are low. Beside the fit to observed cells: the same PSC on the table
filled by means of columns, by nearest neighbours (scikit-learn's KNNImputer), by IterativeImputer
(up to 50 variables), and by regularised iterative PCA, with which our fit begins.

DIR, or SUBSPACES_DATA, holds tracks of moving points and faces, as for benchmarks/real.py: a fifth
of the raw coordinates, or of the pixels, is hidden. Each is set beside the fit to all of them.
"""

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from harness import markdown, run_cells, save
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from threadpoolctl import threadpool_limits

from subspaces import PSC
from subspaces.core.incomplete import filled_by_pca, lower_in_holes, observed_cells
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import matched_accuracy
from subspaces.pca.missing import SURELY, TOO_LOW

# Samples a cluster, variables, dimension, noise, and whether subspaces have centres of their own.
UNIONS = {
    "A": (100, 20, 2, 0.15, False),
    "B": (100, 50, 4, 0.25, False),
    "C": (50, 200, 3, 0.2, False),
    "D": (200, 50, 2, 0.2, False),
    "E": (100, 50, 3, 0.25, True),
    "G": (100, 20, 4, 0.05, False),
}
FAMILIES = (*"ABCDEFG",)
SHARES = (0.05, 0.2, 0.4)
# Draws of two subjects, and the share of their pixels, and of the coordinates of tracks, hidden.
DRAWS, HIDDEN = 10, 0.2
WAYS = ("observed cells", "iterative PCA", "means", "KNN", "IterativeImputer")


def union(name, seed):
    """Rows, classes, dimensions, and whether subspaces have centres of their own."""
    if name == "F":
        made = make_scenario("e", noise=0.05, n_features=200, random_state=seed)
        return made.data, made.target, [int(r) for r in made.n_components], False
    size, p, r, noise, affine = UNIONS[name]
    made = make_subspaces(
        [size] * 3, p, [r] * 3, noise=noise, offset=float(affine), random_state=seed
    )
    return made.data, made.target, [r] * 3, affine


def holes_of(X, share, low, seed):
    """Which cells are missing: at random, or the lower a value the likelier."""
    random = np.random.default_rng([seed, round(100 * share), int(low)])
    if not low:
        return random.random(X.shape) < share
    z = (X - X.mean()) / X.std()
    order = np.sort((z + random.logistic(scale=0.4, size=X.shape)).ravel())
    edge = order[round(share * X.size)]
    random = np.random.default_rng([seed, round(100 * share), int(low), 1])
    return z + random.logistic(scale=0.4, size=X.shape) < edge


def one_set(name, share, low, seed):
    """Errors of every way and of the complete table, errors of cells, seconds, the detector."""
    X, target, dimensions, affine = union(name, seed)
    holes = holes_of(X, share, low, seed)
    holes[holes.all(axis=1), 0] = False
    holes[0, holes.all(axis=0)] = False
    Y = np.where(holes, np.nan, X)
    given = dimensions if len(set(dimensions)) > 1 else dimensions[0]
    model = PSC(len(dimensions), n_components=given, affine=affine, random_state=0)
    cells = observed_cells(Y)
    rank = max(min(sum(dimensions) + 2 * affine, X.shape[1] // 2, len(X) // 3), 1)
    tables = {
        "iterative PCA": lambda: filled_by_pca(cells, rank, affine).table,
        "means": lambda: SimpleImputer().fit_transform(Y),
        "KNN": lambda: KNNImputer().fit_transform(Y),
    }
    if X.shape[1] <= 50:
        tables["IterativeImputer"] = lambda: IterativeImputer(random_state=0).fit_transform(Y)
    found = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.process_time()
        error = 1.0 - matched_accuracy(target, model.fit(X).labels_)
        found["complete"] = error, 0.0, time.process_time() - begun
        begun = time.process_time()
        error = 1.0 - matched_accuracy(target, model.fit(Y).labels_)
        taken = time.process_time() - begun
        found["observed cells"] = error, _rmse(model.impute(Y), X, holes), taken
        for way, fill in tables.items():
            begun = time.process_time()
            table = fill()
            error = 1.0 - matched_accuracy(target, model.fit(table).labels_)
            found[way] = error, _rmse(table, X, holes), time.process_time() - begun
    lower, z = lower_in_holes(cells, filled_by_pca(cells, rank, affine).image)
    return {"found": found, "lower": lower, "z": z, "told": bool(lower < TOO_LOW and z < SURELY)}


def real_set(folder, name, index):
    """Errors in % of the fits to the whole table and to four fifths of it, and seconds of each."""
    rows, classes, dimension = tracks(folder, index) if name == "motion" else faces(folder, index)
    holes = np.random.default_rng(index).random(rows.shape) < HIDDEN
    k = len(np.unique(classes))
    found = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table in (rows, np.where(holes, np.nan, rows)):
            if name == "faces":  # of unit length, by the pixels that are there
                mean_square = np.nanmean(table**2, axis=1, keepdims=True)
                table = table / np.sqrt(mean_square * table.shape[1])
            begun = time.process_time()
            labels = PSC(k, n_components=dimension, random_state=0).fit(table).labels_
            found += [100 * (1 - matched_accuracy(classes, labels)), time.process_time() - begun]
    return found


def tracks(folder, index):
    data = np.load(Path(folder) / "motion" / "motion.npz")
    name = data["names"][index]
    return data[f"X__{name}"].astype(float), data[f"y__{name}"], 4


def faces(folder, index):
    data = np.load(Path(folder) / "faces" / "faces.npz")
    subjects = np.random.default_rng(index).choice(np.unique(data["y"]), 2, replace=False)
    members = np.isin(data["y"], subjects)
    return data["X"][members].astype(float), data["y"][members], 9


def real_part(folder):
    """The table of tracks and faces."""
    n_sequences = len(np.load(Path(folder) / "motion" / "motion.npz")["names"])
    cells = [("motion", i) for i in range(n_sequences)] + [("faces", i) for i in range(DRAWS)]
    results = run_cells(partial(real_set, folder), cells, keep="missing_real")
    rows = []
    for name, what in (
        ("motion", f"{n_sequences} sequences of tracks, all coordinates, dimension 4"),
        ("faces", f"{DRAWS} pairs of subjects, dimension 9"),
    ):
        found = np.mean([value for cell, value in results.items() if cell[0] == name], axis=0)
        rows.append([what, *(f"{value:.2f}" for value in found)])
    heads = ["", "error, complete (%)", "seconds", "error, a fifth hidden (%)", "seconds"]
    return "## Tracks and faces\n\n" + markdown(heads, rows)


def _rmse(table, X, holes):
    return float(np.sqrt(np.mean((table - X)[holes] ** 2)) / X.std())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    given = parser.parse_args()
    sets = given.sets
    kinds = [(share, False) for share in SHARES] + [(0.2, True)]
    cells = [(f, *kind, s) for kind in kinds for f in FAMILIES for s in range(sets)]
    results = run_cells(one_set, cells, keep="missing")
    parts = []
    for share, low in kinds:
        title = f"{share:.0%} missing {'because they are low' if low else 'at random'}"
        rows = [
            [way, *(_cell(results, f, share, low, sets, way) for f in FAMILIES)]
            for way in ("complete", *WAYS)
        ]
        parts.append(f"## {title}\n\n" + markdown(["", *FAMILIES], rows))
    parts.append(ratios(results, sets))
    rows = []
    for share, low in kinds:
        each = [results[f, share, low, s] for f in FAMILIES for s in range(sets)]
        ranges = [[one[key] for one in each] for key in ("lower", "z")]
        told = np.mean([one["told"] for one in each])
        name = f"{share:.0%}, {'low values' if low else 'at random'}"
        rows.append([name, *(f"{min(v):.2f} to {max(v):.2f}" for v in ranges), f"{told:.0%}"])
    parts.append(
        "## Is it told that values are missing because they are low?\n\nFitted values in the holes "
        "less those elsewhere, in standard deviations and in standard errors, and in how many sets "
        "the warning comes.\n\n"
        + markdown(["missing", "standard deviations", "standard errors", "told"], rows)
    )
    if given.data:
        parts.append(real_part(given.data))
    save(
        "missing",
        f"# Missing cells, {sets} sets a family\n\n`python benchmarks/missing.py --sets {sets}`. "
        "Three clusters but in F, the paper's scenario e. Each cell: share of the samples in the "
        "wrong cluster, error of a filled cell in standard deviations of the table, processor "
        "seconds.\n\n" + "\n\n".join(parts),
    )


def ratios(results, sets):
    """Errors of labels over those of the complete table, of cells over those of iterative PCA."""

    def mean(way, share, families, what):
        return np.mean([
            results[f, share, False, s]["found"][way][what] for f in families for s in range(sets)
        ])  # fmt: skip

    rows = []
    for share in SHARES:
        row = [f"{share:.0%}"]
        for families in (*FAMILIES, "ABDF", FAMILIES):
            complete = mean("complete", share, families, 0)
            error = mean("observed cells", share, families, 0)
            cells = mean("observed cells", share, families, 1)
            cells /= mean("iterative PCA", share, families, 1)
            row.append(f"{error / complete:.2f} / {cells:.2f}" if complete else f"- / {cells:.2f}")
        rows.append(row)
    heads = ["missing", *FAMILIES, "A, B, D, F", "all"]
    return (
        "## Beside the complete table, and beside iterative PCA\n\nShare of samples in the wrong "
        "cluster over that of the complete table (- where that has none); error of a filled cell "
        "over that of iterative PCA.\n\n" + markdown(heads, rows)
    )


def _cell(results, family, share, low, sets, way):
    found = [results[family, share, low, s]["found"].get(way) for s in range(sets)]
    if found[0] is None:
        return "-"
    error, rmse, seconds = np.mean(found, axis=0)
    return f"{error:.3f} / {rmse:.2f} / {seconds:.2f}"


if __name__ == "__main__":
    main()
