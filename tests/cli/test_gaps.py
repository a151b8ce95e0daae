"""Tables with missing values on the command line: read, clustered, placed, filled, refused."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from subspaces import PSC, load
from subspaces.app.tables import read_table
from subspaces.datasets import make_proteomics, make_subspaces
from subspaces.named_table import Table
from subspaces.pages import render
from subspaces.preparation import filled_in_raw_units, learn_preparation, prepare

UNION = make_subspaces([40, 40], 10, [1, 2], noise=0.05, random_state=0)
HOLES = np.random.default_rng(1).random(UNION.data.shape) < 0.15


def write(path, X, mark="NA"):
    frame = pd.DataFrame(X, [f"s{i}" for i in range(len(X))], [f"g{j}" for j in range(X.shape[1])])
    frame.assign(type=UNION.target[: len(X)]).to_csv(path, na_rep=mark)
    return path


@pytest.fixture
def gaps(tmp_path):
    return write(tmp_path / "gaps.csv", np.where(HOLES, np.nan, UNION.data))


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def fitted(run, path, out, *options):
    ended = run("fit", path, "--labels", "type", "--clusters", 2, "--dims", "1,2",
                "--no-stability", "--out", out, *options)  # fmt: skip
    assert ended.code == 0, ended.err
    return ended


def test_a_table_with_gaps_is_clustered_and_says_what_is_missing(run, gaps, tmp_path):
    ended = fitted(run, gaps, tmp_path / "r", "--imputed")
    share = HOLES.mean()
    assert f"{100 * share:.2g} % of the values are missing" in ended.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert_allclose(summary["missing"], share)
    assert summary["adjusted_rand"] > 0.9
    samples, variables = (
        rows_of(tmp_path / "r" / f"{name}.csv") for name in ("labels", "variables")
    )
    assert_allclose([float(row["missing"]) for row in samples], HOLES.mean(axis=1), rtol=1e-5)
    of_variable = {row["variable"]: float(row["missing"]) for row in variables}
    assert_allclose([of_variable[f"g{j}"] for j in range(10)], HOLES.mean(axis=0), rtol=1e-5)
    filled = read_table(tmp_path / "r" / "imputed.csv", labels="type").data
    observed = read_table(gaps, labels="type").data
    assert np.array_equal(filled[~HOLES], observed[~HOLES])  # to the last digit
    assert np.std((filled - UNION.data)[HOLES]) < 0.35 * np.std(UNION.data[HOLES])
    page = (tmp_path / "r" / "report.html").read_text()
    assert "What is missing" in page
    assert "of the values are missing" in page


def test_everything_is_chosen_with_gaps_too(run, gaps, tmp_path):
    ended = run("fit", gaps, "--labels", "type", "--no-stability", "--no-page", "--json",
                "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0, ended.err
    assert ended.document["selection"]["answers"]
    assert ended.document["adjusted_rand"] > 0.9


def test_a_model_file_places_samples_with_gaps(run, gaps, tmp_path):
    fitted(run, gaps, tmp_path / "r", "--no-page")
    model = load(tmp_path / "r" / "model.npz")
    ended = run("predict", tmp_path / "r", gaps, "--labels", "type")
    assert [int(row["cluster"]) for row in csv.DictReader(io.StringIO(ended.out))] == (
        model.labels_.tolist()
    )
    one = np.where(np.arange(10) < 3, np.nan, UNION.data[:1])  # no sample has these variables
    single = write(tmp_path / "one.csv", one)
    assert run("predict", tmp_path / "r", single, "--labels", "type").code == 0


@pytest.mark.parametrize(
    "options", [["--scale"], ["--log", "--floor", "0.5"], ["--top-variables", "6"]]
)
def test_preparations_pass_gaps_on(run, tmp_path, options):
    X = np.where(HOLES, np.nan, np.exp2(UNION.data * 3.0 + 5.0))
    path = write(tmp_path / "g.csv", X, mark="")
    fitted(run, path, tmp_path / "r", "--no-page", "--imputed", "--affine", *options)
    filled = read_table(tmp_path / "r" / "imputed.csv", labels="type")
    kept = [int(name[1:]) for name in filled.variable_names]
    holes, raw = HOLES[:, kept], X[:, kept]
    assert len(kept) == (6 if "6" in options else 10)
    assert_allclose(filled.data[~holes], raw[~holes], rtol=1e-5)
    assert np.isfinite(filled.data).all()
    assert filled.data[holes].min() > -np.ptp(raw[~holes])
    assert run("predict", tmp_path / "r", path, "--labels", "type").code == 0


def test_marks_are_named(run, fails, tmp_path):
    path = write(tmp_path / "g.csv", np.where(HOLES, np.nan, UNION.data), mark="n.d.")
    assert "'n.d.' is not a number" in fails("fit", path, "--labels", "type", "--clusters", 2)
    fitted(run, path, tmp_path / "r", "--no-page", "--missing", "n.d.,-999")


def test_one_pca_of_a_table_with_gaps(run, gaps, tmp_path):
    ended = run("pca", gaps, "--labels", "type", "--out", tmp_path / "r", "--dims", 2)
    assert ended.code == 0, ended.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert_allclose(summary["missing"], HOLES.mean())
    samples, variables = (
        rows_of(tmp_path / "r" / f"{name}.csv") for name in ("samples", "loadings")
    )
    assert_allclose([float(row["missing"]) for row in samples], HOLES.mean(axis=1), rtol=1e-5)
    assert_allclose([float(row["missing"]) for row in variables], HOLES.mean(axis=0), rtol=1e-5)
    scores = rows_of(tmp_path / "r" / "scores.csv")
    assert np.isfinite([float(row["PC2"]) for row in scores]).all()
    assert "What is missing" in (tmp_path / "r" / "report.html").read_text()
    assert run("influence", gaps, "--labels", "type", "--dims", 2).code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["select", "--variables", 3], "Leave out --variables"),
        (["compare", "--clusters", 2], "Run subspaces fit --imputed"),
        (
            ["fit", "--clusters", 2, "--preset", "expression"],
            "fill them with subspaces fit --imputed",
        ),
        (["fit", "--clusters", 2, "--variables", 3], "fill missing values with subspaces fit"),
        (["fit", "--clusters", 2, "--method", "SSC"], "fill missing values with subspaces fit"),
    ],
)
def test_what_needs_every_value_says_the_way_out(fails, gaps, words, message):
    command, *options = words
    assert message in fails(command, gaps, "--labels", "type", *options)


def test_empty_samples_and_variables_are_named(fails, tmp_path):
    X = UNION.data.copy()
    X[:, [3, 5]] = np.nan
    path = write(tmp_path / "g.csv", X)
    said = fails("fit", path, "--labels", "type", "--clusters", 2)
    assert "all values of 'g3' and 'g5' are missing. Add --drop-missing 0.5 to leave out" in said
    X[:, 1:8] = np.nan
    said = fails("pca", write(path, X), "--labels", "type")
    assert "all values of 'g1', 'g2', 'g3', 'g4', 'g5' and 2 more are missing. Add" in said
    X = UNION.data.copy()
    X[[5, 9]] = np.nan
    said = fails("fit", write(path, X), "--labels", "type", "--clusters", 2)
    assert "2 samples have no values ('s5' and 's9'). Add --drop-empty to leave out" in said


def test_empty_samples_are_dropped_together(run, fails, tmp_path):
    X = UNION.data.copy()
    X[7, :-1], X[20:, -1] = np.nan, np.nan
    path, out, few = write(tmp_path / "g.csv", X), tmp_path / "r", ["--drop-missing", "0.5"]
    said = fails("fit", path, "--labels", "type", "--clusters", 2, *few)
    assert "'s7'. Add --drop-empty" in said
    X[[5, 9]] = np.nan
    ended = fitted(run, write(path, X), out, *few, "--drop-empty")
    assert "s5 and s9" in ended.err
    names = [row["sample"] for row in rows_of(out / "labels.csv")]
    assert names == [f"s{i}" for i in range(len(X)) if i not in (5, 7, 9)]


def test_variables_that_are_mostly_missing_are_left_out_and_predict_knows(run, gaps, tmp_path):
    X = np.where(HOLES, np.nan, UNION.data)
    X[:, 3], X[:60, 5] = np.nan, np.nan
    path, out = write(tmp_path / "g.csv", X), tmp_path / "r"
    ended = fitted(run, path, out, "--drop-missing", 0.5)
    words = "left out g3 and g5 (missing values)"
    summary = json.loads((out / "summary.json").read_text())
    assert "left_out_missing" in [each["code"] for each in summary["messages"]]
    assert (summary["variables"], summary["preparation"]) == (8, words)
    assert words in (out / "report.html").read_text()
    model = load(out / "model.npz")
    assert model.preparation_.dropped == ["g3", "g5"]
    placed = run("predict", out, gaps, "--labels", "type")  # a table that has them
    assert placed.code == 0, placed.err
    for name, *options in (["pca", "--out", tmp_path / "p"], ["influence"]):
        ended = run(name, path, "--labels", "type", "--drop-missing", 0.5, *options)
        assert ended.code == 0, ended.err
    assert words in json.loads((tmp_path / "p" / "summary.json").read_text())["preparation"]


def test_low_values_that_are_missing_are_told_with_a_way_out(run, tmp_path):
    made = make_proteomics(90, 60, random_state=0)
    frame = pd.DataFrame(made.data, [f"s{i}" for i in range(90)], [f"p{j}" for j in range(60)])
    frame.to_csv(tmp_path / "p.csv")
    fit = ["fit", tmp_path / "p.csv", "--clusters", 3, "--dims", 2, "--affine", "--no-stability"]
    ended = run(*fit, "--drop-missing", 0.9, "--out", tmp_path / "r")
    way_out = "Fit again with --drop-missing 0.2"
    assert way_out in ended.err
    assert way_out in (tmp_path / "r" / "report.html").read_text()
    ended = run(*fit, "--drop-missing", 0.2, "--out", tmp_path / "r2", "--no-page")
    assert ended.code == 0, ended.err
    assert "because they are low" not in ended.err


def test_the_filled_table_of_one_without_gaps_is_the_table(run, tmp_path):
    path = write(tmp_path / "whole.csv", UNION.data)
    fitted(run, path, tmp_path / "r", "--no-page", "--imputed")
    filled = read_table(tmp_path / "r" / "imputed.csv", labels="type").data
    assert_allclose(filled, UNION.data, rtol=1e-5)


def test_the_same_command_reads_the_filled_table(run, gaps, tmp_path):
    fit = ["--labels", "type", "--clusters", 2, "--dims", "1,2", "--no-page", "--no-stability"]
    assert run("fit", gaps, *fit, "--imputed", "--out", tmp_path / "r").code == 0
    ended = run("fit", tmp_path / "r" / "imputed.csv", *fit, "--out", tmp_path / "again")
    assert ended.code == 0, ended.err
    first, again = (rows_of(tmp_path / name / "labels.csv") for name in ("r", "again"))
    assert [row["class"] for row in first] == [row["class"] for row in again]


def messages_in(folder):
    return json.loads((folder / "summary.json").read_text())["messages"]


def test_a_variable_that_is_mostly_missing_is_told_with_a_way_out(run, gaps, tmp_path):
    frame = pd.read_csv(gaps)
    few = np.where(np.arange(len(frame)) % 3 == 0, np.arange(len(frame)) / 7, np.nan)
    frame.assign(selenium=few).to_csv(tmp_path / "g.csv", index=False)
    fit = ["fit", tmp_path / "g.csv", "--labels", "type", "--clusters", 2, "--no-page"]
    ended = run(*fit, "--no-stability", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    told = [each for each in messages_in(tmp_path / "r") if each["code"] == "mostly_missing"]
    assert told[0]["parameters"] == {"n": 1, "names": ["selenium"]}
    ended = run(*fit, "--no-stability", "--drop-missing", 0.5, "--out", tmp_path / "s")
    assert "Left out 1 variable" in ended.err
    assert "mostly_missing" not in {each["code"] for each in messages_in(tmp_path / "s")}


@pytest.mark.parametrize("options", [(), ("--log",), ("--preset", "cells", "--no-markers")])
def test_raw_counts_of_genes_are_told(run, tmp_path, options):
    random = np.random.default_rng(0)
    rates = np.where(np.arange(40)[:, None] % 2, 2.0, np.where(np.arange(60) < 20, 9.0, 2.0))
    names = [f"ENSG{j:011d}" for j in range(60)]
    counts = pd.DataFrame(random.poisson(rates), columns=names)
    counts.to_csv(tmp_path / "c.csv", index_label="cell")
    fit = ["fit", tmp_path / "c.csv", "--clusters", 2, "--no-page", "--no-stability"]
    ended = run(*fit, *options, "--out", tmp_path / "r")
    assert ended.code == 0
    assert ended.err.count("Add --log, or try --preset cells") == (not options)


def test_what_constant_columns_are_left_is_said(run, gaps, tmp_path):
    frame = pd.read_csv(gaps).assign(year=1991)
    frame.to_csv(tmp_path / "g.csv", index=False)
    fit = ["fit", tmp_path / "g.csv", "--labels", "type", "--clusters", 2, "--no-page"]
    ended = run(*fit, "--drop-missing", 0, "--out", tmp_path / "none")
    assert ended.code == 2
    assert "the variable that remains (year) is constant" in ended.err
    ended = run(*fit, "--no-stability", "--out", tmp_path / "r")
    told = [each for each in messages_in(tmp_path / "r") if each["code"] == "constant_variables"]
    assert told[0]["parameters"] == {"count": 1, "names": ["year"]}
    assert told[0]["kind"] == "note"


def test_a_variable_with_one_value_leaves_stability_measured(run, tmp_path):
    X = UNION.data.copy()
    X[1:, 3] = np.nan
    path, out = write(tmp_path / "g.csv", X), tmp_path / "r"
    ended = run("fit", path, "--labels", "type", "--clusters", 2, "--dims", "1,2", "--no-page",
                "--out", out)  # fmt: skip
    assert ended.code == 0, ended.err
    summary = json.loads((out / "summary.json").read_text())
    assert summary["stability"]["stability"] > 0.8
    assert any("Try --drop-missing 0.5" in warning for warning in summary["warnings"])


def test_commands_that_need_every_value_can_leave_out_variables_with_gaps(run, fails, tmp_path):
    X = UNION.data.copy()
    X[4, 2] = np.nan
    path = write(tmp_path / "g.csv", X)
    compared = ["compare", "--clusters", 2, "--methods", "PSC,KMeans"]
    for name, *options in (["select", "--max-clusters", 2], compared):
        ended = run(name, path, "--labels", "type", "--drop-missing", 0, *options)
        assert ended.code == 0, ended.err
        assert "g2" in ended.err
    said = fails("fit", path, "--clusters", 2, "--preset", "expression", "--labels", "type")
    assert "Add --drop-missing 0 to leave out genes" in said
    X[:, :] = np.nan
    X[:, 0] = np.arange(len(X)) % 7
    X[::2, 0], X[::2, 1] = np.nan, 1.0
    path = write(path, X)
    said = fails("fit", path, "--clusters", 2, "--labels", "type", "--drop-missing", 0.2)
    assert "more than 20 %" in said
    assert "--drop-missing" in said
    X[1, :2] = 3.0, np.nan
    X[3, 1] = 2.0
    said = fails("fit", write(path, X), "--clusters", 2, "--labels", "type",
                 "--drop-missing", 0.495)  # fmt: skip
    assert "no values are left for 's1', 's5', 's7', 's9', 's11' and 34 more." in said


def test_the_page_in_python_says_what_is_missing():
    X = np.where(HOLES, np.nan, UNION.data)
    model = PSC(2, n_components=[1, 2], random_state=0).fit(X)
    page = render(model, X)
    assert "What is missing" in page
    assert "NaN" not in page.split("<script")[0]
    whole = PSC(2, n_components=[1, 2], random_state=0).fit(UNION.data)
    assert "What is missing" not in render(whole, UNION.data)


def test_filled_values_return_to_the_units_of_the_table():
    raw = np.exp2(np.where(HOLES, np.nan, UNION.data) + 4.0)
    table = Table(raw, tuple(map(str, range(80))), tuple(f"g{j}" for j in range(10)))
    learned = learn_preparation(table, log=True, scale=True)
    prepared = prepare(table, learned).data
    assert_allclose(np.nanmean(prepared, axis=0), 0.0, atol=1e-12)
    assert_allclose(np.nanstd(prepared, axis=0), 1.0)
    filled = filled_in_raw_units(raw, np.where(HOLES, 0.0, prepared), learned)
    assert_allclose(filled[~HOLES], raw[~HOLES], rtol=0)
    centre = np.broadcast_to(np.exp2(np.nanmean(np.log2(1 + raw), axis=0)) - 1, raw.shape)
    assert_allclose(filled[HOLES], centre[HOLES])


def test_a_recipe_does_not_place_samples_with_gaps(run, fails, tmp_path):
    random = np.random.default_rng(0)
    counts = random.poisson(20.0, size=(30, 40)).astype(float)
    counts[:15, :10] *= 8
    names = [f"g{j}" for j in range(40)]
    whole = pd.DataFrame(counts, [f"s{i}" for i in range(30)], names)
    whole.to_csv(tmp_path / "whole.csv")
    ended = run("fit", tmp_path / "whole.csv", "--preset", "cells", "--clusters", 2,
                "--no-stability", "--no-page", "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0, ended.err
    model = load(tmp_path / "r" / "model.npz")
    assert_allclose(model.impute(whole), whole[[*model.preparation_.variable_names]])
    whole.iloc[3, 5] = np.nan
    whole.to_csv(tmp_path / "gap.csv")
    said = fails("predict", tmp_path / "r", tmp_path / "gap.csv")
    assert "sample 's3' has no value for 'g5'" in said


def test_a_model_that_prepares_fills_in_the_units_of_its_samples(run, tmp_path):
    raw = np.exp2(UNION.data * 2.0 + 6.0)
    path = write(tmp_path / "g.csv", np.where(HOLES, np.nan, raw))
    fitted(run, path, tmp_path / "r", "--no-page", "--log")
    model, frame = load(tmp_path / "r" / "model.npz"), read_table(path, labels="type").frame
    filled = model.impute(frame)
    assert_allclose(filled[~HOLES], raw[~HOLES])
    named = model.set_output(transform="pandas").impute(frame)
    pd.testing.assert_frame_equal(named, pd.DataFrame(filled, frame.index, frame.columns))
    assert np.median(np.abs(filled / raw - 1)[HOLES]) < 0.5


@pytest.mark.parametrize("mark", ["-999", "<0.1"])
def test_predict_knows_the_marks_of_missing_values_of_the_fit(run, gaps, tmp_path, mark):
    marked = write(tmp_path / "marked.csv", np.where(HOLES, np.nan, UNION.data), mark)
    fitted(run, marked, tmp_path / "r", "--missing", mark, "--no-page")
    model = tmp_path / "r" / "model.npz"
    ended = run("predict", model, marked, "--labels", "type")
    assert ended.code == 0, ended.err
    assert ended.out == run("predict", model, gaps, "--labels", "type").out


def test_variables_are_left_out_for_their_gaps_only_if_others_are_complete(fails, tmp_path):
    holes = HOLES & (np.arange(10) > 4)
    path = write(tmp_path / "t.csv", np.where(holes, np.nan, UNION.data))
    assert "Add --drop-missing 0 to leave out" in fails(
        "compare", path, "--labels", "type", "--clusters", 2
    )
