"""What ``fit`` left beside a model: its classes, markers and stability, for the page written again.

A page needs more than the model holds. The rest is read from labels.csv, variables.csv, markers.csv
and summary.json; the table itself is not.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.app.cli._options import without_none
from subspaces.app.cli._outputs import read_cell
from subspaces.app.cli._results import origin_of
from subspaces.app.cli._say import warn
from subspaces.diagnostics import Markers, Stability
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import facts_of
from subspaces.messages import Grade, worded
from subspaces.named_table import MissingValues


def left_by_fit(path: Path, model: SubspaceClusterer) -> dict[str, Any]:
    """Return what the fit of a model left in its folder, as options of `SubspaceClusterer.report`.

    If a file is missing, or of another fit, warn and return {}.
    """
    folder = path.parent
    try:
        return _options(folder, model)
    except (OSError, ValueError, KeyError, TypeError):
        warn(
            f"The other files of this fit are not next to {path}, so the page has no classes, "
            "markers or stability. Run subspaces fit again to get them"
        )
        return {}


def _options(folder: Path, model: SubspaceClusterer) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    rows = _table(folder / "labels.csv")
    if rows["cluster"] != [str(k) for k in model.labels_.tolist()]:
        raise ValueError(folder)
    markers = summary.get("markers")
    return without_none(
        title=Path(summary["data"]).name,
        origin=origin_of(summary),
        stability=_stability(summary["stability"], model),
        classes=rows.get("class"),
        markers=markers and _markers(_table(folder / "markers.csv"), markers),
        missing=_missing(summary["missing"], rows, _table(folder / "variables.csv"), model),
    )


def _table(path: Path) -> dict[str, list[str]]:
    """Return the columns of a CSV file of results by their names."""
    import pandas as pd

    frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    return {str(name): list(map(read_cell, cells)) for name, cells in frame.items()}


def _stability(entry: dict[str, Any], model: SubspaceClusterer) -> Stability | None:
    """Return the stability as far as the page shows it; None if it was not measured."""
    if entry.get("stability") is None:
        return None
    unknown = np.full(entry["halvings"], np.nan), np.full(len(model.labels_), np.nan)
    conclusion = replace(worded(entry["verdict"], Grade(entry["grade"])), code=entry["code"])
    return Stability(entry["stability"], *unknown, _real(entry["k_means"]), conclusion)


def _markers(rows: dict[str, list[str]], entry: dict[str, Any]) -> Markers:
    columns = {name: _numbers(cells) for name, cells in rows.items() if name != "variable"}
    columns |= {name: columns[name].astype(int) for name in ("cluster", "rank")}
    columns["variable"] = np.array(rows["variable"])
    columns = {name: columns[name] for name in rows}
    return Markers(
        columns, _real(entry["one_group"]), worded(entry["verdict"], Grade(entry["grade"]))
    )


def _missing(
    share: float, rows: dict[str, list[str]], listed: dict[str, list[str]], model: SubspaceClusterer
) -> MissingValues | None:
    """Return how much was missing of each sample and variable; None if nothing was."""
    if not share:
        return None
    of = dict(zip(listed["variable"], _numbers(listed["missing"]), strict=True))
    of_variables = np.array([of[name] for name in facts_of(model).names])
    return MissingValues(share, _numbers(rows["missing"]), of_variables)


def _numbers(cells: list[str]) -> Any:
    return np.array([float(cell) if cell else np.nan for cell in cells])


def _real(value: float | None) -> float:
    return np.nan if value is None else value
