"""A model that the command line prepared the samples for takes raw samples in Python, too."""

import csv
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

from subspaces import load
from subspaces.diagnostics import stability
from subspaces.runtime import model_file
from tests.warned import refuses, warns


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def genes():
    random = np.random.default_rng(0)
    data = 2.0 ** random.normal(8, 1, (45, 60))
    data[:15, :8] *= 30
    data[15:30, 20:28] *= 30
    return pd.DataFrame(data, [f"s{i}" for i in range(45)], [f"g{j}" for j in range(60)])


SETTINGS = {
    "scaled": ["--clusters", 3, "--scale", "--affine", "--dims", 1],
    "curved": [
        "--clusters",
        3,
        "--floor",
        20,
        "--log",
        "--top-variables",
        7,
        "--affine",
        "--dims",
        1,
    ],
    "screened": ["--clusters", 3, "--top-variables", 7],
    "mixture": ["--clusters", 3, "--scale", "--method", "mppca"],
    "weights": ["--clusters", 3, "--scale", "--method", "sparsekmeans"],
}


def fitted(run, frame, folder, *options):
    frame.to_csv(folder / "data.csv", index_label="sample")
    ended = run(
        "fit", folder / "data.csv", *options, "--out", folder / "r", "--no-page", "--no-stability"
    )
    assert ended.code == 0, ended.err
    return load(folder / "r" / "model.npz")


def predicted(run, folder):
    """The clusters that the command gives to the samples, and how it doubts them."""
    ended = run("predict", folder / "r" / "model.npz", folder / "data.csv")
    assert ended.code == 0, ended.err
    return pd.read_csv(io.StringIO(ended.out))


@pytest.mark.parametrize("kind", SETTINGS)
def test_raw_samples_get_the_clusters_that_the_command_gives_them(run, wine, tmp_path, kind):
    model = fitted(run, wine, tmp_path, *SETTINGS[kind])
    answer = predicted(run, tmp_path)
    found = model.predict(wine)
    assert found.tolist() == answer["cluster"].tolist()
    assert (found == model.labels_).mean() > 0.97  # predict takes members for outsiders
    np.testing.assert_array_equal(model.transform(wine).argmin(axis=1), found)
    with (tmp_path / "r" / "labels.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [int(row["cluster"]) for row in written] == model.labels_.tolist()
    if "probability" in written[0]:
        rows = np.arange(len(found))
        kept = [float(row["probability"]) for row in written]
        np.testing.assert_allclose(kept, model.probabilities_[rows, model.labels_], atol=1e-6)
        new = model.predict_proba(wine)
        np.testing.assert_allclose(answer["probability"], new[rows, found], atol=1e-6)
        second = np.argsort(-new, axis=1, kind="stable")[:, 1]
        assert second.tolist() == answer["second_cluster"].tolist()


def test_the_expression_preset_goes_with_the_model(run, genes, tmp_path):
    model = fitted(run, genes, tmp_path, "--clusters", 3, "--preset", "expression")
    assert str(model.preparation_) == (
        "values below 20 raised to 20, log2, samples centred, variables centred, kept the first "
        "3 principal axes"
    )
    assert model.predict(genes).tolist() == predicted(run, tmp_path)["cluster"].tolist()
    assert model.predict(genes).tolist() == np.repeat(range(3), 15).tolist()


def test_raw_samples_spread_over_all_clusters(run, wine, tmp_path):
    """Raw wine all went to one cluster: its largest variable is in the thousands."""
    model = fitted(run, wine, tmp_path, *SETTINGS["scaled"])
    assert np.bincount(model.predict(wine), minlength=3).min() > 20


def test_columns_are_found_by_name_in_any_order_among_others(run, wine, tmp_path):
    model = fitted(run, wine, tmp_path, *SETTINGS["curved"])
    shuffled = wine[wine.columns[::-1]].assign(kind="text")
    for method in ("predict", "transform", "reconstruct"):
        expected = getattr(model, method)(wine)
        np.testing.assert_array_equal(getattr(model, method)(shuffled), expected)
        np.testing.assert_array_equal(getattr(model, method)(polars.DataFrame(shuffled)), expected)
    for one, other in zip(model.project(shuffled), model.project(wine), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_array_has_the_columns_that_the_model_names(run, wine, tmp_path):
    model = fitted(run, wine, tmp_path, *SETTINGS["curved"])
    assert model.n_features_in_ == len(model.feature_names_in_) == 7
    needed = wine[list(model.feature_names_in_)]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = model.predict(needed.to_numpy())
    np.testing.assert_array_equal(found, model.predict(wine))


def test_the_variables_that_every_sample_is_centred_over_are_inputs(run, genes, tmp_path):
    model = fitted(run, genes.iloc[:, :30], tmp_path, "--clusters", 2, "--preset", "expression")
    assert model.feature_names_in_.tolist() == genes.columns[:30].tolist()
    assert model.n_features_in_ == 30


def test_wrong_columns_are_refused(run, wine, tmp_path):
    model = fitted(run, wine, tmp_path, *SETTINGS["scaled"])
    said = "lacks 1 of the 13 variables of the model: alcohol."
    with pytest.raises(ValueError, match=said):
        model.predict(wine.drop(columns="alcohol"))
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match="X has 12 features, but PSC is expecting 13"),
    ):
        model.transform(wine.to_numpy()[:, 1:])
    with refuses("X", naming=["0 and 1"]):
        model.predict(pd.concat([wine[["alcohol"]], wine], axis=1))


def test_values_that_have_no_logarithm_are_named(run, wine, tmp_path):
    model = fitted(run, wine, tmp_path, "--clusters", 2, "--log", "--affine")
    wrong = wine.copy()
    wrong.iloc[3, 2] = -5
    with refuses("log", sample="3", variable="ash"):
        model.predict(wrong)


def test_a_scaled_model_reconstructs_in_raw_units_and_others_in_prepared_ones(run, wine, tmp_path):
    model = fitted(run, wine, tmp_path, *SETTINGS["scaled"], "--dims", 3)
    scaled = (wine - wine.mean()) / wine.std(ddof=0)
    own = np.array([model.subspaces_[k].centre for k in model.predict(wine)])
    rest = (wine.to_numpy() - model.reconstruct(wine)) / wine.std(ddof=0).to_numpy()
    distance = np.linalg.norm(rest, axis=1)
    assert (distance <= np.linalg.norm(scaled.to_numpy() - own, axis=1)).all()
    model = fitted(run, wine, tmp_path, "--clusters", 2, "--log", "--affine", "--force")
    logs = np.log2(1 + wine.to_numpy())
    assert np.abs(model.reconstruct(wine) - logs).max() < 3


def test_a_saved_copy_keeps_its_preparation(run, wine, tmp_path):
    model = fitted(run, wine, tmp_path, *SETTINGS["curved"])
    model.save(tmp_path / "again.npz")
    again = load(tmp_path / "again.npz")
    assert str(again.preparation_) == str(model.preparation_)
    assert str(model.preparation_) == (
        "values below 20 raised to 20, log2 of the value plus 1, kept the 7 of 13 variables that "
        "vary most"
    )
    assert "7 of 13" in repr(model.preparation_)
    np.testing.assert_array_equal(again.transform(wine), model.transform(wine))
    assert set(again.get_variables(0)) <= set(again.feature_names_in_)


def test_a_preparation_that_leads_elsewhere_is_refused(run, wine, tmp_path):
    fitted(run, wine, tmp_path, *SETTINGS["curved"])
    path = tmp_path / "r" / "model.npz"
    saved = model_file.read(path)
    elsewhere = replace(saved.state["preparation_"], inputs=["a", "b"])
    model_file.write(path, replace(saved, state=saved.state | {"preparation_": elsewhere}))
    with pytest.raises(ValueError, match="is damaged"):
        load(path)


def test_a_page_is_written_from_raw_samples(run, wine, tmp_path):
    model = fitted(run, wine, tmp_path, *SETTINGS["curved"])
    page = model.report(wine, tmp_path / "page.html").read_text()
    assert str(model.preparation_) in page
    with pytest.raises(ValueError, match="X is not the table the model was fitted to"):
        model.report(wine * 1.5, tmp_path / "page.html")


def test_a_new_fit_takes_its_samples_as_they_are(run, wine, tmp_path):
    model = fitted(run, wine, tmp_path, *SETTINGS["scaled"])
    with warns("unlike_scales"):
        model.fit(wine)
    assert not hasattr(model, "preparation_")
    with warns("unlike_scales"):
        expected = clone(model).fit(wine)
    np.testing.assert_array_equal(model.predict(wine), expected.predict(wine))


def test_halves_are_prepared_as_the_whole(run, wine, tmp_path):
    model = fitted(run, wine, tmp_path, *SETTINGS["scaled"])
    scaled = ((wine - wine.mean()) / wine.std(ddof=0)).to_numpy()
    raw = stability(model, wine, n_resamples=2, random_state=0)
    expected = stability(clone(model), scaled, n_resamples=2, random_state=0)
    assert raw.stability == expected.stability
