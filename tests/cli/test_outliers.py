"""`subspaces fit --outliers`: who is in no cluster, in files, on the screen and in predictions."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from subspaces import PSC, load
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy

UNION = make_subspaces([25, 25], 6, [1, 1], noise=0.05, random_state=0)
FAR = 4.0 * np.random.default_rng(0).normal(size=(5, 6))
X = np.vstack([UNION.data, FAR])
NAMES = [f"s{i}" for i in range(55)]


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    kinds = [*("low", "high")[1:] * 25, *("low",) * 25, *("far",) * 5]
    top = ["name", *(f"v{j}" for j in range(6)), "kind"]
    lines = [[n, *map(repr, map(float, x)), k] for n, x, k in zip(NAMES, X, kinds, strict=True)]
    path.write_text("\n".join(map(",".join, [top, *lines])) + "\n")
    return path


FIT = "--clusters", 2, "--dims", 1, "--linear", "--no-scale", "--labels", "kind", "--no-stability"


def test_outliers_are_in_all_files(run, table, tmp_path):
    out = tmp_path / "r"
    ended = run("fit", table, *FIT, "--outliers", 0.1, "--out", out)
    assert ended.code == 0, ended.err
    model = load(out / "model.npz")
    expected = PSC(2, n_components=1, outliers=0.1, random_state=0).fit(X)
    assert (model.labels_ == expected.labels_).all()
    outside = model.labels_ == -1
    assert outside[-5:].all()
    rows = rows_of((out / "labels.csv").read_text())
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    np.testing.assert_allclose([float(r["p_value"]) for r in rows], model.p_values_, rtol=1e-4)
    for row, far in zip(rows, outside.tolist(), strict=True):
        assert (row["probability"] == "") == far
        assert (row["influence"] == "") == far
    summary = json.loads((out / "summary.json").read_text())
    assert sorted(summary["outliers"]["samples"]) == sorted(np.array(NAMES)[outside])
    assert summary["outliers"]["threshold"] == model.outlier_threshold_
    assert sum(each["samples"] for each in summary["clusters"]) == (~outside).sum()
    right = matched_accuracy(UNION.target[~outside[:50]], model.labels_[:50][~outside[:50]])
    assert summary["in_right_cluster"] == right
    assert f"{outside.sum()} samples are in no cluster" in ended.out
    assert "Grey crosses: outliers." in (out / "report.html").read_text()
    again = run("report", out / "model.npz", "--out", tmp_path / "again.html")
    assert again.code == 0
    assert "Known classes" in (tmp_path / "again.html").read_text()


def test_new_samples_are_judged_by_the_model(run, table, tmp_path):
    out = tmp_path / "r"
    run("fit", table, *FIT, "--outliers", 0.1, "--no-page", "--out", out)
    ended = run("predict", out / "model.npz", table, "--labels", "kind")
    rows, model = rows_of(ended.out), load(out / "model.npz")
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    found = [float(row["p_value"]) for row in rows]
    frame = pd.DataFrame(X, columns=model.feature_names_in_)
    np.testing.assert_allclose(found, model.p_values(frame), rtol=1e-4)
    far = [row for row in rows if row["cluster"] == "-1"]
    assert all(float(row["distance_ratio"]) > 3 and row["probability"] == "" for row in far)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--outliers", 1), "--outliers 1"),
        (("--outliers", 0), "--outliers 0"),
        (("--outliers", 0.1, "--preset", "expression"), "--preset expression"),
        (("--outliers", 0.1, "--variables", 3), "--variables"),
        (("--outliers", 0.1, "--method", "KSubspaces"), "--method KSubspaces"),
    ],
)
def test_what_outliers_do_not_go_with(fails, table, tmp_path, given, named):
    asked = ("fit", table, "--labels", "kind", "--clusters", 2, "--out", tmp_path / "r")
    said = fails(*asked, *given)
    assert "--outliers" in said
    assert named in said
    assert not (tmp_path / "r").exists()


def test_missing_values_are_refused_in_the_words_of_the_command(fails, table, tmp_path):
    text = table.read_text().splitlines()
    cells = text[3].split(",")
    cells[2] = ""
    table.write_text("\n".join([*text[:3], ",".join(cells), *text[4:]]) + "\n")
    said = fails("fit", table, *FIT, "--outliers", 0.1, "--out", tmp_path / "r")
    assert said.startswith("--outliers 0.1 does not work with missing values")
