"""PRESS in three grades against refitting N times: error and time as N grows, P = 500.

    python benchmarks/press.py

Writes benchmarks/results/press.md and docs/images/press.png (the paper's figure on PRESS). BLAS is
held to one thread.
"""

import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from subspaces import plots
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import pca_press

P, R, SEEDS = 500, 3, range(10)
NOISES = (0.01, 0.1)
SIZES = (25, 50, 100, 200, 400)
GRADES = ("exact", "hat", "paper")
STYLES = {
    "hat": (plots.COLOURS[0], "o"),
    "paper": (plots.COLOURS[1], "s"),
    "exact": (plots.COLOURS[2], "D"),
    "refit": (plots.COLOURS[3], "^"),
}
ROOT = Path(__file__).parents[1]


def draw_data(n, noise, seed):
    return make_subspaces(n, P, [R], noise=noise, scores="normal", random_state=seed).data


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


def measure_error(n, noise, grade):
    """Relative error of PRESS against the exact one, for each seed."""
    gaps = []
    for seed in SEEDS:
        X = draw_data(n, noise, seed)
        gaps.append(abs(pca_press(X, R, method=grade).press / pca_press(X, R).press - 1))
    return np.array(gaps)


def measure_time(n):
    """Seconds of refitting and of each grade, and the largest error of the exact one."""
    X = draw_data(n, NOISES[-1], 0)
    truth, refit = timed(refitted, X, repeats=1)
    results = {grade: timed(pca_press, X, R, method=grade) for grade in GRADES}
    worst = np.max(np.abs(results["exact"][0].per_sample / truth - 1))
    return {"refit": refit, **{grade: results[grade][1] for grade in GRADES}}, worst


def table(errors, times):
    yield f"# PRESS: error and time against N (P = {P}, R = {R})\n"
    yield "`python benchmarks/press.py`, one BLAS thread. Exact: the largest relative error of any"
    yield "sample against refitting N times. Hat and paper: relative error of PRESS against exact,"
    yield f"mean over {len(SEEDS)} data sets, with its standard error.\n"
    kinds = [f"{grade}, noise sd {noise}" for noise in NOISES for grade in GRADES[1:]]
    yield f"| N | exact | {' | '.join(kinds)} | refit s | exact s | times faster |"
    yield "|" + "---|" * (len(kinds) + 5)
    for n in SIZES:
        seconds, worst = times[n]
        cells = [str(n), f"{worst:.0e}"]
        for noise in NOISES:
            for grade in GRADES[1:]:
                gaps = errors[n, noise, grade]
                cells.append(f"{gaps.mean():.1e} ({gaps.std(ddof=1) / len(gaps) ** 0.5:.0e})")
        cells += [f"{seconds['refit']:.3f}", f"{seconds['exact']:.4f}"]
        yield f"| {' | '.join(cells)} | {seconds['refit'] / seconds['exact']:.0f} |"


def draw(errors, times):
    figure = Figure(figsize=(9.5, 4), layout="constrained")
    error_axes, time_axes = figure.subplots(1, 2)
    for noise, line in zip(NOISES, ("-", ":"), strict=True):
        for grade in GRADES[1:]:
            colour, marker = STYLES[grade]
            means = [errors[n, noise, grade].mean() for n in SIZES]
            error_axes.loglog(
                SIZES, means, line, marker=marker, color=colour, label=f"{grade}, noise {noise}"
            )
    rate = np.sqrt(np.log(SIZES)) / np.array(SIZES)
    error_axes.loglog(SIZES, rate, "--", color="0.5", label="rate sqrt(log N)/N")
    error_axes.set(xlabel="samples N", ylabel="relative error of PRESS", title="Error")
    for name, (colour, marker) in STYLES.items():
        seconds = [times[n][0][name] for n in SIZES]
        time_axes.loglog(SIZES, seconds, marker=marker, color=colour, label=name)
    time_axes.set(xlabel="samples N", ylabel="seconds", title="Time")
    for ax in (error_axes, time_axes):
        ax.set_xticks(SIZES, [str(n) for n in SIZES])
        ax.minorticks_off()
        ax.legend(frameon=False, fontsize=8)
    figure.savefig(ROOT / "docs/images/press.png", dpi=150)


def main():
    with threadpool_limits(1):
        times = {n: measure_time(n) for n in SIZES}
        errors = {
            (n, noise, grade): measure_error(n, noise, grade)
            for n in SIZES
            for noise in NOISES
            for grade in GRADES[1:]
        }
    text = "\n".join(table(errors, times)) + "\n"
    print(text)
    (ROOT / "benchmarks/results/press.md").write_text(text)
    draw(errors, times)


if __name__ == "__main__":
    main()
