"""What ``fit`` left beside a model: its classes, markers and stability, for the page written again.

A page needs more than the model holds. The rest is read from labels.csv, variables.csv, markers.csv
and summary.json; the table itself is not.
"""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.app.cli._outputs import read_cell
from subspaces.app.cli._results import origin_of
from subspaces.diagnostics import Markers, Stability
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import facts_of
from subspaces.messages import Grade, worded
from subspaces.named_table import MissingValues

# Columns of markers.csv that hold whole numbers; all others but the names hold real ones.
WHOLE = ("cluster", "rank")
# Entries of summary.json that a page is made of.
NEEDED = {"data", "missing", "stability"}


@dataclass(frozen=True)
class Left:
    """Options of a page, as `pages.render` takes them, and sentences on what the page lacks."""

    options: dict[str, Any]
    lacking: tuple[str, ...]


def left_by_fit(path: Path, model: SubspaceClusterer) -> Left:
    """Return what the fit of the model file ``path`` left in its folder.

    Files of another fit, which does not have the clusters of ``model``, are not taken.
    """
    folder = path.parent
    summary = _summary(folder / "summary.json", model)
    if summary is None:
        lost = "known classes, markers, stability or missing values"
        return Left({}, (_lost(folder, "summary.json for this model", lost),))
    rows = _of_same_clusters(_table(folder / "labels.csv"), model)
    options = {
        "title": Path(summary["data"]).name,
        "stability": _stability(summary["stability"], model),
        "classes": None if rows is None else rows.get("class"),
        "markers": _markers(folder / "markers.csv", summary.get("markers")),
        "names": summary.get("cluster_names"),
        "origin": origin_of(summary),
        "missing": _missing(summary["missing"], rows, folder / "variables.csv", model),
    }
    lacking = tuple(_lacking(folder, summary, options, rows))
    known = {name: value for name, value in options.items() if value is not None}
    return Left(known, lacking)


def _lacking(folder: Path, summary: Any, options: Any, rows: dict[str, list[str]] | None) -> Any:
    """Yield a sentence on each file that is missing, or of another fit."""
    if rows is None and "adjusted_rand" in summary:
        yield _lost(folder, "labels.csv for this model", "known classes")
    if "markers" in summary and options["markers"] is None:
        yield _lost(folder, "markers.csv", "markers")
    if summary["missing"] and options["missing"] is None:
        yield _lost(folder, "labels.csv or variables.csv for this model", "missing values")


def _lost(folder: Path, file: str, what: str) -> str:
    return (
        f"{folder} has no {file}, so the page does not show {what}. Run subspaces fit again to "
        "get them."
    )


def _summary(path: Path, model: SubspaceClusterer) -> dict[str, Any] | None:
    """Return summary.json; None if it is missing, unreadable or of other clusters."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        sizes = [cluster["samples"] for cluster in found["clusters"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    same = sizes == np.bincount(model.labels_[model.labels_ >= 0]).tolist()
    return found if same and found.keys() >= NEEDED else None


def _table(path: Path) -> dict[str, list[str]] | None:
    """Return the columns of a CSV file of results by their names; None if there is none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            top, *rows = csv.reader(file)
            columns = list(zip(*rows, strict=True))
    except (OSError, ValueError):
        return None
    return {
        name: [read_cell(cell) for cell in column]
        for name, column in zip(top, columns, strict=False)
    }


def _of_same_clusters(
    rows: dict[str, list[str]] | None, model: SubspaceClusterer
) -> dict[str, list[str]] | None:
    same = rows is not None and rows.get("cluster") == [str(k) for k in model.labels_.tolist()]
    return rows if same else None


def _stability(entry: dict[str, Any], model: SubspaceClusterer) -> Stability | None:
    """Return the stability as far as the page shows it; None if it was not measured."""
    if entry.get("stability") is None:
        return None
    unknown = np.full(entry["halvings"], np.nan), np.full(len(model.labels_), np.nan)
    k_means = np.nan if entry["k_means"] is None else entry["k_means"]
    conclusion = worded(entry["verdict"], Grade(entry.get("grade", "unknown")))
    return Stability(entry["stability"], *unknown, k_means, conclusion)


def _markers(path: Path, entry: dict[str, Any] | None) -> Markers | None:
    rows = None if entry is None else _table(path)
    if entry is None or not rows:
        return None
    columns = {name: _numbers(name, cells) for name, cells in rows.items()}
    one_group = np.nan if entry["one_group"] is None else entry["one_group"]
    conclusion = worded(entry["verdict"], Grade(entry.get("grade", "unknown")))
    return Markers(columns, one_group, conclusion)


def _numbers(name: str, cells: list[str]) -> Any:
    if name == "variable":
        return np.array(cells)
    if name in WHOLE:
        return np.array([int(cell) for cell in cells])
    return np.array([float(cell) if cell else np.nan for cell in cells])


def _missing(
    share: float, rows: dict[str, list[str]] | None, path: Path, model: SubspaceClusterer
) -> MissingValues | None:
    """Return how much was missing of each sample and variable; None if nothing, or unknown."""
    listed = _table(path)
    if not share or rows is None or listed is None or not {"missing"} <= rows.keys() & listed:
        return None
    of = dict(zip(listed["variable"], map(float, listed["missing"]), strict=True))
    names = facts_of(model).names
    if not of.keys() >= set(names):
        return None
    return MissingValues(
        share, np.array(rows["missing"], dtype=float), np.array([of[name] for name in names])
    )
