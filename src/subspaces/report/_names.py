"""Names from the data as text: for HTML, for plotly, for JSON inside a script."""

import html
import unicodedata
from typing import Any

import numpy as np

LONGEST_LABEL = 40


def as_text(name: Any) -> str:
    """A name without characters that no file can hold or no eye can see."""
    unseen = ("Cc", "Cs")
    return "".join("\ufffd" if unicodedata.category(c) in unseen else c for c in str(name))


def escape(value: Any) -> str:
    """Text for HTML, inside an element or a quoted attribute."""
    return html.escape(as_text(value), quote=True)


def plotly_text(name: Any) -> str:
    """Text for plotly, which reads some HTML in labels; long names are cut."""
    text = as_text(name)
    cut = text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
    return html.escape(cut, quote=False)


def inside_script(json_text: str) -> str:
    """JSON that cannot end the script element it stands in, nor open a comment there."""
    for character in "<>&":
        json_text = json_text.replace(character, f"\\u{ord(character):04x}")
    return json_text


def number(value: float) -> str:
    """Three significant digits."""
    if np.isnan(value):
        return "none"
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value + 0.0:.3g}"


def dimension(value: int) -> str:
    """``2 dimensions``; a cluster without any is its mean profile."""
    return count(value, "dimension") if value else "mean profile"


def count(value: int, thing: str) -> str:
    """``1 sample``, ``1,200 samples``."""
    return f"{value:,} {thing}" if value == 1 else f"{value:,} {thing}s"


def sentence(message: str) -> str:
    """A message with a capital and a full stop; names in code keep theirs."""
    text = message.strip()
    starts_a_word = text.split("=")[0].isidentifier() and "=" in text.split(" ")[0]
    text = text if starts_a_word else text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def duration(seconds: float) -> str:
    """``0.26 seconds``, ``3 min 5 s``."""
    if seconds < 1:
        return f"{max(seconds, 0.001):.2g} seconds"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} seconds"
