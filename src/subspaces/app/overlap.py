"""Which known classes share a cluster, and which are split over clusters."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Codes
from subspaces.messages import in_a_row

# Classes share a cluster that holds this share of each. A class is split if two clusters or more
# hold this share of it.
SHARED, SPLIT = 0.6, 0.25


class Overlap(NamedTuple):
    """The clearest case of both kinds, empty if there is none.

    shared: classes that have the same cluster, the largest first, and this cluster; split: a class,
    and the clusters that hold it, the largest part first.
    """

    shared: tuple[list[str], int] | None
    split: tuple[str, list[int]] | None


def overlap(classes: Sequence[str] | NDArray[np.str_], labels: Codes) -> Overlap:
    """Return how classes and clusters overlap; only samples that have both are given."""
    names, rows = np.unique(classes, return_inverse=True)
    table = np.zeros((len(names), int(labels.max()) + 1), dtype=int)
    np.add.at(table, (rows, labels), 1)
    shares = table / table.sum(axis=1, keepdims=True)
    shared, split = [], []
    for k, sizes in enumerate(table.T):
        own = [i for i in np.argsort(-sizes, kind="stable") if shares[i, k] >= SHARED]
        if len(own) > 1:
            shared.append((int(sizes[own[1]]), [str(names[i]) for i in own], k))
    for i, sizes in enumerate(table):
        parts = [int(k) for k in np.argsort(-sizes, kind="stable") if shares[i, k] >= SPLIT]
        if len(parts) > 1:
            is_main = all(table[:, k].argmax() == i for k in parts[:2])
            split.append((is_main, int(sizes[parts[1]]), str(names[i]), parts))
    return Overlap(
        max(shared)[1:] if shared else None,
        max(split)[2:] if split else None,
    )


def overlap_in_words(found: Overlap, called: Callable[[int], str] = "cluster {}".format) -> str:
    """Return one or two sentences on an overlap, without the last full stop.

    called: returns the name of a cluster.
    """
    said = []
    if found.shared is not None:
        several, k = found.shared
        said.append(f"{in_a_row(list(map(_class, several)))} share {called(k)}")
    if found.split is not None:
        name, parts = found.split
        said.append(f"{_class(name)} is split between {in_a_row(list(map(called, parts)))}")
    if not said:
        return "Each class is spread over several clusters"
    return ". ".join(f"C{text[1:]}" if text.startswith("class ") else text for text in said)


def _class(name: str) -> str:
    return f"class {name}" if name.replace(".", "").isdigit() else name
