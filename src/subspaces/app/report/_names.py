"""Conversion of names and numbers to text that is safe in HTML, in plotly and in a script."""

import html
import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from subspaces.messages import in_a_row
from subspaces.psc.choice import verdict_of

# Longest name (characters) that fits next to a figure. Longer ones are cut.
LONGEST_LABEL = 40
# Dimensions of clusters that are listed one by one.
LISTED = 4
# Characters of a name along an axis that leave room for the figure on a phone.
LONGEST_TICK = 30


def as_text(name: object) -> str:
    """Return a name as text, its control characters and lone surrogates replaced by U+FFFD."""
    text, unseen = str(name), ("Cc", "Cs")
    if text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(c) in unseen else c for c in text)


def escape(value: Hashable) -> str:
    """Return a value as text escaped for HTML, in an element or a quoted attribute."""
    return html.escape(as_text(value), quote=True)


def plotly_text(name: object) -> str:
    """Return a name escaped for plotly's labels, which read HTML; cut to 40 characters."""
    text = as_text(name)
    cut = text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
    return html.escape(cut, quote=False)


def short_label(name: object, longest: int = LONGEST_TICK) -> str:
    """Return a name escaped for plotly, its middle cut out if it is longer than ``longest``.

    Long names often differ in their ends alone.
    """
    text, half = as_text(name), longest // 2
    cut = text if len(text) <= longest else f"{text[: longest - half - 1]}…{text[-half:]}"
    return html.escape(cut, quote=False)


def inside_script(json_text: str) -> str:
    """Return the text of JSON with <, > and & escaped, so that it cannot end an HTML script."""
    for character in "<>&":
        json_text = json_text.replace(character, f"\\u{ord(character):04x}")
    return json_text


def number(value: float) -> str:
    """Return a number as text with three significant digits; "none" for nan, "∞" for infinity."""
    if np.isnan(value):
        return "none"
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value + 0.0:.3g}"


def answer_in_words(k: int, answer: Mapping[str, Any]) -> str:
    """Return k clusters in words: ``2 clusters of dimensions 1 and 3 around their means``, say."""
    words, means = count(k, "cluster"), "its mean" if k == 1 else "their means"
    if "affine" not in answer:
        return words
    if not any(answer["n_components"]):
        return f"{words} described by {means}"
    centres = f"around {means}" if answer["affine"] else "through the origin"
    return f"{words} of {dimensions_of(answer['n_components'])} {centres}"


def also_try(selection: dict[str, Any], n_clusters: int, *, command: bool) -> str:
    """Return the sentence on other numbers of clusters worth a look; "" if there are none.

    command: whether to name them as options of the command line.
    """
    if "against_one" not in selection:
        return ""
    said = verdict_of(selection).parameters
    option = "--clusters " if command else "n_clusters="
    numbers = [each["n_clusters"] for each in selection["answers"]]
    near = said.get("near") or [said.get("rival")]
    shown = [k for k in numbers if k in near] or numbers
    named = " or ".join(f"{option}{k}" for k in shown if k != n_clusters)
    return f"Also try {named}." if named else ""


def dimensions_of(sizes: Sequence[int]) -> str:
    """Return the dimensions of clusters as text: ``dimensions 1 and 3``, say."""
    several = in_a_row(sizes) if len(sizes) <= LISTED else f"{min(sizes)} to {max(sizes)}"
    return f"dimensions {several}" if len(set(sizes)) > 1 else f"dimension {sizes[0]}"


def count(value: int, thing: str) -> str:
    """Return a count with its noun as text: ``1 sample`` or ``1,200 samples``, say."""
    return f"{value:,} {thing}" if value == 1 else f"{value:,} {thing}s"


def duration(seconds: float) -> str:
    """Return a duration as text: ``0.26 seconds`` or ``3 min 5 s``, say."""
    if seconds < 1:
        return f"{max(seconds, 0.001):.2g} seconds"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} seconds"
