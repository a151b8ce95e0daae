"""Graphs that start and judge: against plain sums, numpy and scikit-learn."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import ElasticNet

from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows
from subspaces.core.search import Plan, search
from subspaces.core.which_run import JudgingStart, best_run
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy
from subspaces.starts import judges
from subspaces.starts.graphs import Graphs
from subspaces.starts.judges import NearExpression, ShapeInteraction, leaving, summed_dimensions
from subspaces.starts.registry import portfolio
from subspaces.starts.self_expression import (
    local_elastic_net,
    local_elastic_net_from_products,
    unit_rows,
)
from tests.plain import generic
from tests.starts.posed import pose


def plain_leaving(graph, labels, n_clusters):
    shares = np.zeros(n_clusters)
    for k in range(n_clusters):
        out = weight = 0.0
        for i in np.flatnonzero(labels == k):
            for j in range(len(graph)):
                weight += graph[i, j]
                out += graph[i, j] * (labels[j] != k)
        shares[k] = out / weight if weight > 0.0 else 0.0
    return shares


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_what_leaves_a_cluster_is_counted_edge_by_edge(form):
    random = np.random.default_rng(0)
    graph = random.random((30, 30)) * (random.random((30, 30)) < 0.3)
    graph += graph.T
    graph[:4] = graph[:, :4] = 0.0  # rows without edges
    labels = random.integers(3, size=30)
    labels[:4] = 3  # a cluster without weight; 4 is one without rows
    found = leaving(form(graph), labels, 5)
    assert_allclose(found, plain_leaving(graph, labels, 5), atol=1e-12)
    assert 0.2 < found[:3].min() < 1.0
    assert_array_equal(found[3:], 0.0)


def flats(seed=0, noise=0.0, sizes=(60, 70, 80), p=12, r=2):
    """Independent flats off the origin, with a centre each."""
    given = {"noise": noise, "offset": 1.0, "shuffle": True, "random_state": seed}
    union = make_subspaces(list(sizes), p, [r] * len(sizes), **given)
    return pose(union, affine=True), union.target


def shuffled(labels):
    return np.random.default_rng(1).permutation(labels)


@pytest.mark.parametrize("seed", range(3))
def test_independent_flats_are_told_apart_and_a_shuffle_is_charged(seed):
    problem, truth = flats(seed)
    judge = ShapeInteraction(problem)
    assert ShapeInteraction.suits(problem)
    assert judge.found.quotient < 1e-4
    labels = judge(problem, np.random.default_rng(0))
    assert matched_accuracy(truth, labels) == 1.0
    n, summed = len(truth), 9
    assert judge.charge(truth) == pytest.approx(0.0, abs=1e-4 * n)
    cut = plain_leaving(np.asarray(judge.found.graph, dtype=float), shuffled(truth), 3).sum()
    assert 1.5 < cut < 2.5
    assert judge.charge(shuffled(truth)) == pytest.approx(8.0 * summed * cut * n, rel=1e-3)


def linear(seed):
    union = make_subspaces([60, 70, 80], 12, [2, 2, 2], shuffle=True, random_state=seed)
    return pose(union), union.target


def test_the_quotient_silences_the_voice():
    problem, truth = flats(noise=0.2)
    judge = ShapeInteraction(problem)
    q = judge.found.quotient
    assert 0.05 < q < 0.95
    cut = leaving(judge.found.graph, truth, 3).sum()
    expected = len(truth) * 8.0 * 9 * judge.trust * cut
    assert judge.charge(truth) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("p", "dimensions", "affine", "suits"),
    [
        (6, (2, 2, 2), False, True),
        (5, (2, 2, 2), False, False),
        (8, (2, 2, 2), True, True),  # 9 with centres, in 8 directions and a constant
        (7, (2, 2, 2), True, False),
        (8, (3, 3, 2), False, True),
        (8, (3, 3, 3), False, False),
    ],
)
def test_it_suits_where_the_dimensions_fit_into_the_rank(p, dimensions, affine, suits):
    X = np.random.default_rng(0).normal(size=(60, p))
    X = X - X.mean(axis=0) if affine else X
    problem = Problem(DenseRows(X), dimensions, "distance", affine)
    assert summed_dimensions(problem) == sum(dimensions) + 3 * affine
    assert ShapeInteraction.suits(problem) == suits
    names = {name for name, _ in portfolio(problem, 10)}
    assert ("shape interaction" in names) == (suits and len(set(dimensions)) == 1)


def test_neither_suits_few_rows():
    X = np.random.default_rng(0).normal(size=(5, 9))
    for n_clusters, suits in ((3, True), (4, False)):
        problem = Problem(DenseRows(X), (1,) * n_clusters, "distance", False)
        assert ShapeInteraction.suits(problem) == NearExpression.suits(problem) == suits


@pytest.mark.parametrize(("r", "enough"), [(2, 500), (25, 8 * 78)])
def test_of_many_rows_a_sample_is_multiplied_and_all_are_labelled(r, enough):
    problem, truth = flats(sizes=(250, 260, 270), p=90, r=r)
    judge = ShapeInteraction(problem)
    assert len(judge.chosen) == len(set(judge.chosen.tolist())) == enough
    assert judge.found.graph.shape == (enough, enough)
    assert_array_equal(judge.chosen, ShapeInteraction(problem).chosen)
    labels = judge(problem, np.random.default_rng(0))
    assert labels.shape == truth.shape
    assert matched_accuracy(truth, labels) == 1.0
    # The charge is for all rows, by the cut of the sample.
    wrong = truth.copy()
    others = np.setdiff1d(np.arange(len(truth)), judge.chosen)
    wrong[others] = (wrong[others] + 1) % 3
    assert judge.charge(wrong) == judge.charge(truth)
    cut = leaving(judge.found.graph, shuffled(truth)[judge.chosen], 3).sum()
    weight = 8.0 * summed_dimensions(problem) * (1.0 - judge.found.quotient) ** 2
    assert judge.charge(shuffled(truth)) == pytest.approx(len(truth) * weight * cut, rel=1e-6)


@pytest.mark.parametrize("shape", [(20, 9), (9, 20), (12, 12)])
@pytest.mark.parametrize("rank", [9, 4])
def test_left_vectors_are_those_of_a_singular_value_decomposition(shape, rank):
    random = np.random.default_rng(0)
    rows = random.normal(size=(shape[0], rank)) @ random.normal(size=(rank, shape[1]))
    for count in (3, 50):
        found = judges.left_vectors(rows, count)
        wanted = min(count, rank)
        left = np.linalg.svd(rows)[0][:, :wanted]
        assert found.shape == (shape[0], wanted)
        assert_allclose(np.abs(np.sum(found * left, axis=0)), 1.0, rtol=1e-7)


def plain_interaction(axes, n_clusters):
    """Graph and the K-th over the (K + 1)-th eigenvalue of its Laplacian, in double precision."""
    unit = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    graph = np.abs(unit @ unit.T) ** 3.5
    np.fill_diagonal(graph, 0.0)
    root = np.diag(graph.sum(axis=1) ** -0.5)
    values, vectors = np.linalg.eigh(np.eye(len(graph)) - root @ graph @ root)
    return graph, vectors[:, :n_clusters], values[n_clusters - 1] / values[n_clusters]


def test_the_interaction_is_that_of_a_full_decomposition():
    axes = np.linalg.svd(flats(noise=0.1)[0].rows.coordinates)[0][:, :8]
    for n_clusters in (2, 3, 5):
        found = judges.interaction(axes, n_clusters)
        graph, vectors, quotient = plain_interaction(axes, n_clusters)
        assert_allclose(found.graph, graph, atol=1e-5)
        assert found.quotient == pytest.approx(quotient, abs=1e-4)
        assert 0.0 < quotient < 1.0
        overlap = np.linalg.svd(vectors.T @ found.vectors, compute_uv=False)
        assert_allclose(overlap, 1.0, atol=1e-3)


def test_the_rank_with_the_clearest_gap_is_taken():
    problem, _ = flats(noise=0.1)
    rows = problem.rows.coordinates
    centred = rows - rows.mean(axis=0)
    scaled = centred / np.sqrt(np.mean(np.sum(centred**2, axis=1)))
    left = np.linalg.svd(np.column_stack([scaled, np.ones(len(rows))]))[0]
    quotients = [plain_interaction(left[:, :rank], 3)[2] for rank in (5, 6, 7, 8, 9)]
    assert min(quotients) < 0.8 * max(quotients)
    found = judges.clearest(rows, 3, 9)
    assert found.quotient == pytest.approx(min(quotients), abs=1e-4)


def curves(n=60, noise=0.01, seed=0):
    """Three closed curves, each of four harmonics in an eight-dimensional subspace of thirty."""
    random = np.random.default_rng(seed)
    rows, harmonics = [], (1, 2, 3, 4)
    for _ in range(3):
        t = random.uniform(0, 2 * np.pi, n)
        waves = np.column_stack([wave(h * t) / h for h in harmonics for wave in (np.cos, np.sin)])
        rows.append(waves @ np.linalg.qr(random.normal(size=(30, 8)))[0].T)
    rows = np.vstack(rows)
    order = random.permutation(3 * n)
    rows = (rows + noise * random.normal(size=rows.shape))[order]
    return Problem(DenseRows(rows), (3, 3, 3), "distance", False), np.repeat([0, 1, 2], n)[order]


def test_curves_are_told_apart_by_near_rows():
    problem, truth = curves()
    judge = NearExpression(Graphs(problem), None)
    assert matched_accuracy(truth, judge(problem, np.random.default_rng(0))) == 1.0
    assert judge.charge(truth) == pytest.approx(0.0, abs=1e-9)
    cut = plain_leaving(judge.graph.toarray(), shuffled(truth), 3).sum()
    assert judge.charge(shuffled(truth)) == pytest.approx(len(truth) * 8.0 * 9 * cut, rel=1e-9)


@pytest.mark.parametrize(("share", "trust"), [(0.0014, 0.64), (0.00693, 1e-4), (0.0071, 0.0)])
def test_the_voice_falls_to_nothing_as_the_own_cut_grows(share, trust):
    """Trust ``(1 - e/.007)^2``, e the mean share of the weight that leaves a cluster."""
    problem, truth = curves(n=20)
    graphs = Graphs(problem)
    inside = (truth[:, None] == truth).astype(float)
    # Every row has the weight 20 inside, so that `share` of all its weight leaves.
    outside = (1.0 - inside) * 20 * share / (1.0 - share) / 40
    judge = NearExpression(graphs, None)
    judge.__dict__["graph"], judge.__dict__["labels"] = sparse.csr_array(inside + outside), truth
    cut = leaving(judge.graph, shuffled(truth), 3).sum()
    assert leaving(judge.graph, truth, 3).mean() == pytest.approx(share)
    expected = len(truth) * 8.0 * 9 * trust * cut
    assert judge.charge(shuffled(truth)) == pytest.approx(expected, rel=1e-6)


def test_a_graph_that_is_one_piece_says_nothing():
    rows = np.random.default_rng(0).normal(size=(150, 20))
    problem = Problem(DenseRows(rows), (3, 3, 3), "distance", False)
    judge = NearExpression(Graphs(problem), None)
    assert leaving(judge.graph, judge.labels, 3).mean() > judges.NEARLY_APART
    assert judge.charge(np.arange(150) % 3) == 0.0


def test_near_rows_are_silent_where_the_other_judge_has_a_gap():
    problem, truth = curves(n=30)
    alone = NearExpression(Graphs(problem), None).charge(shuffled(truth))
    other = SimpleNamespace(found=SimpleNamespace(quotient=0.5))
    assert NearExpression(Graphs(problem), other).charge(shuffled(truth)) == pytest.approx(
        alone / 16
    )


@pytest.mark.parametrize("m", [1, 4, 10])
def test_local_elastic_nets_are_scikit_learns_row_by_row(m):
    rows = unit_rows(generic(50, 8, seed=3, decay=0.9))
    cosines = np.abs(rows @ rows.T) - 2 * np.eye(50)
    nearest = np.argsort(-cosines, axis=1)[:, :m]
    found = local_elastic_net(rows, nearest).toarray()
    expected = np.zeros_like(found)
    for i, near in enumerate(nearest):
        fidelity = 2.0 * 0.9 / np.abs(rows[near] @ rows[i]).max()
        model = ElasticNet(
            1.0 / (fidelity * 8), l1_ratio=0.9, fit_intercept=False, tol=1e-12, max_iter=100_000
        )
        expected[i, near] = model.fit(rows[near].T, rows[i]).coef_
    assert_allclose(found, expected, atol=1e-3)
    assert np.count_nonzero(expected) >= 50
    assert_array_equal(np.diag(found), 0.0)
    known = local_elastic_net_from_products(rows @ rows.T, nearest).toarray()
    assert_allclose(known, found, atol=1e-12)


def test_a_local_net_of_copies_zero_rows_and_opposites_is_finite():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    nearest = np.array([[1, 2], [0, 2], [0, 1], [0, 4], [3, 0]])
    found = local_elastic_net(rows, nearest).toarray()
    assert np.isfinite(found).all()
    assert not found[3:].any()
    assert found[0, 1] > 0.0 > found[2, 0]


UNION = make_subspaces([40, 50, 60], 12, [2, 2, 2], noise=0.1, shuffle=True, random_state=0)
POSED = Problem(DenseRows(UNION.data), (2, 2, 2), "loo", False)
PLAN = Plan("t_likelihood", True, 50)


class Judge(JudgingStart):
    """A start at given labels that charges a partition for what a function says."""

    def __init__(self, labels, fee):
        self.labels, self.fee = labels, fee

    def __call__(self, problem, random):
        return np.asarray(self.labels, dtype=np.intp)

    def charge(self, labels):
        return self.fee(labels)


def fixed(labels):
    return lambda problem, random: np.asarray(labels, dtype=np.intp)


def shaken(share=0.03):
    random = np.random.default_rng(1)
    moved = random.random(len(UNION.target)) < share
    return np.where(moved, random.integers(3, size=len(moved)), UNION.target)


def by_first(labels):
    """A charge that differs between partitions."""
    return 1.0 + float(np.count_nonzero(labels != UNION.target))


def test_charges_enter_promise_and_cost_of_every_run():
    firsts = [UNION.target, shaken()]
    plain = search(POSED, [("a", fixed(firsts[0])), ("b", fixed(firsts[1]))], [1, 2], PLAN)
    judge = Judge(firsts[0], by_first)
    starts = [("a", judge), ("b", fixed(firsts[1]))]
    charged = search(POSED, starts, [1, 2], PLAN)
    for before, after in zip(plain, charged, strict=True):
        assert before.swept
        assert after.swept
        assert after.promise == pytest.approx(before.promise + by_first(before.first))
        cost = before.selection_cost + by_first(before.clustering.labels)
        assert after.selection_cost == pytest.approx(cost)
    assert by_first(firsts[1]) > by_first(firsts[0]) == 1.0


def test_each_judge_is_heard_once_and_all_are_summed():
    one, two = Judge(UNION.target, lambda labels: 5.0), Judge(shaken(), lambda labels: 30.0)
    plain = search(POSED, [("a", fixed(UNION.target))], [1], PLAN)[0]
    starts = [("a", one), ("b", two), ("a", one), ("a", fixed(UNION.target))]
    for run in search(POSED, starts, [1, 2, 3, 4], PLAN)[2:]:
        assert run.promise == pytest.approx(plain.promise + 35.0)
        assert run.selection_cost == pytest.approx(plain.selection_cost + 35.0)


@pytest.mark.parametrize("shortlist", [False, True])
def test_runs_compared_by_their_objective_are_not_charged(shortlist):
    plan = replace(PLAN, compared_by="objective", shortlist=shortlist)

    def never(labels):
        raise AssertionError("asked")

    plain = search(POSED, [("a", fixed(UNION.target))], [1], plan)[0]
    judged = search(POSED, [("a", Judge(UNION.target, never))], [1], plan)[0]
    assert judged.selection_cost == plain.selection_cost == plain.clustering.objective
    assert judged.promise == plain.promise


def test_without_a_shortlist_costs_alone_are_charged():
    plan = replace(PLAN, shortlist=False)
    plain = search(POSED, [("a", fixed(UNION.target))], [1], plan)[0]
    judged = search(POSED, [("a", Judge(UNION.target, lambda labels: 7.0))], [1], plan)[0]
    assert judged.promise == plain.promise == 0.0
    assert judged.selection_cost == pytest.approx(plain.selection_cost + 7.0)


def test_a_partition_without_promise_is_not_judged():
    X = UNION.data.copy()
    X[:12] = X[0]
    problem = Problem(DenseRows(X), (2, 2, 2), "loo", False)
    flat = 1 + np.arange(len(X)) % 2
    flat[:12] = 0
    heard = []
    judge = Judge(UNION.target, lambda labels: heard.append(labels.copy()) or 0.0)
    runs = search(problem, [("a", fixed(flat)), ("b", judge)], [1, 2], PLAN)
    assert runs[0].promise == np.inf
    assert heard
    assert not any(np.array_equal(labels, flat) for labels in heard)


def test_a_charge_can_turn_the_choice():
    """Of two partitions that no sweep leaves, the likelier is chosen, unless it is charged."""
    plan = replace(PLAN, shortlist=False, max_iter=1)
    firsts = [UNION.target, shaken(0.3)]
    starts = [("a", fixed(firsts[0])), ("b", fixed(firsts[1]))]
    runs = search(POSED, starts, [1, 2], plan)
    best, other = best_run(runs), next(run for run in runs if run is not best_run(runs))
    assert not np.array_equal(best.clustering.labels, other.clustering.labels)
    gap = other.selection_cost - best.selection_cost

    def fee(labels):
        return 2.0 * gap * np.array_equal(labels, best.clustering.labels)

    starts = [("a", Judge(firsts[0], fee)), starts[1]]
    assert best_run(search(POSED, starts, [1, 2], plan)).start == other.start != best.start
