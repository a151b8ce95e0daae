"""Arrays of other libraries: the same labels, of the same kind, on the same device."""

import sys
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import estimator_checks

from subspaces import PSC, SSC, KSubspaces, MiniBatchPSC, load
from subspaces.data.blocks import ArrayBlocks, device_rows
from subspaces.datasets import make_subspaces
from tests.warned import refuses

MODELS = [PSC(3, n_components=2, random_state=0), KSubspaces(3, n_components=2, random_state=0)]
LIBRARIES = ["torch", "array_api_strict"]
FEW, MANY = [120, 160, 200], [2600, 3500, 4000]


@pytest.fixture(scope="module", params=LIBRARIES)
def xp(request):
    return pytest.importorskip(request.param)


@pytest.fixture(scope="module", params=[FEW, MANY], ids=["few", "many"])
def sizes(request):
    """Few rows are fetched, many are passed over where they are."""
    return request.param


def union(seed, offset, sizes=FEW, p=10):
    made = make_subspaces(sizes, p, [2, 2, 2], noise=0.1, random_state=seed)
    order = np.random.default_rng(seed).permutation(sum(sizes))
    return made.data[order] + offset, made.target[order]


def nearly(target, right=0.6):
    """Labels of which a part is right."""
    return np.where(np.random.default_rng(0).random(len(target)) < right, target, (target + 1) % 3)


def host(array):
    return np.from_dlpack(array)


@pytest.mark.parametrize("affine", [False, True], ids=["linear", "affine"])
@pytest.mark.parametrize("model", MODELS, ids=["PSC", "KSubspaces"])
def test_labels_are_those_of_numpy(xp, sizes, model, affine):
    X, target = union(0, 3.0 if affine else 0.0, sizes)
    model.set_params(affine=affine, init=nearly(target))
    expected, scores = model.fit(X).labels_, model.transform(X)
    p = model.predict_proba(X)
    with config_context(array_api_dispatch=True):
        foreign = xp.asarray(X)
        model.fit(foreign)
        np.testing.assert_array_equal(host(model.labels_), expected)
        np.testing.assert_array_equal(host(model.predict(foreign)), model.move_to(X).predict(X))
        model.move_to(foreign)
        np.testing.assert_allclose(host(model.transform(foreign)), scores, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(host(model.predict_proba(foreign)), p, atol=1e-7)
        coordinates = model.project(foreign[:50, :])
        points = host(model.reconstruct(foreign))
        model.move_to(X)
        mine = np.concatenate([host(row) for row in coordinates])
        np.testing.assert_allclose(mine, np.concatenate(model.project(X[:50])), atol=1e-9)
        np.testing.assert_allclose(points, model.reconstruct(X), atol=1e-9)
    model.set_params(init="portfolio", affine=False)


def test_labels_of_many_variables_are_those_of_numpy(xp):
    """Too many for scatter matrices: axes and images stay on the device from pass to pass."""
    X, target = union(0, 3.0, MANY, 230)
    model = PSC(3, n_components=2, affine=True, init=nearly(target))
    expected, influence = model.fit(X).labels_, model.influence_
    with config_context(array_api_dispatch=True):
        model.fit(xp.asarray(X))
    np.testing.assert_array_equal(host(model.labels_), expected)
    np.testing.assert_allclose(host(model.influence_), influence, rtol=1e-6)


@pytest.mark.parametrize(
    ("library", "init", "affine"),
    [
        ("torch", "labels", False),
        ("torch", "labels", True),
        ("torch", "k-means++", False),
        ("torch", "local", True),
        ("array_api_strict", "labels", True),
        ("array_api_strict", "k-means++", False),
    ],
)
def test_single_precision_ends_as_double_does(library, init, affine):
    """Nothing is said of clusters that empty; flats are of sums in double precision."""
    xp = pytest.importorskip(library)
    X, target = union(0, 3.0 if affine else 0.0, MANY)
    X = X.astype(np.float32).astype(np.float64)
    model = PSC(3, n_components=2, affine=affine, criterion="loo", random_state=0, n_init=3)
    model.set_params(init=target if init == "labels" else init)
    with config_context(array_api_dispatch=True):
        expected = model.fit(xp.asarray(X)).objective_
        labels, reason = host(model.labels_), model.stop_reason_
        model.fit(xp.asarray(X, dtype=xp.float32))
    assert model.stop_reason_ == reason
    np.testing.assert_array_equal(host(model.labels_), labels)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
    for k, flat in enumerate(model.subspaces_):
        own = X[labels == k] - flat.centre
        spectrum = np.linalg.svd(own, compute_uv=False)[:2] ** 2
        np.testing.assert_allclose(flat.spectrum, spectrum, rtol=1e-10)


def test_a_stream_goes_on_from_arrays_of_another_library(xp):
    X, _ = union(0, 3.0)
    model = MiniBatchPSC(3, n_components=2, affine=True, random_state=0)
    expected = model.partial_fit(X[:240]).partial_fit(X[240:]).predict(X)
    with config_context(array_api_dispatch=True):
        model.fit(xp.asarray(X[:240])).partial_fit(xp.asarray(X[240:]))
        found = host(model.predict(xp.asarray(X)))
    assert adjusted_rand_score(expected, found) > 0.95


def drawn():
    """A model that begins where the rows are."""
    return PSC(3, n_components=2, init="k-means++", n_init=1, random_state=0)


@pytest.fixture(scope="module")
def placed(xp, sizes):
    """Rows, the same where another library has them, and a model fitted there."""
    X, _ = union(0, 0.0, sizes)
    with config_context(array_api_dispatch=True):
        foreign = xp.asarray(X)
        return X, foreign, drawn().fit(foreign)


def test_everything_comes_back_where_it_came_from(placed):
    _, foreign, model = placed
    with config_context(array_api_dispatch=True):
        for name in ("labels_", "influence_", "objective_path_", "n_components_", "support_"):
            assert type(getattr(model, name)) is type(foreign), name
        assert type(model.predict(foreign)) is type(foreign)
        assert type(model.transform(foreign)) is type(foreign)
        assert type(model.project(foreign[:9, :])[0]) is type(foreign)


def test_another_library_or_type_is_refused(xp, placed):
    X, foreign, model = placed
    with config_context(array_api_dispatch=True):
        with pytest.raises(ValueError, match=r"PSC.predict\(\) must use the same namespace"):
            model.predict(X)
        with refuses("X", naming=["float32", "float64"]):
            model.transform(xp.asarray(X.astype(np.float32)))
        model.move_to(X)
        with pytest.raises(ValueError, match="must use the same namespace"):
            model.project(foreign)
        model.move_to(foreign)


def test_a_saved_model_has_no_device(placed, tmp_path):
    X, foreign, model = placed
    with config_context(array_api_dispatch=True):
        labels = host(model.labels_)
        model.save(tmp_path / "model.npz")
        again = load(tmp_path / "model.npz")
        np.testing.assert_array_equal(again.labels_, labels)
        np.testing.assert_array_equal(again.predict(X), model.move_to(X).predict(X))
        model.move_to(foreign)


def test_without_dispatch_torch_is_numpy():
    torch = pytest.importorskip("torch")
    X, _ = union(1, 0.0)
    model = drawn().fit(torch.asarray(X))
    assert isinstance(model.labels_, np.ndarray)
    np.testing.assert_array_equal(model.labels_, drawn().fit_predict(X))


@pytest.fixture
def as_strict_as_cupy(monkeypatch):
    """Arrays whose devices cannot be hashed, that have no ``mT`` and never become numpy's unasked.

    CuPy's are like that, and need a GPU.
    """
    xp = pytest.importorskip("array_api_strict")
    kind = type(xp.ones(1))

    def refuse(array, *given, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def unhashable(device):
        inside = sys._getframe(1).f_globals["__name__"].startswith(xp.__name__)
        if inside:  # the library's own tables of devices
            return 0
        raise TypeError("unhashable type: 'cupy.cuda.device.Device'")

    monkeypatch.setattr(xp.Device, "__hash__", unhashable)
    monkeypatch.setattr(xp.Device, "__repr__", lambda device: "<CUDA Device 0>")
    monkeypatch.delattr(kind, "mT")
    monkeypatch.setattr(kind, "__array__", refuse)
    return xp


@pytest.mark.parametrize(
    ("sizes", "variables", "init", "affine"),
    [
        (FEW, 10, "portfolio", True),
        (MANY, 10, "portfolio", False),
        (MANY, 10, "k-means++", False),
        (MANY, 10, "k-means++", True),
        (MANY, 230, "k-means++", True),
        (MANY, 230, "labels", False),
    ],
)
def test_arrays_as_strict_as_those_of_cupy(
    as_strict_as_cupy, sizes, variables, init, affine, tmp_path
):
    made = make_subspaces(sizes, variables, [2, 2, 2], noise=0.02, random_state=0)
    X = made.data + (3.0 if affine else 0.0)
    start = made.target if init == "labels" else init
    model = PSC(3, n_components=2, affine=affine, init=start, n_init=2, random_state=0)
    with config_context(array_api_dispatch=True):
        rows = as_strict_as_cupy.asarray(X)
        model.fit(rows)
        assert adjusted_rand_score(made.target, host(model.labels_)) > 0.95
        np.testing.assert_array_equal(host(model.predict(rows)), host(model.labels_))
        scores, coordinates = host(model.transform(rows)), model.project(rows[:50, :])
        points = host(model.reconstruct(rows))
        model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    np.testing.assert_allclose(scores, again.transform(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(points, again.reconstruct(X), atol=1e-9)
    mine = np.concatenate([host(row) for row in coordinates])
    np.testing.assert_allclose(mine, np.concatenate(again.project(X[:50])), atol=1e-9)
    with config_context(array_api_dispatch=True):
        np.testing.assert_array_equal(host(again.move_to(rows).predict(rows)), host(model.labels_))


def test_a_stream_of_arrays_as_strict_as_those_of_cupy(as_strict_as_cupy):
    X, target = union(0, 3.0)
    model = MiniBatchPSC(3, n_components=2, affine=True, random_state=0)
    with config_context(array_api_dispatch=True):
        model.partial_fit(as_strict_as_cupy.asarray(X[:240]))
        model.partial_fit(as_strict_as_cupy.asarray(X[240:]))
        found = host(model.predict(as_strict_as_cupy.asarray(X)))
    assert adjusted_rand_score(target, found) > 0.9


def test_rows_on_a_device_without_dispatch_are_refused_in_words(as_strict_as_cupy):
    with refuses("X", kind=TypeError, naming=["CUDA", "array_api_dispatch=True"]):
        PSC(3, n_components=2).fit(as_strict_as_cupy.asarray(union(0, 0.0)[0]))


def test_the_value_in_the_way_is_named(xp):
    X = np.ones((10_001, 6))
    X[333, 4] = np.inf
    with config_context(array_api_dispatch=True), refuses("X", place="row 333, column 4"):
        PSC(3, n_components=2).fit(xp.asarray(X))


def test_a_device_without_memory_says_what_would_do(xp):
    class OutOfMemoryError(RuntimeError):
        pass

    def visit(rows, labels, start):
        raise OutOfMemoryError

    blocks = ArrayBlocks(xp.asarray(np.ones((4000, 2048))), block_rows=1000)
    message = r"1000 samples at once\. .*working_memory=7\)"
    with pytest.raises(MemoryError, match=message):
        blocks.fold(visit, None)


def test_the_working_memory_sets_the_blocks():
    assert device_rows((1_000_000, 2048)) == 32_768
    with config_context(working_memory=7):
        assert device_rows((1_000_000, 2048)) == 224
    assert device_rows((1000, 2048)) == 250


@pytest.mark.parametrize(
    ("name", "affine"), [("random", False), ("local", True), ("k-means++", False)]
)
@pytest.mark.parametrize(
    ("library", "p"), [("torch", 10), ("torch", 180), ("array_api_strict", 180)]
)
def test_named_starts_are_swept_on_the_device(library, name, affine, p):
    """Those of few numbers in main memory: 1500 rows of 10 variables are few, of 180 many."""
    xp = pytest.importorskip(library)
    X, target = union(0, 3.0 * affine, MANY, p)
    model = PSC(3, n_components=2, affine=affine, init=name, n_init=3, random_state=0)
    with config_context(array_api_dispatch=True):
        model.fit(xp.asarray(X))
    assert [start["start"] for start in model.starts_] == [name] * 3
    assert name == "random" or adjusted_rand_score(target, host(model.labels_)) > 0.9


@pytest.mark.parametrize(("library", "p"), [("torch", 10), ("array_api_strict", 180)])
@pytest.mark.parametrize("dimensions", [2, [2, 2, 1]])
def test_the_default_starts_take_turns_on_the_device_until_three_agree(library, p, dimensions):
    xp = pytest.importorskip(library)
    X, target = union(0, 0.0, MANY, p)
    model = PSC(3, n_components=dimensions, random_state=0)
    with config_context(array_api_dispatch=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(xp.asarray(X))
    kinds = [start["start"] for start in model.starts_]
    if dimensions == 2:
        assert kinds[:3] == ["k-means++", "angular", "k-means++"]
        assert len(kinds) <= 5
        assert adjusted_rand_score(target, host(model.labels_)) > 0.9
    else:
        assert set(kinds) == {"k-means++"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_checks_of_scikit_learn(library):
    """Those of values, beside those of `test_checks`."""
    pytest.importorskip(library)
    if not hasattr(estimator_checks, "check_array_api_same_namespace"):
        pytest.skip("scikit-learn has these checks from version 1.9 on")
    for model in (PSC(n_init=2), KSubspaces(n_init=2)):
        name = type(model).__name__
        estimator_checks.check_array_api_input(name, model, library, check_values=True)
        estimator_checks.check_array_api_same_namespace(name, model, "array_api_strict")


@pytest.mark.parametrize(
    ("library", "given"), [("torch", "k-means++"), ("array_api_strict", "labels")]
)
def test_many_clusters_and_dimensions_are_no_obstacle_above_few_rows(given, library):
    xp = pytest.importorskip(library)
    made = make_subspaces([170] * 60, 50, [3] * 60, noise=0.02, random_state=0)
    init = made.target if given == "labels" else given
    model = PSC(60, n_components=3, init=init, n_init=1, random_state=0)
    with config_context(array_api_dispatch=True):
        model.fit(xp.asarray(made.data))
    assert adjusted_rand_score(made.target, host(model.labels_)) > 0.9


def test_complex_numbers_and_other_libraries_are_refused_in_words(xp):
    X, _ = union(0, 0.0, MANY)
    with config_context(array_api_dispatch=True):
        with pytest.raises(ValueError, match="Complex data not supported"):
            PSC(3, n_components=2).fit(xp.asarray(X + 1j))
        with refuses("X", kind=TypeError):
            SSC(3).fit(xp.asarray(X))


@pytest.mark.parametrize(("p", "dimensions"), [(12, [1, 1, 1]), (12, [1, 6, 3]), (210, [1, 6, 3])])
def test_lines_and_unequal_dimensions_in_passes(xp, p, dimensions):
    made = make_subspaces([3400] * 3, p, dimensions, noise=0.02, random_state=0)
    start = np.where(np.random.default_rng(0).random(10_200) < 0.7, made.target, 0)
    model = PSC(3, n_components=dimensions, criterion="influence", init=start, random_state=0)
    expected = model.fit(made.data).labels_
    with config_context(array_api_dispatch=True):
        model.fit(xp.asarray(made.data))
    np.testing.assert_array_equal(host(model.labels_), expected)
    assert adjusted_rand_score(made.target, expected) > 0.8
