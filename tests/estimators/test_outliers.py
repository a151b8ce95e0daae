"""`PSC(outliers=q)`: samples in no cluster, and what a model says of them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from subspaces import PSC
from subspaces.core.bulk import Bulk
from subspaces.datasets import make_subspaces
from subspaces.messages import ParameterError
from subspaces.metrics import matched_accuracy
from subspaces.psc import outliers

UNION = make_subspaces([40, 40], 10, [2, 2], noise=0.1, random_state=0)
RANDOM = np.random.default_rng(0)
FAR = 6.0 * RANDOM.normal(size=(12, 10))
X = np.vstack([UNION.data, FAR])
IS_FAR = np.arange(len(X)) >= 80
NUMBERS = {"n_components": 2, "outliers": 0.1, "random_state": 0}
MODEL = PSC(2, **NUMBERS).fit(X)


@pytest.mark.parametrize("affine", [False, True])
def test_far_samples_are_in_no_cluster_and_the_others_are_found(affine):
    rows = X + 4.0 * affine
    model = PSC(2, affine=affine, **NUMBERS).fit(rows)
    outside = model.labels_ == -1
    assert outside[IS_FAR].all()
    assert outside[~IS_FAR].sum() <= 5
    assert matched_accuracy(UNION.target, model.labels_[:80]) > 0.9
    plain = PSC(2, affine=affine, n_components=2, random_state=0).fit(rows[~outside])
    for one, other in zip(model.subspaces_, plain.subspaces_, strict=True):
        assert_allclose(one.basis @ one.basis.T, other.basis @ other.basis.T, atol=1e-9)


def test_samples_are_outliers_up_to_the_threshold():
    assert_array_equal(MODEL.labels_ == -1, MODEL.p_values_ <= MODEL.outlier_threshold_)
    assert MODEL.outlier_threshold_ == MODEL.p_values_[MODEL.labels_ == -1].max()
    assert_array_equal(MODEL.predict(X) == -1, MODEL.labels_ == -1)
    new = np.vstack([X[IS_FAR], 0.0 * X[:1]])
    found = MODEL.p_values(new)
    assert_allclose(found[:-1], MODEL.p_values_[IS_FAR])
    assert_array_equal(MODEL.predict(new) == -1, found <= MODEL.outlier_threshold_)
    assert_array_equal([MODEL.predict(row[None])[0] for row in new], MODEL.predict(new))


def test_a_table_without_outliers_is_fitted_as_without_asking():
    clean = make_subspaces([40, 40], 10, [2, 2], noise=0.1, random_state=2).data
    model = PSC(2, **NUMBERS).fit(clean)
    assert_array_equal(model.labels_, PSC(2, n_components=2, random_state=0).fit_predict(clean))
    assert model.outlier_threshold_ == pytest.approx(0.1 / 80)
    assert (model.p_values_ > model.outlier_threshold_).all()


def test_the_most_probable_cluster_is_the_label_if_there_is_one():
    for p, labels in (
        (MODEL.probabilities_, MODEL.labels_),
        (MODEL.predict_proba(X), MODEL.predict(X)),
    ):
        assert_allclose(p.sum(axis=1), 1.0)
        assert_array_equal(p.argmax(axis=1)[labels >= 0], labels[labels >= 0])


def test_outliers_count_nowhere():
    inside = MODEL.labels_ >= 0
    assert_array_equal(np.isnan(MODEL.influence_), ~inside)
    for k in (0, 1):
        mean = X[MODEL.labels_ == k].mean(axis=0)
        assert_allclose(MODEL.cluster_means_[k], mean, atol=1e-12)
    assert MODEL.fit_.sizes.sum() == inside.sum()


def test_answers_for_new_outliers_are_those_of_the_nearest_cluster():
    nearest = MODEL.transform(FAR).argmin(axis=1)
    for row, own, shown in zip(FAR, nearest, MODEL.reconstruct(FAR), strict=True):
        basis = MODEL.subspaces_[own].basis
        assert_allclose(shown, basis @ (basis.T @ row))


def test_numbers_left_open_are_chosen_from_samples_in_clusters():
    few = {"affine": False, "max_components": 3, "max_clusters": 3, "random_state": 0}
    model = PSC("auto", n_components="auto", outliers=0.1, **few).fit(X)
    assert (model.labels_[IS_FAR] == -1).all()
    alone = PSC("auto", n_components="auto", **few).fit(X[model.labels_ >= 0])
    assert model.n_clusters_ == alone.n_clusters_
    assert_array_equal(model.n_components_, alone.n_components_)
    assert model.selection_["verdict"]


def test_labels_as_a_start_do_not_hold_the_outliers():
    first = np.where(IS_FAR, 1, 0)
    model = PSC(2, init=first, **NUMBERS).fit(X)
    assert matched_accuracy(UNION.target, model.labels_[:80]) > 0.9


def test_outliers_in_a_plane_of_their_own_hold_no_cluster():
    union = make_subspaces([30, 30, 30], 12, [2, 2, 2], noise=0.1, random_state=3)
    random = np.random.default_rng(3)
    axes = np.linalg.qr(random.normal(size=(12, 2)))[0]
    own = random.uniform(-3, 3, size=(20, 2)) @ axes.T + 0.1 * random.normal(size=(20, 12))
    labels = PSC(3, **NUMBERS).fit_predict(np.vstack([union.data, own]))
    assert np.count_nonzero(labels[90:] == -1) >= 15
    assert np.count_nonzero(labels[:90] == -1) <= 5
    assert matched_accuracy(union.target, labels[:90]) > 0.9


def test_a_few_outliers_beside_each_other_hold_no_cluster():
    union = make_subspaces([60, 60, 60], 10, [1, 1, 1], noise=0.1, offset=3.0, random_state=0)
    random = np.random.default_rng(0)
    place = union.data.mean(axis=0) + 8.0 * random.normal(size=10)
    rows = np.vstack([union.data, place + 0.3 * random.normal(size=(6, 10))])
    labels = PSC(3, affine=True, **{**NUMBERS, "n_components": 1}).fit_predict(rows)
    assert_array_equal(labels == -1, np.arange(186) >= 180)


def test_at_least_half_of_the_samples_are_kept():
    random = np.random.default_rng(1)
    rows = np.vstack([UNION.data[:45], 9.0 * random.normal(size=(55, 10))])
    with warnings.catch_warnings(action="ignore"):
        assert np.mean(PSC(2, **NUMBERS).fit_predict(rows) >= 0) >= 0.5


def test_of_rounds_that_follow_each_other_the_one_with_fewest_outliers_is_taken():
    def after(kept, p_values, threshold):
        kept = np.array(kept, dtype=bool)
        bulk = Bulk(np.ones(1), 0.0, 1.0, 1.0, 3.0, threshold)
        return outliers.Found(kept, MODEL.fit_, [], kept - 1, kept, bulk, np.array(p_values))

    first = after([0, 0, 1, 1, 1], [0.01, 0.02, 0.4, 0.5, 0.6], 0.02)
    more = after([0, 0, 0, 1, 1], [0.01, 0.02, 0.06, 0.5, 0.6], 0.06)
    fewer = after([0, 1, 1, 1, 1], [0.01, 0.015, 0.4, 0.5, 0.6], 0.01)
    wrong = after([0, 1, 1, 1, 1], [0.02, 0.015, 0.4, 0.5, 0.6], 0.02)
    assert outliers._last([first, more, fewer], more.kept) is fewer
    assert outliers._last([first, more, wrong], more.kept) is more
    assert outliers._last([first, more], more.kept) is more
    assert outliers._last([first, wrong], more.kept) is wrong
    assert not wrong.settled


def test_heavy_tails_are_warned_of():
    random = np.random.default_rng(3)
    clean = make_subspaces([80, 80], 10, [2, 2], noise=0.0, random_state=0).data
    model = PSC(2, **NUMBERS)
    model.fit(clean + 0.1 * random.normal(size=clean.shape))
    assert "heavy_residuals" not in [each.code for each in model.record_.warned]
    with pytest.warns() as raised:
        model.fit(clean + 0.1 * random.standard_t(2, size=clean.shape))
    assert "heavy_residuals" in [each.message.code for each in raised]
    inside = model.labels_ >= 0
    share = np.mean(model.p_values_[inside] < outliers.SMALL)
    said = next(each.message for each in raised if each.message.code == "heavy_residuals")
    assert said.parameters["share"] == pytest.approx(share)
    assert share > outliers.TOO_MANY


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 2, np.nan, "some"])
def test_a_level_is_between_0_and_1(value):
    with pytest.raises(ParameterError) as raised:
        PSC(2, outliers=value).fit(X)
    assert raised.value.parameter == "outliers"


def test_what_outliers_do_not_go_with():
    holes = X.copy()
    holes[0, 0] = np.nan
    model = PSC(2, **NUMBERS)
    for fit in (
        lambda: model.fit(holes),
        lambda: model.fit(X, sample_weight=np.arange(len(X))),
        lambda: PSC(2, n_variables=3, **NUMBERS).fit(X),
        lambda: model.fit(sparse.csr_array(X)),
        lambda: PSC(2, n_components=2, random_state=0).fit(X).p_values(X),
    ):
        with pytest.raises(ParameterError) as raised:
            fit()
        assert raised.value.parameter in ("outliers", "sample_weight")


def test_dask_arrays_are_refused():
    array = pytest.importorskip("dask.array")
    with pytest.raises(ParameterError) as raised:
        PSC(2, **NUMBERS).fit(array.from_array(X))
    assert raised.value.parameter == "outliers"


def test_arrays_of_a_device_get_the_same_labels():
    torch = pytest.importorskip("torch")
    config = pytest.importorskip("sklearn")
    with config.config_context(array_api_dispatch=True):
        model = PSC(2, **NUMBERS).fit(torch.asarray(X))
        assert_array_equal(np.asarray(model.labels_), MODEL.labels_)
        assert_array_equal(np.asarray(model.predict(torch.asarray(X))), MODEL.predict(X))
        assert_allclose(np.asarray(model.p_values(torch.asarray(X))), MODEL.p_values(X))


def test_few_samples_keep_as_many_as_the_clusters_need():
    few = np.random.default_rng(0).normal(size=(7, 4))
    few[:2] *= 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PSC(2, n_components=1, outliers=0.3, n_init=2, random_state=0).fit(few)
    assert np.sum(model.labels_ >= 0) >= 6
