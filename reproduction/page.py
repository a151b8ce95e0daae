"""The page that sets the paper's tables and figures beside ours.

python -m reproduction.page        # again from the committed results, without measuring
"""

import csv
import os
import shutil
from pathlib import Path
from string import Template

from reproduction import (
    comparison,
    expression,
    expression_clusters,
    figures,
    illustrations,
    nonsparse,
    press,
    sections,
    selection,
    sparse,
    tables,
)
from reproduction.harness import ROOT, versions
from reproduction.published import Results, load_published

MODULES = (press, illustrations, nonsparse, sparse, selection, expression, expression_clusters)
RESULTS = ROOT / "reproduction" / "results"
TEMPLATE = Path(__file__).with_name("template.md")
PICTURE = "![Adjusted Rand index on the expression sets](images/reproduction_expression.png)"


def publish(folder):
    """Copy the cells to the repository and write its page."""
    RESULTS.mkdir(exist_ok=True)
    remember_versions(folder)
    for path in folder.glob("*.csv"):
        shutil.copyfile(path, RESULTS / path.name)
    return write(RESULTS, ROOT / "docs" / "develop")


def write(folder, target):
    """The page from the cells in a folder; its figures go beside it."""
    results = {module.STUDY.name: Results(module.STUDY, folder) for module in MODULES}
    remember_versions(folder)
    draw_own(results, target / "images")
    text = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        {**parts(results, load_published(), target / "images"), **record(results, folder)}
    )
    page, unfinished = target / "reproduction.md", target / "reproduction.md.part"
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, page)
    return page


def draw_own(results, images):
    """The paper's two figures."""
    figures.draw_press(results["press"], images / "reproduction_press.png")
    figures.draw_illustrations(images / "reproduction_illustrations.png")


def parts(results, published, images):
    """The tables by their names in the template, with a figure for each."""
    simulated = {
        (name, measure): comparison.simulated(results[name], rows, published, measure)
        for name, rows in comparison.ROWS.items()
        for measure in ("rand", "ari")
    }
    choosing = comparison.selected(results["selection"], published)
    per_set = {
        (column, measure): comparison.expressed(results["expression"], column, published, measure)
        for column in expression.FILES
        for measure in ("rand", "ari")
    }
    found = comparison.claims(simulated, choosing, results["sparse"])
    draw_tables(simulated, choosing, images)
    return {
        "summary": tables.summary(
            {**simulated, ("choosing K", "share"): choosing, **per_set},
        ),
        "claims": tables.claims(found),
        "press": sections.press_table(results["press"]),
        "illustrations": sections.illustration_table(results["illustrations"]),
        **{f"{name}_{measure}": tables.cells(lines)
           for (name, measure), lines in simulated.items()},
        **{f"{name}_objectives": tables.objectives_table(
            [*simulated[name, "rand"], *simulated[name, "ari"]], results[name])
           for name in comparison.ROWS},
        "nonsparse_positive": sections.positive_table(results["nonsparse"], "K-means"),
        "sparse_positive": sections.positive_table(results["sparse"], sparse.SKM),
        "refined": sections.refined_table(simulated["sparse", "ari"], results["sparse"]),
        "selection": tables.cells(choosing),
        "readings": sections.readings_table(results["selection"]),
        **expression_parts(results, published, per_set, images),
    }  # fmt: skip


def draw_tables(simulated, choosing, images):
    for name in comparison.ROWS:
        path = images / f"reproduction_{name}.png"
        figures.draw_lines(simulated[name, "ari"], path, "adjusted Rand index")
    figures.draw_lines(choosing, images / "reproduction_selection.png", "share with the right K")


def expression_parts(results, published, per_set, images):
    there = [column for column in expression.FILES if column in results["expression"].columns]
    if there:
        path = images / "reproduction_expression.png"
        figures.draw_sets({c: per_set[c, "ari"] for c in there}, path, "adjusted Rand index")
    return {
        "files": sections.files_table(published, there),
        "expression_figure": PICTURE if there else "",
        "recipe": sections.recipe_table(results["expression"], published, there),
        "expression": sections.expression_tables(per_set, there, results["expression"]),
        "expression_clusters": sections.clusters_table(results["expression_clusters"], published),
    }


def remember_versions(folder):
    """Keep what the cells were measured with beside them, once."""
    path = folder / "versions.csv"
    if not path.exists():
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(versions().items())


def record(results, folder):
    with (folder / "versions.csv").open(encoding="utf-8") as file:
        measured_with = list(csv.reader(file))
    simulations = [results[name].seeds_a_cell for name in ("nonsparse", "sparse", "selection")]
    return {
        "sets": tables.between([count for seeds in simulations for count in seeds]),
        "starts": tables.between(results["expression"].seeds_a_cell),
        "record": tables.record(results, measured_with),
    }


if __name__ == "__main__":
    print(write(RESULTS, ROOT / "docs" / "develop"))
