"""Why leave one out: small clusters in many variables, where a fit follows its own members.

    python benchmarks/small_clusters.py

Writes benchmarks/results/small_clusters.md and docs/images/small_clusters.png.
"""

import warnings

import numpy as np
from harness import ROOT, markdown, mean_and_error, run_cells, save
from matplotlib.figure import Figure

from subspaces import PSC, plots
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy

# sizes of the four clusters, dimension, variables, noise energy over signal energy
FAMILIES = {
    "12 a cluster,\nR 4, P 200": ([12] * 4, 4, 200, 1.0),
    "12 a cluster,\nR 2, P 500": ([12] * 4, 2, 500, 2.0),
    "8 a cluster,\nR 2, P 500": ([8] * 4, 2, 500, 1.0),
    "10, 10, 60, 100,\nR 3, P 200": ([10, 10, 60, 100], 3, 200, 1.0),
}
CRITERIA = ("residual", "influence", "hat", "loo")
SETS = 10


def error(family, criterion, seed):
    """Misclassified share (%): the best of six random starts by the criterion's own objective."""
    sizes, dimension, n_features, ratio = FAMILIES[family]
    union = make_subspaces(
        sizes,
        n_features,
        [dimension] * len(sizes),
        noise=np.sqrt(ratio * dimension / n_features),
        scores="normal",
        random_state=seed,
    )
    model = PSC(
        len(sizes),
        n_components=dimension,
        criterion=criterion,
        init="random",
        n_init=6,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = model.fit_predict(union.data)
    return 100 * (1 - matched_accuracy(union.target, labels))


def draw(errors):
    figure = Figure(figsize=(8, 3.8), layout="constrained")
    ax = figure.subplots()
    names = {
        "residual": "fit (K-subspaces)",
        "influence": "influence (the paper's)",
        "hat": "approximate leave-one-out",
        "loo": "exact leave-one-out",
    }
    places = np.arange(len(FAMILIES))
    for k, (criterion, colour) in enumerate(
        zip(CRITERIA, ("0.65", *plots.COLOURS[1::-1], plots.COLOURS[2]), strict=True)
    ):
        values = np.array([errors[family, criterion] for family in FAMILIES])
        means, spread = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(SETS)
        x = places + (k - 1.5) * 0.2
        ax.bar(x, means, 0.18, yerr=spread, color=colour, label=names[criterion], capsize=2)
        for place, mean, error_bar in zip(x, means, spread, strict=True):
            ax.annotate(
                f"{mean:.0f}", (place, mean + error_bar), ha="center", va="bottom", fontsize=8
            )
    ax.set_xticks(places, list(FAMILIES))
    ax.set_ylabel("misclassified, %")
    ax.set_title("Four noisy clusters of few samples: which score finds them?")
    ax.set_ylim(0, 80)
    ax.legend(frameon=False, ncols=4, fontsize=8, loc="upper center")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs/images/small_clusters.png", dpi=150)


def main():
    cells = [(f, c, seed) for f in FAMILIES for c in CRITERIA for seed in range(SETS)]
    results = run_cells(error, cells)
    errors = {
        (f, c): [results[f, c, seed] for seed in range(SETS)] for f in FAMILIES for c in CRITERIA
    }
    rows = []
    for family, (_, _, _, ratio) in FAMILIES.items():
        shown = [mean_and_error(errors[family, c], digits=1) for c in CRITERIA]
        rows.append([family.replace("\n", " "), ratio, *shown])
    save(
        "small_clusters",
        f"# Misclassified (%), small clusters, {SETS} data sets a row\n\n"
        "`python benchmarks/small_clusters.py`. Four clusters; best of six random starts by the\n"
        "own objective; mean and its standard error.\n\n"
        + markdown(["samples", "noise/signal energy", *CRITERIA], rows),
    )
    draw(errors)


if __name__ == "__main__":
    main()
