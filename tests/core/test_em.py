from dataclasses import dataclass

import numpy as np
import pytest

from subspaces.core import em


@dataclass(frozen=True)
class Line:
    """One row whose log-likelihood is given; a step halves its distance from ``top``."""

    height: float
    top: float = 0.0
    alive: bool = True

    @property
    def log_joint(self):
        return np.array([[self.height]])

    def half_way(self):
        return Line((self.height + self.top) / 2, self.top, self.alive)


def climb(height, top=0.0, alive=True, max_iter=100, tolerance=1e-3):
    return em.climb(em.begin("given", Line(height, top, alive)), Line.half_way, max_iter, tolerance)


def test_the_climb_stops_when_what_is_left_is_little():
    run = climb(-8.0, top=5.0)
    assert run.stop_reason == "converged"
    # half the rest at a step: a thousandth is not gained in five steps before 13/2^n < 2^5/1e3
    assert 5.0 - run.path[-7] > 1e-3 * 32 / 31 >= 5.0 - run.path[-6]


def test_a_slow_climb_goes_on_although_each_rise_is_small():
    slow = em.climb(
        em.begin("slow", Line(-1.0)), lambda line: Line(0.999 * line.height), 20_000, 1e-3
    )
    assert slow.stop_reason == "converged"
    assert abs(slow.log_likelihood) <= 1.1e-3


def test_a_climb_can_be_continued():
    brief = em.climb(em.begin("x", Line(-8.0)), Line.half_way, 3, 1e-3, "brief")
    assert (brief.n_iter, brief.stop_reason) == (3, "brief")
    whole = em.climb(brief, Line.half_way, 100, 1e-3)
    assert whole.path == climb(-8.0).path


@pytest.mark.parametrize(("max_iter", "n_iter"), [(1, 1), (5, 5)])
def test_steps_are_counted(max_iter, n_iter):
    run = climb(-1e6, max_iter=max_iter)
    assert (run.n_iter, run.stop_reason) == (n_iter, "max_iter")


def test_the_search_finishes_the_best_and_prefers_the_living():
    tops = [3.0, 9.0, 1.0, 4.0, 5.0]
    begun = [em.begin(str(top), Line(top - 1e6, top, top != 9.0)) for top in tops]
    runs = em.search(begun, Line.half_way, 200, 1e-6)
    reasons = [run.stop_reason for run in runs]
    assert reasons == ["converged", "infeasible", "brief", "converged", "converged"]
    assert em.best_climb(runs).start == "5.0"


def test_equal_starts_are_finished_once():
    runs = em.search([em.begin(str(i), Line(-1e6)) for i in range(4)], Line.half_way, 200, 1e-6)
    assert [run.stop_reason for run in runs] == ["converged", "brief", "brief", "brief"]


def test_a_climb_ends_where_an_earlier_one_has_ended():
    begun = [em.begin("near", Line(-1e-3)), em.begin("far", Line(-1.0)), em.begin("on", Line(-1.5))]
    runs = em.search([*begun, em.begin("elsewhere", Line(-1.0, -0.5))], Line.half_way, 200, 1e-2)
    assert [run.stop_reason for run in runs] == ["converged"] * 4
    first, *others, apart = runs
    for run in others:
        assert -1e-2 <= run.log_likelihood < first.log_likelihood
        assert run.path[-2] < -1e-2  # the step before was not there yet
    assert apart.n_iter > em.WINDOW
    assert apart.log_likelihood == pytest.approx(-0.5, abs=1e-2)
