"""HTML of the section "What is missing" of both kinds of page."""

from collections.abc import Sequence

import numpy as np

from subspaces.app.report._names import escape
from subspaces.app.report._tables import simple
from subspaces.messages import percent
from subspaces.named_table import MissingValues

# How many samples and variables are listed, those with most missing first.
LISTED = 5


def missing_section(
    missing: MissingValues | None,
    sample_names: Sequence[str],
    variable_names: Sequence[str],
    done: str,
) -> str | None:
    """Return the HTML on how much is missing, and where; None if nothing is.

    done: a sentence on what was made of it.
    """
    if missing is None:
        return None
    sides = (
        ("Sample", sample_names, missing.of_samples),
        ("Variable", variable_names, missing.of_variables),
    )
    tables = "".join(_table(*side) for side in sides)
    sentence = missing.sentence(sample_names, variable_names)
    return f'<p>{escape(sentence)}. {escape(done)}</p><div class="pair">{tables}</div>'


def _table(kind: str, names: Sequence[str], shares: np.ndarray) -> str:
    order = np.argsort(-shares, kind="stable")
    listed = order[shares[order] > 0.0][:LISTED]
    rows = [
        [f'<bdi class="name">{escape(names[i])}</bdi>', escape(percent(float(shares[i])))]
        for i in listed
    ]
    affected = int(np.count_nonzero(shares))
    caption = f"{kind}s with most missing values ({affected:,} of {len(shares):,} have some)"
    return simple(caption, [kind, "Missing"], rows)
