"""HTML of the report's sections "The samples" and "Known classes"."""

import numpy as np

from subspaces.app.report import _tables
from subspaces.app.report._draft import Draft
from subspaces.app.report._names import count, number
from subspaces.metrics import adjusted_rand_score, matched_accuracy


def samples(draft: Draft) -> str:
    """Return the HTML of "The samples": a table of all, the least certain first."""
    found = draft.found
    words = "The table begins with the samples whose cluster is least certain."
    if found.p_values is not None:
        limit = number(found.model.outlier_threshold_)
        words = (
            f"The table begins with the outliers (p-value up to {limit}), which were left out of "
            "the fit. The least certain samples come next."
        )
    if found.rivalry is None and found.probabilities is None and len(found.clusters) > 1:
        words = (
            "The model does not store the scores of this many samples. Pass X to report to "
            "see them."
        )
    if found.influence is not None and "Influence" in _tables.sample_columns(found):
        what = "means" if found.points else "subspaces"
        alone = int(np.count_nonzero(np.isinf(found.influence)))
        words += (
            " Influence is how strongly a sample pulls its cluster towards itself. Check the "
            f"largest values first, because the {what} depend on them most."
        )
        words += (
            f" {count(alone, 'sample')} {'defines' if alone == 1 else 'each define'} an axis "
            f"by {'itself, so its' if alone == 1 else 'themselves, so their'} influence is "
            "infinite."
        ) * (alone > 0)
    return f"<p>{words}</p>{_tables.samples(found)}"


def agreement(draft: Draft) -> str | None:
    """Return the HTML of "Known classes": their agreement with the clusters; None if not given."""
    found = draft.found
    if found.classes is None:
        return None
    own, labels = found.known
    index, right = adjusted_rand_score(own, labels), matched_accuracy(own, labels)
    return (
        f"<p>The adjusted Rand index is {index:.2f} (1 is perfect, 0 is chance). {100 * right:.0f} "
        "% of the samples are in the right cluster, if each class is paired with one cluster."
        f"</p>{_tables.contingency(found)}"
    )
