"""The findings on one PCA that its page and the command ``pca`` show, gathered as frozen values."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, Auto, Data, Indices, Seed
from subspaces.app.report._findings import one_each
from subspaces.app.report._names import as_text
from subspaces.data.validation import as_table_to_fit, row_names
from subspaces.diagnostics import PCAComponents, PCAOutliers, pca_components
from subspaces.estimators import PCA
from subspaces.messages import Message, message_of
from subspaces.named_table import MissingValues, missing_values
from subspaces.pca.intervals import StandardErrors, t_intervals
from subspaces.runtime.parameters import as_count
from subspaces.runtime.warning import collect_warnings

# How often an interval holds the true loading.
LEVEL = 0.95
# With fewer samples a component cannot be told from noise.
FEWEST_SAMPLES = 5


@dataclass(frozen=True)
class PCAFindings:
    """One PCA: how many components there are, its samples, its variables, what is doubtful.

    components, outliers: as `diagnostics` finds them; asked: whether the number of components shown
    was given, not found. Of the r components shown: scores (n, r), loadings (p, r), explained (r,),
    their shares of the variance. leverage, influence (n,): of the samples on these components.
    warned: what is doubtful; taken_for, preparation: what kind of values these
    were taken for, and what was done to them before, "" if nothing; missing: how much of the table
    is missing, None if nothing is. class_word: what comes before the name of a class; coded:
    whether columns are levels of categories, each of which the others give away. errors: how sure
    the loadings are, None if values are missing.
    """

    components: PCAComponents
    outliers: PCAOutliers
    asked: bool
    scores: Array
    loadings: Array
    explained: Array
    leverage: Array
    influence: Array
    sample_names: list[str]
    variable_names: list[str]
    classes: list[str] | None
    warned: tuple[Message, ...]
    taken_for: str = ""
    preparation: str = ""
    missing: MissingValues | None = None
    class_word: str = "class"
    coded: bool = False
    errors: StandardErrors | None = None

    @property
    def intervals(self) -> tuple[Array, Array, Array] | None:
        """Low and high ends of 95 % intervals of the loadings, and p-values, (p, r) each."""
        known = self.errors
        if known is None:
            return None
        return t_intervals(self.loadings, known.loadings, known.degrees, LEVEL)

    @property
    def mixed(self) -> list[int]:
        """The components, from 0, that may have turned into a neighbour of like variance."""
        return [] if self.errors is None else np.flatnonzero(self.errors.mixed).tolist()

    @property
    def n_shown(self) -> int:
        """How many components are shown: as many as were found, or asked for."""
        return self.scores.shape[1]

    @property
    def n_axes(self) -> int:
        """How many axes were set beside the noise; of others only the variance is known."""
        return len(self.components.ratio)

    @property
    def alone(self) -> list[int]:
        """The components, from 0, that noise would reach without the sample that they rest on."""
        found = self.components
        return np.flatnonzero(found.alone[: found.n_components]).tolist()

    @property
    def stand_without_any(self) -> bool:
        """Whether every component is stronger than noise whichever sample is left out."""
        found = self.components
        return bool((found.ratio_without[: found.n_components] > 1.0).all())

    @property
    def most_influential(self) -> Indices:
        """Rows of the samples, the most influential first."""
        return np.argsort(-self.influence, kind="stable")

    @property
    def highest_leverage(self) -> Indices:
        """Rows of the samples, those of the highest leverage first."""
        return np.argsort(-self.leverage, kind="stable")

    def share(self, r: int) -> float:
        """Return the share of the variance that axis r, from 0, has: one number for all to show."""
        return float((self.components if r < self.n_axes else self).explained[r])

    def strongest(self, r: int) -> Indices:
        """Return the columns of the variables, the strongest on component r, from 0, first."""
        return np.argsort(-np.abs(self.loadings[:, r]), kind="stable")

    def is_off(self, i: int) -> bool:
        """Whether sample i is rather off the components than far out within them."""
        return bool(self.outliers.q_p_value[i] <= self.outliers.t2_p_value[i])


def gather_pca(
    X: Data,
    n_components: int | Auto = "auto",
    *,
    least: int = 0,
    center: bool = True,
    scale: bool = False,
    level: float = 0.05,
    max_components: int | None = None,
    random_state: Seed = None,
    classes: Iterable[object] | None = None,
) -> PCAFindings:
    """Return the findings on a PCA of X; the parameters are those of `pages.render_pca`.

    least: how many components to show at least, if the samples span so many.
    """
    matrix = as_table_to_fit(X, min_samples=FEWEST_SAMPLES)
    with collect_warnings() as caught:
        components = pca_components(
            X, center=center, scale=scale, max_components=max_components, random_state=random_state
        )
    asked = not (isinstance(n_components, str) and n_components == "auto")
    shown = n_components if asked else max(components.n_components, _possible(matrix, least))
    model = PCA(shown, center=center, scale=scale)
    with collect_warnings():
        model.fit(X)
        _check_number(model)
        outliers = model.outliers(level=level)
    missing, rows = missing_values(matrix), row_names(X)
    return PCAFindings(
        components=components,
        outliers=outliers,
        asked=asked,
        scores=model.transform(X),
        loadings=model.components_.T,
        explained=model.explained_variance_ratio_,
        leverage=model.influence_.leverage,
        influence=model.influence_.influence,
        # The verdicts call samples without names by their numbers, too.
        sample_names=[as_text(name) for name in (range(len(matrix)) if rows is None else rows)],
        variable_names=[as_text(name) for name in model.fit_.variables],
        classes=None if classes is None else one_each(classes, len(matrix), "classes"),
        warned=tuple(map(message_of, caught)),
        preparation="each variable divided by its standard deviation" if scale else "",
        missing=missing,
        errors=None if missing is not None else model.fit_.standard_errors,
    )


def _possible(matrix: Array, least: int) -> int:
    """Return this number of components, or fewer if not so many variables vary."""
    varying = int(np.count_nonzero(np.nanmin(matrix, axis=0) < np.nanmax(matrix, axis=0)))
    return min(least, varying, len(matrix) - 3)


def _check_number(model: PCA) -> None:
    """Raise an error for more components than the samples span.

    One of the samples is left out when the others are to predict it.
    """
    n, rank = model.n_samples_, model.fit_.all_axes.rank
    most = min(n - 2 - model.center, rank)
    why = f" for a table of rank {rank}" if most == rank else f" for {n} samples"
    as_count(model.n_components, "n_components", low=0, high=most, why=why)
