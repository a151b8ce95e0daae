import pytest
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import subspaces
from subspaces import all_estimators
from subspaces.recipes import ExpressionScaler
from tests.estimators.checks import CLUSTERERS, check_as_scikit_learn_does

pytestmark = [
    pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning"),
    pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning"),
    pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning"),
    # One of the checks has samples around 100.
    pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning"),
    pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning"),
    pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning"),
]


# What makes the checks quick; and a seed, since one of scikit-learn 1.7 compares two fits and sets
# none.
QUICK = {
    "PSC": {"n_init": 1, "random_state": 0},
    "KSubspaces": {"n_init": 1, "affine": True, "random_state": 0},
    "MiniBatchPSC": {"n_init": 1, "affine": True, "random_state": 0},
    "EnsembleKSubspaces": {"n_runs": 10},
    "SparseKMeans": {"bound": 1.0, "n_init": 2},
    "MPPCA": {"n_init": 2, "max_iter": 5},
    "MCFA": {"n_init": 1, "max_iter": 5},
    "MCtFA": {"n_init": 1, "max_iter": 5},
}


# As of scikit-learn's KMeans: the starts draw other samples.
DRAWN = {
    f"check_sample_weight_equivalence_on_{kind}_data": "starts draw from other samples"
    for kind in ("dense", "sparse")
}


# They take everything with predict_proba for a classifier. tests/estimators/test_probabilities.py
# has sparse tables.
COLUMNS = {
    f"check_estimator_sparse_{kind}": "expects a column per class, not per cluster"
    for kind in ("array", "matrix")
}


@pytest.mark.parametrize("kind", CLUSTERERS.values())
def test_scikit_learns_own_checks(kind):
    model = kind(**QUICK.get(kind.__name__, {}))
    expected = DRAWN if has_fit_parameter(model, "sample_weight") else {}
    reads_sparse = hasattr(model, "predict_proba") and get_tags(model).input_tags.sparse
    check_as_scikit_learn_does(model, {**expected, **(COLUMNS if reads_sparse else {})})


def test_the_list_has_all_that_is_public():
    public = {name for name in subspaces.__all__ if isinstance(getattr(subspaces, name), type)}
    names = [name for name, _ in all_estimators()]
    assert names == sorted(public)
    assert all(getattr(subspaces, name) is kind for name, kind in all_estimators())


def test_the_scaler_passes_all_but_tables_with_an_empty_sample():
    reason = "one of its tables is of counts and has a sample without any, which has no total"
    expected = {"check_estimators_dtypes": reason}
    found = check_as_scikit_learn_does(ExpressionScaler(), expected)
    failed = [str(each["exception"]) for each in found if each["check_name"] in expected]
    assert "cannot be scaled" in failed[0]
