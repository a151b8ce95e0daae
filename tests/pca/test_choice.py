"""Components of one PCA: known answers, limits, laws, words and bad input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from subspaces import PCA
from subspaces.diagnostics import pca_components
from subspaces.messages import Grade
from subspaces.pca.components import Components
from subspaces.pca.verdict import AxisKind, kinds_of_axes, verdict_on_components
from subspaces.runtime.warning import collect_warnings
from tests.pca.test_components import counted, planted
from tests.warned import refuses, warns


def quietly(X, **options):
    with collect_warnings() as caught:
        found = pca_components(X, **options)
    return found, {warning.code: warning for warning in caught}


def test_components_their_interval_and_the_words():
    found, doubts = quietly(planted(150, 40, 3, 3.0, 0))
    assert (found.n_components, found.low, found.noise) == (3, 3, "equal")
    assert found.n_predictive == 3
    assert (found.grade, found.conclusion.code) == (Grade.DOUBTFUL, "possible")
    assert found.high == found.conclusion.parameters["high"] > 3
    assert found.conclusion.parameters["count"] == 3
    assert not doubts
    assert found.kinds[:4] == ["component"] * 3 + ["perhaps"]
    assert found.table["kind"].tolist() == found.kinds
    assert len(found.table) == len(found.ratio) == len(found.rests_on)
    assert_allclose(found.table["loco"], found.loco[1 : len(found.ratio) + 1])
    assert found.loco.argmin() == 3
    assert 0.0 < found.hidden < found.explained[2]


def test_no_component_is_an_answer():
    found, doubts = quietly(np.random.default_rng(3).normal(size=(120, 30)))
    assert found.n_components == found.n_predictive == 0
    assert (found.low, found.grade) == (0, Grade.SURE if found.high == 0 else Grade.DOUBTFUL)
    assert not doubts


def test_a_loud_variable_is_named_if_no_component_stands_out():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 12)))
    X.columns = [*(f"gene {j}" for j in range(11)), "year"]
    X["year"] = 30.0 * X["year"]
    found = quietly(X)[0]
    assert (found.n_components, found.conclusion.code) == (0, "loud_variable")
    assert found.conclusion.parameters["variable"] == "year"
    assert found.conclusion.parameters["share"] > 0.98
    assert found.conclusion.advice[0].parameter == "scale"
    assert found.kinds[0] is AxisKind.LOUD
    with collect_warnings():
        model = PCA().fit(X)
    assert (model.choice_.verdict, model.choice_.grade) == (found.verdict, found.grade)
    assert quietly(X, scale=True)[0].conclusion.code != "loud_variable"
    wine = quietly(load_wine(as_frame=True).data)[0]
    assert wine.n_components > 0
    assert wine.conclusion.code == "loud_variable"
    assert wine.conclusion.parameters["variable"] == "proline"


def test_axes_weaker_than_noise_or_without_variance_are_no_components():
    ratio, explained = np.array([9.0, 0.9, 3.0, 2.0, 1.2, 0.8]), np.array([0.9, 0.06, 0.03, 2e-4])
    explained = np.append(explained, [1e-4, 1e-5])
    alone = np.array([False, False, False, False, False, True])
    found = Components(4, 3, 5, 4, "equal", ratio, ratio, ratio, alone, 0.0, 0.0)
    kinds = kinds_of_axes(found, explained)
    assert [kind.name for kind in kinds] == [
        *("COMPONENT", "BELOW", "COMPONENT", "FAINT", "POSSIBLE", "ONE_SAMPLE")
    ]
    loud = replace(found, noise="unequal", above=3)
    assert kinds_of_axes(loud, explained)[1] is AxisKind.LOUD
    several = replace(loud, ratio=np.array([9.0, 0.9, 0.8, 2.0, 1.2, 0.8]))
    assert kinds_of_axes(several, explained)[1] is AxisKind.BELOW
    guess = kinds_of_axes(replace(found, noise="correlated", low=None, high=None), explained)
    assert [kind.name for kind in guess] == ["COMPONENT"] * 4 + ["NOT_COUNTED"] * 2
    faint = verdict_on_components(replace(found, low=4, high=4), explained, (200, 60))
    assert faint.parameters["clear"] == 3


def test_a_component_that_nothing_hides_behind_is_told_as_a_share_of_the_variance():
    X = planted(200, 50, 1, 5.0, 1)
    share = quietly(X)[0].hidden
    random = np.random.default_rng(0)
    weak, strong = (
        np.mean([_seen(X, factor * share, random) for _ in range(12)]) for factor in (0.5, 2.0)
    )
    assert weak < 0.4
    assert strong > 0.9


def _seen(X, share, random):
    """Whether a further component of this share of the variance is found."""
    n, p = X.shape
    length = np.sqrt(share * np.sum((X - X.mean(axis=0)) ** 2))
    u, v = random.normal(size=n), random.normal(size=p)
    u -= u.mean()
    more = X + length * np.outer(u / np.linalg.norm(u), v / np.linalg.norm(v))
    return quietly(more)[0].n_components > 1


def test_some_components_are_there_and_do_not_predict():
    found, _ = quietly(planted(200, 60, 4, 1.35, 1))
    assert found.n_predictive < found.n_components
    assert f"the first {found.n_predictive} " in found.verdict


def test_correlated_noise_is_told_in_a_warning_and_in_the_verdict():
    found, doubts = quietly(planted(200, 60, 2, 4.0, 0, "correlated"))
    assert found.noise == "correlated"
    assert found.low is found.high is None
    assert (found.grade, found.conclusion.code) == (Grade.DOUBTFUL, "guess")
    assert doubts["correlated_noise"].parameters["z"] > 3.0
    smooth, doubts = quietly(planted(200, 60, 0, 1.0, 1, "correlated"))
    assert smooth.n_components == 0
    assert (smooth.grade, smooth.conclusion.code) == (Grade.NO, "no_number")
    assert doubts["correlated_noise"].parameters["count"] == 0


def test_heavy_tails_are_told():
    found, _ = quietly(planted(200, 60, 2, 3.0, 5, "heavy"))
    assert found.noise == "heavy"
    assert found.conclusion.parameters["noise"] == "heavy"


@pytest.mark.parametrize("shape", [(60, 20), (150, 12), (40, 80)])
def test_samples_that_depend_on_their_neighbours_are_told(shape):
    steps = np.random.default_rng(11).normal(size=shape)
    found, doubts = quietly(steps.cumsum(axis=0) + 30.0)
    assert found.n_components > 0
    assert "neighbours_depend" in doubts
    with warns("neighbours_depend"):
        PCA().fit(steps.cumsum(axis=0))
    found, doubts = quietly(steps)
    assert found.n_components == 0
    assert not doubts


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize("scale", [False, True])
def test_a_table_sorted_by_class_is_no_time_series(load, scale):
    X, y = load(return_X_y=True)
    sorted_by_class = X[np.argsort(y, kind="stable")][:: max(len(X) // 300, 1)]
    found, doubts = quietly(sorted_by_class, scale=scale)
    assert found.n_components > 0 or found.noise == "correlated"
    assert "neighbours_depend" not in doubts


def test_a_component_that_rests_on_one_sample_is_told_by_its_name():
    X = pd.DataFrame(planted(80, 30, 0, 1.0, 3))
    X.index = [f"patient {i}" for i in range(80)]
    X.iloc[17] += 5 * np.sign(np.random.default_rng(0).normal(size=30))
    found, doubts = quietly(X)
    assert found.n_components >= 1
    assert found.rests_on[0] == 17
    assert doubts["rests_on_one"].parameters["samples"] == ["patient 17"]


def test_the_most_that_were_tried_is_told():
    X = planted(200, 60, 6, 3.0, 0)
    found, doubts = quietly(X, max_components=3)
    assert (found.n_components, len(found.ratio)) == (3, 3)
    assert doubts["most_components"].advice[0].parameter == "max_components"
    assert quietly(X)[0].n_components == 6


def test_all_axes_of_few_variables_are_looked_at():
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.normal(size=(6, 3)))[0]
    X = 4 * random.normal(size=(500, 3)) @ axes.T + 0.5 * random.normal(size=(500, 6))
    found, doubts = quietly(X)
    assert (found.n_components, len(found.ratio)) == (3, 4)
    assert "most_components" not in doubts


def test_small_tables_say_that_they_are_small():
    assert "table this small" in quietly(planted(60, 20, 1, 3.0, 0))[0].verdict


def test_scale_is_that_of_scaled_variables():
    X = load_wine().data
    by_hand = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    one, two = quietly(X, scale=True)[0], quietly(by_hand)[0]
    assert_allclose(one.ratio, two.ratio, rtol=1e-9)
    assert one.verdict == two.verdict
    assert (one.n_components, one.n_predictive) == (6, 3)


@pytest.mark.parametrize("center", [True, False])
def test_center(center):
    X = planted(100, 30, 2, 3.0, 0)
    X = X - X.mean(axis=0) + 10.0 * (not center)
    found, _ = quietly(X, center=center)
    assert found.n_components == 2 + (not center)


def test_integers_frames_and_constant_columns():
    X = np.round(10 * planted(90, 20, 2, 3.0, 1)).astype(int)
    with_constants = np.insert(X, [0, 7], 5, axis=1)
    one, two = quietly(X)[0], quietly(pd.DataFrame(with_constants))[0]
    assert one.n_components == two.n_components == 2
    assert_allclose(one.ratio, two.ratio)


def test_cells_of_random_rows_stand_for_all_of_a_large_table(monkeypatch):
    X = planted(300, 40, 2, 2.0, 0)
    whole = quietly(X)[0].loco
    monkeypatch.setattr("subspaces.pca.choice.MOST_CELLS", 4000)
    part, again = (quietly(X, random_state=0)[0].loco for _ in range(2))
    assert_array_equal(part, again)
    assert np.any(part != whole)
    assert_allclose(part[:6], whole[:6], rtol=0.2)


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_very_large_and_very_small_values(unit):
    X = planted(90, 20, 2, 3.0, 1)
    one, other = quietly(X)[0], quietly(unit * X)[0]
    assert one.verdict == other.verdict
    assert_allclose(other.ratio, one.ratio, rtol=1e-6)
    assert_allclose(other.loco / unit**2, one.loco, rtol=1e-6)


def test_duplicated_rows_and_tables_without_noise():
    few = np.repeat(planted(6, 12, 0, 1.0, 0), 10, axis=0)
    assert (quietly(few)[0].n_components, quietly(few)[0].noise) == (5, "none")
    nothing = quietly(np.full((20, 6), 3.0))[0]
    assert nothing.n_components == 0
    assert (nothing.grade, nothing.conclusion.code) == (Grade.SURE, "nothing")
    twice = planted(60, 20, 2, 4.0, 1)
    assert quietly(np.vstack([twice, twice]))[0].n_components >= 2


def test_correlated_columns_without_a_break_have_the_axes_that_predict():
    X = np.random.default_rng(0).normal(size=(150, 60))
    for j in range(1, 60):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    found, doubts = quietly(X)
    (advice,) = doubts["correlated_noise"].advice
    assert advice.value == found.n_predictive


def test_one_row_far_from_all_others_is_told():
    X = planted(80, 20, 0, 1.0, 3)
    X[5] *= 1e9
    found, doubts = quietly(X)
    assert found.rests_on[0] == 5
    assert found.n_components == 0 or "5" in doubts["rests_on_one"].parameters["samples"]


@pytest.mark.parametrize(
    ("X", "options", "refused"),
    [
        (np.zeros((1, 10)), {}, "X"),
        (np.array([[np.nan, 1.0, 2.0]] * 9), {}, "X"),
        (np.ones(9), {}, "X"),
        (np.eye(9), {"method": "scree"}, "method"),
        (np.eye(9), {"max_components": 8}, "max_components"),
        (np.eye(9), {"max_components": -1}, "max_components"),
        (1e200 * np.eye(9), {}, "X"),
        ([["a"] * 4] * 9, {}, "X"),
    ],
)
def test_bad_tables_are_refused(X, options, refused):
    with refuses(refused):
        pca_components(X, **options)


@pytest.mark.parametrize("option", [{"center": 1}, {"scale": "yes"}, {"max_components": 2.5}])
def test_bad_options_are_refused(option):
    with pytest.raises(TypeError):
        pca_components(planted(30, 10, 0, 1.0, 0), **option)


def test_sparse_matrices_are_refused():
    with refuses("X", kind=TypeError):
        pca_components(sparse.csr_array(np.eye(10)))


def test_plots_show_what_was_found():
    found, _ = quietly(load_iris().data)
    left, right = found.plot()
    assert left.get_title() == f"{found.n_components} stronger than noise"
    assert right.get_title() == f"{found.n_predictive} predict best"
    both = _subplots()
    assert tuple(found.plot(ax=both)) == tuple(both)


def _subplots():
    import matplotlib.pyplot as plt

    return plt.subplots(1, 2)[1]


def test_a_guess_says_whether_the_next_axis_is_more_than_noise():
    found = counted(planted(200, 60, 2, 4.0, 0, "correlated"))
    ratios = (np.array([3.0, 2.0, next_one]) for next_one in (1.5, 0.8))
    more, less = (
        verdict_on_components(replace(found, count=2, ratio=each), np.ones(3) / 3, (200, 60))
        for each in ratios
    )
    assert (more.code, less.code) == ("guess", "guess")
    assert "stronger than noise" in more.fact
    assert "stronger than noise" not in less.fact
