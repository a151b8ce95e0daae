"""`PCAOutlierDetector`: scikit-learn's outlier API over `PCA.outliers`."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subspaces import PCA, PCAOutlierDetector
from tests.estimators.checks import check_as_scikit_learn_does
from tests.pca.test_outliers import crowd
from tests.warned import refuses


def test_scikit_learns_own_checks():
    none = "asks for an outlier in a table without one; there is no share of them to name"
    checks = dict.fromkeys(("check_outliers_train", "check_outliers_fit_predict"), none)
    check_as_scikit_learn_does(PCAOutlierDetector(1), checks)


def test_a_crowd_is_found_and_new_samples_are_judged_alone():
    X = crowd(60, 12, 0.2, 3)
    model = PCAOutlierDetector(2).fit(X)
    robust = PCA(2, robust=True).fit(X).outliers()
    assert_array_equal(model.outliers_.is_outlier, robust.is_outlier)
    assert_array_equal(np.flatnonzero(robust.is_outlier)[:12], range(12))
    new = np.vstack([crowd(30, 12, 0.0, 3), X[:4]])
    assert_array_equal(model.predict(new) == -1, model.decision_function(new) < 0)
    assert (model.predict(new)[30:] == -1).all()
    assert_allclose(model.score_samples(new[5:6]), model.score_samples(new)[5:6])
    # A sample at the limit scores -1.
    found = model.outliers_
    worst = np.maximum(found.t2 / found.t2_limit, found.q / found.q_limit)
    outside = found.is_outlier
    assert_allclose(model.score_samples(X)[outside], -worst[outside], rtol=1e-8)
    assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)


def test_it_stands_where_another_detector_stood():
    X = crowd(60, 12, 0.1, 3)
    for detector in (IsolationForest(random_state=0), PCAOutlierDetector(2)):
        labels = make_pipeline(StandardScaler(), detector).fit_predict(X)
        assert set(labels) == {-1, 1}


def test_missing_values_are_refused():
    X = crowd(30, 6, 0.0, 0)
    model = PCAOutlierDetector(1).fit(X)
    X[2, 2] = np.nan
    with refuses("X"):
        model.predict(X)
    with refuses("X"):
        PCAOutlierDetector(1).fit(X)
