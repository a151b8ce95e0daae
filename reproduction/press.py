"""Figure on PRESS: how far the closed form is from leaving out, and how long both take; P = 500.

    python -m reproduction.press [--sets 10]

Data of one PCA model with three axes. The exact PRESS, which the refits agree with to rounding
(`worst`), is the reference.
"""

import time

import numpy as np

from reproduction.harness import Cell, Study, main
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import pca_press

P, R = 500, 3
NOISES = ("0.01", "0.1")
SIZES = (25, 50, 100, 200, 400)
GRADES = ("exact", "hat", "paper")
TIMED = ("refit", *GRADES)


def cells(seeds):
    errors = [
        Cell("error", f"noise {noise}", str(n), seed)
        for seed in seeds
        for n in SIZES
        for noise in NOISES
    ]
    return errors + [Cell("time", "noise 0.1", str(n), 0) for n in SIZES if 0 in seeds]


def measure(cell):
    n, noise = int(cell.column), float(cell.variant.split()[1])
    X = make_subspaces(n, P, [R], noise=noise, scores="normal", random_state=cell.seed).data
    if cell.row == "time":
        return timings(X)
    values = {grade: pca_press(X, R, center=False, method=grade).press for grade in GRADES}
    return {grade: values[grade] / values["exact"] - 1 for grade in GRADES[1:]}


def timings(X):
    """Seconds of refitting and of each grade, the best of three; the exact one's largest error."""
    truth, refit = timed(refitted, X, repeats=1)
    results = {grade: timed(pca_press, X, R, center=False, method=grade) for grade in GRADES}
    worst = float(np.max(np.abs(results["exact"][0].per_sample / truth - 1)))
    seconds = {f"{grade}_seconds": results[grade][1] for grade in GRADES}
    return {"refit_seconds": refit, **seconds, "worst": worst}


def refitted(X):
    """The definition: one decomposition for each sample left out."""
    errors = []
    for i in range(len(X)):
        axes = np.linalg.svd(np.delete(X, i, axis=0), full_matrices=False)[2][:R]
        errors.append(np.sum((X[i] - axes.T @ (axes @ X[i])) ** 2))
    return np.array(errors)


def timed(function, *arguments, repeats=3, **options):
    """Result and the best of a few wall times."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function(*arguments, **options)
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


MEASURES = ("hat", "paper", *[f"{name}_seconds" for name in TIMED], "worst")
STUDY = Study("press", MEASURES, cells, measure)

if __name__ == "__main__":
    main(STUDY)
