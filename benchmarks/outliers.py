"""`PSC(outliers=.1)`: how many outliers are false, how many are found, and what the clusters gain.

    python benchmarks/outliers.py [--sets 25] [--jobs -1] [--variables 20] [--fails 12] [--out FILE]

Prints each row when it is there, and writes FILE, by default benchmarks/results/outliers.md. Three
planes (K = 3, R = 2) of 70 samples each with noise .12, and outliers of five kinds that are 0, 5,
10, 20 and 30 % of all samples. A second study has --fails sets of 10 % Gaussian outliers in data
or with numbers that the p-values are not made for. The detectors of pyod (`pip install pyod`) are
told the true share; without pyod their rows are left out. --variables may be several numbers. A run
that was interrupted goes on where it stopped.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from harness import markdown, run_cells, save

from subspaces import PSC
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy

try:
    from pyod.models.ecod import ECOD
    from pyod.models.iforest import IForest
    from pyod.models.lof import LOF
    from pyod.models.pca import PCA

    DETECTORS = {"LOF": LOF, "PCA": PCA, "IForest": IForest, "ECOD": ECOD}
except ImportError:
    DETECTORS = {}

K, R, SIZE, NOISE, LEVEL = 3, 2, 70, 0.12, 0.1
KINDS = {
    "ball": "uniform in a ball as large as the data",
    "Gaussian": "of the mean and covariance of the data",
    "plane": "in a plane of their own, with the same noise",
    "cells": "samples of the data with 1 added to or taken from each value",
    "gross": "uniform in a ball ten times as large as the data",
}
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3)
# What the data are or the model is told, in place of planes of equal noise, K = 3 and R = 2.
OTHERS = {
    "as above": {},
    "K + 1": {"k": K + 1},
    "K - 1": {"k": K - 1},
    "R + 1": {"r": R + 1},
    "R - 1": {"r": R - 1},
    "affine": {"affine": True},
    "20 samples a cluster": {"size": 20},
    "20 samples a cluster, 100 variables": {"size": 20, "p": 100},
    "cells of t5 noise": {"noise": "t5"},
    "cells of t3 noise": {"noise": "t3"},
    "samples of t5 noise": {"noise": "rows"},
    "AR(.7) noise over the variables": {"noise": "AR"},
    "noise .06, .12, .24 by cluster": {"noise": "clusters"},
    "noise from .04 to .36 by variable": {"noise": "variables"},
}


def noise(kind, target, p, random):
    """Noise (n, p) of standard deviation .12, but for the two kinds whose noise differs."""
    n = len(target)
    normal = random.normal(size=(n, p))
    if kind in ("t5", "t3"):
        freedom = int(kind[1])
        return NOISE * random.standard_t(freedom, size=(n, p)) / np.sqrt(freedom / (freedom - 2))
    if kind == "rows":
        return NOISE * normal / np.sqrt(random.chisquare(5, size=(n, 1)) / 3)
    if kind == "clusters":
        return NOISE * np.array([0.5, 1.0, 2.0])[target][:, None] * normal
    if kind == "variables":
        return NOISE * np.geomspace(1 / 3, 3, p) * normal
    if kind == "AR":
        for j in range(1, p):
            normal[:, j] = 0.7 * normal[:, j - 1] + np.sqrt(1 - 0.7**2) * normal[:, j]
    return NOISE * normal


def outliers_of(kind, X, m, random):
    """Outliers (m, p) of a kind."""
    p = X.shape[1]
    centre = X.mean(axis=0)
    if kind in ("ball", "gross"):
        directions = random.normal(size=(m, p))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radius = np.linalg.norm(X - centre, axis=1).max() * (10 if kind == "gross" else 1)
        return centre + radius * random.random((m, 1)) ** (1 / p) * directions
    if kind == "Gaussian":
        return random.multivariate_normal(centre, np.cov(X.T), size=m)
    if kind == "plane":
        axes = np.linalg.qr(random.normal(size=(p, R)))[0]
        scores = random.uniform(-1, 1, size=(m, R)) * np.sqrt(3 * np.sum(X.var(axis=0)) / R)
        return centre + scores @ axes.T + NOISE * random.normal(size=(m, p))
    return X[random.integers(len(X), size=m)] + random.choice([-1.0, 1.0], size=(m, p))


def table(kind, share, seed, p=20, size=SIZE, affine=False, form="normal"):
    """Samples (n, p), and their clusters (n,), -1 for outliers."""
    random = np.random.default_rng([seed, p, size, 540])
    union = make_subspaces(
        [size] * K, p, [R] * K, noise=0.0, offset=float(affine), random_state=seed
    )
    X = union.data + noise(form, union.target, p, random)
    m = round(len(X) * share / (1.0 - share))
    if not m:
        return X, union.target
    rows = np.vstack([X, outliers_of(kind, X, m, random)])
    return rows, np.append(union.target, np.full(m, -1))


def judged(outside, target):
    """Share of false ones among the outliers named, and of the outliers the share found."""
    true = target < 0
    return [
        float(np.sum(outside & ~true) / max(outside.sum(), 1)),
        float(outside[true].mean()) if true.any() else None,
    ]


def one(kind, share, p, seed):
    """What `PSC` finds with and without outliers, and each detector; numbers in lists."""
    X, target = table(kind, share, seed, p)
    inside = target >= 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [PSC(K, n_components=R, outliers=q, random_state=seed) for q in (LEVEL, None)]
        spent = []
        for model in models:
            began = time.process_time()
            model.fit(X)
            spent.append(time.process_time() - began)
        clean = PSC(K, n_components=R, random_state=seed).fit(X[inside]).labels_
        outside = models[0].labels_ < 0
        nearest = np.where(outside, models[0].transform(X).argmin(axis=1), models[0].labels_)
        right = [matched_accuracy(target[inside], nearest[inside])]
        right += [matched_accuracy(target[inside], models[1].labels_[inside])]
        right += [matched_accuracy(target[inside], clean)]
        found = {"PSC": judged(outside, target)}
        if share:
            for name, detector in DETECTORS.items():
                found[name] = judged(detector(contamination=share).fit(X).labels_ > 0, target)
    return {"found": found, "right": right, "seconds": spent, "any": bool(outside.any())}


def other(name, share, seed):
    """FDR, power, whether anybody is named, and the share of the kept with p < .05."""
    given = dict(OTHERS[name])
    k, r, form = given.pop("k", K), given.pop("r", R), given.pop("noise", "normal")
    X, target = table("Gaussian", share, seed, form=form, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        affine = given.get("affine", False)
        model = PSC(k, n_components=r, affine=affine, outliers=LEVEL, random_state=seed).fit(X)
    warned = any(each.code == "heavy_residuals" for each in model.record_.warned)
    outside = model.labels_ < 0
    small = float(np.mean(model.p_values_[~outside] < 0.05))
    return [*judged(outside, target), bool(outside.any()), small, warned]


def mean(values):
    """The mean of what is known, as text."""
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.2f}" if known else ""


class Printed:
    """A table whose rows are printed as they come."""

    def __init__(self, title, header):
        self.lines = [title, "", *markdown(header, []).splitlines()]
        print("\n" + "\n".join(self.lines), flush=True)

    def add(self, *row):
        """Add a row."""
        self.lines.append("| " + " | ".join(row) + " |")
        print(self.lines[-1], flush=True)

    def __str__(self):
        return "\n".join(self.lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=25)
    parser.add_argument("--fails", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--variables", type=int, nargs="+", default=[20])
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    asked = (
        f"--sets {args.sets} --fails {args.fails} --variables {' '.join(map(str, args.variables))}"
    )
    text = [
        "# Samples in no cluster",
        f"`python benchmarks/outliers.py {asked}`. `PSC(3, n_components=2, outliers=.1)`: three "
        "planes of 70 samples, noise .12. A share of false outliers (FDR) up to .10 is asked for. "
        "Power is the share of the outliers that are found.",
        "\n".join(f"- {kind}: {what}." for kind, what in KINDS.items()),
    ]
    named = ["PSC", *DETECTORS]
    for p in args.variables:
        shown = Printed(
            f"## {p} variables",
            ["outliers", "share", "FDR", "power", "clusters right", "without outliers=",
             "of clean samples", "sets with any", "times the seconds"],
        )  # fmt: skip
        beside = Printed(
            f"## {p} variables, detectors of pyod told the true share: FDR / power", ["", *named]
        )
        everything = {}
        for kind in KINDS:
            for share in SHARES:
                if not share and kind != "ball":
                    continue
                cells = [(kind, share, p, seed) for seed in range(args.sets)]
                found = list(run_cells(one, cells, args.jobs, keep="outliers").values())
                everything[kind, share] = found
                own = np.array([each["found"]["PSC"][0] for each in found])
                spent = np.sum([each["seconds"] for each in found], axis=0)
                label = kind if share else "none"
                shown.add(
                    label, f"{share:.0%}", f"{own.mean():.3f}",
                    mean(each["found"]["PSC"][1] for each in found),
                    *(mean(each["right"][i] for each in found) for i in range(3)),
                    f"{np.mean([each['any'] for each in found]):.2f}",
                    f"{spent[0] / spent[1]:.1f}",
                )  # fmt: skip
        pooled = [
            each["found"]["PSC"][0]
            for (kind, share), found in everything.items()
            for each in found
            if kind != "plane" or share <= 0.2
        ]
        error = np.std(pooled, ddof=1) / np.sqrt(len(pooled))
        note = (
            f"FDR pooled over all but planes of 30 %: {np.mean(pooled):.3f} "
            f"(standard error {error:.3f}, {len(pooled)} sets)."
        )
        print(note, flush=True)
        for (kind, share), found in everything.items():
            if share and DETECTORS:
                pairs = [
                    " / ".join(mean(each["found"][name][i] for each in found) for i in (0, 1))
                    for name in named
                ]
                beside.add(f"{kind} {share:.0%}", *pairs)
        text += [str(shown), note]
        text.append(str(beside) if DETECTORS else "pyod was not there to compare with.")
    fails = Printed(
        "## Where the rate does not hold, 20 variables, Gaussian outliers",
        ["data or model", "any in clean sets", "FDR at 10 %", "power", "kept with p < .05",
         "the same, clean", "warned", "warned, clean"],
    )  # fmt: skip
    for name in OTHERS:
        answers = []
        for share in (0.0, 0.1):
            cells = [(name, share, seed) for seed in range(args.fails)]
            found = run_cells(other, cells, args.jobs, keep="outliers_fails").values()
            answers.append([list(column) for column in zip(*found, strict=True)])
        clean, some = answers
        fails.add(
            name, mean(clean[2]), mean(some[0]), mean(some[1]), mean(some[3]), mean(clean[3]),
            mean(some[4]), mean(clean[4]),
        )  # fmt: skip
    text.append(str(fails))
    save("outliers", "\n\n".join(text), args.out)


if __name__ == "__main__":
    main()
