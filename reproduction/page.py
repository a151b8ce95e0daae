"""The page that sets the paper's tables and figures beside ours.

python reproduction/page.py        # again from the committed results, without measuring
"""

import csv
import os
import shutil
from collections import Counter
from pathlib import Path

import comparison
import expression
import expression_clusters
import figures
import illustrations
import nonsparse
import numpy as np
import press
import selection
import sparse
from harness import ROOT, versions
from published import Results, load_published
from words import MISSING, SECTIONS

MODULES = (press, illustrations, nonsparse, sparse, selection, expression, expression_clusters)
RESULTS = ROOT / "reproduction" / "results"
HEADER = ["", "", "paper", "as printed", "verdict", "defaults", "verdict", "limit", "why not"]
NAMES = {"rand": "Rand index", "ari": "Adjusted Rand index"}
READINGS = {
    "press_sum": "PRESS, clusters' means summed: the text taken literally",
    "press_points": "PRESS, averaged over the samples",
    "likelihood": "leave-one-out likelihood, R given",
    "joint_sum": "PRESS with R_k chosen at every sweep, summed",
}


def publish(folder):
    """Copy the cells to the repository and write its page."""
    RESULTS.mkdir(exist_ok=True)
    for path in folder.glob("*.csv"):
        shutil.copyfile(path, RESULTS / path.name)
    return write(RESULTS, ROOT / "docs")


def write(folder, target):
    """The page from the cells in a folder; its figures go beside it."""
    results = {module.STUDY.name: Results(module.STUDY, folder) for module in MODULES}
    remember_versions(folder)
    images = target / "images"
    parts = [SECTIONS["head"], *body(results, load_published(), images), ending(results, folder)]
    page, unfinished = target / "reproduction.md", target / "reproduction.md.part"
    unfinished.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    os.replace(unfinished, page)
    return page


def body(results, published, images):
    """The sections, and before them what they come to."""
    tables = {}
    for name, rows in comparison.ROWS.items():
        for measure in NAMES:
            tables[name, measure] = comparison.simulated(results[name], rows, published, measure)
    choosing = comparison.selected(results["selection"], published)
    per_set = {
        (column, measure): comparison.expressed(results["expression"], column, published, measure)
        for column in expression.FILES
        for measure in NAMES
    }
    return [
        summary({**tables, ("selection", "share"): choosing, **per_set}),
        shown(tables, choosing, results),
        press_section(results["press"], images),
        illustration_section(results["illustrations"], images),
        *[simulation_section(name, tables, images) for name in comparison.ROWS],
        selection_section(results["selection"], choosing, images),
        *expression_sections(results["expression"], per_set, published, images),
        clusters_section(results["expression_clusters"], published),
    ]


def markdown(header, rows):
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def table_of(lines):
    rows = []
    for line in lines:
        printed, defaults = map(bold, line.verdicts)
        cells = [line.row, line.column, line.paper.printed, line.printed, printed, line.defaults]
        rows.append([*cells, defaults, line.limit, line.why])
    return markdown(HEADER, rows)


def bold(word):
    return f"**{word}**" if word == "not" else word


def summary(tables):
    """How many cells of each table were reached."""
    rows = []
    for (name, measure), lines in tables.items():
        counted = [Counter(line.verdicts[i] for line in lines) for i in (0, 1)]
        words = [
            ", ".join(f"{c[w]} {w}" for w in ("exceeded", "reached", "not", "missing") if c[w])
            for c in counted
        ]
        title = f"{name.replace('_', ' ')}, {NAMES.get(measure, 'share with the right K')}"
        rows.append([title, len(lines), *words])
    return f"{SECTIONS['summary']}\n\n" + markdown(
        ["table", "cells", "as printed", "defaults"], rows
    )


def shown(tables, choosing, results):
    dense = [line for measure in NAMES for line in tables["nonsparse", measure]]
    thin = [line for measure in NAMES for line in tables["sparse", measure]]
    said = comparison.claims(dense, thin, choosing, results["sparse"])
    return "\n".join(f"- {claim}: **{'yes' if so else 'no'}** ({figures})."
                     for claim, so, figures in said)  # fmt: skip


def picture(text, name):
    return f"![{text}](images/reproduction_{name}.png)"


def press_section(results, images):
    figures.draw_press(results, images / "reproduction_press.png")
    sizes = np.array(press.SIZES)
    rows = []
    for n in sizes:
        errors = [
            results.estimate("error", f"noise {noise}", str(n), grade)
            for noise in press.NOISES
            for grade in ("paper", "hat")
        ]
        seconds = {
            name: results.values("time", "noise 0.1", str(n), f"{name}_seconds")[0]
            for name in press.TIMED
        }
        worst = results.values("time", "noise 0.1", str(n), "worst")[0]
        rows.append(
            [n, *[f"{e.mean:+.1e} ({e.error:.0e})" for e in errors], f"{worst:.0e}",
             f"{seconds['refit']:.3f}", f"{seconds['paper']:.4f}", f"{seconds['exact']:.4f}",
             f"{seconds['refit'] / seconds['exact']:.0f}"]
        )  # fmt: skip
    kinds = [f"{g}, noise {s}" for s in press.NOISES for g in ("closed form", "down-date")]
    header = ["N", *kinds, "exact", "leaving out, s", "closed form, s", "exact, s", "times faster"]
    slopes = [
        np.polyfit(np.log(sizes), np.log([figures.squared(results, s, n, "paper") for n in sizes]), 1)[0]
        for s in press.NOISES
    ]  # fmt: skip
    return (
        f"{SECTIONS['press']}\n\n{picture('Error and time of PRESS against N', 'press')}\n\n"
        f"{markdown(header, rows)}\n\nThe mean squared error of the closed form falls as N to the "
        f"power {slopes[0]:.1f} (noise 0.01) and {slopes[1]:.1f} (noise 0.1); the theory says at "
        "least -2, but for a logarithm. Verdict: **reached**."
    )


def illustration_section(results, images):
    figures.draw_illustrations(images / "reproduction_illustrations.png")
    rows = [
        [shape, *[results.estimate(m, "defaults", c, "ari") for m in illustrations.METHODS]]
        for c, shape in figures.SHAPES.items()
    ]
    right = all(
        results.estimate("PSC", "defaults", c, "ari").mean >= 0.9995 for c in figures.SHAPES
    )
    return (
        f"{SECTIONS['illustrations']}\n\n{picture('Four scenarios', 'illustrations')}\n\n"
        f"{markdown(['adjusted Rand index', *illustrations.METHODS], rows)}\n\n"
        f"Verdict: **{'reached' if right else 'not'}**."
    )


def simulation_section(name, tables, images):
    path = images / f"reproduction_{name}.png"
    figures.draw_lines(tables[name, "ari"], path, "adjusted Rand index")
    blocks = [f"### {NAMES[m]}\n\n{table_of(tables[name, m])}" for m in NAMES]
    return "\n\n".join([SECTIONS[name], picture(f"Adjusted Rand index, {name}", name), *blocks])


def selection_section(results, lines, images):
    figures.draw_lines(lines, images / "reproduction_selection.png", "share with the right K")
    rows = []
    for measure, title in READINGS.items():
        variant = "joint" if measure.startswith("joint") else "criteria"
        shares = [
            comparison.share(results.values("", variant, c, measure), selection.TRUE[c])
            for c in "abcde"
        ]
        rows.append([title, *shares])
    return "\n\n".join(
        [SECTIONS["selection"], picture("Share with the right K", "selection"), table_of(lines),
         "Other readings:", markdown(["", *"abcde"], rows)]
    )  # fmt: skip


def expression_sections(results, per_set, published, images):
    there = [column for column in expression.FILES if column in results.columns]
    yield f"{SECTIONS['expression']}\n\n{files_table(published, there)}"
    if there:
        name = images / "reproduction_expression.png"
        figures.draw_sets({c: per_set[c, "ari"] for c in there}, name, "adjusted Rand index")
        yield picture("Adjusted Rand index on the expression sets", "expression")
        yield recipe_table(results, published, there)
    for column in expression.FILES:
        title = f"### {column.replace('_', ' ').capitalize()}"
        note = "" if column in there else f"\n\n{MISSING}"
        blocks = [f"{NAMES[m]}:\n\n{table_of(per_set[column, m])}" for m in NAMES]
        yield "\n\n".join([title + note, *blocks])


def files_table(published, there):
    rows = []
    for column, (name, difference) in expression.FILES.items():
        size = [published["expression_sets", m, "", column].printed for m in "NPK"]
        state = difference or "the same numbers of samples, genes and classes"
        rows.append([column, *size, f"`{name}.npz`" if column in there else "missing", state])
    return markdown(["set", "N", "P", "K", "file", "how it differs from the paper's"], rows)


def recipe_table(results, published, there):
    """What the library recommends, beside the best PSC cell of the paper."""
    rows = []
    for column in there:
        cells = [published["expression", "ari", row, column] for row in expression.PSC_ROWS]
        best = max(cells, key=lambda cell: cell.value)
        ours = results.estimate("", expression.RECIPE, column, "ari")
        rows.append([column, best.printed, ours, bold(comparison.verdict(ours, best))])
    header = ["set", "the paper's best PSC cell", "`recipes.expression(K)`", "verdict"]
    return f"{SECTIONS['recipe']}\n\n{markdown(header, rows)}"


def clusters_section(results, published):
    rows = []
    for column in expression.FILES:
        true = int(published["expression_sets", "K", "", column].printed)
        paper = int(published["expression_clusters", "clusters", "PRESS", column].printed)
        printed = results.values("PRESS", "as printed", column, "press")
        summed = results.values("PRESS", "as printed", column, "press_sum")
        defaults = results.values("PRESS", "defaults", column, "press")
        judged = [bold(nearer(values, paper, true)) for values in (printed, defaults)]
        why = [f"{name}: {comparison.usual(v)}"
               for name, v in (("as printed", printed), ("defaults", defaults))
               if nearer(v, paper, true) == "not"]  # fmt: skip
        rows.append([column, true, paper, every(printed), every(summed), judged[0],
                     every(defaults), judged[1], "; ".join(why)])  # fmt: skip
    header = ["set", "classes", "paper", "as printed, averaged", "as printed, summed", "verdict",
              "defaults", "verdict", "why not"]  # fmt: skip
    return f"{SECTIONS['expression_clusters']}\n\n{markdown(header, rows)}"


def nearer(chosen, paper, true):
    """Whether we come as near the number of classes as the paper, in the mean over the seeds."""
    if not np.isfinite(chosen).any():
        return "missing"
    gap = np.nanmean(np.abs(chosen - true)) - abs(paper - true)
    return "exceeded" if gap < 0 else "reached" if gap == 0 else "not"


def every(chosen):
    """The numbers chosen, one a seed."""
    return ", ".join(str(int(k)) for k in chosen if np.isfinite(k)) or "-"


def remember_versions(folder):
    """Keep what the cells were measured with beside them, once."""
    path = folder / "versions.csv"
    if not path.exists():
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(versions().items())


def ending(results, folder):
    rows = []
    for name, result in results.items():
        seeds = Counter(
            (line["row"], line["variant"], line["column"]) for line in result.lines
        ).values()
        span = f"{min(seeds)} to {max(seeds)}" if seeds else "0"
        rows.append([name, len(result.lines), span, len(result.failures), f"{result.seconds:.0f}"])
    total = sum(result.seconds for result in results.values())
    with (folder / "versions.csv").open(encoding="utf-8") as file:
        said = ", ".join(f"{name} {number}" for name, number in csv.reader(file))
    header = ["study", "cells", "seeds a cell", "failed", "processor seconds"]
    return (
        f"{SECTIONS['ending']}\n\n{markdown(header, rows)}\n\n"
        f"{total:.0f} seconds of one core in all. {said}."
    )


if __name__ == "__main__":
    print(write(RESULTS, ROOT / "docs"))
