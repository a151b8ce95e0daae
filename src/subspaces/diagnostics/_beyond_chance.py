"""Which variables set a cluster apart beyond chance: markers if they were tested, else means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, ClusterName, Mask
from subspaces.core.contrast import Contrast
from subspaces.diagnostics._markers import LEVEL, Markers


@dataclass(frozen=True)
class Apart:
    """The variables that set a cluster apart: those beyond chance first, by the size of the effect.

    names (m,); difference (m,): of the mean of the cluster from that of all other samples; effect
    (m,): the same in standard deviations, nan if these are not known; n_sure: how many are beyond
    chance; n_tested: how many variables there are; limit: the effects that chance explains, None if
    false discovery rates of markers decide.
    """

    names: list[str]
    difference: Array
    effect: Array
    n_sure: int
    n_tested: int
    limit: float | None = None
    limits_differ: bool = False

    @property
    def sizes_known(self) -> bool:
        """Whether effects are known, not only differences."""
        return not (len(self.effect) and np.isnan(self.effect).all())


def apart_of(
    contrast: Contrast, names: Sequence[str], cluster: ClusterName, found: Markers | None
) -> Apart:
    """Return what sets a cluster apart; names (p,): of the variables of the model."""
    own: Mapping[str, NDArray[Any]] = {} if found is None else found.of(cluster)
    if not len(own.get("variable", ())):
        order, sure = contrast.order, np.isin(contrast.order, contrast.beyond_chance)
        own = {
            "variable": np.array(names, dtype=object)[order],
            "difference": contrast.difference[order],
            "effect": contrast.effect[order],
        }
        tested = len(contrast.effect)
        limit: float | None = contrast.by_chance
        differ = bool(contrast.limits.max() > contrast.limits.min())
    else:
        limit, differ = None, False
        sure, tested = _is_marker(own), len(own["variable"])
    first = np.argsort(~sure, kind="stable")
    return Apart(
        own["variable"][first].tolist(),
        own["difference"][first],
        own["effect"][first],
        int(sure.sum()),
        tested,
        limit,
        differ,
    )


def _is_marker(own: Mapping[str, NDArray[Any]]) -> Mask:
    """Return which rows have a false discovery rate of at most LEVEL, by split halves if tested."""
    return np.asarray(own["fdr_split" if "fdr_split" in own else "fdr"] <= LEVEL)


def called(found: Markers, cluster: ClusterName) -> dict[str, list[str]]:
    """Return the markers that are "higher" and "lower" in a cluster, the largest effect first."""
    own = found.of(cluster)
    sure = _is_marker(own)
    ways = {"higher": own["difference"] > 0, "lower": own["difference"] < 0}
    return {name: own["variable"][sure & way].tolist() for name, way in ways.items()}
