import csv
import io

import numpy as np
import pandas as pd
import pytest

from subspaces import PCA, PSC, load
from tests.cli.conftest import write_union


@pytest.fixture
def model(run, union_file, tmp_path):
    ended = run("fit", union_file, "--labels", "type", "--clusters", 2, "--no-page",
                "--no-stability", "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0, ended.err
    return tmp_path / "r" / "model.npz"


def clusters_of(text):
    return [int(row["cluster"]) for row in csv.DictReader(io.StringIO(text))]


def test_the_samples_of_fit_get_their_clusters(run, model, union_file):
    ended = run("predict", model, union_file, "--labels", "type")
    assert clusters_of(ended.out) == load(model).labels_.tolist()
    assert "100 % of the samples are in the right cluster (adjusted Rand index 1.000)" in ended.err


def test_a_folder_stands_for_its_model(run, fails, model, union_file, tmp_path):
    there = run("predict", model, union_file, "--labels", "type")
    assert run("predict", model.parent, union_file, "--labels", "type").out == there.out
    assert "model.npz does not exist" in fails("predict", tmp_path, union_file)


def test_columns_are_matched_by_name(run, model, union_file, tmp_path):
    turned = write_union(tmp_path / "turned.csv", order=slice(None, None, -1))
    text = "\n".join(line + ",9" for line in turned.read_text().splitlines())
    turned.write_text(text.replace("name,9", "name,extra"))
    straight = run("predict", model, union_file, "--labels", "type")
    ended = run("predict", model, turned, "--labels", "type")
    assert clusters_of(ended.out) == clusters_of(straight.out)
    lines = [line.split(",") for line in text.replace("name,9", "name,extra").splitlines()]
    turned.write_text("\n".join(",".join([line[-2], *line[:-2], line[-1]]) for line in lines))
    ended = run("predict", model, turned, "--labels", "type")
    assert ended.out == straight.out


def test_missing_columns_are_named(fails, model, union_file):
    union_file.write_text(union_file.read_text().replace("gene 3", "gene three"))
    said = fails("predict", model, union_file, "--labels", "type")
    assert "lacks 1 of the 5 variables of the model: gene 3" in said


def test_a_unit_that_changed_is_an_error(run, fails, union_file, tmp_path):
    lines = [line.split(",") for line in union_file.read_text().splitlines()]
    j = lines[0].index("gene 3")

    def in_unit(unit):
        rows = [[*row[:j], row[j] + unit, *row[j + 1 :]] for row in lines[1:]]
        path = tmp_path / f"in{unit.strip()}.csv"
        path.write_text("\n".join(map(",".join, [lines[0], *rows])))
        return path

    fitted = run("fit", in_unit(" g"), "--labels", "type", "--clusters", 2, "--no-page",
                 "--no-stability", "--out", tmp_path / "r")  # fmt: skip
    assert fitted.code == 0, fitted.err
    predict = ("predict", tmp_path / "r" / "model.npz")
    assert "gene 3 (kg, was g)" in fails(*predict, in_unit(" kg"), "--labels", "type")
    assert "The units" not in run(*predict, in_unit(" g"), "--labels", "type").err
    assert "gene 3 (no unit, was g)" in run(*predict, in_unit(""), "--labels", "type").err


def test_what_fit_did_is_done_to_new_samples(run, tmp_path):
    random = np.random.default_rng(0)
    X = random.lognormal(3, 1, size=(30, 8))
    X[15:, :4] *= 20
    X[:, 6] = 5
    np.savez(tmp_path / "data.npz", X=X, y=np.repeat(["a", "b"], 15))
    options = [
        "--floor",
        "10",
        "--log",
        "--scale",
        "--top-variables",
        6,
        "--affine",
        "--no-page",
        "--no-stability",
    ]
    run("fit", tmp_path / "data.npz", *options, "--clusters", 2, "--out", tmp_path / "r")
    fitted = load(tmp_path / "r" / "model.npz")
    logs = np.log2(1 + np.maximum(X, 10))
    kept = np.sort(np.argsort(-logs.var(axis=0))[:6])
    scaled = (logs[:, kept] - logs[:, kept].mean(0)) / logs[:, kept].std(0)
    assert fitted.feature_names_in_.tolist() == [f"v{j + 1}" for j in kept]
    plain = PSC(2, affine=True, random_state=0).fit(scaled)
    np.testing.assert_array_equal(fitted.labels_, plain.labels_)
    np.savez(tmp_path / "some.npz", X=X[10:20])
    ended = run("predict", tmp_path / "r" / "model.npz", tmp_path / "some.npz")
    assert clusters_of(ended.out) == plain.predict(scaled[10:20]).tolist()


def test_a_model_without_names_takes_columns_as_they_come(run, fails, union_file, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 5))
    PSC(2, random_state=0).fit(X).save(tmp_path / "m.npz")
    assert run("predict", tmp_path / "m.npz", union_file, "--labels", "type").code == 0
    np.savez(tmp_path / "narrow.npz", X=X[:, :3])
    assert "3 features" in fails("predict", tmp_path / "m.npz", tmp_path / "narrow.npz")


def test_the_answer_goes_to_a_file_or_into_json(run, fails, model, union_file, tmp_path):
    out = tmp_path / "new.csv"
    assert run("predict", model, union_file, "--labels", "type", "--out", out).out == ""
    printed = run("predict", model, union_file, "--labels", "type").out
    assert out.read_text() == printed
    said = fails("predict", model, union_file, "--labels", "type", "--out", out)
    assert said == f"{out} already exists. Choose another --out, or add --force to overwrite it."
    again = run("predict", model, union_file, "--labels", "type", "--out", out, "--force", "--json")
    found = [row["cluster"] for row in again.document["samples"]]
    assert found == clusters_of(printed)
    assert again.document["in_right_cluster"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "does not exist"), (b"no model", "is not a model, or is damaged")],
)
def test_what_is_no_model(fails, union_file, tmp_path, content, message):
    path = tmp_path / "m.npz"
    if content:
        path.write_bytes(content)
    said = fails("predict", path, union_file, "--labels", "type")
    assert said.startswith(str(path))
    assert message in said
    assert "the model.npz that subspaces fit wrote, " in said


def test_the_model_beside_another_file_is_named(fails, model, union_file):
    said = fails("predict", model.with_name("labels.csv"), union_file)
    assert said.endswith(f"Use {model}.")


def test_a_pca_has_no_clusters_to_predict(fails, union_file, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 6)) * [5, 4, 1, 1, 1, 1]
    PCA(1).fit(X).save(tmp_path / "pca.npz")
    for command in (
        ["predict", tmp_path / "pca.npz", union_file],
        ["report", tmp_path / "pca.npz"],
    ):
        assert "pca.npz is a PCA, so it has no clusters" in fails(*command)


def ratios_of(text):
    return np.array([float(row["distance_ratio"]) for row in csv.DictReader(io.StringIO(text))])


def test_members_are_as_far_as_members(run, model, union_file):
    ended = run("predict", model, union_file, "--labels", "type")
    labels, ratios = load(model).labels_, ratios_of(ended.out)
    for k in (0, 1):
        assert np.median(ratios[labels == k]) == pytest.approx(1.0, abs=1e-3)
    assert "times as far from their cluster" not in ended.err


def test_a_table_in_other_units_is_not_placed_in_silence(run, model, union_file, tmp_path):
    frame = pd.read_csv(union_file)
    numbers = frame.select_dtypes("number").columns
    frame[numbers] *= 100
    frame.to_csv(tmp_path / "hundredfold.csv", index=False)
    usual = ratios_of(run("predict", model, union_file, "--labels", "type").out)
    ended = run("predict", model, tmp_path / "hundredfold.csv", "--labels", "type")
    np.testing.assert_allclose(ratios_of(ended.out), 100 * usual, rtol=0.01, atol=0.1)
    assert "times as far from their cluster" in ended.err
