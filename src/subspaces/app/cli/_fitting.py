"""The computations of the command ``fit``: preparing values and fitting the model."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from subspaces._types import Array
from subspaces.app import recipes
from subspaces.app.cli._options import CRITERIA, known_name, without_none
from subspaces.app.cli._request import Request
from subspaces.app.cli._words import in_options
from subspaces.app.expression_scaler import as_preparation
from subspaces.comparison import METHODS, Setting
from subspaces.estimators import PSC
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import with_facts
from subspaces.messages import code_of
from subspaces.named_table import Table
from subspaces.preparation import Preparation, prepare
from subspaces.runtime.warning import collect_warnings
from subspaces.selection import Selection, select_n_clusters

# The largest number of clusters that --clusters auto tries unless --max-clusters says more.
MOST_CLUSTERS = 8


def choose_number(request: Request, table: Table) -> tuple[Selection, list[Warning]]:
    """Return the preset's numbers of clusters beside each other, and the warnings on the way."""
    numbers = range(2, (request.max_clusters or MOST_CLUSTERS) + 1)
    recipe = recipe_of(replace(request, n_clusters=2))
    with collect_warnings() as caught:
        found = select_n_clusters(recipe, table.frame, numbers)
    return found, _besides_reading(caught)


def with_choice(model: SubspaceClusterer, found: Selection, columns: Mapping[str, Array]) -> Any:
    """Return a fitted model that says how its number of clusters was chosen."""
    chosen = {name: column.tolist() for name, column in columns.items()}
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


def fit_model(request: Request, table: Table) -> tuple[Any, list[Warning]]:
    """Return the fitted model, and the warnings of the fit."""
    model = _estimator(request, table)
    with collect_warnings() as caught:
        if request.search.normal_scores:
            model = _chosen_on_normal_scores(model, table)
        else:
            model.fit(table.frame)
    return model, caught


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
            criterion=known_name(request.criterion, CRITERIA, "--criterion"),
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


def _chosen_on_normal_scores(model: PSC, table: Table) -> Any:
    """Return the model fitted to the table, its number of clusters chosen on normal scores."""
    most = min(model.max_clusters, max(len(table.data) // 4, 1))
    found = select_n_clusters(model, table.frame, range(1, most + 1), margins="normal")
    likelihood = {"likelihood": found.columns[found.criterion]}
    names = ("n_clusters", "difference", "standard_error")
    columns = {name: found.columns[name] for name in names} | likelihood
    return with_choice(found.best_estimator_, found, columns)
