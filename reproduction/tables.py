"""The tables that every section of the page has, in Markdown."""

from collections import Counter

from reproduction import comparison
from reproduction.verdicts import blame, compared

HEADER = ["paper", "as printed", "verdict", "defaults", "verdict", "limit"]
TITLES = {"nonsparse": "noise-free scenarios", "sparse": "sparse scenarios"}
NAMES = {"rand": "Rand index", "ari": "adjusted Rand index", "share": "share with the right K"}
WORDS = ("exceeded", "reached", "not", "missing")


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
        printed, defaults = line.judged
        found = [line.printed, printed, line.defaults, defaults, line.limit]
        place = [line.row, line.column] if several else [line.row]
        rows.append([*place, line.paper.printed, *found])
    return markdown(["row", "scenario", *HEADER] if several else ["row", *HEADER], rows)


def objectives_table(lines, results):
    """The objective as found and at the truth, where PSC did not reach a figure."""
    missed = {}
    for line in lines:
        for variant, word in zip(("as printed", "defaults"), line.verdicts, strict=True):
            if word == "not" and line.row.startswith("PSC"):
                missed[line.row, line.column, variant] = None
    rows = []
    for row, column, variant in missed:
        pair = comparison.objectives(results, row, variant, column)
        found, truth, lower, count = compared(*pair)
        shown = [f"{found:.6g}", f"{truth:.6g}", f"{lower} of {count}"]
        rows.append([row, column, variant, *shown, blame(*pair)])
    header = ["row", "column", "variant", "objective as found", "at the truth", "lower in", "why"]
    return markdown(header, rows) if rows else "Every PSC cell was reached."


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
