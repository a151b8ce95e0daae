"""The computations of the command ``fit``: preparing values and fitting the model."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subspaces._types import Array
from subspaces.app import recipes
from subspaces.app.cli._inputs import prepare_values, with_left_out
from subspaces.app.cli._options import Source, ValuesOrPreset, without_none
from subspaces.app.cli._request import Request
from subspaces.app.cli._say import working
from subspaces.app.cli._words import in_options
from subspaces.app.expression_scaler import as_preparation
from subspaces.comparison import METHODS, Setting
from subspaces.estimators import PSC
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import with_facts
from subspaces.messages import Message, code_of, message_of
from subspaces.named_table import Table
from subspaces.preparation import Preparation, prepare
from subspaces.runtime.warning import collect_warnings
from subspaces.selection import Selection, select_n_clusters

# The largest number of clusters that --clusters auto tries unless --max-clusters says more.
MOST_CLUSTERS = 8


@dataclass(frozen=True)
class Fitted:
    """A model fitted to a prepared table, the preparation, the preset's recipe, and doubts."""

    model: Any
    table: Table
    preparation: Preparation
    recipe: Any
    doubts: list[Message]


def fitted(request: Request, table: Table, source: Source, values: ValuesOrPreset) -> Fitted:
    """Return the model of a table, prepared by the preset or as the options say."""
    posed, numbers, recipe = request, None, None
    caught: list[Warning] = []
    if request.preset and request.n_clusters == "auto":
        with working("Comparing numbers of clusters"):
            numbers, caught = choose_number(request, table)
        posed = replace(request, n_clusters=numbers.best_)
    if request.preset:
        recipe = recipe_of(posed)
        prepared, preparation, noted = prepare_by_scaler(recipe[0], table)
        doubts = [*map(message_of, noted)]
    else:
        may_scale = request.search.affine is not False
        prepared, preparation, doubts = prepare_values(table, values, may_scale=may_scale)
    with working(f"{request.method} is clustering"), collect_warnings() as raised:
        model = _estimator(posed, prepared).fit(prepared.frame)
    if numbers is not None:
        model = _with_choice(model, numbers)
    preparation = with_left_out(preparation, table, source)
    doubts += map(message_of, [*caught, *raised])
    return Fitted(model, prepared, preparation, recipe, doubts)


def choose_number(request: Request, table: Table) -> tuple[Selection, list[Warning]]:
    """Return the preset's numbers of clusters beside each other, and the warnings on the way."""
    numbers = range(2, (request.max_clusters or MOST_CLUSTERS) + 1)
    recipe = recipe_of(replace(request, n_clusters=2))
    with collect_warnings() as caught:
        found = select_n_clusters(recipe, table.frame, numbers)
    return found, _besides_reading(caught)


def _with_choice(model: SubspaceClusterer, found: Selection) -> Any:
    """Return a fitted model that says how its number of clusters was chosen."""
    chosen = {name: column.tolist() for name, column in found.columns.items()}
    verdict = {"verdict": in_options(found.conclusion), "grade": found.grade}
    noted = with_facts(model, selection={**chosen, **verdict})
    return noted.set_params(n_clusters="auto")


def prepare_by_scaler(scaler: Any, table: Table) -> tuple[Table, Preparation, list[Warning]]:
    """Return the table as an unfitted ExpressionScaler prepares it, how it does, and warnings."""
    with collect_warnings() as caught:
        scaler.fit(table.frame)
    preparation = as_preparation(scaler, table.variable_names)
    return prepare(table, preparation), preparation, _besides_reading(caught)


def _besides_reading(caught: list[Warning]) -> list[Warning]:
    """Return the warnings of a scaler less what was said, with an option, as the file was read."""
    return [warning for warning in caught if code_of(warning) != "swapped"]


def filled(model: SubspaceClusterer, table: Table) -> Array:
    """Return the prepared values with what the model expects if they are missing."""
    if not np.isnan(table.data).any():
        return table.data
    values: Array = model.impute(table.frame)
    return np.asarray(values)


def _estimator(request: Request, table: Table) -> Any:
    if request.preset:
        return recipe_of(request)[-1]
    if request.method == "PSC":
        return PSC(
            request.n_clusters,
            n_components=request.n_components,
            n_variables=request.n_variables,
            criterion=request.criterion,
            **{**request.search.parameters, "affine": request.affine},
            **without_none(max_clusters=request.max_clusters, outliers=request.outliers),
        )
    given, k = request.n_components, request.n_clusters
    dimensions = given if isinstance(given, list) else [given] * k
    rank = min(len(table.data) - 1, table.data.shape[1])
    search = request.search
    rival = METHODS[request.method](Setting(k, dimensions, bool(search.affine), search.seed, rank))
    if request.n_variables is not None:
        rival.set_params(n_variables=request.n_variables)
    return rival


def recipe_of(request: Request) -> Any:
    """Return the preset, not fitted."""
    recipe = recipes.expression(
        request.n_clusters,
        n_components=request.n_components,
        n_variables=request.n_variables,
        random_state=request.search.seed,
    )
    recipe[0].set_params(**request.scaler)
    if request.criterion != "auto":
        recipe[-1].set_params(criterion=request.criterion)
    return recipe
