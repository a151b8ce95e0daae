"""How far to trust the clusters of a fit: does K-means find them, and do halves of the samples?"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from subspaces.cli._words import in_options
from subspaces.core.hearing import hearing
from subspaces.diagnostics import Stability, means_or_directions, stability
from subspaces.estimators.psc import OPEN
from subspaces.tables import Table

# Seconds after which no further halving begins.
BUDGET = 30.0


@dataclass(frozen=True)
class Trust:
    """How far to trust the clusters: the numbers for summary.json, and what was measured.

    ``found`` has means_or_directions and stability, each with its verdict; ``measured`` is None
    where stability was not.
    """

    found: dict[str, dict[str, Any]]
    measured: Stability | None

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The sentences."""
        return tuple(entry["verdict"] for entry in self.found.values())


def compare_with_k_means(model: Any, table: Table) -> Trust:
    """Whether K-means finds the same groups; stability is not measured."""
    found = means_or_directions(model, table.data)
    found = replace(found, verdict=in_options(found.verdict))
    skipped = {"verdict": "Stability was not measured."}
    return Trust({"stability": skipped, "means_or_directions": asdict(found)}, None)


def with_stability(trust: Trust, model: Any, table: Table, seed: int) -> Trust:
    """The same with the stability of the clusters, or why it could not be measured."""
    try:
        with hearing() as heard:
            measured = stability(_settled(model), table.data, budget_s=BUDGET, random_state=seed)
    except ValueError as error:
        why = (
            "Stability could not be measured, since half of the samples is too few to fit: "
            f"{in_options(str(error))}."
        )
        return replace(trust, found={**trust.found, "stability": {"verdict": why}})
    doubts = [f"Note: {in_options(str(warning))}." for warning in heard]
    measured = replace(measured, verdict=" ".join([measured.verdict, *doubts]))
    numbers = {
        "stability": measured.stability,
        "halvings": len(measured.per_resample),
        "k_means": measured.k_means,
        "verdict": measured.verdict,
    }
    return Trust({**trust.found, "stability": numbers}, measured)


def _settled(model: Any) -> Any:
    """The model to fit anew with the numbers that were chosen; halves do not choose again."""
    left_open = [name for name in OPEN if isinstance(getattr(model, name, None), str)]
    chosen = {name: getattr(model, f"{name}_") for name in left_open}
    plain = {name: np.asarray(value).tolist() for name, value in chosen.items()}
    return clone(model).set_params(**plain)
