"""Reports on a fitted model and on a PCA: one interactive HTML page that works offline."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from subspaces._types import Auto, Data, Seed
from subspaces.app.report._canvas import require_plotly
from subspaces.app.report._clusters import clusters, variables
from subspaces.app.report._draft import Draft
from subspaces.app.report._findings import gather
from subspaces.app.report._frame import report
from subspaces.app.report._markers import markers as section_of_markers
from subspaces.app.report._names import count
from subspaces.app.report._overview import heat_map
from subspaces.app.report._page import page, write_page
from subspaces.app.report._pca import components as pca_components
from subspaces.app.report._pca import samples as pca_samples
from subspaces.app.report._pca import summary as pca_summary
from subspaces.app.report._pca.draft import PCADraft
from subspaces.app.report._pca.findings import PCAFindings, gather_pca
from subspaces.app.report._repeat import repeat
from subspaces.app.report._samples import agreement, samples
from subspaces.app.report._search import choice, search
from subspaces.app.report._summary import missing as what_is_missing
from subspaces.app.report._summary import summary
from subspaces.diagnostics import Markers, Stability
from subspaces.estimators._base import SubspaceClusterer
from subspaces.named_table import MissingValues
from subspaces.runtime.parameters import check_options
from subspaces.selection import Selection

__all__ = ["render", "render_pca", "report", "write", "write_pca"]

SECTIONS: dict[str, tuple[str, Callable[[Draft], str | None]]] = {
    "summary": ("In short", summary),
    "heat": ("What tells the clusters apart", heat_map),
    "clusters": ("The clusters", clusters),
    "agreement": ("Known classes", agreement),
    "choice": ("What was chosen", choice),
    "samples": ("The samples", samples),
    "markers": ("Markers", section_of_markers),
    "variables": ("The variables", variables),
    "missing": ("What is missing", what_is_missing),
    "repeat": ("How to repeat this", repeat),
    "way": ("How the search went", search),
}

PCA_SECTIONS: dict[str, tuple[str, Callable[[PCADraft], str | None]]] = {
    "summary": ("In short", pca_summary.summary),
    "warnings": ("Warnings", pca_summary.warnings),
    "missing": ("What is missing", pca_summary.missing),
    "components": ("How many components", pca_components.components),
    "scores": ("The samples on the components", pca_samples.scores),
    "variables": ("Which variables make them", pca_components.variables),
    "drivers": ("Which samples matter most", pca_samples.drivers),
    "outliers": ("Which samples are outliers", pca_samples.outliers),
}

# Sections that are closed until somebody opens them.
FOLDED = {"way"}


def render(
    model: SubspaceClusterer,
    X: Data | None = None,
    *,
    title: str | None = None,
    classes: Iterable[object] | None = None,
    sample_names: Iterable[object] | None = None,
    variable_names: Iterable[object] | None = None,
    stability: Stability | None = None,
    selection: Selection | None = None,
    markers: Markers | None = None,
    missing: MissingValues | None = None,
    metadata: Any = None,
    names: Iterable[object] | None = None,
    origin: Mapping[str, str] | None = None,
) -> str:
    """Return the report of a fitted model as one HTML page.

    Parameters
    ----------
    model : fitted estimator
        Any estimator of this library.
    X : array-like of shape (n, p), optional
        The data of ``fit``. If you pass them, the page also shows the distances from the subspaces.
    title : str, optional
        Heading of the page.
    classes : sequence of length n, optional
        Known classes, "" for a sample without one.
    sample_names : sequence of length n, optional
        Names of the samples. By default the index of the data frame.
    variable_names : sequence of length p, optional
        Names of the variables. By default the columns of the data frame.
    stability : Stability, optional
        Result of `subspaces.diagnostics.stability`.
    selection : Selection, optional
        Result of `subspaces.selection`, if the model is its ``best_estimator_``.
    markers : Markers, optional
        Result of ``model.markers`` or `subspaces.diagnostics.markers`.
    missing : MissingValues, optional
        How much was missing, from ``subspaces.named_table.missing_values``. Only needed without X.
    metadata : DataFrame or mapping of sequences of length n, optional
        Other columns about the samples, shown as colours and bars. Rows of a data frame are matched
        by the names of the samples, or taken in order.
    names : sequence of length K, optional
        Names of the clusters, in the order of their numbers.
    origin : mapping of str, optional
        Where the model comes from, such as the command and the file. The page shows it in the
        section on how to repeat the analysis.

    Returns
    -------
    str
        HTML with all scripts and styles inside. It works offline.
    """
    require_plotly()
    check_is_fitted(model)
    found = gather(model, X, classes, sample_names, variable_names, names, metadata, markers)
    found = replace(found, missing=missing) if X is None else found
    size = count(len(found.clusters), "cluster")
    heading = f"{type(model).__name__}: {size}" if title is None else title
    draft = Draft(found, stability, selection, X, markers, origin or {})
    return page(draft, SECTIONS, heading, FOLDED)


def write(
    model: SubspaceClusterer,
    X: Data | None = None,
    path: str | Path = "report.html",
    **options: Any,
) -> Path:
    """Write the page of `render` to a file, and return its path.

    If there is an error, no file changes.

    Parameters
    ----------
    model : fitted estimator
        Any estimator of this library.
    X : array-like of shape (n, p), optional
        The data of ``fit``.
    path : str or Path, default "report.html"
        Where to write the page. An existing file is replaced once the page is complete.
    **options
        Options of `render`.

    Returns
    -------
    Path
        Path of the page.
    """
    check_options(options, _options_of(render), "report")
    if isinstance(X, str | Path):
        raise TypeError(f"X={str(X)!r} is a path, not a table. Call report(path={str(X)!r}).")
    return write_page(render(model, X, **options), path)


def _options_of(function: Callable[..., Any]) -> list[str]:
    """Return the names of a function's parameters but the data and the model."""
    return [name for name in signature(function).parameters if name not in ("model", "X")]


def render_pca(
    X: Data,
    n_components: int | Auto = "auto",
    *,
    center: bool = True,
    scale: bool = False,
    level: float = 0.05,
    max_components: int | None = None,
    random_state: Seed = None,
    classes: Iterable[object] | None = None,
    title: str | None = None,
) -> str:
    """Return a report on one PCA as one HTML page.

    It shows how many components there are, the samples on them, the variables that make them,
    influential samples and outliers.

    Parameters
    ----------
    X : array-like of shape (n, p)
        At least five samples, in rows. Pass a data frame to show names.
    n_components : int or "auto", default "auto"
        How many components to show. "auto" shows those that are stronger than noise.
    center : bool, default True
        Whether the PCA has a mean.
    scale : bool, default False
        Whether to divide each variable by its standard deviation first.
    level : float, default 0.05
        Probability that a table without outliers has a sample beyond the limits.
    max_components : int, optional
        Largest number of components to find, as in `subspaces.diagnostics.pca_components`.
    random_state : int, RandomState or None
        Seed.
    classes : sequence of length n, optional
        Known classes, shown as colours.
    title : str, optional
        Heading of the page.

    Returns
    -------
    str
        HTML with all scripts and styles inside. It works offline.
    """
    require_plotly()
    found = gather_pca(
        X,
        n_components,
        center=center,
        scale=scale,
        level=level,
        max_components=max_components,
        random_state=random_state,
        classes=classes,
    )
    return page_of_pca(found, title)


def write_pca(X: Data, path: str | Path = "report.html", **options: Any) -> Path:
    """Write the page of `render_pca` to a file, and return its path.

    If there is an error, no file changes.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Samples in rows.
    path : str or Path, default "report.html"
        Where to write the page. An existing file is replaced once the page is complete.
    **options
        Options of `render_pca`.

    Returns
    -------
    Path
        Path of the page.
    """
    check_options(options, _options_of(render_pca), "write_pca")
    return write_page(render_pca(X, **options), path)


def page_of_pca(found: PCAFindings, title: str | None = None) -> str:
    """Return the page of findings that were gathered before, as the command ``pca`` does."""
    number = found.components.n_components
    heading = f"PCA: {count(number, 'component')}" if title is None else title
    return page(PCADraft(found), PCA_SECTIONS, heading)
