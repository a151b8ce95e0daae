"""The report of a fitted model: one interactive HTML page that works offline."""

import base64
import hashlib
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from sklearn.utils.validation import check_is_fitted

from subspaces.report._canvas import require_plotly
from subspaces.report._clusters import clusters, variables
from subspaces.report._draft import Draft
from subspaces.report._findings import gather
from subspaces.report._names import escape, inside_script
from subspaces.report._samples import agreement, samples
from subspaces.report._search import choice, search
from subspaces.report._summary import summary, warnings
from subspaces.runtime.writing import written_whole

__all__ = ["render", "write"]

SECTIONS: dict[str, tuple[str, Callable[[Draft], str | None]]] = {
    "summary": ("In short", summary),
    "warnings": ("Warnings", warnings),
    "clusters": ("The clusters", clusters),
    "agreement": ("Known classes", agreement),
    "choice": ("What was chosen", choice),
    "samples": ("The samples", samples),
    "variables": ("The variables", variables),
    "way": ("How the search went", search),
}

# Sections that are closed until somebody opens them.
FOLDED = {"way"}


def render(
    model: Any,
    X: Any = None,
    *,
    title: str | None = None,
    classes: Any = None,
    sample_names: Any = None,
    variable_names: Any = None,
    stability: Any = None,
    selection: Any = None,
) -> str:
    """Return the report of a fitted model as one HTML page.

    Parameters
    ----------
    model : fitted estimator
        Any of this library.
    X : array-like of shape (n, p), optional
        The data of fit. Not needed, but with it the distances from the subspaces are shown.
    title : str, optional
        Heading of the page.
    classes : sequence of length n, optional
        Known classes, shown beside the clusters.
    sample_names : sequence of length n, optional
        Names of the samples; by default the index of the data frame that was fitted.
    variable_names : sequence of length p, optional
        Names of the variables; by default the columns of the data frame that was fitted.
    stability : Stability, optional
        From `subspaces.diagnostics.stability`.
    selection : Selection, optional
        From `subspaces.selection`, where the model is its ``best_estimator_``.

    Returns
    -------
    str
        HTML with all scripts and styles inside; opening it sends no request to the network.
    """
    require_plotly()
    from plotly.offline import get_plotlyjs

    check_is_fitted(model)
    found = gather(model, X, classes, sample_names, variable_names)
    draft = Draft(found, stability, selection, X)
    links, sections = _contents(draft)
    drawings = ",".join(f'"{name}":{drawing.to_json()}' for name, drawing in draft.figures.items())
    plotly, script = _unified(get_plotlyjs()), _part("page.js")
    heading = f"{type(model).__name__}: {len(found.clusters)} clusters" if title is None else title
    return Template(_part("page.html")).substitute(
        policy=_policy(plotly, script),
        title=escape(heading),
        style=_part("page.css"),
        links=links,
        sections=sections,
        version=version("subspaces"),
        date=_today(),
        figures=inside_script(f"{{{drawings}}}"),
        plotly=plotly,
        script=script,
    )


def write(model: Any, X: Any = None, path: str | Path = "report.html", **options: Any) -> Path:
    """Write the page of `render` to a file, and return its path; on error no file changes.

    Parameters
    ----------
    model : fitted estimator
        Any of this library.
    X : array-like of shape (n, p), optional
        The data of fit.
    path : str or Path, default "report.html"
        Where to write; a file that is there is replaced once the page is complete.
    **options
        As for `render`.

    Returns
    -------
    Path
        Where the page is.
    """
    target = Path(path)
    page = render(model, X, **options).encode()
    with written_whole(target) as part:
        part.write_bytes(page)
    return target


def _contents(draft: Draft) -> tuple[str, str]:
    links, sections = [], []
    for name, (heading, write) in SECTIONS.items():
        body = write(draft)
        if body is None:
            continue
        title = f'<h2 id="{name}-heading">{heading}</h2>'
        whole = f"{title}\n{body}"
        if name in FOLDED:
            whole = f"<details><summary>{title}</summary>\n{body}</details>"
        links.append(f'<li><a href="#{name}">{heading}</a></li>')
        sections.append(f'<section id="{name}" aria-labelledby="{name}-heading">{whole}</section>')
    return "\n".join(links), "\n".join(sections)


def _policy(*scripts: str) -> str:
    """Return a Content-Security-Policy that allows only these scripts and no network request."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: "
        "blob:; base-uri 'none'; form-action 'none'"
    )


def _today() -> str:
    today = date.today()
    return f"{today.day} {today:%B %Y}"


def _part(name: str) -> str:
    return _unified(files("subspaces.report").joinpath(name).read_text(encoding="utf-8"))


def _unified(text: str) -> str:
    """Return the text with line feeds as its only line ends, as browsers hash scripts."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
