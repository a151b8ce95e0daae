"""`load`: read a saved model, whose class is looked up by name among `all_estimators`."""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.data.blocks import ArrayBlocks
from subspaces.estimators._all import all_estimators
from subspaces.estimators._base import SubspaceClusterer
from subspaces.estimators._fitted_state import restore
from subspaces.estimators.pca import PCA
from subspaces.estimators.pca_outlier_detector import PCAOutlierDetector
from subspaces.runtime import model_file
from subspaces.runtime.threads import changed_filters


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that ``save`` wrote.

    The file only has data, and loading runs no code from it. If the file is damaged, of another
    kind or of a later format, this raises a ValueError that names it.

    Parameters
    ----------
    path : str or path
        The file, or the output folder of ``subspaces fit``, which has it as ``model.npz``.

    Returns
    -------
    estimator
        The fitted model, with its parameters, attributes and record. If a recipe or the command
        line prepared its samples (``--scale``, ``--preset``), it has ``preparation_`` and takes raw
        samples. Pass arrays in the order of ``feature_names_in_``, or data frames, whose columns
        are found by name.

    Examples
    --------
    >>> import os, tempfile
    >>> from subspaces import PSC, load
    >>> from subspaces.datasets import make_scenario
    >>> planes = make_scenario("c", random_state=0)
    >>> model = PSC(2, n_components=2, random_state=0).fit(planes.data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "planes.npz"))
    ...     same = load(os.path.join(folder, "planes.npz"))
    >>> same
    PSC(n_components=2, random_state=0)
    >>> bool((same.predict(planes.data) == model.predict(planes.data)).all())
    True
    """
    path = Path(path) / model_file.MODEL if Path(path).is_dir() else path
    saved = model_file.read(path)
    try:
        return _restored(saved)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise model_file.unreadable(path, error) from error


def _restored(saved: model_file.SavedModel) -> SubspaceClusterer | PCA:
    kinds = {n: kind for n, kind in all_estimators() if not issubclass(kind, PCAOutlierDetector)}
    if saved.estimator not in kinds:
        raise model_file.LaterVersionError
    model = kinds[saved.estimator]()
    model.set_params(**saved.parameters)
    restore(model, saved.state)
    with changed_filters(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        works = _is_whole(model)
    if not works:
        raise ValueError(saved.estimator)
    return model


def _is_whole(model: SubspaceClusterer | PCA) -> bool:
    """Return whether the loaded model can score a sample, which takes all its parts.

    Also in passes and with a missing cell, if it can do that at all.
    """
    if isinstance(model, PCA):
        model._check_parameters()
        return bool(np.isfinite(model.score_samples(model.mean_[None])).all())
    row, labels = np.zeros((1, model._n_variables)), model.labels_
    scores = model._scores(row)
    if model._reads_blocks:
        model.fit_.pass_over(ArrayBlocks(row))
    if model._takes_missing:
        model._mixture()
    fits = scores.shape == (1, model._n_features_out) and not np.isnan(scores).any()
    return fits and labels.min() >= -1 and labels.max() < model._n_features_out
