"""What the sections are written from, and words that they share."""

from dataclasses import dataclass, field
from typing import Any

from subspaces.diagnostics import Stability
from subspaces.report._canvas import thinned
from subspaces.report._findings import Findings
from subspaces.report._names import escape
from subspaces.selection import Selection

NAMED = 5


@dataclass(frozen=True)
class Draft:
    """What the sections are written from, and the figures they ask for as they are written."""

    found: Findings
    stability: Stability | None
    selection: Selection | None
    data: Any = None
    figures: dict[str, Any] = field(default_factory=dict)

    def figure(self, name: str, drawing: Any, label: str, caption: str = "") -> str:
        """Keep a figure; the place in the page where it goes."""
        self.figures[name] = drawing
        below = f"<figcaption>{caption}</figcaption>" if caption else ""
        return (
            f'<figure><div class="figure" id="{name}" data-figure="{name}" role="img" '
            f'aria-label="{escape(label)}" style="height:{drawing.layout.height}px"></div>{below}'
            "</figure>"
        )


def few(found: Findings, rows: Any) -> str:
    """Some samples by name, and how many more."""
    names = ", ".join(
        f'<bdi class="name">{escape(found.sample_names[i])}</bdi>' for i in rows[:NAMED]
    )
    return names + (f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else "")


def thinning(found: Findings) -> str:
    shown = sum(len(thinned(found, c.members)) for c in found.clusters)
    if shown == len(found.labels):
        return ""
    return (
        f" Drawn are {shown:,} of {len(found.labels):,} samples, at random, the most influential "
        "and the nearest to another cluster among them."
    )
