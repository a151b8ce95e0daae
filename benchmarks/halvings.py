"""How many halvings tell whether clusters are stable: ten, or fewer if these are of one mind.

    python benchmarks/halvings.py --data DIRECTORY

Writes benchmarks/results/halvings.md. DIRECTORY holds tables/tables.npz (see automatic.py). On each
table `PSC` chooses everything, with three seeds, and ten halvings follow. The first m of them are
enough if each by itself leads to the same verdict.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from automatic import table
from harness import markdown, run_cells, save

from subspaces import PSC
from subspaces.diagnostics import stability
from subspaces.halving import DOUBTFUL, SOLID

SEEDS, SPLITS, TRIED = 3, 10, (3, 4, 5, 6)


def agreements(path, name, seed):
    """The agreement of each halving; None for one cluster."""
    warnings.simplefilter("ignore")
    X = table(path, name)[0]
    model = PSC("auto", n_components="auto", affine="auto", random_state=seed).fit(X)
    if model.n_clusters_ == 1:
        return None
    return stability(model, X, n_resamples=SPLITS, random_state=seed).per_resample


def verdict(agreement):
    """0, 1 or 2: not stable, doubtful, stable."""
    return int(np.digitize(round(float(agreement), 2), (DOUBTFUL, SOLID)))


def row(found, m):
    """How often the first m are of one mind, and what ten say then."""
    early = [each for each in found if len({verdict(value) for value in each[:m]}) == 1]
    changed = [each for each in early if verdict(each[:m].mean()) != verdict(each.mean())]
    apart = max(abs(each[:m].mean() - each.mean()) for each in early)
    return [m, f"{len(early)} of {len(found)}", len(changed), f"{apart:.3f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    given = parser.parse_args()
    if given.data is None:
        parser.error("give --data DIRECTORY, or set SUBSPACES_DATA")
    path = Path(given.data) / "tables" / "tables.npz"
    names = np.load(path, allow_pickle=True)["names"].tolist()
    cells = [(path, name, seed) for name in names for seed in range(SEEDS)]
    found = [each for each in run_cells(agreements, cells).values() if each is not None]
    heads = ["halvings", "of one mind", "with another verdict after ten", "largest difference"]
    save(
        "halvings",
        "# How many halvings\n\n`python benchmarks/halvings.py`: "
        f"{len(names)} tables, {SEEDS} seeds; fits that chose one cluster are left out. The "
        "difference is between the mean agreement of the first halvings and of ten.\n\n"
        + markdown(heads, [row(found, m) for m in TRIED]),
    )


if __name__ == "__main__":
    main()
