"""The data that all sections of the page on one PCA are written from, and what they share."""

from dataclasses import dataclass

from subspaces.app.report._draft import Sheet, part_drawn
from subspaces.app.report._names import escape
from subspaces.app.report._pca.findings import PCAFindings
from subspaces.app.report._pca.sample_figures import drawn


@dataclass(frozen=True)
class PCADraft(Sheet):
    """The findings on one PCA, and the figures of its page."""

    found: PCAFindings


def name_of(found: PCAFindings, i: int) -> str:
    """Return the name of sample ``i`` as HTML."""
    return f'<bdi class="name">{escape(found.sample_names[i])}</bdi>'


def note_on_thinning(found: PCAFindings) -> str:
    """Return a sentence on how many samples the figures draw; "" if they draw all."""
    return part_drawn(len(drawn(found)), len(found.scores), "most unusual")
