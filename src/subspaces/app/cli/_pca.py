"""Results of ``pca`` as columns, as a summary, and as files."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from subspaces.app.cli._outputs import as_csv
from subspaces.app.cli._said import Said, with_option, with_options
from subspaces.app.cli._say import as_json, can_draw
from subspaces.app.report import page_of_pca
from subspaces.app.report._pca.findings import PCAFindings
from subspaces.named_table import Table
from subspaces.preparation import Preparation

# How many variables of each component, and how many samples, a summary names.
STRONGEST, INFLUENTIAL = 5, 5


def with_words_of_options(found: PCAFindings, said: Said, preparation: Preparation) -> PCAFindings:
    """Return the findings with words that name options, and what was done to the values."""
    known, outliers = found.components, found.outliers
    return replace(
        found,
        components=replace(known, conclusion=with_option(known.conclusion)),
        outliers=replace(outliers, conclusion=with_option(outliers.conclusion)),
        warned=tuple(with_options(said.kept)),
        taken_for=preparation.taken_for or "",
        preparation=str(preparation),
    )


def summary(
    found: PCAFindings, table: Table, said: Said, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return the contents of summary.json: the verdicts, the components, outliers and warnings."""
    known, names = found.components, table.sample_names
    return {
        "subspaces": version("subspaces"),
        "samples": len(table.data),
        "variables": len(table.variable_names),
        "missing": 0.0 if found.missing is None else found.missing.share,
        "taken_for": found.taken_for or None,
        "preparation": found.preparation,
        **settings,
        "shown": found.n_shown,
        "n_components": known.n_components,
        "low": known.low,
        "high": known.high,
        "n_predictive": known.n_predictive,
        "noise": known.noise,
        "hidden": known.hidden,
        "verdict": known.verdict,
        "code": known.conclusion.code,
        "grade": known.grade,
        "components": [_axis(found, table, r) for r in range(max(found.n_axes, found.n_shown))],
        "leave_one_cell_out": known.loco,
        "outliers": [
            {
                "sample": names[i],
                "t2_p_value": found.outliers.t2_p_value[i],
                "q_p_value": found.outliers.q_p_value[i],
                "because": found.outliers.reasons(i),
            }
            for i in found.outliers.outliers
        ],
        "outliers_verdict": found.outliers.verdict,
        "outliers_grade": found.outliers.grade,
        "influential": [_driver(found, table, i) for i in found.most_influential[:INFLUENTIAL]],
        "warnings": said.lines,
        "messages": said.entries,
    }


def _axis(found: PCAFindings, table: Table, r: int) -> dict[str, Any]:
    """Return what is known of axis r, from 0; None for what was not compared with noise."""
    known = found.components
    entry: dict[str, Any] = dict.fromkeys(("kind", "ratio", "ratio_without", "rests_on", "loco"))
    if r < found.n_axes:
        entry["kind"] = known.kinds[r]
        entry["ratio"], entry["ratio_without"] = known.ratio[r], known.ratio_without[r]
        entry["rests_on"] = table.sample_names[known.rests_on[r]]
    if r + 1 < len(known.loco):
        entry["loco"] = known.loco[r + 1]
    strongest = {}
    if r < found.n_shown:
        order = found.strongest(r)[:STRONGEST]
        strongest = {table.variable_names[j]: found.loadings[j, r] for j in order}
    entry["mixed"] = r in found.mixed if r < found.n_shown and found.errors is not None else None
    return {"component": r + 1, "explained": found.share(r), **entry, "strongest": strongest}


def _driver(found: PCAFindings, table: Table, i: int) -> dict[str, Any]:
    return {
        "sample": table.sample_names[i],
        **({} if table.classes is None else {"class": table.classes[i]}),
        "influence": found.influence[i],
        "leverage": found.leverage[i],
        "leave_one_out_error": found.outliers.error[i],
    }


def write(stage: Path, found: PCAFindings, table: Table, summary: dict[str, Any]) -> None:
    """Write scores.csv, loadings.csv, samples.csv and summary.json into the folder ``stage``."""
    heads = [f"PC{r + 1}" for r in range(found.n_shown)]
    named = _named(table)
    scores = dict(zip(heads, found.scores.T.tolist(), strict=True))
    loadings = dict(zip(heads, found.loadings.T.tolist(), strict=True))
    _write(stage / "scores.csv", {**named, **scores})
    gaps = found.missing
    of_variables = {} if gaps is None else {"missing": gaps.of_variables.tolist()}
    of_samples = {} if gaps is None else {"missing": gaps.of_samples.tolist()}
    loadings |= _intervals(found)
    variables = {"variable": table.variable_names, **loadings, **of_variables}
    _write(stage / "loadings.csv", variables)
    _write(stage / "samples.csv", {**named, **_measures(found), **of_samples})
    (stage / "summary.json").write_text(as_json(summary) + "\n", encoding="utf-8")


def _intervals(found: PCAFindings) -> dict[str, list[Any]]:
    """Return the columns of loadings.csv on how sure each loading is; none if values are missing.

    All rows say of a component whether it is mixed with a neighbour.
    """
    columns: dict[str, list[Any]] = {}
    for r in range(0 if found.intervals is None else found.n_shown):
        for name, values in zip(("low", "high", "p_value"), found.intervals or (), strict=True):
            columns[f"PC{r + 1}_{name}"] = values[:, r].tolist()
        word = "yes" if r in found.mixed else "no"
        columns[f"PC{r + 1}_mixed"] = [word] * len(found.loadings)
    return columns


def classes_in_words(table: Table) -> list[str] | None:
    """Return the class of each sample, "no class" if it has none; None without classes."""
    return None if table.classes is None else [name or "no class" for name in table.classes]


def _named(table: Table) -> dict[str, Sequence[str]]:
    named: dict[str, Sequence[str]] = {"sample": table.sample_names}
    return named if table.classes is None else {**named, "class": table.classes}


def _measures(found: PCAFindings) -> dict[str, list[Any]]:
    """Return the columns of samples.csv, one value per sample each."""
    known = found.outliers
    return {
        "influence": found.influence.tolist(),
        "leave_one_out_error": known.error.tolist(),
        "leverage": found.leverage.tolist(),
        "t2": known.t2.tolist(),
        "q": known.q.tolist(),
        "outlier": ["yes" if out else "no" for out in known.is_outlier],
        "because": [", ".join(known.reasons(i)) for i in range(len(known.q))],
    }


def _write(path: Path, columns: dict[str, Sequence[Any]]) -> None:
    path.write_text(as_csv(list(columns), zip(*columns.values(), strict=True)), encoding="utf-8")


def write_page(stage: Path, found: PCAFindings, title: str) -> None:
    """Write report.html into the folder ``stage``; without plotly, warn and write nothing."""
    if can_draw():
        (stage / "report.html").write_bytes(page_of_pca(found, title).encode())
