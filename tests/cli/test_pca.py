"""The command ``pca``: its files, its screen, and what it refuses."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

from subspaces.app.cli import pca
from subspaces.diagnostics import pca_components, pca_influence, pca_outliers
from subspaces.pca.intervals import jackknife
from subspaces.runtime.warning import collect_warnings
from subspaces.subspace import principal_axes

FILES = ["loadings.csv", "samples.csv", "scores.csv", "summary.json"]


def columns_of(path):
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def numbers(columns, *names):
    return np.array([columns[name] for name in names], dtype=float).T


def frame_of(X):
    names = [f"sample {i}" for i in range(len(X))]
    return pd.DataFrame(X, names, [f"gene {j}" for j in range(X.shape[1])])


def write_frame(path, frame, **options):
    frame.to_csv(path, index_label="name", **options)
    return path


def simulated():
    """100 samples of 30 variables, three components far out of the noise."""
    random = np.random.default_rng(0)
    signal = random.normal(size=(100, 3)) @ random.normal(size=(3, 30))
    return signal + random.normal(size=(100, 30))


@pytest.fixture
def table(tmp_path):
    frame = frame_of(simulated()).assign(type=["low", "high"] * 50)
    return write_frame(tmp_path / "data.csv", frame)


@pytest.fixture
def noise(tmp_path):
    X = np.random.default_rng(1).normal(size=(60, 12))
    return write_frame(tmp_path / "noise.csv", frame_of(X))


@pytest.fixture
def done(run, table, tmp_path):
    ended = run("pca", table, "--labels", "type", "--no-page", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    return tmp_path / "r", ended


def test_scores_and_loadings_are_those_of_a_pca(done):
    folder, _ = done
    assert sorted(path.name for path in folder.iterdir()) == FILES
    scores, loadings = columns_of(folder / "scores.csv"), columns_of(folder / "loadings.csv")
    assert list(scores) == ["sample", "class", "PC1", "PC2", "PC3"]
    assert scores["sample"] == [f"sample {i}" for i in range(100)]
    assert scores["class"][:2] == ["low", "high"]
    sure = [f"PC{r}_{name}" for r in (1, 2, 3) for name in ("low", "high", "p_value", "mixed")]
    assert list(loadings) == ["variable", "PC1", "PC2", "PC3", *sure]
    value, low, high, chance = numbers(loadings, "PC2", *sure[4:7]).T
    assert np.all((low <= value) & (value <= high))
    np.testing.assert_array_equal(chance < 0.05, (low > 0) | (high < 0))
    mixed = [
        "yes" if found else "no"
        for found in jackknife(principal_axes(simulated() - simulated().mean(axis=0)), 3).mixed
    ]
    assert [loadings[f"PC{r}_mixed"][0] for r in (1, 2, 3)] == mixed
    assert loadings["variable"] == [f"gene {j}" for j in range(30)]
    expected = PCA(3).fit(simulated())
    heads = ("PC1", "PC2", "PC3")
    # Scikit-learn, too, makes the strongest loading of each axis positive.
    np.testing.assert_allclose(numbers(loadings, *heads), expected.components_.T, atol=1e-5)
    places = expected.transform(simulated())
    np.testing.assert_allclose(numbers(scores, *heads), places, rtol=1e-4, atol=1e-4)


def test_samples_have_the_numbers_of_the_diagnostics(done):
    folder, _ = done
    samples = columns_of(folder / "samples.csv")
    assert list(samples) == [
        "sample", "class", "influence", "leave_one_out_error", "leverage", "t2", "q",
        "outlier", "because",
    ]  # fmt: skip
    drives, out = pca_influence(simulated(), 3, center=True), pca_outliers(simulated(), 3)
    for name, values in (
        ("influence", drives.influence), ("leave_one_out_error", drives.loo_error),
        ("leverage", drives.leverage), ("t2", out.t2), ("q", out.q),
    ):  # fmt: skip
        np.testing.assert_allclose(numbers(samples, name)[:, 0], values, rtol=1e-5)
    is_out = [str(word) == "yes" for word in samples["outlier"]]
    assert np.flatnonzero(is_out).tolist() == sorted(out.outliers.tolist())


def test_the_summary_and_the_screen_say_the_verdict_first(done):
    folder, ended = done
    summary = json.loads((folder / "summary.json").read_text())
    found = pca_components(frame_of(simulated()))
    assert ended.out.splitlines()[0] == summary["verdict"] == found.verdict
    for name in ("n_components", "low", "high", "n_predictive", "noise"):
        assert summary[name] == getattr(found, name)
    assert summary["hidden"] == pytest.approx(found.hidden)
    table = summary["components"]
    assert [entry["ratio"] for entry in table] == pytest.approx(found.ratio)
    assert [entry["rests_on"] for entry in table] == [f"sample {i}" for i in found.rests_on]
    assert (summary["samples"], summary["variables"]) == (100, 30)
    assert summary["outliers_verdict"] in ended.out
    heads = "component variance % strength depends most on without it"
    assert heads in " ".join(ended.out.split())
    assert len(summary["influential"]) == 5
    for driver in summary["influential"]:
        assert driver["sample"] in ended.out
    strongest = next(iter(table[0]["strongest"].items()))
    assert f"{strongest[0]} {strongest[1]:+.2f}" in ended.out
    assert f"Wrote scores.csv and 3 more files in {folder}" in ended.out


def test_wines_from_a_file(run, tmp_path):
    wines = load_wine(as_frame=True)
    kinds = wines.target_names[wines.target]
    frame = wines.data.assign(kind=kinds).set_axis([f"wine {i}" for i in range(178)])
    path = write_frame(tmp_path / "wine.csv", frame)
    out = tmp_path / "r"
    ended = run("pca", path, "--labels", "kind", "--scale", "--no-page", "--json", "--out", out)
    assert ended.code == 0, ended.err
    document = ended.document
    found = pca_components(wines.data, scale=True)
    assert (document["n_components"], document["low"], document["high"]) == (
        found.n_components, found.low, found.high,
    )  # fmt: skip
    assert document["preparation"] == "variables scaled to mean 0 and standard deviation 1"
    assert document["folder"] == str(out)
    assert document["files"] == ["scores.csv", "loadings.csv", "samples.csv", "summary.json"]
    scaled = (wines.data - wines.data.mean()) / wines.data.std(ddof=0)
    with collect_warnings():
        expected = pca_outliers(scaled, found.n_components)
    assert [entry["sample"] for entry in document["outliers"]] == [
        f"wine {i}" for i in expected.outliers
    ]
    chances = [entry["q_p_value"] for entry in document["outliers"]]
    assert chances == pytest.approx(expected.q_p_value[expected.outliers])
    kept = json.loads((out / "summary.json").read_text())
    assert {**kept, "folder": str(out), "files": document["files"]} == document


def test_a_number_of_components_is_shown_and_the_verdict_stays(run, table, tmp_path):
    asked = ["pca", table, "--labels", "type", "--no-page", "--json", "--force"]
    asked += ["--out", tmp_path / "r"]
    for dims, heads in ((5, 5), (14, 14), (0, 0)):
        document = run(*asked, "--dims", dims).document
        assert (document["shown"], document["n_components"]) == (dims, 3)
        named = columns_of(tmp_path / "r" / "scores.csv")
        assert list(named)[2:] == [f"PC{r + 1}" for r in range(heads)]
        assert document["components"][0]["strongest"] or dims == 0
    document = run(*asked, "--dims", 14).document
    assert document["components"][13]["ratio"] is None
    assert 0 < document["components"][13]["explained"] < document["components"][0]["explained"]
    screen = run(*asked[:-4], "--force", "--out", tmp_path / "r", "--dims", 14).out
    assert screen.count("not compared") == 2


def test_no_component_is_said_plainly(run, noise, tmp_path):
    ended = run("pca", noise, "--no-page", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("No component is stronger than noise")
    assert "Set --dims 2 to see 2 axes anyway" in ended.out
    assert "most influential" not in ended.out
    assert list(columns_of(tmp_path / "r" / "scores.csv")) == ["sample"]
    assert list(columns_of(tmp_path / "r" / "loadings.csv")) == ["variable"]
    samples = columns_of(tmp_path / "r" / "samples.csv")
    X = pd.read_csv(noise, index_col=0).to_numpy()
    others = (X.sum(axis=0) - X) / (len(X) - 1)
    from_mean = ((X - others) ** 2).sum(axis=1)
    np.testing.assert_allclose(numbers(samples, "leave_one_out_error")[:, 0], from_mean, rtol=1e-5)
    ended = run("pca", noise, "--no-page", "--dims", 2, "--force", "--out", tmp_path / "r")
    assert list(columns_of(tmp_path / "r" / "scores.csv")) == ["sample", "PC1", "PC2"]
    assert "No component is stronger than noise" in ended.out


def lonely():
    """One component, and a sample that makes a second one by itself."""
    random = np.random.default_rng(1)
    X = 3 * random.normal(size=(50, 1)) @ random.normal(size=(1, 12)) + random.normal(size=(50, 12))
    X[3] = 7 * random.normal(size=12)
    return X


@pytest.mark.parametrize("name", ["X", "n_components", "it's"])
def test_a_component_that_rests_on_one_sample(run, tmp_path, name):
    frame = frame_of(lonely())
    frame.index = [name if i == 3 else f"s{i}" for i in range(50)]
    ended = run("pca", write_frame(tmp_path / "t.csv", frame), "--no-page", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    assert f"Component 2 depends on a single sample: {name!r}." in ended.err
    assert "component *\n" in ended.out
    assert pca.STAR in ended.out
    (told,) = json.loads((tmp_path / "r" / "summary.json").read_text())["messages"]
    assert told["code"] == "rests_on_one"
    assert told["parameters"] == {"components": [2], "samples": [name]}


def chained():
    """Columns that are each correlated with the one before: no number of components to find."""
    X = np.random.default_rng(0).normal(size=(150, 60))
    for j in range(1, 60):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X


def test_doubts_name_options(run, tmp_path):
    path = write_frame(tmp_path / "chained.csv", frame_of(chained()))
    out = tmp_path / "r"
    ended = run("pca", path, "--no-page", "--out", out)
    with collect_warnings() as caught:
        found = pca_components(chained())
    assert (found.n_components, len(caught)) == (0, 1)
    advice = f"Keep {found.n_predictive} components"
    assert "Note:" not in ended.err
    assert ended.out.count("number of components is unclear") == 1
    assert f"Set --dims {found.n_predictive} to see" in ended.out
    assert advice in json.loads((out / "summary.json").read_text())["warnings"][0]
    assert "not counted" in ended.out
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.normal(size=(40, 2)))[0]
    plane = random.normal(size=(90, 2)) * [6, 3] @ axes.T + random.normal(0, 0.5, (90, 40))
    path = write_frame(tmp_path / "plane.csv", frame_of(plane))
    ended = run("pca", path, "--max-dims", 2, "--no-page", "--out", out, "--force")
    assert "2 components stand out, as many as we looked for" in ended.err
    assert "a larger --max-dims" in ended.err


def test_variables_of_different_units_are_scaled_as_if_asked(run, tmp_path):
    X = (9 + simulated()) * np.geomspace(1, 1000, 30)
    path = write_frame(tmp_path / "t.csv", frame_of(X))
    documents = [
        run("pca", path, *option, "--no-page", "--json", "--out", tmp_path / f"r{i}").document
        for i, option in enumerate([[], ["--scale"], ["--no-scale"]])
    ]
    unasked, asked, kept = documents
    assert unasked["components"] == asked["components"] != kept["components"]
    assert [bool(each["taken_for"]) for each in documents] == [True, False, False]
    assert kept["preparation"] == ""
    codes = [each["code"] for document in documents for each in document["messages"]]
    assert "unlike_scales" not in codes


def test_options_reach_the_pca(run, table, tmp_path):
    base = ["pca", table, "--labels", "type", "--no-page", "--json", "--force"]
    base += ["--out", tmp_path / "r"]
    plain = run(*base).document
    assert plain["preparation"] == ""
    raw = run(*base, "--no-center").document
    found = pca_components(simulated(), center=False)
    assert raw["components"][0]["ratio"] == pytest.approx(found.ratio[0])
    assert raw["center"] is False
    assert len(run(*base, "--max-dims", 4).document["components"]) == 4
    few = run(*base, "--top-variables", 10).document
    assert few["variables"] == 10
    assert few["preparation"] == "kept the 10 of 30 variables that vary most"


def test_the_level_decides_who_does_not_belong(run, tmp_path):
    path = write_frame(tmp_path / "t.csv", frame_of(lonely()))
    counts = []
    for level in (0.05, 1e-6):
        asked = ["pca", path, "--no-page", "--json", "--force", "--out", tmp_path / "r"]
        document = run(*asked, "--level", level).document
        expected = pca_outliers(lonely(), document["shown"], level=level).outliers
        assert [found["sample"] for found in document["outliers"]] == [
            f"sample {i}" for i in expected
        ]
        counts.append(len(expected))
    assert counts[0] > counts[1] > 0


def test_a_preset_prepares_expression(run, tmp_path):
    random = np.random.default_rng(0)
    counts = random.poisson(np.exp(random.normal(1, 1, 200) + random.normal(0, 0.5, (40, 200))))
    path = write_frame(tmp_path / "counts.csv", frame_of(counts))
    out = tmp_path / "r"
    asked = ["pca", path, "--preset", "expression", "--no-page", "--json", "--force", "--out", out]
    document = run(*asked).document
    assert document["taken_for"].startswith("The values were treated as counts")
    assert "samples centred" in document["preparation"]
    few = run(*asked, "--kind", "counts", "--top-variables", 50, "--no-log").document
    assert few["variables"] == 50
    assert "log2" not in few["preparation"]
    assert len(columns_of(out / "loadings.csv")["variable"]) == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dims", 99], "--dims 99 is out of range for 100 samples and 30 variables"),
        (["--max-dims", 99], "--max-dims 99 is out of range for 100 samples and 30 variables"),
        (["--log"], "Logarithms need values of 0 or more"),
        (["--labels", "typ"], "data.csv has no column 'typ'. Did you mean 'type'"),
        (["--seed", "-1"], "(see: subspaces pca --help)"),
    ],
)
def test_a_bad_request_is_one_line_and_leaves_nothing(fails, table, tmp_path, arguments, message):
    said = fails("pca", table, "--labels", "type", *arguments, "--out", tmp_path / "a" / "r")
    assert message in said
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_a_table_that_is_too_small_leaves_nothing(fails, tmp_path):
    path = write_frame(tmp_path / "t.csv", frame_of(simulated())[:4])
    said = fails("pca", path, "--out", tmp_path / "r")
    assert "The table has only 4 samples. You need at least 5" in said
    assert not (tmp_path / "r").exists()


def test_two_variables_get_an_answer_and_a_doubt(run, tmp_path):
    path = write_frame(tmp_path / "t.csv", frame_of(simulated()).iloc[:, :2])
    ended = run("pca", path, "--json", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    assert (ended.document["code"], ended.document["shown"]) == ("too_small", 1)
    ended = run("pca", path, "--out", tmp_path / "other")
    assert "not compared" in ended.out


def test_more_components_than_the_samples_span_are_refused(run, fails, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2)) @ random.normal(size=(2, 8))
    path = write_frame(tmp_path / "t.csv", frame_of(X))
    said = fails("pca", path, "--dims", 5, "--out", tmp_path / "r")
    assert said == ("--dims 5 is out of range for a table of rank 2. Use 0 to 2.")
    ended = run("pca", path, "--dims", 2, "--out", tmp_path / "r", "--no-page")
    assert ended.code == 0, ended.err
    assert "no noise" in ended.out.splitlines()[4]


def test_a_fit_and_a_pca_have_folders_of_their_own(run, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit = ["fit", table, "--labels", "type", "--clusters", 2, "--no-page", "--no-stability"]
    assert run(*fit).code == run("pca", table, "--labels", "type", "--no-page").code == 0
    assert (tmp_path / "result" / "model.npz").exists()
    assert (tmp_path / "pca" / "scores.csv").exists()


def test_the_page_comes_with_the_results(run, table, tmp_path):
    pytest.importorskip("plotly")
    ended = run("pca", table, "--labels", "type", "--scale", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    assert "Wrote scores.csv and 4 more files in" in ended.out
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "<title>data.csv</title>" in page
    assert (
        "How the values were prepared: variables scaled to mean 0 and standard deviation 1." in page
    )


def test_nothing_steers_the_terminal(run, tmp_path):
    frame = frame_of(lonely())
    frame.index = ["\x1b[31mred" if i == 3 else f"s{i}" for i in range(50)]
    frame.columns = ["\x1b[2Jgene" if j == 5 else name for j, name in enumerate(frame.columns)]
    path = write_frame(tmp_path / "t.csv", frame)
    ended = run("pca", path, "--no-page", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    assert "\x1b" not in ended.out + ended.err
    assert "\\x1b[31mred" in ended.out
    assert columns_of(tmp_path / "r" / "scores.csv")["sample"][3] == "\x1b[31mred"
