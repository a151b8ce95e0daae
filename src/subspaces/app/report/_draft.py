"""The data that all sections of the report are written from, and sentences they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from subspaces.app.report._canvas import thinned
from subspaces.app.report._findings import Findings
from subspaces.app.report._names import count, escape
from subspaces.diagnostics import Markers, Stability
from subspaces.selection import Selection

# What to do with a plot, which cannot be done on paper.
POINT = '<span class="hint">Point at a mark to see the sample.</span>'
# How many samples a sentence names.
NAMED = 5


@dataclass(frozen=True)
class Sheet:
    """The figures that the sections of a page have added, by the id of their place in the page."""

    figures: dict[str, Any] = field(default_factory=dict, kw_only=True)

    def figure(
        self, name: str, drawing: Any, label: str, caption: str = "", still: str = ""
    ) -> str:
        """Add a plotly figure to ``figures``; return the HTML element that the page draws it in.

        still: what stands there until plotly has started.
        """
        self.figures[name] = drawing
        below = f"<figcaption>{caption}</figcaption>" if caption else ""
        return (
            f'<figure><div class="figure" id="{name}" data-figure="{name}" role="img" '
            f'aria-label="{escape(label)}" style="height:{drawing.layout.height}px">{still}</div>'
            f"{below}</figure>"
        )


@dataclass(frozen=True)
class Draft(Sheet):
    """The data for all sections of the report of a model, and its figures.

    data: X as given, or None; origin: where the model comes from, by heading.
    """

    found: Findings
    stability: Stability | None
    selection: Selection | None
    data: Any = None
    markers: Markers | None = None
    origin: Mapping[str, str] = field(default_factory=dict)

    @property
    def with_samples(self) -> str:
        """How to get a page with samples that the model does not store."""
        return "Run subspaces fit again" if self.origin else "Pass X to report"


def named(sample_names: Sequence[str], rows: Any) -> str:
    """Return as HTML the names of the first five samples in ``rows``, and "and 3 more", say."""
    names = ", ".join(f'<bdi class="name">{escape(sample_names[i])}</bdi>' for i in rows[:NAMED])
    return names + (f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else "")


def note_on_infinite(influence: Any, axis: str) -> str:
    """Return a sentence on the samples whose influence is infinite; "" if there are none."""
    alone = int(np.count_nonzero(np.isinf(influence)))
    if not alone:
        return ""
    how = f"defines {axis} by itself, so its" if alone == 1 else f"each define {axis}, so their"
    return f" {count(alone, 'sample')} {how} influence is infinite."


def note_on_thinning(found: Findings) -> str:
    """Return a sentence on how many samples the figures draw; "" if they draw all."""
    shown = sum(len(thinned(found, c.members)) for c in found.clusters)
    return part_drawn(shown, sum(len(c.members) for c in found.clusters), "least certain")


def part_drawn(shown: int, of: int, notable: str) -> str:
    """Return a sentence on which samples the figures draw; "" if they draw all."""
    others = f"the most influential, the {notable} and a random choice of the others"
    return f" The plot shows {shown:,} of {of:,} samples: {others}." if shown < of else ""
