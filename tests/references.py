"""Labels of every estimator on one table, kept over releases: ``python -m tests.references``.

The rule: `tests/references.json` changes only on purpose. Whoever changes a method so that its
labels change runs this script, reads the difference, and says in CHANGELOG.md, under "Changed",
which estimators give other labels and why. A refactoring, a faster path or a new version of a
dependency is no reason.
"""

import json
import sys
from pathlib import Path

from sklearn.base import clone

from subspaces import MCFA, MPPCA, PSC, SSC, MCtFA, MiniBatchPSC, SparseKMeans
from subspaces.datasets import make_subspaces
from tests.estimators.checks import CLUSTERERS, made

STORE = Path(__file__).with_name("references.json")
USUAL = {"n_components": 2, "n_init": 4, "n_runs": 20, "random_state": 0}
MODELS = {
    **{name: made(kind, 3, **USUAL) for name, kind in CLUSTERERS.items()},
    "PSC affine": PSC(3, n_components=2, affine=True, n_init=4, random_state=0),
    "PSC unequal": PSC(3, n_components=[1, 2, 2], n_init=4, random_state=0),
    "PSC influence": PSC(3, n_components=2, criterion="influence", n_init=4, random_state=0),
    "PSC sparse": PSC(3, n_components=2, n_variables=4, n_init=4, random_state=0),
    "PSC refined": PSC(3, n_components=2, refine="ppca", n_init=4, random_state=0),
    "MiniBatchPSC": MiniBatchPSC(3, n_components=2, random_state=0),
    "SSC lasso": SSC(3, n_components=2, solver="lasso", random_state=0),
    "SSC omp": SSC(3, n_components=2, solver="omp", random_state=0),
    "SSC admm": SSC(3, n_components=2, solver="admm", random_state=0),
    "SSC lsr": SSC(3, n_components=2, solver="lsr", random_state=0),
    "MPPCA": MPPCA(3, n_components=2, n_init=3, random_state=0),
    "MCFA": MCFA(3, n_components=4, n_init=3, random_state=0),
    "MCtFA": MCtFA(3, n_components=4, n_init=3, random_state=0),
    "SparseKMeans": SparseKMeans(3, n_variables=4, n_init=3, random_state=0),
}


def data():
    """Three planes in eight dimensions, with noise."""
    return make_subspaces(90, 8, [2, 2, 2], noise=0.05, offset=1.0, random_state=7).data


def found(name: str) -> str:
    """The labels, one digit a sample."""
    return "".join(map(str, clone(MODELS[name]).fit(data()).labels_))


if __name__ == "__main__":
    stored = json.loads(STORE.read_text())
    names = [*(name for name in stored if name in MODELS), *(MODELS.keys() - stored.keys())]
    STORE.write_text(json.dumps({name: found(name) for name in names}, indent=1) + "\n")
    sys.stdout.write(f"wrote {STORE}\n")
