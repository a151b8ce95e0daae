"""Which variables set a cluster apart beyond chance: by the clusters' means, and by markers."""

from collections.abc import Sequence

import numpy as np

from subspaces._types import ClusterName, Indices
from subspaces.core.contrast import Contrast
from subspaces.diagnostics._markers import LEVEL, Markers


def beyond_chance(
    apart: Contrast, names: Sequence[str] | None, cluster: int, found: Markers | None
) -> Indices:
    """Return the variables (m,) that set a cluster apart beyond chance, the largest effect first.

    names (p,): of the variables of the model; None: x0, x1 and so on. Where markers were tested by
    split halves, a variable has to pass that test, too; of a cluster too small for it, the test of
    one group.
    """
    beyond = apart.beyond_chance
    if found is None or "fdr_split" not in found.columns:
        return beyond
    own = found.of(cluster)
    rates = np.where(np.isnan(own["fdr_split"]), found.one_group, own["fdr_split"])
    failed = set(own["variable"][rates > LEVEL].tolist())
    kept = [j for j in beyond if (f"x{j}" if names is None else str(names[j])) not in failed]
    return np.array(kept, dtype=int)


def called(found: Markers, cluster: ClusterName) -> dict[str, list[str]]:
    """Return the markers that are "higher" and "lower" in a cluster, the largest effect first.

    They have a false discovery rate of at most LEVEL, by split halves where these were tested.
    """
    own = found.of(cluster)
    sure = own["fdr_split" if "fdr_split" in own else "fdr"] <= LEVEL
    ways = {"higher": own["difference"] > 0, "lower": own["difference"] < 0}
    return {name: own["variable"][sure & way].tolist() for name, way in ways.items()}
