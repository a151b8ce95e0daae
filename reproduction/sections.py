"""The tables of the page, in Markdown."""

from collections import Counter

import numpy as np

from reproduction import comparison, expression, figures, illustrations, press, selection

HEADER = ["paper", "as printed", "verdict", "defaults", "verdict", "limit", "why not"]
TITLES = {"nonsparse": "noise-free scenarios", "sparse": "sparse scenarios"}
NAMES = {"rand": "Rand index", "ari": "adjusted Rand index", "share": "share with the right K"}
WORDS = ("exceeded", "reached", "not", "missing")
READINGS = {
    "press_sum": "PRESS, the clusters' means summed: the text taken literally",
    "press_points": "PRESS, averaged over the samples",
    "likelihood": "leave-one-out likelihood, R given",
    "joint_sum": "PRESS with R_k chosen at every sweep, the clusters' means summed",
}
MISSING = (
    "The file could not be had, so no cell can be compared. The loader is there: put "
    "`normal_tissues.npz` with `X` and `y`, or `normal_tissues.gct` beside `normal_tissues.cls`, "
    "into `gene_expression/` of the data folder."
)


def markdown(header, rows):
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def bold(word):
    return f"**{word}**" if word == "not" else word


def cells(lines):
    """A row for each cell of a table of the paper; its column where there are several."""
    several = len({line.column for line in lines}) > 1
    rows = []
    for line in lines:
        printed, defaults = map(bold, line.verdicts)
        found = [line.printed, printed, line.defaults, defaults, line.limit]
        place = [line.row, line.column] if several else [line.row]
        rows.append([*place, line.paper.printed, *found, line.why])
    return markdown(["row", "scenario", *HEADER] if several else ["row", *HEADER], rows)


def summary(tables):
    """How many cells of each table were reached."""
    rows = []
    for (name, measure), lines in tables.items():
        counted = [Counter(line.verdicts[i] for line in lines) for i in (0, 1)]
        words = [", ".join(f"{c[word]} {word}" for word in WORDS if c[word]) for c in counted]
        title = TITLES.get(name, name.replace("_", " "))
        rows.append([f"{title}, {NAMES[measure]}", len(lines), *words])
    return markdown(["table", "cells", "as printed", "defaults"], rows)


def claims(found):
    """What was to be shown, and whether it was."""
    return "\n".join(
        f"- {claim}: **{'not measured' if so is None else 'yes' if so else 'no'}** ({seen})."
        for claim, so, seen in found
    )


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


def expression_tables(per_set, there):
    """A section for each data set."""
    blocks = []
    for column in expression.FILES:
        title = column.replace("_", " ").capitalize()
        blocks.append(f"### {title}" if column in there else f"### {title}: missing\n\n{MISSING}")
        for measure in ("rand", "ari"):
            blocks.append(f"By {NAMES[measure]}:\n\n{cells(per_set[column, measure])}")
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
        why = "the criterion prefers another number" if "not" in judged else ""
        shown = [_every(averaged), _every(summed), bold(judged[0]), _every(defaults)]
        rows.append([column, true, paper, *shown, bold(judged[1]), why])
    printed = ["as printed, averaged", "as printed, summed", "verdict"]
    return markdown(["set", "classes", "paper", *printed, "defaults", "verdict", "why not"], rows)


def _every(chosen):
    """The numbers chosen, one a seed."""
    return ", ".join(str(int(k)) for k in chosen if np.isfinite(k)) or "-"


def between(counts):
    """The least and the largest of some counts."""
    few, many = min(counts, default=0), max(counts, default=0)
    return str(few) if few == many else f"{few} to {many}"


def record(results, versions):
    """Cells, seeds, failures, seconds, versions."""
    rows = []
    for name, result in results.items():
        seeds = result.seeds_a_cell
        span = (
            "-"
            if not seeds
            else f"{seeds[0]}"
            if len(set(seeds)) == 1
            else f"{seeds[0]} to {seeds[-1]}"
        )
        rows.append([name, len(result.lines), span, len(result.failures), f"{result.seconds:.0f}"])
    header = ["study", "cells", "seeds a cell", "failed", "processor seconds"]
    total = sum(result.seconds for result in results.values())
    said = ", ".join(f"{name} {number}" for name, number in versions)
    return f"{markdown(header, rows)}\n\n{total / 60:.0f} minutes of one core in all. {said}."
