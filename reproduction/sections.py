"""The tables of single sections of the page, in Markdown."""

import numpy as np

from reproduction import comparison, expression, figures, illustrations, nonsparse, press, selection
from reproduction.tables import NAMES, bold, cells, markdown, objectives_table

READINGS = {
    "press_sum": "PRESS, the clusters' means summed: the text taken literally",
    "likelihood": "leave-one-out likelihood, R given",
    "joint_sum": "PRESS with R_k chosen at every sweep, the clusters' means summed",
}
MISSING = (
    "The file could not be had, so no cell can be compared. The loader is there: put "
    "`normal_tissues.npz` with `X` and `y`, or `normal_tissues.gct` beside `normal_tissues.cls`, "
    "into `gene_expression/` of the data folder."
)


def positive_table(results, row):
    """A row of the paper's table with scores on one side of the origin."""
    found = [results.estimate(row, nonsparse.POSITIVE, column, "ari") for column in "abcde"]
    return markdown(["", *"abcde"], [[f"{row}, adjusted Rand index", *found]])


def press_table(results):
    """Errors and seconds for each N, and how fast the error falls."""
    rows = [_press_row(results, n) for n in press.SIZES]
    kinds = [f"{g}, noise {s}" for s in press.NOISES for g in ("closed form", "joint down-date")]
    seconds = ["leaving out, s", "closed form, s", "exact, s", "exact: times faster"]
    slopes = [_slope(results, noise) for noise in press.NOISES]
    kept = all(slope <= -2 for slope in slopes)
    return (
        f"{markdown(['N', *kinds, 'exact', *seconds], rows)}\n\n"
        f"The mean squared error of the closed form falls as N to the power {slopes[0]:.1f} (noise "
        f"0.01) and {slopes[1]:.1f} (noise 0.1), where the theory says -2 or faster, but for a "
        "logarithm; the time of leaving out, over that of the closed form, grows with N. Verdict: "
        f"**{'reached' if kept else 'not'}**. At noise 0.01 the closed form is far off for small "
        "N; the joint down-date is not."
    )


def _press_row(results, n):
    errors = [
        results.estimate("error", f"noise {noise}", str(n), grade)
        for noise in press.NOISES
        for grade in ("paper", "hat")
    ]
    timed = [f"{name}_seconds" for name in ("refit", "paper", "exact")] + ["worst"]
    refit, paper, exact, worst = [
        results.values("time", "noise 0.1", str(n), measure)[0] for measure in timed
    ]
    shown = [f"{error.mean:+.1e} ({error.error:.0e})" for error in errors]
    seconds = [f"{refit:.3f}", f"{paper:.4f}", f"{exact:.4f}", f"{refit / exact:.0f}"]
    return [n, *shown, f"{worst:.0e}", *seconds]


def _slope(results, noise):
    errors = [figures.squared(results, noise, n, "paper") for n in press.SIZES]
    return np.polyfit(np.log(press.SIZES), np.log(errors), 1)[0]


def illustration_table(results):
    """How often the illustrations come out."""
    found = {
        (method, column): results.estimate(method, "defaults", column, "ari")
        for method in illustrations.METHODS
        for column in figures.SHAPES
    }
    rows = [
        [f"({column}) {shape}", *[found[method, column] for method in illustrations.METHODS]]
        for column, shape in figures.SHAPES.items()
    ]
    right = min(found["PSC", column].mean for column in figures.SHAPES) >= 0.9995
    table = markdown(["adjusted Rand index", *illustrations.METHODS], rows)
    return f"{table}\n\nVerdict: **{'reached' if right else 'not'}**."


def refined_table(lines, results):
    """PSC with ten variables and its finish, between the paper and the limit."""
    ten = [line for line in lines if line.row == "PSC, 10 variables"]
    refined = [results.estimate(x.row, "refined", x.column, "ari") for x in ten]
    rows = [
        ["paper", *[line.paper.printed for line in ten]],
        ["as printed", *[line.printed for line in ten]],
        ["defaults", *[line.defaults for line in ten]],
        ['`refine="ppca"`', *refined],
        ["limit", *[line.limit for line in ten]],
    ]
    return markdown(["", *[line.column for line in ten]], rows)


def readings_table(results):
    """Other ways to read the paper's criterion."""
    rows = []
    for measure, title in READINGS.items():
        variant = "joint" if measure.startswith("joint") else "criteria"
        chosen = {c: results.values("", variant, c, measure) for c in "abcde"}
        rows.append([title, *[comparison.share(k, selection.TRUE[c]) for c, k in chosen.items()]])
    return markdown(["", *"abcde"], rows)


def files_table(published, there):
    """The data sets, and how ours differ from the paper's."""
    rows = []
    for column, (name, difference) in expression.FILES.items():
        size = [published["expression_sets", m, "", column].printed for m in "NPK"]
        state = difference or "the same numbers of samples, genes and classes"
        rows.append([column, *size, f"`{name}.npz`" if column in there else "missing", state])
    header = ["set", "N, paper", "P, paper", "K", "our file", "how it differs from the paper's"]
    return markdown(header, rows)


def recipe_table(results, published, there):
    """What the library recommends, beside the best PSC cell of the paper."""
    rows = []
    for column in there:
        cells = [published["expression", "ari", row, column] for row in expression.PSC_ROWS]
        best = max(cells, key=lambda cell: cell.value)
        ours = results.estimate("", expression.RECIPE, column, "ari")
        rows.append([column, best.printed, ours, bold(comparison.verdict(ours, best))])
    header = ["set", "the paper's best PSC cell", "`recipes.expression(K)`", "verdict"]
    return markdown(header, rows)


def expression_tables(per_set, there, results):
    """A section for each data set."""
    blocks = []
    for column in expression.FILES:
        title = column.replace("_", " ").capitalize()
        blocks.append(f"### {title}" if column in there else f"### {title}: missing\n\n{MISSING}")
        for measure in ("rand", "ari"):
            blocks.append(f"By {NAMES[measure]}:\n\n{cells(per_set[column, measure])}")
        if column in there:
            both = [*per_set[column, "rand"], *per_set[column, "ari"]]
            blocks.append(f"Objectives:\n\n{objectives_table(both, results)}")
    return "\n\n".join(blocks)


def clusters_table(results, published):
    """The number of clusters chosen on each expression set."""
    rows = []
    for column in expression.FILES:
        true = int(published["expression_sets", "K", "", column].printed)
        paper = int(published["expression_clusters", "clusters", "PRESS", column].printed)
        averaged, summed, defaults = [
            results.values("PRESS", variant, column, measure)
            for variant, measure in (
                ("as printed", "press"),
                ("as printed", "press_sum"),
                ("defaults", "press"),
            )
        ]
        judged = [comparison.nearer(values, paper, true) for values in (averaged, defaults)]
        shown = [_every(averaged), _every(summed), bold(judged[0]), _every(defaults)]
        rows.append([column, true, paper, *shown, bold(judged[1])])
    printed = ["as printed, averaged", "as printed, summed", "verdict"]
    return markdown(["set", "classes", "paper", *printed, "defaults", "verdict"], rows)


def _every(chosen):
    """The numbers chosen, one a seed."""
    return ", ".join(str(int(k)) for k in chosen if np.isfinite(k)) or "-"
