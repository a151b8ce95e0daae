"""Sparse subspace clustering on real motion and faces, and on many samples.

    python benchmarks/self_expression.py --data DIR     # or SUBSPACES_DATA=DIR

DIR holds motion/motion.npz (sequences of Hopkins 155: `names`, and per name `X__<name>`, points x
2F, and `y__<name>`) and faces/faces.npz (Extended Yale B, 48 x 42: `X` images x pixels, `y`
subjects); without it only the simulation runs. Writes benchmarks/results/self_expression.md. BLAS
is held to one thread, and seconds are those of the processor.
"""

import argparse
import os
import time
import tracemalloc
from pathlib import Path

import numpy as np
from harness import markdown, save
from threadpoolctl import threadpool_limits

from subspaces import SSC
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy

DRAWS, SUBJECTS = 10, (2, 5, 10)
SOLVERS = ("omp", "elastic_net", "lasso", "lsr")


def leading_coordinates(rows, n_axes):
    left, singular, _ = np.linalg.svd(rows, full_matrices=False)
    return left[:, :n_axes] * singular[:n_axes]


def fit_and_judge(model, rows, truth):
    start = time.process_time()
    labels = model.fit(rows).labels_
    return 100 * (1 - matched_accuracy(truth, labels)), time.process_time() - start


def motion(path):
    data = np.load(path)
    results = {}
    for name in data["names"]:
        truth = data[f"y__{name}"]
        n_motions = len(np.unique(truth))
        rows = leading_coordinates(data[f"X__{name}"].astype(float), 4 * n_motions)
        model = SSC(n_motions, n_components=3, solver="admm", affine=True, random_state=0)
        results[name] = (n_motions, *fit_and_judge(model, rows, truth))
    motions, errors, seconds = np.array(list(results.values())).T
    rows = []
    for label, chosen in (("2", motions == 2), ("3", motions == 3), ("all", motions > 0)):
        error, spent = errors[chosen], seconds[chosen]
        figures = error.mean(), np.median(error), spent.mean(), spent.max()
        rows.append([label, len(error), *(f"{figure:.2f}" for figure in figures)])
    return '## Motion, `solver="admm", affine=True`, SVD to 4K coordinates\n\n' + markdown(
        ["motions", "sequences", "mean error, %", "median, %", "mean s a fit", "longest, s"], rows
    )


def face_errors(images, subjects, n_subjects, solver, reduce):
    outcomes = []
    for seed in range(DRAWS):
        random = np.random.default_rng(seed)
        chosen = random.choice(np.unique(subjects), n_subjects, replace=False)
        member = np.isin(subjects, chosen)
        rows = leading_coordinates(images[member], 9 * n_subjects if reduce else None)
        model = SSC(n_subjects, n_components=9, solver=solver, random_state=0)
        outcomes.append(fit_and_judge(model, rows, subjects[member]))
    errors, seconds = np.mean(outcomes, axis=0)
    return f"{errors:.1f} ({seconds:.2f} s)"


def faces(path):
    data = np.load(path)
    images = data["X"].astype(float)
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    rows = [
        [solver, "9K" if reduce else "all"]
        + [face_errors(images, data["y"], k, solver, reduce) for k in SUBJECTS]
        for solver in SOLVERS
        for reduce in (True, False)
    ]
    title = f"## Faces: mean error in % and seconds a fit over {DRAWS} draws of subjects\n\n"
    header = ["solver", "coordinates", *(f"{k} subjects" for k in SUBJECTS)]
    return title + markdown(header, rows)


def peak_megabytes(model, rows):
    tracemalloc.start()
    model.fit(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def many_samples():
    table = []
    for noise in (0.02, 0.05):
        union = make_subspaces(4000, 200, [5] * 4, noise=noise, random_state=0)
        for solver in SOLVERS:
            model = SSC(4, n_components=5, solver=solver, random_state=0)
            error, seconds = fit_and_judge(model, union.data, union.target)
            peak = peak_megabytes(model, union.data)
            table.append([solver, noise, f"{error:.2f}", f"{seconds:.1f}", f"{peak:.0f}"])
    title = "## 4000 samples, 200 variables, 4 subspaces of dimension 5"
    remark = "A dense n x n array would be 128 MB."
    return f"{title}\n\n{remark}\n\n" + markdown(
        ["solver", "noise", "error, %", "seconds", "peak MB"], table
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    folder = parser.parse_args().data
    with threadpool_limits(1):
        parts = [many_samples()]
        if folder:
            parts.append(motion(Path(folder) / "motion" / "motion.npz"))
            parts.append(faces(Path(folder) / "faces" / "faces.npz"))
    title = (
        "# Sparse subspace clustering\n\n`python benchmarks/self_expression.py`, processor seconds."
    )
    save("self_expression", "\n\n".join([title, *parts]))


if __name__ == "__main__":
    main()
