"""The shell of every page: one HTML file with its sections, figures, styles and scripts inside."""

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Container, Mapping
from datetime import date
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TypeVar

from subspaces.app.report._canvas import require_plotly
from subspaces.app.report._draft import Sheet
from subspaces.app.report._names import escape, inside_script
from subspaces.runtime.writing import written_whole

AnySheet = TypeVar("AnySheet", bound=Sheet)
# Where plotly's script starts its kinds of traces. Scatter is always there, and the first three are
# bar, box and heat map.
TRACES = re.compile(r"(\.register\(\[(?:[\w$]+\(\),){2}[\w$]+\(\))[^\]]*\]\)")


def page(
    sheet: AnySheet,
    sections: Mapping[str, tuple[str, Callable[[AnySheet], str | None]]],
    title: str,
    folded: Container[str] = (),
) -> str:
    """Return one HTML page: the sections that have something to say, and their figures.

    sections: by id, the heading and the function that writes the HTML below it; folded: ids of
    sections that are closed until somebody opens them.
    """
    require_plotly()
    links, body = [], []
    for name, (heading, write) in sections.items():
        written = write(sheet)
        if written is not None:
            links.append(f'<li><a href="#{name}">{heading}</a></li>')
            body.append(_section(name, heading, written, is_folded=name in folded))
    drawings = ",".join(f'"{name}":{drawing.to_json()}' for name, drawing in sheet.figures.items())
    (plotly, packed), script = _plotly(), _part("page.js")
    return Template(_part("page.html")).substitute(
        policy=_policy(plotly, script),
        title=escape(title),
        style=_part("page.css"),
        links="\n".join(links),
        sections="\n".join(body),
        version=version("subspaces"),
        date=_today(),
        figures=inside_script(f"{{{drawings}}}"),
        plotly=packed,
        script=script,
    )


def write_page(text: str, path: str | Path) -> Path:
    """Write a page to a file, and return its path; on error no file changes."""
    target, content = Path(path), text.encode()
    with written_whole(target) as part:
        part.write_bytes(content)
    return target


def _section(name: str, heading: str, body: str, *, is_folded: bool) -> str:
    title = f'<h2 id="{name}-heading">{heading}</h2>'
    whole = f"{title}\n{body}"
    if is_folded:
        whole = f"<details><summary>{title}</summary>\n{body}</details>"
    return f'<section id="{name}" aria-labelledby="{name}-heading">{whole}</section>'


def _policy(*scripts: str) -> str:
    """Return a Content-Security-Policy that allows only these scripts and no network request."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: "
        "blob:; connect-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def _plotly() -> tuple[str, str]:
    """Return plotly's script, and the same packed."""
    from plotly.offline import get_plotlyjs

    script = _parsed_once(_without_rare_traces(_unified(get_plotlyjs())))
    return script, base64.b64encode(zlib.compress(script.encode())).decode()


def _without_rare_traces(plotly: str) -> str:
    """Return plotly's script such that traces that no page has, such as maps, do not start.

    That is a third of the time until the first figure is drawn.
    """
    return TRACES.sub(r"\1])", plotly, count=1)


def _parsed_once(plotly: str) -> str:
    """Return plotly's script with its body in brackets.

    Browsers parse a function in brackets at once. Any other they parse to find its end, and again
    when it is called, which takes a third of the time that plotly needs to start.
    """
    opening, body, closing = "this, ", "() => {", "}));"
    if opening + body not in plotly or not plotly.endswith(closing):
        return plotly
    bracketed = plotly.replace(opening + body, f"{opening}({body}", 1)
    return f"{bracketed.removesuffix(closing)}}})));"


def _today() -> str:
    today = date.today()
    return f"{today.day} {today:%B %Y}"


def _part(name: str) -> str:
    return _unified(files("subspaces.app.report").joinpath(name).read_text(encoding="utf-8"))


def _unified(text: str) -> str:
    """Return the text with line feeds as its only line ends, as browsers hash scripts."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
