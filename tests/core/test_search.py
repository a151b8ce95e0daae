from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from subspaces.core import search as searching
from subspaces.core.likelihood import t_likelihood
from subspaces.core.loop import objective_of
from subspaces.core.partition import canonical
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows
from subspaces.core.search import Plan, search
from subspaces.core.which_run import best_run, start_margin
from subspaces.datasets import make_subspaces
from subspaces.metrics import rand_score
from subspaces.psc.best_partition import best_partition
from subspaces.psc.settings import Settings
from subspaces.starts.landmarks import LANDMARKS

UNION = make_subspaces([40, 50, 60], 12, [2, 2, 2], noise=0.1, shuffle=True, random_state=0)
PROBLEM = Problem(DenseRows(UNION.data), (2, 2, 2), "loo", False)
ALL, BEFORE = (Plan("t_likelihood", shortlist, 50) for shortlist in (False, True))


def fixed(labels):
    return lambda problem, random: np.asarray(labels, dtype=np.intp)


def shaken(share, seed):
    random = np.random.default_rng(seed)
    labels = UNION.target.copy()
    moved = random.random(len(labels)) < share
    labels[moved] = random.integers(3, size=moved.sum())
    return labels


def test_only_starts_within_reach_are_swept():
    firsts = [UNION.target, shaken(0.01, 1), shaken(0.9, 2)]
    runs = search(PROBLEM, [(str(i), fixed(f)) for i, f in enumerate(firsts)], [1, 2, 3], BEFORE)
    promises = [t_likelihood(view_clusters(PROBLEM, f), PROBLEM.data) for f in firsts]
    assert [run.promise for run in runs] == pytest.approx(promises)
    reach = min(promises) + searching.REACH * len(UNION.target)
    assert [run.swept for run in runs] == [promise <= reach for promise in promises]
    assert [run.swept for run in runs] == [True, True, False]
    assert_array_equal(runs[2].clustering.labels, firsts[2])
    assert runs[2].clustering.stop_reason == "not swept"
    assert runs[2].selection_cost == np.inf


def test_a_first_partition_with_a_flat_that_is_none_promises_nothing():
    X = UNION.data.copy()
    X[:12] = X[0]
    problem = Problem(DenseRows(X), (2, 2, 2), "loo", False)
    labels = 1 + np.arange(len(X)) % 2
    labels[:12] = 0
    runs = search(problem, [("one", fixed(labels)), ("two", fixed(UNION.target))], [1, 2], BEFORE)
    assert runs[0].promise == np.inf
    assert not runs[0].swept
    assert runs[1].swept


def test_without_a_shortlist_all_are_swept():
    firsts = [UNION.target, shaken(0.9, 2)]
    runs = search(PROBLEM, [("one", fixed(f)) for f in firsts], [1, 2], ALL)
    assert all(run.swept for run in runs)


def test_the_same_partition_is_swept_once_whatever_its_numbers():
    twin = np.array([2, 0, 1])[UNION.target]
    firsts = [UNION.target, twin, shaken(0.05, 1)]
    runs = search(PROBLEM, [("one", fixed(f)) for f in firsts], [1, 2, 3], ALL)
    assert runs[0].clustering is runs[1].clustering
    assert runs[2].clustering is not runs[0].clustering
    assert runs[0].selection_cost == runs[1].selection_cost


def test_numbers_count_where_dimensions_differ():
    union = make_subspaces([40, 50], 12, [1, 2], noise=0.1, random_state=0)
    problem = Problem(DenseRows(union.data), (1, 2), "likelihood", False)
    firsts = [union.target, 1 - union.target]
    runs = search(problem, [("one", fixed(f)) for f in firsts], [1, 2], ALL)
    assert runs[0].clustering is not runs[1].clustering
    assert_array_equal(runs[1].first, firsts[1])


def test_a_start_that_was_not_swept_never_wins():
    runs = search(PROBLEM, [("one", fixed(UNION.target))], [1], ALL)
    unswept = replace(runs[0], clustering=replace(runs[0].clustering, path=()), selection_cost=-1e9)
    assert best_run([unswept, runs[0]]) is runs[0]


def test_the_margin_is_that_to_the_best_that_ended_elsewhere():
    (run,) = search(PROBLEM, [("one", fixed(UNION.target))], [1], ALL)
    run = replace(run, selection_cost=-10.0)
    elsewhere = [
        replace(
            run, selection_cost=cost, clustering=replace(run.clustering, labels=shaken(0.3, seed))
        )
        for seed, cost in ((1, -8.0), (2, -9.0))
    ]
    same = replace(run, selection_cost=-9.9)
    assert start_margin([run, same, *elsewhere]) == pytest.approx(0.1)
    assert start_margin([run, same]) == np.inf


def test_many_rows_are_searched_by_landmarks():
    given = {"noise": 0.05, "shuffle": True, "random_state": 1}
    union = make_subspaces([700, 700, 800], 12, [2, 2, 2], **given)
    problem = Problem(DenseRows(union.data), (2, 2, 2), "loo", False)
    settings = Settings(3, n_components=2, n_init=4, random_state=0)

    def found():
        return best_partition(union.data, problem, settings, by_likelihood=True)

    best, runs = found()
    assert {len(run.first) for run in runs} == {LANDMARKS}
    assert best.clustering.labels.shape == (2200,)
    assert rand_score(union.target, best.clustering.labels) > 0.98
    assert_array_equal(canonical(found()[0].clustering.labels), canonical(best.clustering.labels))


def test_a_quick_search_ends_with_exact_errors():
    union = make_subspaces([500, 600], 150, [2, 2], noise=0.1, shuffle=True, random_state=1)
    problem = Problem(DenseRows(union.data), (2, 2), "distance", False)
    settings = Settings(2, n_components=2, n_init=3, random_state=0)
    found = best_partition(union.data, problem, settings, by_likelihood=True)[0].clustering
    assert found.objective == objective_of(problem, found.labels)
    quick = objective_of(replace(problem, quick=True), found.labels)
    assert quick != found.objective
    assert quick == pytest.approx(found.objective, rel=1e-3)
    assert rand_score(union.target, found.labels) > 0.98


def named(*pairs):
    """Starts of these names, each from the truth with a share of the labels shaken."""
    return [(name, fixed(shaken(share, seed))) for seed, (name, share) in enumerate(pairs)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_search_ends_once_enough_starts_of_two_kinds_agree(n_jobs, monkeypatch):
    monkeypatch.setattr("subspaces.core.search.FEW_NUMBERS", 0)
    plan = replace(ALL, enough=3, n_jobs=n_jobs)
    one_kind = named(*[("a", 0.02)] * 5)
    assert len(search(PROBLEM, one_kind, range(5), plan)) == 5
    two_kinds = named(("a", 0.02), ("b", 0.03), ("a", 0.01), ("a", 0.02), ("b", 0.02))
    assert len(search(PROBLEM, two_kinds, range(5), plan)) == 3
    assert len(search(PROBLEM, two_kinds, range(5), ALL)) == 5
    late = named(("a", 0.02), ("a", 0.03), ("a", 0.01), ("b", 0.02), ("b", 0.02))
    assert len(search(PROBLEM, late, range(5), plan)) == 4


def test_starts_out_of_reach_and_unsettled_runs_are_no_proof():
    starts = named(("a", 0.01), ("b", 0.9), ("b", 0.9), ("a", 0.02), ("b", 0.01))
    runs = search(PROBLEM, starts, range(5), replace(BEFORE, enough=3))
    assert [run.swept for run in runs] == [True, False, False, True, True]
    capped = replace(ALL, enough=2, max_iter=1)
    shaky = named(*[("a", 0.3), ("b", 0.3)] * 2)
    runs = search(PROBLEM, shaky, range(4), capped)
    assert {run.clustering.stop_reason for run in runs} == {"max_iter"}
    assert len(runs) == 4


def test_a_better_start_that_comes_later_puts_others_out_of_reach():
    starts = named(("a", 0.9), ("b", 0.0))
    runs = search(PROBLEM, starts, range(2), replace(BEFORE, enough=3))
    assert [run.swept for run in runs] == [False, True]
    assert runs[0].selection_cost == np.inf
    assert_array_equal(runs[0].clustering.labels, runs[0].first)
