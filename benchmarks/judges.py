"""What the score and the two judging graphs buy: each taken away, one at a time.

    python benchmarks/judges.py --data DIR     # or SUBSPACES_DATA=DIR; see benchmarks/real.py

Writes benchmarks/results/judges.md. A run that was interrupted goes on where it stopped.
"""

import argparse
import os
import warnings
from contextlib import nullcontext
from functools import partial
from unittest import mock

import numpy as np
from harness import markdown, run_cells, save
from real import load
from threadpoolctl import threadpool_limits

from subspaces import PSC
from subspaces.core.which_run import JudgingStart
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy
from subspaces.psc import settings
from subspaces.starts import judges, registry
from subspaces.starts.judges import NearExpression, ShapeInteraction

SETS = {"motion": 78, "faces2": 10, "faces5": 10, "faces10": 5, "digits": 1, "objects": 1,
        "post_digits": 1, "small clusters": 20, "planes in noise": 20}  # fmt: skip


class Voice(JudgingStart):
    """The voice of a judge without its start: its labels are all rows in turn, and never win."""

    def __init__(self, judge):
        self.judge = judge

    def __call__(self, problem, random):
        """Return labels that no sweep starts from: they fit nothing."""
        return np.arange(len(problem.rows.squared_norms)) % problem.n_clusters

    def charge(self, labels):
        """Return the judge's charge."""
        return self.judge.charge(labels)


def without(kind):
    return lambda starts: [pair for pair in starts if not isinstance(pair[1], kind)]


def start_alone(kind):
    return lambda starts: [
        (name, partial(start.__call__) if isinstance(start, kind) else start)
        for name, start in starts
    ]


def voice_alone(kind):
    return lambda starts: [
        (name, Voice(start) if isinstance(start, kind) else start) for name, start in starts
    ]


def ungated():
    return mock.patch.multiple(judges, LOOSE=np.inf, NEARLY_APART=np.inf)


# What is changed in the list of starts, and whether the gates are open.
VARIANTS = {
    "default": (list, False),
    "score `loo` in place of `distance`": (list, False),
    "no judging graph": (without(JudgingStart), False),
    "no shape interaction": (without(ShapeInteraction), False),
    "shape interaction as a start alone": (start_alone(ShapeInteraction), False),
    "shape interaction as a voice alone": (voice_alone(ShapeInteraction), False),
    "no near expression": (without(NearExpression), False),
    "near expression as a start alone": (start_alone(NearExpression), False),
    "near expression as a voice alone": (voice_alone(NearExpression), False),
    "both trusted whatever their own cut": (list, True),
}


def rows_of(folder, name, index):
    if name == "small clusters":
        made = make_subspaces(
            [12] * 4, 500, [2] * 4, noise=np.sqrt(2.0 * 2 / 500), scores="normal",
            random_state=index,
        )  # fmt: skip
        return made.data, made.target, 2
    if name == "planes in noise":
        made = make_subspaces(
            [100] * 3, 12, [2] * 3, noise=0.3, scores="normal", random_state=index
        )
        return made.data, made.target, 2
    return load(folder, name, index)


def error(folder, name, index, variant):
    """Misclassified samples in %."""
    rows, truth, dimension = rows_of(folder, name, index)
    n_clusters = len(np.unique(truth))
    change, open_gates = VARIANTS[variant]
    every, default = registry._for_equal, settings.default_criterion

    def criterion(given, problem):
        return "loo" if "`loo`" in variant else default(given, problem)

    with (
        threadpool_limits(1),
        warnings.catch_warnings(),
        mock.patch.object(registry, "_for_equal", lambda problem: change(every(problem))),
        mock.patch.object(settings, "default_criterion", criterion),
        ungated() if open_gates else nullcontext(),
    ):
        warnings.simplefilter("ignore")
        labels = PSC(n_clusters, n_components=dimension, random_state=0).fit_predict(rows)
    return 100 * (1 - matched_accuracy(truth, labels))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    folder = parser.parse_args().data
    if not folder:
        parser.error("--data DIR, or SUBSPACES_DATA, is needed")
    cells = [
        (name, index, variant)
        for name, count in SETS.items()
        for variant in VARIANTS
        for index in range(count)
    ]
    results = run_cells(partial(error, folder), cells)
    table = [
        [
            variant,
            *[
                f"{np.mean([results[name, index, variant] for index in range(count)]):.2f}"
                for name, count in SETS.items()
            ],
        ]
        for variant in VARIANTS
    ]
    counts = ", ".join(f"{name} {count}" for name, count in SETS.items())
    save(
        "judges",
        "# What the score and the judging graphs buy\n\n`python benchmarks/judges.py`: mean error "
        f"in %, `random_state=0`. Data sets: {counts}. Small clusters: four of 12 samples, "
        "dimension 2, 500 variables, twice as much noise as signal; planes in noise: three of 100 "
        "samples in 12 variables, noise .3.\n\n" + markdown(["", *SETS], table),
    )


if __name__ == "__main__":
    main()
