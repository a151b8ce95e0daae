"""HTML of the report's sections "The samples" and "Known classes"."""

from subspaces.app.report import _tables
from subspaces.app.report._draft import Draft, note_on_infinite
from subspaces.app.report._names import number
from subspaces.app.report._summary import agreement_in_words


def samples(draft: Draft) -> str:
    """Return the HTML of "The samples": a table of all, the least certain first."""
    found = draft.found
    words = "The table begins with the samples whose cluster is least certain."
    if len(found.clusters) == 1:
        words = "All samples are in one cluster."
    if len(found.outliers) and found.p_values is not None:
        limit = number(found.model.outlier_threshold_)
        words = (
            f"The table begins with the outliers (p-value up to {limit}), which were left out of "
            "the fit. The least certain samples come next."
        )
    if found.rivalry is None and found.probabilities is None and len(found.clusters) > 1:
        words = (
            "The model does not store the scores of this many samples. "
            f"{draft.with_samples} to see them."
        )
    if found.influence is not None:
        what = "means" if found.points else "subspaces"
        words += (
            f" The {what} depend most on the samples with the largest influence, so check these "
            "first."
        )
        words += note_on_infinite(found.influence, "an axis")
    return f"<p>{words}</p>{_tables.samples(found)}"


def agreement(draft: Draft) -> str | None:
    """Return the HTML of "Known classes": their agreement with the clusters; None if not given."""
    found = draft.found
    if found.classes is None:
        return None
    words = f"{agreement_in_words(found)} An index of 1 is perfect, and 0 is chance."
    return f"<p>{words}</p>{_tables.contingency(found)}"
