"""The reproduction: cells that survive an interruption, honest verdicts, a page nobody edits."""

import csv
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from reproduction import comparison, expression, figures, harness, nonsparse, page, run, selection
from reproduction.harness import Cell, Study
from reproduction.joint import fit_jointly
from reproduction.printed import agreement, judged, judged_as_printed
from reproduction.published import Results, load_published
from reproduction.verdicts import (
    Estimate,
    Published,
    beyond_the_limit,
    blame,
    compared,
    estimate,
    verdict,
)

from subspaces import PSC
from subspaces.datasets import make_scenario
from subspaces.selection import select_n_clusters

ROOT = Path(__file__).parents[1]


def square(cell):
    if cell.column == "broken":
        raise ValueError("no such column")
    return {"value": cell.seed**2}


def squares(seeds, columns=("a", "b")):
    return [Cell("row", "defaults", column, seed) for seed in seeds for column in columns]


STUDY = Study("squares", ("value",), squares, square)


@pytest.mark.parametrize("row", nonsparse.PRINTED)
@pytest.mark.parametrize("column", "ae")
def test_every_rival_of_the_paper_is_made_as_printed(row, column):
    scenario = make_scenario(column, random_state=0)
    model = nonsparse.PRINTED[row](nonsparse.setting_of(scenario, 0))
    assert model.n_clusters == len(scenario.n_components)
    if row in ("SCC", "MCtFA"):  # these have one dimension for all clusters
        assert model.n_components == max(scenario.n_components)


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [
        (0.9624, 0.0, "exceeded"),
        (0.9604, 0.0, "reached"),  # rounding of the paper's last digit
        (0.9572, 0.0, "not"),
        (0.9572, 0.002, "reached"),  # root of .002^2 + .0019^2, and .0005
        (0.955, 0.002, "not"),
    ],
)
def test_a_verdict_allows_one_standard_error_of_the_difference(mean, error, expected):
    assert verdict(Estimate(mean, error, 10), Published("0.960", 0.019)) == expected


def test_without_data_the_verdict_is_missing_and_of_a_failure_not():
    paper = Published("0.9")
    assert (verdict(estimate([]), paper), str(estimate([]))) == ("missing", "-")
    assert (verdict(estimate([np.nan]), paper), str(estimate([np.nan]))) == ("not", "failed")


def test_the_papers_errors_are_standard_deviations_of_a_hundred():
    assert Published("0.693", 0.451).error == pytest.approx(0.0451)
    assert [Published(text).rounding for text in ("1.00", "0.943", "3")] == [0.005, 0.0005, 0.5]


def test_an_estimate_leaves_out_what_failed():
    found = estimate([1.0, np.nan, 3.0, 5.0])
    assert (found.mean, found.count) == (3.0, 3)
    assert found.error == pytest.approx(2.0 / np.sqrt(3))
    assert str(found) == "3.000 (1.155)"
    assert str(estimate([0.25])) == "0.250"


def test_the_objective_says_whether_it_or_the_search_is_to_blame():
    assert compared([1.0, 2.0, 9.0], [2.0, 3.0, 4.0]) == (4.0, 3.0, 2, 3)
    assert compared([1.0, np.nan], [2.0, 3.0]) == (1.0, 2.0, 1, 1)
    assert blame([1.0, 2.0, 9.0], [2.0, 3.0, 4.0]) == "objective"
    assert blame([1.0, 5.0, 4.0], [2.0, 2.0, 2.0]) == "search"


def test_a_line_gives_the_reason_only_where_the_figure_was_not_reached():
    paper, low, high = Published("0.5"), Estimate(0.1, 0.0, 9), Estimate(0.9, 0.0, 9)
    line = comparison.Line("ari", "PSC", "a", paper, low, high, high, "search", "objective")
    assert line.judged == ["**not**: search", "exceeded"]


def test_beyond_the_limit_needs_more_than_chance():
    paper = Published("0.774", 0.116)
    assert beyond_the_limit(Estimate(0.70, 0.01, 10), paper)
    assert not beyond_the_limit(Estimate(0.765, 0.01, 10), paper)
    assert not beyond_the_limit(comparison.NOTHING, paper)


def test_a_second_run_measures_only_what_is_missing(tmp_path):
    assert harness.run(STUDY, range(3), tmp_path, 1) == 6
    before = (tmp_path / "squares.csv").read_text()
    assert harness.run(STUDY, range(3), tmp_path, 1) == 0
    assert harness.run(STUDY, range(5), tmp_path, 1) == 4
    after = (tmp_path / "squares.csv").read_text()
    assert after.startswith(before)
    assert Results(STUDY, tmp_path).values("row", "defaults", "b", "value").tolist() == [
        0, 1, 4, 9, 16,
    ]  # fmt: skip


def test_a_line_that_was_cut_short_is_measured_again(tmp_path):
    harness.run(STUDY, range(3), tmp_path, 1)
    path = tmp_path / "squares.csv"
    whole = path.read_text()
    path.write_text(whole[: whole.rstrip().rfind(",") - 3])
    assert len(harness.read(STUDY, tmp_path)) == 5
    assert harness.run(STUDY, range(3), tmp_path, 1) == 1
    assert len(path.read_text().splitlines()) == 7


def test_a_method_that_fails_is_a_cell_with_its_error_and_is_tried_again(tmp_path):
    study = Study("squares", ("value",), lambda seeds: squares(seeds, ("a", "broken")), square)
    assert harness.run(study, range(2), tmp_path, 1) == 4
    results = Results(study, tmp_path)
    assert results.failures == ["ValueError: no such column"] * 2
    assert results.estimate("row", "defaults", "broken", "value").count == 0
    assert harness.run(study, range(2), tmp_path, 1) == 2
    assert len(Results(study, tmp_path).lines) == 4


def test_a_file_of_another_version_is_not_mixed_in(tmp_path):
    (tmp_path / "squares.csv").write_text("row,variant,column,seed,other\n")
    with pytest.raises(SystemExit, match="another version"):
        harness.run(STUDY, range(1), tmp_path, 1)


KILLED = """
import time
from pathlib import Path
from reproduction import harness

def slow(cell):
    time.sleep(0.05)
    return {"value": cell.seed}

def cells(seeds):
    return [harness.Cell("row", "defaults", "a", seed) for seed in seeds]

study = harness.Study("slow", ("value",), cells, slow)
print(harness.run(study, range(%d), Path("."), 1), flush=True)
"""


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_what_was_measured_before_a_signal_is_kept(tmp_path, sign):
    command = [sys.executable, "-c", KILLED % 200]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    path = tmp_path / "slow.csv"
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
    ) as process:
        late = time.monotonic() + 9
        while not path.exists() or path.read_text().count("\n") < 6:
            assert time.monotonic() < late, "lines do not reach the file as they come"
            time.sleep(0.02)
        process.send_signal(sign)
        process.wait()
    kept = path.read_text()
    kept = kept[: kept.rfind("\n") + 1]
    done = kept.count("\n") - 1
    again = subprocess.run(
        [sys.executable, "-c", KILLED % (done + 2)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done >= 5
    assert int(again.stdout) == 2
    assert path.read_text().startswith(kept)


def test_an_interruption_says_how_to_go_on(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_all", interrupted)
    monkeypatch.setattr(sys, "argv", ["run"])
    with pytest.raises(SystemExit) as stop:
        run.main()
    assert stop.value.code == 130
    assert "the same command goes on" in capsys.readouterr().out


def test_every_cell_has_its_first_sets_before_any_has_more(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(
        harness, "run", lambda study, seeds, *_: calls.append((study.name, seeds)) or 0
    )
    run.run_all(100, tmp_path, 1)
    names = [study.name for study in run.STUDIES]
    blocks = [range(10), range(10, 30), range(30, 100)]
    assert calls == [(name, block) for block in blocks for name in names]


def test_without_data_it_says_what_is_missing_and_leaves_no_simulation_out(monkeypatch, capsys):
    monkeypatch.delenv("SUBSPACES_DATA", raising=False)
    run.say_what_is_missing()
    assert "the expression tables are left out, the simulations run" in capsys.readouterr().out
    assert expression.cells(range(10)) == []
    assert len(nonsparse.cells(range(10))) == 10 * 5 * 13


def test_a_data_set_is_read_from_npz_or_from_gct_and_cls(monkeypatch, tmp_path, capsys):
    folder = tmp_path / "gene_expression"
    folder.mkdir()
    values = np.array([[1.5, 2.0, 3.0], [4.0, 5.0, 6.5]])
    np.savez(folder / "leukemia.npz", X=values, y=np.array(["T", "B"]))
    rows = "\n".join(f"g{j}\tna\t" + "\t".join(map(str, values[:, j])) for j in range(3))
    head = "#1.2\n3\t2\nName\tDescription\ts1\ts2\n"
    (folder / "normal_tissues.gct").write_text(f"{head}{rows}\n")
    (folder / "normal_tissues.cls").write_text("2 2 1\n# T B\n0 1\n")
    monkeypatch.setenv("SUBSPACES_DATA", str(tmp_path))
    assert expression.sets_at_hand() == ["leukemia", "normal_tissues"]
    for column in expression.sets_at_hand():
        X, truth = expression.load(column)
        np.testing.assert_array_equal(X, values)
        assert truth.tolist() == [1, 0]
    run.say_what_is_missing()
    assert "st_jude is left out" in capsys.readouterr().out


def test_every_cell_of_the_paper_has_a_row_here():
    published = load_published()
    wanted = {
        "nonsparse": (nonsparse.ROWS, "abcde", ("rand", "ari")),
        "sparse": (comparison.ROWS["sparse"], "abcde", ("rand", "ari")),
        "selection": (comparison.SELECTION, "abcde", ("share",)),
        "expression": (expression.ROWS, expression.FILES, ("rand", "ari")),
        "expression_clusters": (("PRESS",), expression.FILES, ("clusters",)),
    }
    ours = {
        (table, measure, row, column)
        for table, (rows, columns, measures) in wanted.items()
        for measure in measures
        for row in rows
        for column in columns
    }
    assert ours == {key for key in published if key[0] != "expression_sets"}
    assert len(ours) == 60 + 80 + 15 + 384 + 6
    assert published["sparse", "ari", "PSC, 10 variables", "b"] == Published("0.774", 0.116)


def test_the_printed_algorithm_is_psc_by_influence_from_the_same_labels():
    scenario = make_scenario("a", noise=0.05, n_features=8, random_state=3)
    X, truth = scenario.data, scenario.target
    found = judged_as_printed(X, truth, [1, 1], None, seed=0)
    model = PSC(2, criterion="influence", init=truth).fit(X)
    assert judged(model, X, truth)["at_truth"] == pytest.approx(found["at_truth"])
    assert found["objective"] == pytest.approx(model.objective_)
    assert found["ari"] == agreement(truth, model.labels_)["ari"]


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_icl_is_what_the_library_chooses_by_default(monkeypatch):
    monkeypatch.setattr(selection, "CANDIDATES", range(1, 3))
    monkeypatch.setattr(selection, "N_STARTS", 1)
    X = make_scenario("c", sparse=True, n_features=40, random_state=0).data[::3]
    options = {"n_components": 2, "n_variables": 10, "n_init": 1, "random_state": 0}
    library = select_n_clusters(PSC(**options), X, range(1, 3))
    assert library.criterion == "icl"
    assert selection.chosen(X, 2, 0)["icl"] == library.best_


def test_the_joint_scheme_learns_the_dimensions():
    X = make_scenario("b", sparse=True, n_features=60, random_state=1).data[::2]
    model = PSC(2, n_variables=10, n_init=2, random_state=1)
    assert sorted(fit_jointly(model, X, 3).n_components_) == [1, 2]


def test_nearer_compares_with_the_papers_distance():
    assert comparison.nearer(np.array([5, 5]), paper=6, true=5) == "exceeded"
    assert comparison.nearer(np.array([4, 6]), paper=6, true=5) == "reached"
    assert comparison.nearer(np.array([5, 6]), paper=5, true=5) == "not"
    assert comparison.nearer(np.array([]), paper=5, true=5) == "missing"


def test_the_committed_page_is_the_one_that_the_committed_results_give(monkeypatch, tmp_path):
    for name in ("draw_press", "draw_illustrations", "draw_lines", "draw_sets"):
        monkeypatch.setattr(figures, name, lambda *_: None)
    text = page.write(page.RESULTS, tmp_path).read_text(encoding="utf-8")
    assert text == (ROOT / "docs" / "develop" / "reproduction.md").read_text(encoding="utf-8")
    with (page.RESULTS / "sparse.csv").open(encoding="utf-8") as file:
        assert {"seed", "seconds"} <= set(csv.DictReader(file).fieldnames)
