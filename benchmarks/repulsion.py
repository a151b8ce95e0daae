"""When the influence repels: ten informative variables among ever more noise, one axis.

    python benchmarks/repulsion.py

Writes benchmarks/results/repulsion.md and docs/images/repulsion.png.
"""

import numpy as np
from harness import ROOT, markdown, mean_and_error, run_cells, save
from matplotlib.figure import Figure

from subspaces import plots
from subspaces.core.criteria import attraction, costs
from subspaces.core.influence import squared_influence
from subspaces.core.partition import assign
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows
from subspaces.core.sparse_loadings import Sparsity
from subspaces.datasets import make_subspaces

SIZES, N_VARIABLES, NOISE, SETS = (40, 40), 10, 0.5, 20
WIDTHS = (20, 50, 100, 200, 500, 1000)
ROWS = {
    "influence, all variables (the paper)": ("sparse_influence", plots.COLOURS[1]),
    "influence, union of supports": ("union_influence", plots.COLOURS[0]),
    "leave-one-out projection": ("loo_projection", plots.COLOURS[2]),
}


def one_set(p, seed):
    """Share of the samples that leave the true partition in one sweep; the attraction there."""
    union = make_subspaces(
        SIZES, p, [1, 1], noise=NOISE, scores="normal", n_variables=N_VARIABLES, random_state=seed
    )
    sparsity = Sparsity((N_VARIABLES,) * 2, "l1")
    problem = Problem(DenseRows(union.data), (1, 1), "sparse_influence", False, sparsity)
    views = view_clusters(problem, union.target)
    pull = min(
        attraction(view.size, view.spectrum, view.squared_residual[view.members].sum())
        for view in views
    )
    left = [
        100 * np.mean(assign(costs(name, views, problem.data), union.target) != union.target)
        for name, _ in ROWS.values()
    ]
    return left, pull


def draw(results):
    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    slope_axes, left_axes = figure.subplots(1, 2)
    share = np.linspace(0, 0.9, 50)
    for pull, colour in zip((2, 4, 8, 32), plots.COLOURS, strict=False):
        # A member of length one: the pull is s.
        cost = squared_influence(np.sqrt(share)[:, None], 1 - share, np.array([pull * 1.0]))
        slope_axes.plot(share, cost, color=colour, label=f"$s = {pull}$")
    slope_axes.set(
        xlabel="share of its squared length that a member has on the axis",
        ylabel="its squared influence",
        title="Below 4, to fit better costs more (R = 1)",
        ylim=(0, 2),
    )
    for place, (row, (name, colour)) in enumerate(ROWS.items()):
        line, marker = ("--", "s") if name == "loo_projection" else ("-", "o")
        means = [np.mean([results[p, s][0][place] for s in range(SETS)]) for p in WIDTHS]
        left_axes.plot(WIDTHS, means, line, marker=marker, color=colour, label=row)
    left_axes.set(
        xscale="log",
        xlabel="variables, of which 10 per cluster matter",
        ylabel="samples that leave, %",
        title="One sweep from the true partition",
        ylim=(0, 100),
    )
    left_axes.set_xticks(WIDTHS, [str(p) for p in WIDTHS])
    left_axes.minorticks_off()
    for ax in (slope_axes, left_axes):
        ax.legend(frameon=False, fontsize=8)
    figure.savefig(ROOT / "docs/images/repulsion.png", dpi=150)


def main():
    results = run_cells(one_set, [(p, seed) for p in WIDTHS for seed in range(SETS)])
    table = []
    for p in WIDTHS:
        pull = np.mean([results[p, s][1] for s in range(SETS)])
        cells = [mean_and_error([results[p, s][0][i] for s in range(SETS)], 1) for i in range(3)]
        table.append([p, f"{pull:.1f}", *cells])
    save(
        "repulsion",
        f"# Two sparse lines of 40 samples, {SETS} data sets a row\n\n"
        "`python benchmarks/repulsion.py`. Share of the samples (%) that leave the true partition\n"
        "in one sweep, mean and its standard error; the attraction "
        "(docs/derivations/repulsion.md)\n"
        "there, on all variables, the smaller of the two clusters.\n\n"
        + markdown(["P", "attraction", *ROWS], table),
    )
    draw(results)


if __name__ == "__main__":
    main()
