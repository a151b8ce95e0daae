"""Markers that ``subspaces fit`` writes: for the table, for enrichment tools, on the screen."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from subspaces import KSubspaces, load
from subspaces.app.cli import _markers


def write_counts(path, n=45, p=90, seed=0):
    """Counts of three types of cells; type k is high in genes 10 k to 10 k + 9."""
    random = np.random.default_rng(seed)
    kinds = np.repeat([0, 1, 2], n // 3)
    X = random.poisson(30.0, (n, p))
    for k in range(3):
        X[kinds == k, 10 * k : 10 * k + 10] *= 9
    frame = pd.DataFrame(X, [f"cell{i}" for i in range(n)], [f"gene{j}" for j in range(p)])
    frame.insert(0, "type", kinds)
    frame.to_csv(path)
    return path


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    return write_counts(tmp_path_factory.mktemp("counts") / "counts.csv")


def fit(run, counts, out, *more, clusters=3):
    return run(
        "fit", counts, "--labels", "type", "--clusters", clusters, "--no-stability", "--out", out,
        *more,
    )  # fmt: skip


PRESET = ("--preset", "expression", "--kind", "counts", "--no-page")


def test_the_preset_writes_markers_of_all_genes(run, counts, tmp_path):
    ended = fit(run, counts, tmp_path / "r", *PRESET, "--top-variables", 40)
    assert ended.code == 0
    table = pd.read_csv(tmp_path / "r" / "markers.csv")
    assert len(table) == 3 * 90  # though 40 genes were clustered
    labels = pd.read_csv(tmp_path / "r" / "labels.csv")
    for k, part in table.groupby("cluster"):
        kind = labels["class"][labels["cluster"] == k].iloc[0]
        genes = {f"gene{j}" for j in range(10 * kind, 10 * kind + 10)}
        assert set(part["variable"][:10]) == genes
        assert part["rank"].tolist() == list(range(1, 91))
        assert (part["fdr_split"][:10] <= 0.05).all()
        assert (part["share_in"] == 1).all()
    raw = pd.read_csv(counts, index_col=0)
    found = load(tmp_path / "r" / "model.npz").markers(raw.drop(columns="type"), 0)
    own = table[table["cluster"] == 0]
    assert own["variable"].tolist() == found.columns["variable"].tolist()
    np.testing.assert_allclose(own["p_value"], found.columns["p_value"], rtol=1e-5)
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["markers"]["grade"] == "sure"
    names = {"markers.csv", "markers.gmt", "markers_0.rnk", "markers_1.rnk", "markers_2.rnk"}
    assert names <= {path.name for path in (tmp_path / "r").iterdir()}


def test_the_summary_names_the_strongest(run, counts, tmp_path):
    found = fit(run, counts, tmp_path / "r", *PRESET, "--json").document["markers"]
    assert found["one_group"] == 0.01
    assert [entry["cluster"] for entry in found["clusters"]] == [0, 1, 2]
    assert all(len(entry["higher"]) == 5 for entry in found["clusters"])
    assert all(entry["fdr_split_at_most_0.05"] >= 10 for entry in found["clusters"])


def test_enrichment_tools_get_lists_and_sets(run, counts, tmp_path):
    fit(run, counts, tmp_path / "r", *PRESET)
    table = pd.read_csv(tmp_path / "r" / "markers.csv")
    for k in range(3):
        with (tmp_path / "r" / f"markers_{k}.rnk").open() as file:
            rows = list(csv.reader(file, delimiter="\t"))
        own = table[table["cluster"] == k].set_index("variable")["effect"]
        assert {name: float(value) for name, value in rows} == own.to_dict()
        assert (np.diff([float(value) for _, value in rows]) <= 0).all()
    sets = {}
    for line in (tmp_path / "r" / "markers.gmt").read_text().splitlines():
        name, described, *genes = line.split("\t")
        sets[name] = genes
        assert "than in the other samples" in described
    assert {name for name in sets if name.endswith("up")} == {f"cluster_{k}_up" for k in range(3)}
    up = table[(table["cluster"] == 0) & (table["difference"] > 0) & (table["fdr_split"] <= 0.05)]
    assert sets["cluster_0_up"] == up["variable"].tolist()[:100]


def test_clusters_of_noise_have_no_sets_and_no_strongest(run, tmp_path):
    noise = np.random.default_rng(0).normal(8, 1, (40, 60))
    pd.DataFrame(noise).add_prefix("gene").to_csv(tmp_path / "noise.csv", index=False)
    ended = run("fit", tmp_path / "noise.csv", "--clusters", 2, "--dims", 0, "--affine",
                "--no-stability", "--markers", "--json", "--out", tmp_path / "r")  # fmt: skip
    table = pd.read_csv(tmp_path / "r" / "markers.csv")
    assert (table["fdr"] <= 0.05).any()  # the optimistic rate calls some
    assert (tmp_path / "r" / "markers.gmt").read_text() == ""
    for entry in ended.document["markers"]["clusters"]:
        assert (entry["higher"], entry["lower"]) == ([], [])
    page = (tmp_path / "r" / "report.html").read_text()
    assert page.count("none beyond chance") == 4


def test_markers_are_an_option_elsewhere_and_can_be_refused(run, counts, tmp_path):
    asked = fit(run, counts, tmp_path / "a", "--dims", 0, "--affine", "--log", "--no-page",
                "--markers")  # fmt: skip
    assert asked.code == 0
    assert len(pd.read_csv(tmp_path / "a" / "markers.csv")) == 3 * 90
    fit(run, counts, tmp_path / "b", "--dims", 0, "--affine", "--log", "--no-page")
    fit(run, counts, tmp_path / "c", *PRESET, "--no-markers")
    for folder in ("b", "c"):
        assert not list((tmp_path / folder).glob("markers*"))


def test_older_lists_go_with_the_result_they_belong_to(run, counts, tmp_path):
    fit(run, counts, tmp_path / "r", *PRESET)
    refused = fit(run, counts, tmp_path / "r", *PRESET, clusters=2)
    assert refused.code == 2
    assert (tmp_path / "r" / "markers_2.rnk").exists()
    assert fit(run, counts, tmp_path / "r", *PRESET, "--force", clusters=2).code == 0
    lists = sorted(path.name for path in (tmp_path / "r").glob("markers*"))
    assert lists == ["markers.csv", "markers.gmt", "markers_0.rnk", "markers_1.rnk"]
    fit(run, counts, tmp_path / "r", *PRESET, "--force", "--no-markers", clusters=2)
    assert not list((tmp_path / "r").glob("markers*"))


def test_one_cluster_has_no_markers(run, counts, tmp_path):
    ended = fit(run, counts, tmp_path / "r", *PRESET, clusters=1)
    assert ended.code == 0
    assert not list((tmp_path / "r").glob("markers*"))


def test_halves_that_cannot_be_clustered_leave_the_naive_p_values(run, counts, tmp_path):
    table = pd.read_csv(counts, index_col=0)[["type", "gene0"]]
    table.to_csv(tmp_path / "one.csv")
    ended = fit(run, tmp_path / "one.csv", tmp_path / "r", "--dims", 0, "--affine", "--no-page",
                "--markers", clusters=2)  # fmt: skip
    assert ended.code == 0
    assert "Note: The split-half test was skipped" in ended.err
    found = pd.read_csv(tmp_path / "r" / "markers.csv")
    assert "fdr_split" not in found
    assert found["p_value"].notna().all()


def test_the_page_has_the_markers(run, counts, tmp_path):
    pytest.importorskip("plotly")
    fit(run, counts, tmp_path / "r", *PRESET[:-1])
    page = (tmp_path / "r" / "report.html").read_text()
    assert 'id="markers"' in page
    assert ">Split FDR</button>" in page


def test_what_is_doubtful_about_markers_is_said_on_the_page_too(run, counts, tmp_path):
    pytest.importorskip("plotly")
    frame = pd.read_csv(counts, index_col=0)
    genes = [name for name in frame if name.startswith("gene")]
    frame.loc[frame["type"] == 2, genes] *= 4  # as if sequenced four times as deep
    frame.to_csv(tmp_path / "deep.csv")
    ended = fit(run, tmp_path / "deep.csv", tmp_path / "r", *PRESET[:-1])
    told = "times the counts per sample of another"
    assert told in ended.err
    again = tmp_path / "again.html"
    assert run("report", tmp_path / "r", "--out", again).code == 0
    for page in (tmp_path / "r" / "report.html", again):
        assert told in page.read_text()


def test_missing_cells_are_left_out_and_told(run, tmp_path):
    pytest.importorskip("plotly")
    random = np.random.default_rng(0)
    X = random.normal(8, 1, (40, 30))
    X[:20, :6] += 4
    X[[3, 9, 25], [1, 20, 7]] = np.nan
    X[:20, 29] = np.nan  # no value at all inside a cluster
    pd.DataFrame(X).add_prefix("gene").to_csv(tmp_path / "gaps.csv", index=False)
    ended = run("fit", tmp_path / "gaps.csv", "--clusters", 2, "--dims", 0, "--affine",
                "--no-stability", "--markers", "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0
    assert "no markers" not in ended.err
    said = json.loads((tmp_path / "r" / "summary.json").read_text())["markers"]["verdict"]
    assert "23 missing values were skipped" in said
    assert "2 differences were not tested" in said
    table = pd.read_csv(tmp_path / "r" / "markers.csv")
    assert set(table["variable"][:6]) == {f"gene{j}" for j in range(6)}
    assert (table["fdr_split"][:6] <= 0.05).all()
    assert table.set_index("variable").loc["gene29", "p_value"].isna().all()
    lines = (tmp_path / "r" / "markers_0.rnk").read_text().splitlines()
    names = [line.split("\t")[0] for line in lines]
    assert sorted(names) == sorted(f"gene{j}" for j in range(29))
    page = (tmp_path / "r" / "report.html").read_text()
    assert "23 missing values were skipped" in page
    assert "nan %" not in page


def test_a_common_shift_of_genes_is_told_on_the_page_too(run, tmp_path):
    pytest.importorskip("plotly")
    random = np.random.default_rng(0)
    rates = np.tile(random.lognormal(-1.5, 1.5, 500), (240, 1))
    rates[:80, :30] *= 8
    frame = pd.DataFrame(random.poisson(rates)).add_prefix("gene")
    frame.to_csv(tmp_path / "few.csv", index=False)
    ended = run("fit", tmp_path / "few.csv", "--clusters", 2, "--no-stability", *PRESET[:-1],
                "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0, ended.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    told = [words for words in summary["warnings"] if "most genes" in words.lower()]
    assert len(told) == 1
    assert told[0][1:] in (tmp_path / "r" / "report.html").read_text()


def test_no_name_in_the_lists_is_a_formula(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (40, 6))
    X[:20] += 6
    names = ["=cmd|' /C calc'!A0", "\uff1dcmd", "@SUM(1)", "-x", " +y", "CD3+"]
    model = KSubspaces(2, n_components=0, affine=True, random_state=0).fit(X)
    _markers.write(tmp_path, model.markers(pd.DataFrame(X, columns=names)))
    ranked = [line.split("\t")[0] for line in (tmp_path / "markers_0.rnk").read_text().splitlines()]
    sets = [line.split("\t") for line in (tmp_path / "markers.gmt").read_text().splitlines()]
    expected = {"'=cmd|' /C calc'!A0", "'\uff1dcmd", "'@SUM(1)", "'-x", "'+y", "CD3+"}
    assert set(ranked) == set(sets[0][2:]) == expected
