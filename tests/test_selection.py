import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from subspaces import MPPCA, PSC, KSubspaces, load
from subspaces.core.row_order import CLEAR_Z, likeness
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.diagnostics import pca_components, stability
from subspaces.messages import Grade, code_of
from subspaces.metrics import adjusted_rand_score
from subspaces.psc import auto, choosing
from subspaces.runtime.warning import collect_warnings
from subspaces.selection import select_n_clusters, select_n_components, select_n_variables
from tests.plain import generic
from tests.warned import refuses, warns

SPARSE = make_scenario("c", sparse=True, random_state=0).data
DENSE = make_subspaces([60, 70, 80], 30, [1, 2, 2], noise=0.05, random_state=0)
APART = make_subspaces([60, 70, 80], 30, [1, 2, 2], noise=0.05, offset=1.0, random_state=0)
UNEQUAL = make_subspaces([60, 60], 20, [4, 2], noise=0.05, random_state=0)


SHORT, OTHER = ({"n_init": 2, "random_state": seed} for seed in (0, 2))


def sparse_psc(**options):
    settings = {"n_components": 2, "n_variables": 10, "n_init": 4, "random_state": 0}
    return PSC(**{**settings, **options})


@pytest.mark.parametrize("criterion", ["press", "auto"])
def test_two_sparse_planes_are_found(criterion):
    found = select_n_clusters(sparse_psc(n_init=3), SPARSE, range(1, 5), criterion=criterion)
    assert found.criterion == {"press": "press", "auto": "icl"}[criterion]
    assert found.best_ == 2
    assert found.best_estimator_.n_clusters_ == 2
    assert found.best_estimator_.n_variables_ == 10
    assert 0 < found.margin_ <= 1
    assert isinstance(found.table, pd.DataFrame)
    assert list(found.table["n_clusters"]) == [1, 2, 3, 4]
    if criterion == "press":
        assert np.isnan(found.columns["sod"][[0, -1]]).all()


@pytest.mark.parametrize("criterion", ["auto", "bic"])
@pytest.mark.parametrize("cls", [PSC, KSubspaces])
def test_dense_unions(cls, criterion):
    union = make_subspaces([60, 60], 20, [2, 2], noise=0.1, random_state=1)
    estimator = cls(n_components=2, n_init=3, random_state=0)
    found = select_n_clusters(estimator, union.data, range(1, 5), criterion=criterion)
    assert found.best_ == 2


def test_a_selection_prints_its_table_and_how_clear_the_choice_is():
    planes = make_subspaces([60, 60], 20, [2, 2], noise=0.1, random_state=1).data
    found = select_n_clusters(PSC(n_components=2, n_init=2, random_state=0), planes, range(1, 4))
    lines = str(found).splitlines()
    assert lines[0].split() == ["n_clusters", "likelihood", "difference", "standard_error"]
    assert [line.endswith("<- chosen") for line in lines[1:4]] == [False, True, False]
    assert lines[4] == found.verdict
    assert found.conclusion.parameters["chosen"] == 2
    assert found.conclusion.parameters["rival"] == 3
    dimensions = select_n_components(PSC(2, n_init=1, random_state=0), planes, 3)
    assert str(dimensions).splitlines()[2].endswith("<- chosen")
    assert dimensions.conclusion.parameters["chosen"] == [2, 2]
    variables = select_n_variables(sparse_psc(n_clusters=2), SPARSE, [5, 10, 20])
    assert str(variables).count("<- chosen") == 1


def test_an_automatic_choice_keeps_its_verdict(tmp_path):
    planes = make_subspaces([60, 60], 20, [2, 2], noise=0.1, random_state=1).data
    model = PSC("auto", n_components=2, n_init=2, max_clusters=3, random_state=0).fit(planes)
    assert model.n_clusters_ == 2
    assert model.selection_["grade"] == Grade.SURE
    assert [answer["n_clusters"] for answer in model.selection_["answers"]] == [2, 3]
    model.save(tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").selection_ == model.selection_


def test_one_cluster_is_a_possible_answer():
    noise = np.random.default_rng(0).normal(size=(100, 100))
    assert select_n_clusters(PSC(n_init=2, random_state=0), noise, range(1, 4)).best_ == 1
    assert select_n_clusters(sparse_psc(n_components=1), noise, range(1, 4)).best_ == 1


def correlated_noise(name):
    random = np.random.default_rng(1)
    white = random.normal(size=(120, 15))
    if name == "scales":
        return white * np.geomspace(1, 1e3, 15)
    if name == "plane":
        return 5 * random.normal(size=(120, 2)) @ random.normal(size=(2, 15)) + white
    return white @ np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(range(15), range(15)))).T


OPEN = PSC(n_components="auto", affine="auto", max_clusters=5, random_state=0)


def test_what_is_left_open_is_chosen_as_in_a_fit():
    X = make_subspaces([30] * 3, 6, [1, 1, 2], noise=0.1, offset=0.6, random_state=0).data
    with collect_warnings() as of_fit:
        model = clone(OPEN).set_params(n_clusters="auto").fit(X)
    with collect_warnings() as of_choice:
        found = select_n_clusters(OPEN, X)
    assert list(map(code_of, of_choice)) == list(map(code_of, of_fit))
    assert found.criterion == "icl"
    assert found.best_ == model.n_clusters_
    assert np.array_equal(found.best_estimator_.labels_, model.labels_)
    assert (found.verdict, found.grade.value) == (
        model.selection_["verdict"],
        model.selection_["grade"],
    )
    numbers, tried = found.columns["n_clusters"], np.array(model.selection_["n_clusters"])
    least = [np.min(np.array(model.selection_["cost"])[tried == k]) for k in numbers[1:]]
    assert numbers[0] == 1
    assert np.isnan(found.columns["icl"][0])
    assert found.columns["icl"][1:].tolist() == least
    assert numbers[np.nanargmin(found.columns["icl"])] == found.best_
    assert f"{found.best_}" in next(line for line in repr(found).splitlines() if "<-" in line)
    noise = select_n_clusters(OPEN, np.random.default_rng(0).normal(size=(60, 8)), range(1, 5))
    assert (noise.best_, noise.conclusion.code) == (1, "one_group")
    assert np.isnan(noise.margin_)
    with collect_warnings():
        given = select_n_clusters(PSC(n_components=2, affine=True), X, range(1, 4), criterion="icl")
    assert given.criterion == "likelihood"
    assert given.best_estimator_.n_components_.tolist() == [2] * given.best_


def test_one_number_or_some_are_not_the_choice_of_a_fit():
    X = load_iris().data[::3]
    assert select_n_clusters(OPEN, X, [2, 3]).criterion == "likelihood"
    with refuses("candidates"):
        select_n_clusters(OPEN, X, [2, 3], criterion="icl")
    for other, margins in ((KSubspaces(2), "data"), (OPEN, "normal")):
        with refuses("criterion"):
            select_n_clusters(other, X, range(1, 4), criterion="icl", margins=margins)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", ["scales", "plane", "autoregressive"])
def test_correlated_noise_is_one_cluster(name, affine):
    X = correlated_noise(name)
    found = select_n_clusters(PSC(n_init=2, affine=affine, random_state=0), X, range(1, 4))
    assert found.best_ == 1
    assert found.conclusion.parameters["chosen"] == 1
    assert re.search(r"one subspace of [2-9] dim", found.verdict)


@pytest.mark.parametrize("affine", [False, True])
def test_heavy_tails_alone_are_one_cluster(affine):
    X = np.random.default_rng(4).standard_t(3, size=(150, 20))
    estimator = PSC(n_init=2, affine=affine, random_state=0)
    assert select_n_clusters(estimator, X, range(1, 5)).best_ == 1


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_clusters_in_a_skewed_table_are_doubted_and_normal_margins_see_none():
    X = np.exp(np.random.default_rng(0).normal(size=(120, 12)))
    with warns("heavy_tails"):
        assert PSC("auto", affine=True, max_clusters=3, random_state=0).fit(X).n_clusters_ > 1
    estimator = PSC(affine=True, n_init=2, random_state=0)
    with warns("heavy_tails"):
        select_n_clusters(estimator, X, range(1, 4))
    found = select_n_clusters(estimator, X, range(1, 4), margins="normal")  # quietly
    assert found.best_ == 1
    assert_allclose(found.best_estimator_.subspaces_[0].centre, X.mean(axis=0))


def test_gaussian_clusters_of_unlike_spread_have_no_heavy_tails():
    random = np.random.default_rng(0)
    spread = np.repeat([0.2, 1.0, 5.0], 60)[:, None]
    X = 60.0 * np.eye(3, 6)[np.repeat([0, 1, 2], 60)] + spread * random.normal(size=(180, 6))
    with collect_warnings():
        model = PSC(3, n_components=0, affine=True, random_state=0).fit(X)
    residuals = auto.residuals_of(model.fit_.clusters, X)
    assert choosing.excess_kurtosis(residuals) > 2.0 * auto.HEAVY
    with collect_warnings() as heard:
        auto.warn_of_what_passes_for_clusters(model.fit_.clusters, X)
    assert "heavy_tails" not in [each.code for each in heard]


def random_walk(random):
    return np.cumsum(random.normal(size=(120, 15)), axis=0)


def rare_answers(random):
    return (random.random((150, 20)) < random.uniform(0.1, 0.9, 20)).astype(float)


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.parametrize(
    ("draw", "said"), [(random_walk, "neighbours_depend"), (rare_answers, "few_levels")]
)
def test_clusters_that_order_or_few_values_can_make_are_doubted_once(draw, said):
    X = draw(np.random.default_rng(1))
    with warns(said) as heard:
        select_n_clusters(PSC(affine=True, n_init=2, random_state=0), X, range(1, 5))
    assert len(heard) == 1


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_an_automatic_choice_doubts_the_stretches_of_a_walk_and_finds_none_in_rare_answers():
    walk, answers = (draw(np.random.default_rng(1)) for draw in (random_walk, rare_answers))
    left_open = PSC("auto", affine=True, max_clusters=4, random_state=0)
    with warns("neighbours_depend"):
        left_open.fit(walk)
    assert left_open.n_clusters_ > 1
    assert left_open.set_params(n_components="auto").fit(answers).n_clusters_ == 1


def test_clusters_sorted_by_class_are_no_time_series():
    union = make_subspaces([40, 60, 50], 12, [2, 2, 2], noise=0.1, offset=2.0, random_state=3)
    assert likeness(union.data - union.data.mean(axis=0)) > CLEAR_Z
    model = PSC(n_components=2, affine=True, n_init=2, random_state=0)
    assert select_n_clusters(model, union.data, range(1, 5)).best_ == 3  # warnings are errors here


def test_a_union_survives_normal_margins_and_its_model_takes_the_data_as_they_are():
    planes = make_subspaces([60, 60], 20, [2, 2], noise=0.05, random_state=1).data
    stretched = np.sinh(3 * planes)
    found = select_n_clusters(
        PSC(n_components=2, n_init=2, random_state=0), stretched, range(1, 4), margins="normal"
    )
    assert found.best_ == 2
    assert_array_equal(
        found.best_estimator_.labels_,
        PSC(2, n_components=2, n_init=2, random_state=0).fit(stretched).labels_,
    )


def test_halves_that_agree_on_an_elongated_table_are_doubted():
    X = np.random.default_rng(0).normal(size=(150, 6)) * [30, 20, 1, 1, 1, 1]
    found = stability(PSC(2, n_init=2, random_state=0), X, n_resamples=2, random_state=0)
    assert found.stability > 0.2
    assert found.grade != Grade.SURE


def test_noise_around_a_mean_is_one_cluster():
    X = np.random.default_rng(0).normal(size=(100, 50))
    model = PSC("auto", affine=True, n_init=2, max_clusters=3, random_state=0)
    assert model.fit(X).n_clusters_ == 1


def test_two_affine_lines_are_two_clusters():
    random = np.random.default_rng(0)
    lines = [random.normal(size=(60, 1)) @ random.normal(size=(1, 20)) + c for c in (0, 5)]
    X = np.vstack(lines) + 0.3 * random.normal(size=(120, 20))
    model = PSC("auto", affine=True, n_init=2, max_clusters=3, random_state=0)
    assert model.fit(X).n_clusters_ == 2


def test_mean_profiles_are_as_many_as_there_are():
    random = np.random.default_rng(0)
    X = np.repeat(2.0 * random.normal(size=(3, 30)), 20, axis=0) + random.normal(size=(60, 30))
    profiles = PSC(n_components=0, affine=True, n_init=3, random_state=0)
    assert select_n_clusters(profiles, X, range(1, 6)).best_ == 3


def test_forced_clusters_in_noise_are_unstable_and_true_ones_are_not():
    noise = np.random.default_rng(0).normal(size=(120, 60))
    model = PSC(3, n_init=2, random_state=0)
    low = stability(model, noise, n_resamples=3, random_state=0)
    assert low.stability < 0.2
    assert low.per_sample.shape == (120,)
    high = stability(
        PSC(3, n_components=[1, 2, 2], n_init=3, random_state=0), DENSE.data, n_resamples=3,
        random_state=0,
    )  # fmt: skip
    assert high.stability > 0.9
    assert high.per_sample.mean() > 0.9


def test_dimensions_of_each_cluster():
    found = select_n_components(PSC(3, n_init=4, random_state=0), DENSE.data, 4)
    assert found.criterion == "noise"
    assert sorted(found.best_) == [1, 2, 2]
    assert len(found.table) == 12
    sparse = make_scenario("b", sparse=True, random_state=1).data
    found = select_n_components(sparse_psc(n_clusters=2), sparse, 4)
    assert found.criterion == "press"
    assert sorted(found.best_) == [1, 2]
    assert found.margin_ > 0


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_a_common_dimension_does_not_mislead_where_dimensions_are_learned():
    spread = make_scenario("d", sparse=True, random_state=3).data
    model = sparse_psc(n_init=5, random_state=3)
    found = select_n_clusters(model, spread, range(1, 5))
    assert found.best_ == 3
    assert found.best_estimator_.n_components_.tolist() == [2, 2, 2]
    assert select_n_clusters(model, spread, [3, 4], criterion="press").best_ == 4
    automatic = PSC("auto", n_components=2, n_variables=10, n_init=3, max_clusters=2).fit(SPARSE)
    assert automatic.n_components_.tolist() == [2, 2]


def test_one_cluster_of_noise_has_no_dimension():
    noise = np.random.default_rng(0).normal(size=(100, 30))
    found = select_n_components(PSC(1, affine=True), noise)
    assert found.best_ == found.best_estimator_.n_components_.tolist() == [0]
    assert (found.conclusion.code, found.grade) == ("dimensions", Grade.UNKNOWN)
    assert not found.columns["chosen"].any()
    assert PSC(1, n_components="auto", affine=True).fit(noise).n_components_.tolist() == [0]
    with warns("no_component"):
        found = select_n_components(PSC(1), noise)
    assert found.best_ == [1]
    several = PSC(2, affine=True, n_init=2, random_state=0)
    assert min(select_n_components(several, noise).best_) == 1


def test_one_cluster_has_the_components_of_a_pca():
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 3)) @ random.normal(size=(3, 40)) + random.normal(size=(90, 40)) + 9
    assert select_n_components(PSC(1, affine=True), X).best_ == [3]
    assert pca_components(X).n_components == 3
    assert select_n_components(PSC(1), X).best_ == [pca_components(X, center=False).n_components]


def test_doubts_about_one_cluster_are_warned_of():
    cells = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 30)))
    cells.index = [f"cell{i}" for i in range(100)]
    cells.iloc[3] += 9.0
    with warns("rests_on_one"):
        assert select_n_components(PSC(1, affine=True), cells).best_ == [1]
    smooth = np.cumsum(np.random.default_rng(0).normal(size=(120, 60)), axis=1)
    with warns("correlated_noise"):
        select_n_components(PSC(1, affine=True), smooth)


def test_columns_of_unequal_noise_are_no_dimensions():
    union = make_subspaces([60, 60], 30, [1, 2], random_state=0).data
    random = np.random.default_rng(0)
    X = union + 0.03 * np.exp(random.normal(size=30)) * random.normal(size=union.shape)
    found = select_n_components(PSC(2, n_init=4, random_state=0), X)
    assert sorted(found.best_) == [1, 2]


def test_margin_between_starts():
    clean = make_subspaces([50, 50], 20, [2, 2], noise=0.01, random_state=0).data
    assert PSC(2, n_components=2, n_init=3, random_state=0).fit(clean).start_margin_ == np.inf
    noise = np.random.default_rng(0).normal(size=(60, 20))
    assert 0 <= PSC(3, criterion="loo", n_init=5, random_state=0).fit(noise).start_margin_ < 0.2


def test_number_of_variables():
    found = select_n_variables(sparse_psc(n_clusters=2, n_variables=15), SPARSE)
    assert 6 <= found.best_ <= 17
    assert found.best_estimator_.n_variables == found.best_


def test_everything_left_open():
    X = make_scenario("b", sparse=True, n_features=60, random_state=2).data[::2]
    model = PSC(
        "auto", n_components="auto", n_variables="auto", n_init=2, max_clusters=3,
        max_components=3, random_state=0,
    ).fit(X)  # fmt: skip
    assert model.n_clusters_ == 2
    assert sorted(model.n_components_) == [1, 2]
    assert 5 <= model.n_variables_ <= 20
    assert [each["n_clusters"] for each in model.selection_["answers"]] == [2, 3]
    assert model.predict(X).shape == (100,)
    assert model.transform(X).shape == (100, 2)


@pytest.mark.parametrize("name", list("abc"))
def test_noise_free_unions_are_found_exactly(name):
    scenario = make_scenario(name, random_state=4)
    model = PSC("auto", n_components="auto", n_init=3, max_clusters=3, random_state=0)
    model.fit(scenario.data)
    assert sorted(model.n_components_) == sorted(scenario.n_components)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("affine", [False, True])
def test_noise_free_subspaces_of_unequal_dimensions_stay_apart(affine, seed):
    union = make_subspaces([40, 40, 40], 20, [1, 2, 3], offset=float(affine), random_state=seed)
    model = PSC("auto", n_components="auto", affine=affine, max_clusters=5, n_init=3)
    model.set_params(random_state=seed + 7).fit(union.data)
    assert sorted(model.n_components_) == [1, 2, 3]
    assert adjusted_rand_score(union.target, model.labels_) == 1.0
    assert model.init == "portfolio"


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_one_at_a_time():
    model = PSC("auto", n_components=2, n_init=3, max_clusters=3, random_state=0).fit(DENSE.data)
    assert model.n_clusters_ == len(model.subspaces_)
    model = PSC(2, n_components=2, n_variables="auto", n_init=3, random_state=0).fit(SPARSE)
    assert 6 <= model.n_variables_ <= 17


def test_the_largest_number_tried_is_no_clear_choice():
    model = PSC("auto", n_components=2, n_init=2, max_clusters=2, random_state=0)
    with warns("most_clusters"):
        model.fit(DENSE.data)
    assert model.record_.warned[0].code == "most_clusters"


@pytest.mark.parametrize(
    "choose",
    [
        lambda most: PSC(2, n_components="auto", max_components=most, **OTHER).fit(UNEQUAL.data),
        lambda most: select_n_components(PSC(2, **OTHER), UNEQUAL.data, most),
        lambda most: select_n_clusters(
            PSC(n_components="auto", max_components=most, **OTHER), UNEQUAL.data, [2]
        ),
    ],
)
def test_clusters_of_the_largest_dimension_tried_are_named(choose):
    with warns("most_components") as said:
        choose(3)
    assert said[0].message.parameters["max_components"] == 3
    choose(5)  # warnings are errors here


def test_a_dimension_that_the_data_limit_is_not_warned_of():
    union = make_subspaces([40, 40], 3, [2, 2], noise=0.01, random_state=0)
    PSC(2, n_components="auto", max_components=3, **SHORT).fit(union.data)


def test_the_largest_candidate_is_said_to_be_it():
    planes = make_subspaces([40, 40, 40], 20, [2, 2, 2], noise=0.05, random_state=0)
    model = PSC(n_components=2, n_init=2, random_state=0)
    with warns("most_clusters") as said:
        select_n_clusters(model, planes.data, [2, 3])
    assert said[0].message.parameters["chosen"] == 3
    assert said[0].filename == __file__
    with warns("most_variables"):
        select_n_variables(sparse_psc(n_clusters=2), SPARSE, [2, 3, 4])
    select_n_clusters(model, planes.data, [3])  # nothing was compared


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_plots():
    clusters = select_n_clusters(PSC(n_init=1, random_state=0), DENSE.data, range(1, 4))
    assert clusters.plot().get_xlabel() == "number of clusters"
    dimensions = select_n_components(PSC(3, n_init=1, random_state=0), DENSE.data, 3)
    assert len(dimensions.plot().get_legend().get_texts()) == 3
    variables = select_n_variables(sparse_psc(n_clusters=2), SPARSE, [5, 10, 20])
    assert variables.plot().get_xlabel() == "variables per loading"


@pytest.mark.parametrize(
    ("call", "kind", "refused"),
    [
        (lambda: select_n_clusters(PSC(), DENSE.data, []), ValueError, "candidates"),
        (lambda: select_n_clusters(PSC(), DENSE.data, [3, 2]), ValueError, "candidates"),
        (lambda: select_n_clusters(PSC(), DENSE.data, [999]), ValueError, "candidates"),
        (lambda: select_n_clusters(KMeans(), DENSE.data), TypeError, "estimator"),
        (lambda: select_n_clusters(PSC, DENSE.data), TypeError, "estimator"),
        (lambda: select_n_clusters(PSC(), DENSE.data, 3), TypeError, "candidates"),
        (
            lambda: select_n_clusters(PSC(n_components=[1, 2]), DENSE.data),
            ValueError,
            "n_components",
        ),
        (lambda: select_n_clusters(PSC(), DENSE.data, criterion="gap"), ValueError, "criterion"),
        (lambda: select_n_components(PSC(), DENSE.data, 31), ValueError, "max_components"),
        (lambda: select_n_variables(PSC(), DENSE.data), ValueError, "n_variables"),
        (lambda: select_n_variables(KSubspaces(), DENSE.data), TypeError, "estimator"),
        (lambda: stability(PSC(), DENSE.data, n_resamples=0), ValueError, "n_resamples"),
        (lambda: PSC("many").fit(DENSE.data), TypeError, "n_clusters"),
    ],
)
def test_bad_calls_get_one_line(call, kind, refused):
    with refuses(refused, kind=kind) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_few_samples_are_no_excuse_for_a_crash():
    few = generic(9, 4)
    model = PSC("auto", n_components="auto", n_init=2, random_state=0).fit(few)
    assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))


@pytest.mark.parametrize(
    "choose",
    [
        lambda X: select_n_clusters(PSC(n_components=2), X, range(1, 4)),
        lambda X: select_n_components(PSC(2), X, 2),
    ],
)
def test_numbers_are_not_chosen_through_holes(choose):
    X = np.random.default_rng(0).normal(size=(40, 6))
    X[3, 2] = np.nan
    with refuses("X"):
        choose(X)


def test_a_mixture_is_told_what_its_fits_compare_by():
    with refuses("estimator", kind=TypeError, naming=["MPPCA", "BIC"]):
        select_n_clusters(MPPCA(2), np.random.default_rng(0).normal(size=(40, 6)))
