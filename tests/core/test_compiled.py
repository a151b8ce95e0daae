"""The compiled looks against the plain code, look by look and run by run."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces import PSC, KSubspaces
from subspaces.core import alternation, compiled, partition, secular
from subspaces.core.alternation import alternate
from subspaces.core.criteria import costs
from subspaces.core.kernels import kernels
from subspaces.core.look import Look, plain_looker, plain_sweeper, sweeper
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows, GramRows
from subspaces.core.secular import downdate, plain_downdate
from subspaces.core.subspace import principal_axes
from subspaces.datasets import make_subspaces
from tests.plain import generic

needs_kernels = pytest.mark.skipif(kernels() is None, reason="plain code was asked for")
CRITERIA = ("influence", "residual", "hat", "loo")
# n, p, dimensions, noise, affine: blocks below and above the size from which axes are iterated
SHAPES = [
    (38, 200, (2, 2, 2), 0.02, False),
    (100, 200, (1, 3, 2, 4), 0.3, False),
    (250, 300, (3,) * 6, 0.05, False),
    (250, 300, (3,) * 6, 0.5, True),
    (90, 150, (0, 2, 1), 0.1, True),
    (60, 100, (1, 1), 1.0, False),
    (203, 300, (5, 6, 7), 0.3, False),
]

# n, p, dimensions, noise: in chunks and by the chunk, with and without cancellation
TALL = [
    (300, 6, (1, 2, 3), 0.1),
    (512, 30, (2, 2), 0.01),
    (1000, 60, (3, 3, 3), 0.5),
    (400, 9, (2, 2, 2), 0.0),
]


def gram_problem(n, p, dimensions, noise, affine, criterion="loo", seed=0):
    sizes = [len(part) for part in np.array_split(np.arange(n), len(dimensions))]
    drawn = [max(r, 1) for r in dimensions]
    offset = 1.0 if affine else 0.0
    X = make_subspaces(sizes, p, drawn, noise=noise, offset=offset, random_state=seed).data
    X = X - X.mean(axis=0) if affine else X
    return Problem(GramRows(X @ X.T), dimensions, criterion, affine)


def tall_problem(n, p, dimensions, noise, criterion="loo", seed=0):
    sizes = [len(part) for part in np.array_split(np.arange(n), len(dimensions))]
    X = make_subspaces(sizes, p, dimensions, noise=noise, offset=0.0, random_state=seed).data
    return Problem(DenseRows(X), dimensions, criterion, False)


def random_start(problem, seed=0):
    n = len(problem.rows.squared_norms)
    return np.random.default_rng(seed).permutation(np.arange(n) % problem.n_clusters)


def compiled_look(problem):
    """The looks of one compiled looker, in the form of the plain ones."""
    fast = compiled.compiled_looker(problem)

    def look(labels):
        objective, bad, assigned = fast.look(labels)
        return Look(objective, objective if problem.sparsity is None else 0.0, bad, assigned)

    return look


def assert_same_look(problem, labels, fast, plain):
    """Objective and flaws agree, and so do the labels where the two best costs differ at all."""
    unit = problem.rows.squared_norms.sum()
    assert_allclose(fast.objective, plain.objective, rtol=1e-8, atol=1e-13 * unit)
    assert fast.degenerate == plain.degenerate
    matrix = costs(problem.criterion, view_clusters(problem, labels), problem.data)
    moved = np.flatnonzero(fast.assigned != plain.assigned)
    assert_allclose(
        matrix[moved, fast.assigned[moved]],
        matrix[moved, plain.assigned[moved]],
        rtol=1e-8,
        atol=1e-13 * problem.rows.squared_norms.max(),
    )


@needs_kernels
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_look_of_a_run_is_the_plain_one(shape, criterion, monkeypatch):
    monkeypatch.setattr(secular, "_downdate", plain_downdate)
    problem = gram_problem(*shape, criterion=criterion)
    fast, plain = compiled_look(problem), plain_looker(problem)
    labels = random_start(problem)
    for _ in range(8):
        seen, expected = fast(labels), plain(labels)
        assert_same_look(problem, labels, seen, expected)
        labels, _ = alternation.repair(problem, expected.assigned, 0, np.random.default_rng(0))


@needs_kernels
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.3])
def test_large_clusters_that_mix_groups_are_looked_at_exactly(noise, affine):
    # Axes of all groups stand out of a large cluster, and all are taken out of the moments.
    problem = gram_problem(1260, 1500, (2, 2, 2), noise, affine)
    fast, plain = compiled_look(problem), plain_looker(problem)
    groups, random = np.repeat(np.arange(3), 420), np.random.default_rng(0)
    for stray in (1.0, 0.5, 0.05, 0.0):
        labels = np.where(random.random(1260) < stray, random_start(problem), groups)
        seen, expected = fast(labels), plain(labels)
        assert_same_look(problem, labels, seen, expected)
        assert_allclose(seen.objective, expected.objective, rtol=1e-11)


@needs_kernels
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("shape", TALL, ids=str)
def test_every_look_at_many_rows_is_the_plain_one(shape, criterion, monkeypatch):
    monkeypatch.setattr(secular, "_downdate", plain_downdate)
    problem = tall_problem(*shape, criterion=criterion)
    fast, plain = compiled_look(problem), plain_looker(problem)
    labels, random = random_start(problem), np.random.default_rng(0)
    # Past the look at which scatter matrices are summed afresh; a few rows are pushed each time.
    for _ in range(12):
        expected = plain(labels)
        assert_same_look(problem, labels, fast(labels), expected)
        labels = expected.assigned.copy()
        labels[random.integers(len(labels), size=5)] = 0


@needs_kernels
@pytest.mark.parametrize("criterion", CRITERIA)
def test_runs_end_where_plain_runs_end(criterion, monkeypatch):
    monkeypatch.setattr(secular, "_downdate", plain_downdate)
    for seed in range(3):
        problem = gram_problem(120, 200, (2, 2, 2), 0.2, False, criterion, seed)
        start = random_start(problem, seed)
        fast = alternate(problem, start, max_iter=50, random=np.random.default_rng(seed))
        with monkeypatch.context() as patch:
            patch.setattr(alternation, "sweeper", plain_sweeper)
            plain = alternate(problem, start, max_iter=50, random=np.random.default_rng(seed))
        assert_array_equal(fast.labels, plain.labels)
        assert_allclose(fast.path, plain.path, rtol=1e-8)
        assert (fast.stop_reason, fast.repairs) == (plain.stop_reason, plain.repairs)


@needs_kernels
@pytest.mark.parametrize("criterion", ["influence", "loo"])
def test_runs_through_repairs_and_cycles_are_the_plain_ones(criterion, monkeypatch):
    monkeypatch.setattr(secular, "_downdate", plain_downdate)
    reasons, repairs = set(), 0
    problem = gram_problem(36, 300, (2, 2, 2), 0.25, False, criterion)
    both = sweeper(problem), plain_sweeper(problem)
    for seed in range(12):
        start = random_start(problem, seed)
        fast, plain = (
            alternate(problem, start, max_iter=40, random=np.random.default_rng(seed), looks=looks)
            for looks in both
        )
        assert_array_equal(fast.labels, plain.labels)
        assert_allclose(fast.path, plain.path, rtol=1e-8)
        assert (fast.stop_reason, fast.repairs) == (plain.stop_reason, plain.repairs)
        reasons.add(fast.stop_reason)
        repairs += fast.repairs
    assert "cycle" in reasons or repairs


@needs_kernels
@pytest.mark.parametrize("criterion", ["influence", "loo"])
def test_a_run_begun_again_is_the_same_run(criterion):
    problem = gram_problem(*SHAPES[2], criterion=criterion)
    looks = sweeper(problem)
    runs = []
    for seed in (0, 1, 0):
        given = {"random": np.random.default_rng(seed), "looks": looks}
        runs.append(alternate(problem, random_start(problem, seed), max_iter=50, **given))
    assert runs[0].path == runs[2].path
    assert_array_equal(runs[0].labels, runs[2].labels)


@needs_kernels
@pytest.mark.parametrize("criterion", ["influence", "loo"])
def test_clusters_that_lack_axes_leave_nothing_to_the_next_run(criterion):
    # Half of the rows are copies of few: at times a cluster has fewer directions than dimensions.
    X = generic(60, 90)
    X[:40] = X[np.arange(40) % 4]
    problem = Problem(GramRows(X @ X.T), (4, 4, 4), criterion, False)
    shared, lacking = sweeper(problem), 0
    for seed in range(40):
        labels = np.random.default_rng(seed).integers(3, size=60)
        labels[:40] = 0
        given = {"max_iter": 30}
        once, again, alone = (
            alternate(problem, labels, random=np.random.default_rng(seed), looks=looks, **given)
            for looks in (shared, shared, sweeper(problem))
        )
        lacking += bool(compiled_look(problem)(labels).degenerate)
        assert once.path == again.path == alone.path
        assert_array_equal(once.labels, alone.labels)
    assert lacking


@needs_kernels
def test_long_runs_are_the_plain_ones_and_a_cap_costs_nothing():
    # Noise alone: labels move for long.
    X = np.random.default_rng(1).normal(size=(2000, 6))
    problem = Problem(DenseRows(X), (2,) * 4, "residual", False)
    start, given = random_start(problem), {"max_iter": 10**20}
    fast, plain = (
        alternate(problem, start, random=np.random.default_rng(0), looks=looks, **given)
        for looks in (sweeper(problem), plain_sweeper(problem))
    )
    assert fast.n_iter > 64
    assert_allclose(fast.path, plain.path, rtol=1e-8)
    assert_array_equal(fast.labels, plain.labels)


@needs_kernels
def test_one_cluster_that_is_too_small_is_refilled_from_itself():
    X = generic(3, 5)
    problem = Problem(GramRows(X @ X.T), (2,), "residual", False)
    given = {"max_iter": 9, "random": np.random.default_rng(0)}
    start = np.zeros(3, dtype=np.intp)
    fast = alternate(problem, start, **given)
    plain = alternate(problem, start, looks=plain_sweeper(problem), **given)
    assert_allclose(fast.path, plain.path)
    assert (fast.stop_reason, fast.repairs) == (plain.stop_reason, plain.repairs)


@needs_kernels
@pytest.mark.parametrize("criterion", ["auto", "residual"])
@pytest.mark.parametrize("power", [-130, -100, -80, 100])
def test_units_do_not_matter(criterion, power):
    X = make_subspaces([40] * 3, 200, [2] * 3, noise=0.3, random_state=0).data
    model = PSC(3, n_components=2, criterion=criterion, random_state=0)
    here = model.fit(X).objective_, model.labels_
    model.fit(X * 10.0**power)
    assert_allclose(model.objective_ / 10.0**power / 10.0**power, here[0], rtol=1e-9)
    assert_array_equal(model.labels_, here[1])


@needs_kernels
def test_a_listener_changes_nothing_but_hears_every_sweep():
    problem = gram_problem(*SHAPES[2], criterion="loo")
    heard = []
    given = {"max_iter": 50, "random": np.random.default_rng(0)}
    quiet = alternate(problem, random_start(problem), **given)
    told = alternate(problem, random_start(problem), tell=heard.append, **given)
    assert told.path == quiet.path
    assert [step.done for step in heard] == list(range(1, quiet.n_iter + 1))


@needs_kernels
@pytest.mark.parametrize("spectrum", ["clear", "crowded", "equal", "flat"])
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_errors_by_moments_are_the_exact_ones(spectrum, scale, monkeypatch):
    monkeypatch.setattr(secular, "_downdate", plain_downdate)
    random = np.random.default_rng(0)
    lengths = {
        "clear": np.r_[9.0, 7.0, 6.0, np.linspace(0.3, 0.1, 37)],
        "crowded": np.linspace(3.0, 1.0, 40),
        "equal": np.r_[5.0, 5.0, 5.0, 5.0, 4.9, np.ones(35)],
        "flat": np.r_[5.0, 4.0, 3.0, np.full(37, 1e-6)],
    }[spectrum]
    axes = np.linalg.qr(random.normal(size=(40, 40)))[0]
    X = scale * axes * lengths
    problem = Problem(GramRows(X @ X.T), (3,), "loo", False)
    labels = np.zeros(40, dtype=np.intp)
    fast, plain = compiled_look(problem)(labels), plain_looker(problem)(labels)
    unit = problem.rows.squared_norms.sum()
    assert_allclose(fast.objective / unit, plain.objective / unit, rtol=1e-9, atol=1e-13)


def rows_without_a_gap(kind, m):
    """m rows (m, m) whose leading axes do not stand out, each kind awkward in its own way."""
    random = np.random.default_rng(m)
    X = random.normal(size=(m, m))
    turned = np.linalg.qr(X)[0]
    return {
        "noise": X,
        "copies": X[np.arange(m) % (m // 2)],
        "few directions": X[:, :20] @ X[:20],
        "pairs": turned * np.repeat(np.linspace(3.0, 1.0, m // 2), 2),
        "ties": turned * np.where(np.arange(m) < 9, 3.0, 1.0),
        "apart": np.diag(np.linspace(3.0, 1.0, m)),
        "two blocks": np.kron(np.eye(2), X[: m // 2, : m // 2]),
        "a lone row": X * np.where(np.arange(m) == 7, 50.0, 1.0)[:, None],
        "a zero row": X * (np.arange(m) != 7)[:, None],
        "decay": X * 0.9 ** np.arange(m),
        "faint rest": X * np.where(np.arange(m) < 5, 1.0, 1e-6),
    }[kind]


GAPLESS = (
    "noise",
    "copies",
    "few directions",
    "pairs",
    "ties",
    "apart",
    "two blocks",
    "a lone row",
    "a zero row",
    "decay",
    "faint rest",
)


@needs_kernels
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("m", [60, 150, 300])
@pytest.mark.parametrize("kind", GAPLESS)
def test_errors_at_nodes_are_the_exact_ones(kind, m, affine, monkeypatch):
    monkeypatch.setattr(secular, "_downdate", plain_downdate)
    X = rows_without_a_gap(kind, m)
    X = X + affine * X[3]
    labels = np.zeros(m, dtype=np.intp)
    for r in (1, 5, 18):
        problem = Problem(GramRows(X @ X.T), (r,), "loo", affine)
        fast, plain = compiled_look(problem)(labels), plain_looker(problem)(labels)
        # Of the eigenvalues of inner products LAPACK promises no more.
        rounding = m * np.finfo(float).eps
        unit = problem.rows.squared_norms.sum()
        assert_allclose(fast.objective / unit, plain.objective / unit, rtol=1e-8, atol=rounding)


@needs_kernels
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_errors_at_nodes_follow_the_scale(scale):
    X = rows_without_a_gap("noise", 100)
    labels = np.zeros(100, dtype=np.intp)
    here, there = (
        compiled_look(Problem(GramRows(Y @ Y.T), (5,), "loo", False))(labels).objective
        for Y in (X, scale * X)
    )
    assert_allclose(there / scale / scale, here, rtol=1e-12)


@needs_kernels
def test_runs_of_clusters_of_all_sizes_leave_nothing_to_the_next():
    # Clusters grow past the size from which exact errors are sought in other ways.
    X = make_subspaces([90, 40, 20], 200, [3, 3, 3], noise=0.02, random_state=0).data
    problem = Problem(GramRows(X @ X.T), (3, 3, 3), "loo", False)
    shared = sweeper(problem)
    for seed in range(12):
        start = np.random.default_rng(seed).choice(3, size=150, p=[0.25, 0.3, 0.45])
        once, again, alone = (
            alternate(problem, start, max_iter=30, random=np.random.default_rng(seed), looks=looks)
            for looks in (shared, shared, sweeper(problem))
        )
        assert once.path == again.path == alone.path
        assert_array_equal(once.labels, alone.labels)


@needs_kernels
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("affine", [False, True])
def test_small_empty_and_flat_clusters(criterion, affine):
    random = np.random.default_rng(0)
    line = np.outer(random.normal(size=30), random.normal(size=50))
    X = np.vstack([line, random.normal(size=(30, 50))])
    problem = Problem(GramRows(X @ X.T), (2, 2, 1), criterion, affine)
    labels = np.repeat([0, 1], 30)
    for held in ([], [40], [40, 41], list(range(31, 60))):
        labels[30:] = 1
        labels[held] = 2
        if affine and 0 in np.bincount(labels, minlength=3):
            continue
        # On the line itself errors are zero up to rounding: only what is flagged must agree.
        assert compiled_look(problem)(labels).degenerate == plain_looker(problem)(labels).degenerate


@needs_kernels
@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e100])
@pytest.mark.parametrize(
    "spectrum",
    [
        0.8 ** np.arange(120),
        10.0 ** -np.arange(120.0),
        np.repeat([1e9, 1.0, 1e-3], [3, 4, 113]),
        np.repeat([1.0, 0.5], [7, 113]),
        1.0 - 1e-9 * np.arange(120),
    ],
    ids=["geometric", "steep", "steps", "ties", "flat"],
)
def test_axes_iterated_in_single_precision_are_exact(spectrum, scale):
    random = np.random.default_rng(0)
    turned = np.linalg.qr(random.standard_normal((120, 120)))[0]
    matrix = (turned * spectrum) @ turned.T
    matrix = scale * (matrix + matrix.T) / 2.0
    guess = turned[:, :7] + 0.05 * random.standard_normal((120, 7))
    values, axes = kernels().leading_axes_of(matrix[None], guess[None], 7)
    largest = scale * spectrum[0]
    assert_allclose(values[0] / largest, spectrum[:7] / spectrum[0], atol=1e-14, rtol=0)
    assert_allclose(axes[0] @ axes[0].T, np.eye(7), atol=1e-13)
    assert_allclose(
        axes[0] @ (matrix / largest), values[0][:, None] / largest * axes[0], atol=2e-11
    )


@needs_kernels
@pytest.mark.parametrize("size", [40, 420])
@pytest.mark.parametrize("criterion", ["influence", "loo"])
def test_an_axis_that_the_guess_knows_nothing_of_is_found(criterion, size):
    # Two blocks without inner products between them: an iteration that starts inside the first
    # never leaves it, and its residuals vanish all the same.
    weak, strong = (make_subspaces(size, 60, [2], noise=0.1, random_state=s).data for s in (1, 2))
    X = np.zeros((2 * size, 120))
    X[:size, :60], X[size:, 60:] = weak, 3.0 * strong
    problem = Problem(GramRows(X @ X.T), (2, 2), criterion, False)
    fast, plain = compiled_look(problem), plain_looker(problem)
    first, joined = np.repeat([0, 1], size), np.zeros(2 * size, dtype=np.intp)
    joined[[0, 1, 2, 3, size, size + 1]] = 1
    for labels in (first, joined):
        assert_same_look(problem, labels, fast(labels), plain(labels))


@needs_kernels
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_row_that_costs_the_same_everywhere_stays(criterion):
    X = make_subspaces([20, 20, 20], 15, [2, 2, 2], noise=0.1, random_state=0).data
    X[7] = 0.0
    # From inner products the exact error of a zero row is zero up to rounding only, in both codes.
    by_products = [] if criterion == "loo" else [GramRows(X @ X.T)]
    for form in (*by_products, DenseRows(X)):
        problem = Problem(form, (2, 2, 2), criterion, False)
        for own in range(3):
            labels = random_start(problem)
            labels[7] = own
            assert compiled_look(problem)(labels).assigned[7] == own


@needs_kernels
def test_faint_residuals_of_many_rows_do_not_cancel():
    problem = tall_problem(300, 20, (2, 2, 2), 1e-7, "residual")
    labels = np.repeat([0, 1, 2], 100)
    fast, plain = compiled_look(problem)(labels), plain_looker(problem)(labels)
    assert_allclose(fast.objective, plain.objective, rtol=1e-6)


@needs_kernels
def test_a_looker_takes_over_what_did_not_change():
    problem = gram_problem(*SHAPES[2], criterion="influence")
    fast, labels = compiled_look(problem), random_start(problem)
    there = fast(labels)
    other = fast(np.roll(labels, 1))
    back = fast(labels)
    assert other.objective != there.objective
    assert_allclose(back.objective, there.objective, rtol=1e-10)
    assert fast(labels).objective == back.objective


@needs_kernels
@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (5, 3), (1, 4)])
@pytest.mark.parametrize("scale", [1.0, 1e-60, 3e70])
def test_leaving_rows_out_is_the_plain_code(shape, scale):
    axes = principal_axes(generic(*shape, seed=1))
    for r in range(axes.rank + 2):
        given = axes.coordinates * scale, axes.eigenvalues * scale**2, r
        fast, plain = downdate(*given), plain_downdate(*given)
        for name in ("eigenvalues", "energies", "squared_error"):
            expected = getattr(plain, name)
            assert_allclose(
                getattr(fast, name),
                expected,
                rtol=1e-9,
                atol=1e-13 * axes.eigenvalues[0] * scale**2,
            )


@needs_kernels
def test_ties_zeros_and_lone_rows_are_left_out_as_in_the_plain_code():
    y = np.zeros((6, 3))
    y[[0, 1], 0], y[[2, 3], 1], y[4, 2] = [1.0, -1.0], [1.0, 1.0], 0.5
    values = np.array([2.0, 2.0, 0.25])
    for r in range(4):
        fast, plain = downdate(y, values, r), plain_downdate(y, values, r)
        assert_allclose(fast.squared_error, plain.squared_error, atol=1e-14)
        assert_allclose(fast.eigenvalues, plain.eigenvalues, atol=1e-14)


@needs_kernels
@pytest.mark.parametrize("criterion", ["influence", "loo"])
def test_threads_change_nothing(criterion):
    X = make_subspaces(60, 100, [2, 2, 2], noise=0.05, random_state=0).data
    fits = [
        PSC(
            3,
            n_components=2,
            init="random",
            n_init=8,
            criterion=criterion,
            random_state=0,
            n_jobs=j,
        )
        for j in (1, 2, 3)
    ]
    one, *others = [model.fit(X) for model in fits]
    for other in others:
        assert_array_equal(one.labels_, other.labels_)
        assert one.starts_ == other.starts_


@pytest.fixture
def fresh_kernels():
    kernels.cache_clear()
    yield
    kernels.cache_clear()


def test_without_the_module_fits_go_on_and_say_so_once(monkeypatch, fresh_kernels):
    X = make_subspaces(25, 60, [1, 1], noise=0.1, random_state=0).data
    expected = KSubspaces(2, random_state=0).fit(X)
    kernels.cache_clear()
    monkeypatch.delenv("SUBSPACES_PURE", raising=False)
    monkeypatch.setitem(sys.modules, "subspaces.core._kernels", None)
    with pytest.warns(RuntimeWarning, match="compiled kernels"):
        plain = KSubspaces(2, random_state=0).fit(X)
    KSubspaces(2, random_state=0).fit(X)  # warnings are errors here: a second one would be seen
    assert_array_equal(plain.labels_, expected.labels_)


def test_the_plain_code_can_be_asked_for(monkeypatch, fresh_kernels):
    monkeypatch.setenv("SUBSPACES_PURE", "1")
    assert compiled.compiled_looker(gram_problem(*SHAPES[0])) is None


@needs_kernels
def test_what_the_kernels_do_not_know_is_left_to_the_plain_code():
    shape = SHAPES[0]
    assert compiled.compiled_looker(gram_problem(*shape, criterion="likelihood")) is None
    whole_rank = gram_problem(30, 4, (4, 4), 0.1, False)
    assert compiled.compiled_looker(whole_rank) is None
    affine = replace(tall_problem(*TALL[0]), affine=True)
    assert compiled.compiled_looker(affine) is None


@needs_kernels
@pytest.mark.parametrize("form", ["dense", "gram"])
@pytest.mark.parametrize("seed", range(8))
def test_a_cluster_is_refilled_as_by_the_plain_code(form, seed, monkeypatch):
    random = np.random.default_rng(seed)
    X = generic(60, 20, seed=seed)
    X[5:9], X[20:30] = 0.0, X[19]  # lengths of zero, and ties
    data = DenseRows(X) if form == "dense" else GramRows(X @ X.T)
    labels, dimensions = random.choice(4, 60, p=[0.7, 0.1, 0.1, 0.1]), (2, 1, 3, 2)
    for cluster in range(4):
        given = data, labels, cluster, dimensions
        fast = partition.refill(*given, np.random.default_rng(seed))
        with monkeypatch.context() as plain:
            plain.setattr(partition, "kernels", lambda: None)
            assert_array_equal(fast, partition.refill(*given, np.random.default_rng(seed)))
