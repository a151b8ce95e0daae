"""Markers of the clusters that ``fit`` found, and their files for tables and enrichment tools.

====================  ==========================================================================
file                  contents
====================  ==========================================================================
markers.csv           a row per cluster and variable, the largest effects first
markers_0.rnk, ...    a cluster's variables with their effects, the highest first; for GSEA
markers.gmt           sets: the variables that are higher, and lower, in a cluster; for
                      over-representation tests
====================  ==========================================================================
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.app.cli._outputs import as_csv, disarmed
from subspaces.app.cli._words import in_options
from subspaces.diagnostics import Markers
from subspaces.diagnostics._beyond_chance import called
from subspaces.diagnostics._markers import LEVEL
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import Message, message_of
from subspaces.named_table import Table
from subspaces.runtime.warning import collect_warnings

# The most variables in a set: enrichment tools leave out sets of more than some hundreds.
LARGEST_SET = 100
# How many tables of one group are drawn, and how many of more samples than MANY: 19 are the fewest
# that can call anything at LEVEL, and take 3 seconds for 4,000 cells.
N_NULLS, N_NULLS_OF_MANY, MANY = 99, 19, 1000
# How many variables of each direction a summary names.
STRONGEST = 5


def names(folder: Path) -> tuple[str, ...]:
    """Return the names of the files of markers, and of older ones in ``folder``."""
    older = sorted(path.name for path in folder.glob("markers_*.rnk"))
    return ("markers.csv", "markers.gmt", *older)


def find(model: SubspaceClusterer, table: Table, seed: int) -> tuple[Markers | None, list[Message]]:
    """Return the markers of all clusters, with split halves if possible, and messages.

    There are none of one cluster alone.
    """
    if len(np.unique(model.labels_)) < 2:
        return None, []
    n_nulls = N_NULLS if len(table.data) <= MANY else N_NULLS_OF_MANY
    with collect_warnings() as caught:
        try:
            found = model.markers(table.frame, split_half=True, n_nulls=n_nulls, random_state=seed)
            failed = []
        except ValueError as error:
            found = model.markers(table.frame)
            failed = [
                Message("no_split_half", "{why}", {"why": _why_no_halves(error)}, kind="note")
            ]
    return found, [*map(message_of, caught), *failed]


def _why_no_halves(error: ValueError) -> str:
    """Return a sentence on why there was no split-half test."""
    why, test = in_options(error), "The split-half test"
    if getattr(error, "parameter", None) == "split_half":
        return why.replace(f"{test} needs", f"{test} was skipped, because it needs", 1)
    return f"{test} failed: {why}"


def summary(found: Markers) -> dict[str, Any]:
    """Return the entry "markers" of summary.json: the strongest of each cluster, and a verdict."""
    clusters = np.unique(found.columns["cluster"]).tolist()
    return {
        "one_group": found.one_group,
        "grade": found.grade,
        "verdict": " ".join([found.verdict, *found.notes]),
        "clusters": [_strongest(found, cluster) for cluster in clusters],
    }


def _strongest(found: Markers, cluster: int) -> dict[str, Any]:
    own = found.of(cluster)
    entry: dict[str, Any] = {"cluster": cluster}
    entry |= {name: names[:STRONGEST] for name, names in called(found, cluster).items()}
    for name in ("fdr", "fdr_split"):
        if name in own:
            entry[f"{name}_at_most_{LEVEL:g}"] = int(np.count_nonzero(own[name] <= LEVEL))
    return entry


def write(stage: Path, found: Markers) -> None:
    """Write markers.csv, markers.gmt and a file .rnk per cluster into the folder ``stage``."""
    (stage / "markers.csv").write_text(_csv(found), encoding="utf-8")
    clusters = np.unique(found.columns["cluster"]).tolist()
    sets = [line for cluster in clusters for line in _sets(found, cluster)]
    (stage / "markers.gmt").write_text("".join(sets), encoding="utf-8")
    for cluster in clusters:
        (stage / f"markers_{cluster}.rnk").write_text(_ranked(found, cluster), encoding="utf-8")


def _csv(found: Markers) -> str:
    """Return the text of markers.csv; cells that are not known are empty."""
    columns = [column.tolist() for column in found.columns.values()]
    rows = zip(*columns, strict=True)
    return as_csv(list(found.columns), ([_known(cell) for cell in row] for row in rows))


def _known(cell: Any) -> Any:
    return "" if isinstance(cell, float) and np.isnan(cell) else cell


def _ranked(found: Markers, cluster: int) -> str:
    """Return the text of a file .rnk: name and effect, tab between; infinite effects are capped.

    A variable that is constant within the cluster and outside has an infinite effect, which readers
    of such files refuse. It gets the largest finite one. One that was not observed inside, or not
    outside, has none and is left out.
    """
    own = found.of(cluster)
    own = {name: column[~np.isnan(own["effect"])] for name, column in own.items()}
    finite = np.abs(own["effect"][np.isfinite(own["effect"])])
    largest = finite.max(initial=1.0)
    effects = np.clip(own["effect"], -largest, largest)
    order = np.argsort(-effects, kind="stable")
    return "".join(f"{_word(own['variable'][j])}\t{effects[j]:.6g}\n" for j in order)


def _sets(found: Markers, cluster: int) -> Iterator[str]:
    """Yield the lines of the file .gmt for a cluster: name, description and variables, by tabs."""
    worth = "by split halves" if "fdr_split" in found.columns else "(optimistic)"
    for than, members in called(found, cluster).items():
        if not members:
            continue
        shown = members[:LARGEST_SET]
        described = (
            f"{len(shown)} of {len(members)} variables that are {than} than in the other "
            f"samples, at a false discovery rate of {LEVEL:g} {worth}"
        )
        direction = {"higher": "up", "lower": "down"}[than]
        yield "\t".join([f"cluster_{cluster}_{direction}", described, *map(_word, shown)]) + "\n"


def _word(name: str) -> str:
    """Return a name without tabs and ends of lines, which break a file apart, and no formula."""
    return disarmed(" ".join(name.split()))
