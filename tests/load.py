"""Memory over many fits, in one process: ``python -m tests.load 200``."""

import gc
import sys
import warnings

import numpy as np
from sklearn.base import clone

from tests.references import MODELS

PAGE = 4096
EARLY = 20
MOST_GROWTH = 0.05


def resident() -> int:
    """Bytes of memory that the process holds now."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def main(count: int) -> int:
    """Fit every estimator in turn; 1 if memory grew by over 5 % after the first 20."""
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(300, 40))
    models = list(MODELS.values())
    early = now = 0
    for i in range(count):
        clone(models[i % len(models)]).fit(X)
        if i + 1 == EARLY:
            early = resident()
    now = resident()
    growth = now / early - 1
    sys.stdout.write(
        f"after {EARLY} fits {early / 1e6:.1f} MB, after {count} fits {now / 1e6:.1f} MB: "
        f"{growth:+.1%}\n"
    )
    return int(growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
