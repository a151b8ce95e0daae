from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subspaces import PSC, KSubspaces, progress
from subspaces.app.cli import _say
from subspaces.datasets import make_subspaces
from subspaces.selection import select_n_clusters
from tests.warned import refuses

X = make_subspaces([40, 50], 10, [2, 2], noise=0.1, random_state=0).data
CALLBACKS = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="scikit-learn has callbacks from 1.9 on"
)


def heard_while(work):
    heard = []
    with progress.listen(heard.append):
        work()
    return heard


def of(stage, steps):
    return [step for step in steps if step.stage == stage]


@pytest.mark.parametrize("cls", [PSC, KSubspaces])
def test_every_start_run_and_sweep_is_told(cls):
    model = cls(2, n_components=2, n_init=4, random_state=0)
    steps = heard_while(lambda: model.fit(X))
    assert [(step.done, step.total) for step in of("start", steps)] == [(i, 4) for i in range(1, 5)]
    assert [step.detail for step in of("start", steps)] == [row["start"] for row in model.starts_]
    runs = of("run", steps)
    done = [step.done for step in runs]
    assert done == sorted(set(done))
    assert {step.total for step in runs} == {4}  # however many are skipped
    assert steps[-1] is runs[-1]
    assert len(of("sweep", steps)) >= model.n_iter_
    values = [float(step.detail.split()[-1]) for step in of("sweep", steps)]
    assert any(value == pytest.approx(model.objective_, rel=1e-5) for value in values)


def test_runs_of_other_threads_are_heard_at_their_ends():
    model = PSC(2, n_components=2, n_init=3, n_jobs=2, random_state=0)
    steps = heard_while(lambda: model.fit(X))
    assert len(of("start", steps)) == 3
    assert not of("sweep", steps)


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_candidates_are_told():
    chosen = PSC("auto", n_init=2, max_clusters=3, random_state=0)
    steps = of("candidate", heard_while(lambda: chosen.fit(X)))
    assert [(step.done, step.total) for step in steps] == [(1, 2), (2, 2)]
    model = KSubspaces(n_components=2, n_init=2, random_state=0)
    steps = of("candidate", heard_while(lambda: select_n_clusters(model, X, [2, 3])))
    assert [step.detail for step in steps] == ["2 clusters", "3 clusters"]


def test_nobody_listens_after_the_block():
    heard = []
    with pytest.raises(KeyboardInterrupt), progress.listen(heard.append):
        raise KeyboardInterrupt
    KSubspaces(2, n_init=2).fit(X)
    assert heard == []


def test_an_interrupted_fit_keeps_what_was_fitted_before():
    model = PSC(2, n_components=2, random_state=0).fit(X)
    labels, record = model.labels_, model.record_

    def interrupt(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress.listen(interrupt):
        model.fit(-X)
    assert model.labels_ is labels
    assert model.record_ is record
    assert set(model.predict(X)) == {0, 1}


def test_verbose_prints_runs_and_then_sweeps(capsys):
    model = PSC(2, n_components=2, n_init=3, verbose=1, random_state=0).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[PSC] run 1 of ")
    assert lines[-1].startswith("[PSC] best: ")
    assert lines[-1].split(": ")[1] in {row["start"] for row in model.starts_}
    model.set_params(verbose=2).fit(X)
    assert len(capsys.readouterr().out.splitlines()) > len(lines)


class Recorder:
    """A callback that writes down what it hears."""

    max_propagation_depth = 1

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.heard.append(f"end {context.task_name}")

    def teardown(self, estimator, context):
        self.heard.append("teardown")


@CALLBACKS
def test_callbacks_hear_the_fit_and_its_steps():
    recorder = Recorder()
    model = PSC(2, n_components=2, n_init=3, random_state=0).set_callbacks(recorder).fit(X)
    assert recorder.heard[:2] == ["setup", "begin fit"]
    assert recorder.heard[-2:] == ["end fit", "teardown"]
    assert recorder.heard.count("end start") == 3
    assert recorder.heard.count("begin sweep") >= model.n_iter_
    assert not [name for name in vars(model) if "callback" in name and name != "_skl_callbacks"]


@CALLBACKS
def test_callbacks_of_a_pipeline_reach_its_last_step():
    recorder = Recorder()
    pipeline = make_pipeline(StandardScaler(), KSubspaces(2, n_init=2, random_state=0))
    pipeline.set_callbacks(recorder).fit(X)
    assert recorder.heard.count("end start") == 2


@CALLBACKS
def test_a_fit_that_fails_still_ends_its_callbacks():
    recorder = Recorder()
    with refuses("n_clusters", 60):
        PSC(60, n_components=3).set_callbacks(recorder).fit(X)
    assert recorder.heard[-1] == "teardown"


@CALLBACKS
def test_the_progress_bar_of_scikit_learn(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    labels = PSC(2, n_components=2, random_state=0).set_callbacks(ProgressBar()).fit(X).labels_
    assert np.unique(labels).tolist() == [0, 1]


def test_the_bar_of_a_command_counts_halvings_not_the_fits_within(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    seen = []
    monkeypatch.setattr(
        "rich.progress.Progress.update", lambda self, task, **fields: seen.append(fields)
    )
    with _say.working("Clustering halves"):
        progress.tell(progress.Step("halving", 3, 10, "split 4"))
        for inner in ("candidate", "start", "sweep"):
            progress.tell(progress.Step(inner, 1, 2, ""))
    assert seen == [{"at": "split 3 of 10"}, {"completed": 3, "total": 10}]
