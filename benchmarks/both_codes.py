"""Whether the compiled kernels and the plain code give the same labels, regime by regime.

    python benchmarks/both_codes.py

Writes benchmarks/results/both_codes.md. Both fit the data of every regime of speed.py and of
speed_many_rows.py from the same random starts. Fits of many rows begin near their end, with the
flats of a sample; so there both sweep from random flats, too, and stop after a dozen sweeps.
"""

import os
import sys
import warnings
from contextlib import contextmanager
from itertools import product

import numpy as np
import speed
import speed_many_rows as many
from harness import markdown, save
from threadpoolctl import threadpool_limits

from subspaces import PSC
from subspaces.data.kinds import FEW_ROWS
from subspaces.kernels import compiled

CRITERIA = ("influence", "loo")
SWEEPS = 12
COLUMNS = [
    *("regime", "size", "precision", "noise", "criterion", "from", "sweeps: compiled / plain"),
    *("labels that differ", "objectives, relative difference"),
]


@contextmanager
def plain_code():
    """No compiled kernels, as with SUBSPACES_PURE=1."""
    if compiled("gram") is None:
        raise SystemExit("there are no compiled kernels to compare; unset SUBSPACES_PURE, or build")
    os.environ["SUBSPACES_PURE"] = "1"
    compiled.cache_clear()
    try:
        yield
    finally:
        del os.environ["SUBSPACES_PURE"]
        compiled.cache_clear()


def fitted(X, k, r, starts, criterion):
    """Labels, sweeps and objective of a fit."""
    options = {"init": "random", "n_init": starts, "max_iter": speed.CAP, "random_state": 0}
    model = PSC(k, n_components=r, criterion=criterion, **options).fit(X)
    return model.labels_, model.n_iter_, model.objective_


def swept(X, k, r, criterion):
    """The same of some sweeps from random flats."""
    random = np.random.default_rng(0)
    found = many.from_random_flats(X, k, r, criterion, random, max_iter=SWEEPS)
    return np.asarray(found.labels), len(found.path), found.path[-1]


def compared(run, *given):
    """Sweeps of both codes, labels that differ, and by how much the objectives do."""
    labels, sweeps, objective = run(*given)
    with plain_code():
        plain_labels, plain_sweeps, plain_objective = run(*given)
    differ = int(np.sum(labels != plain_labels))
    off = abs(objective / plain_objective - 1.0)
    return [f"{sweeps} / {plain_sweeps}", f"{differ} of {len(labels)}", f"{off:.0e}"]


def told(*row):
    print(*row, flush=True, file=sys.stderr)
    return list(row)


def few_rows():
    rows = []
    for (name, n, p, k, r, starts, noise), criterion in product(speed.REGIMES, CRITERIA):
        X = speed.union(n, p, k, r, noise)
        about = [name, f"{n} x {p}", "float64", noise, criterion, f"{starts} starts"]
        rows.append(told(*about, *compared(fitted, X, k, r, starts, criterion)))
    return rows


def many_rows():
    rows = []
    for (name, n, p, k, r, precision), noise in product(many.REGIMES, (many.CLEAR, many.NOISY)):
        X = many.union(n, p, k, r, noise, precision)
        for criterion in CRITERIA:
            about = [name, f"{n} x {p}", precision, noise, criterion]
            rows.append(told(*about, "a start", *compared(fitted, X, k, r, 1, criterion)))
            if n > FEW_ROWS:
                rows.append(told(*about, "random flats", *compared(swept, X, k, r, criterion)))
        del X
    return rows


def main():
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rows = [*few_rows(), *many_rows()]
    save(
        "both_codes",
        "# The compiled kernels and the plain code\n\n"
        "`python benchmarks/both_codes.py`: labels and objectives from the same random starts, "
        f"at most {speed.CAP} sweeps, and of many rows from random flats, {SWEEPS} sweeps.\n\n"
        + markdown(COLUMNS, rows)
        + f"\n\n{speed.machine()}.",
    )


if __name__ == "__main__":
    main()
