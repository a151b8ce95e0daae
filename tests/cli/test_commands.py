"""select, compare, influence, simulate, demo."""

import csv
import re
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_iris

from subspaces.app.cli._options import METHOD_NAMES
from subspaces.app.tables import read_table
from subspaces.comparison import METHODS
from subspaces.datasets import SCENARIOS, make_scenario
from subspaces.diagnostics import pca_influence


def test_select_prints_the_table_and_the_choice(run, union_file):
    asked = ["select", union_file, "--labels", "type", "--max-clusters", 3, "--variables", 3]
    ended = run(*asked)
    assert ended.code == 0, ended.err
    assert re.search(r"^ +2 .* <- chosen", ended.out, re.MULTILINE)
    document = run(*asked, "--json").document
    assert document["chosen"] == 2
    assert ended.out.splitlines()[-1] == document["verdict"]
    assert any("--dims was not given" in words for words in document["warnings"])
    assert document["table"]["n_clusters"] == [1, 2, 3]


@pytest.mark.parametrize("dims", [[], ["--dims", 2], ["--linear"]])
def test_select_and_fit_choose_the_same_number(run, tmp_path, dims):
    iris = load_iris()
    path = tmp_path / "iris.csv"
    np.savetxt(path, iris.data, delimiter=",", header="sl,sw,pl,pw", comments="")
    fit = run("fit", path, *dims, "--out", tmp_path / "r", "--no-page", "--no-stability", "--json")
    ended = run("select", path, *dims)
    assert ended.code == 0, ended.err
    chosen = len(fit.document["clusters"])
    assert re.search(rf"^ +{chosen} .* <- chosen", ended.out, re.MULTILINE)
    document = run("select", path, *dims, "--json").document
    criterion = "likelihood" if "--dims" in dims else "icl"
    assert (document["chosen"], document["criterion"]) == (chosen, criterion)
    assert document["grade"] == fit.document["selection"]["grade"]
    assert not any("--dims was not given" in words for words in document["warnings"])


def test_select_says_that_the_most_clusters_tried_were_chosen(run, union_file):
    asked = ["select", union_file, "--labels", "type", "--max-clusters", 2, "--json"]
    (words,) = run(*asked).document["warnings"]
    assert words.endswith("Increase --max-clusters.")


@pytest.fixture(scope="module")
def skewed_file(tmp_path_factory):
    values = np.exp(np.random.default_rng(0).normal(size=(120, 12)))
    path = tmp_path_factory.mktemp("skewed") / "skewed.csv"
    np.savetxt(path, values, delimiter=",", header=",".join("abcdefghijkl"), comments="")
    return path


def test_significance_is_what_the_warning_of_skewed_values_advises(run, skewed_file, tmp_path):
    asked = ["--affine", "--max-clusters", 3]
    assert "subspaces fit --significance" in run("select", skewed_file, *asked).err
    fit = ["fit", skewed_file, "--no-page", "--out", tmp_path / "r", "--json", "--no-stability"]
    ended = run(*fit, *asked, "--significance")
    assert ended.code == 0, ended.err
    assert ended.document["significance"]["grade"] != "sure"


def test_limits_of_what_is_chosen(run, fails, union_file, tmp_path):
    fit = [
        "fit",
        union_file,
        "--labels",
        "type",
        "--no-page",
        "--no-stability",
        "--out",
        tmp_path / "r",
        "--json",
    ]
    ended = run(*fit, "--clusters", "auto", "--max-clusters", 2, "--dims", "auto", "--max-dims", 1)
    assert ended.code == 0, ended.err
    assert ended.document["limits"] == {"max_clusters": 2, "max_components": 1}
    assert max(ended.document["selection"]["n_clusters"]) == 2
    assert "reached --max-dims 1" in ended.err
    assert "Increase --max-dims" in ended.err
    refused = fails(*fit, "--clusters", 2, "--max-clusters", 5)
    assert "--max-clusters only works with --clusters auto" in refused
    assert "--max-dims only works with --dims auto" in fails(*fit, "--dims", 2, "--max-dims", 5)
    assert "--max-dims only works with --dims auto" in fails(
        "select", union_file, "--max-dims", 5, "--dims", 2
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variables", "auto"], "--variables"),
        (["--dims", "1,2"], "--dims '1,2' is not a whole number"),
    ],
)
def test_select_says_what_is_wrong(fails, union_file, arguments, message):
    assert message in fails("select", union_file, "--labels", "type", *arguments)


def test_compare_prints_one_row_per_method(run, union_file):
    ended = run(
        "compare", union_file, "--clusters", 2, "--labels", "type", "--methods", "kmeans, PSC"
    )
    assert ended.code == 0, ended.err
    assert ended.out.index("PSC") < ended.out.index("KMeans")
    assert "1.000" in ended.out


def test_compare_names_a_method_that_fails(run, fails, union_file):
    arguments = ["compare", union_file, "--clusters", 2, "--labels", "type", "--dims", "5"]
    ended = run(*arguments, "--methods", "PSC,GPCA")
    assert ended.code == 0
    assert re.search(r"GPCA +failed", ended.out)
    assert "GPCA failed: " in ended.err
    assert "ValueError" not in ended.err
    assert "PSC warns: --dims 5 equals the rank" in ended.err
    assert run(*arguments, "--methods", "GPCA").code == 1
    document = run(*arguments, "--methods", "PSC,GPCA", "--json").document
    assert document["table"]["method"] == ["PSC", "GPCA"]
    assert document["table"]["ari"][1] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clusters", 2, "--dims", "two"], "--dims 'two'"),
        (["--clusters", 2, "--dims", "auto"], "compare does not take --dims auto"),
        (["--clusters", 2, "--methods", "psc,PCS"], "--methods PCS is unknown. Choose from PSC"),
        (["--clusters", 2, "--methods", ","], "--methods is empty"),
        (["--clusters", 2, "--dims", "1,2,3"], "3 numbers for --clusters 2"),
        (["--clusters", 99], "--clusters 99 is out of range for 40 samples"),
    ],
)
def test_compare_says_what_is_wrong(fails, union_file, arguments, message):
    assert message in fails("compare", union_file, "--labels", "type", *arguments)


def test_the_names_of_the_methods_are_those_of_compare():
    assert tuple(METHODS) == METHOD_NAMES


def test_influence_ranks_the_samples_of_one_pca(run, union_file, tmp_path):
    table = read_table(union_file, labels="type")
    arguments = ["influence", union_file, "--labels", "type", "--dims", 1]
    found = pca_influence(table.data, 1, center=True)
    order = np.argsort(-found.influence)
    ended = run(*arguments, "--top", 3, "--out", tmp_path / "i.csv")
    shown = [line for line in ended.out.splitlines() if line.startswith("sample ")]
    names = [table.sample_names[i] for i in order]
    assert [" ".join(line.split()[:2]) for line in shown[-3:]] == names[:3]
    with (tmp_path / "i.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["sample"] for row in rows] == names
    assert [float(r["error"]) for r in rows] == pytest.approx(found.loo_error[order], rel=1e-5)
    plain = pca_influence(table.data, 1, center=False)
    by_leverage = run(*arguments, "--no-center", "--by", "leverage", "--json").document
    order = np.argsort(-plain.leverage)
    assert [row["sample"] for row in by_leverage["samples"]] == [f"sample {i}" for i in order]
    assert by_leverage["press"] == pytest.approx(plain.loo_error.mean())


def test_influence_says_what_is_wrong(fails, union_file):
    said = fails("influence", union_file, "--labels", "type", "--dims", 6)
    assert "--dims 6 is out of range for 40 samples and 5 variables" in said


def test_the_number_of_axes_that_influence_advises_can_be_used(run, fails, tmp_path):
    (tmp_path / "two.csv").write_text("a,b\n1,2\n3,5\n")
    assert fails("influence", tmp_path / "two.csv").endswith("Use 0.")
    ended = run("influence", tmp_path / "two.csv", "--dims", 0)
    assert ended.code == 0, ended.err


def test_the_example_of_report_works_after_a_fit(run, union_file, tmp_path, monkeypatch):
    pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    fit = run("fit", union_file, "--labels", "type", "--clusters", 2, "--no-stability")
    assert fit.code == 0, fit.err
    told = run("report", "--help").out
    example = re.search(r"^ +subspaces (report result/.*)$", told, re.MULTILINE)
    ended = run(*example[1].split())
    assert ended.code == 0, ended.err


def test_simulate_writes_what_the_library_draws(run, fails, tmp_path):
    path = tmp_path / "d.csv"
    ended = run("simulate", "d", "--noise", 0.05, "--seed", 3, "--out", path)
    assert ended.code == 0, ended.err
    assert f"Next: subspaces fit {path} --labels cluster --clusters 3 --dims 1,2,3" in ended.out
    table = read_table(path, labels="cluster")
    drawn = make_scenario("d", noise=0.05, random_state=3)
    np.testing.assert_allclose(table.data, drawn.data, rtol=1e-5)
    assert table.classes == tuple(f"c{label}" for label in drawn.target)
    assert "already exists" in fails("simulate", "d", "--out", path)
    assert "is a folder" in fails("simulate", "d", "--out", tmp_path, "--force")
    assert "Missing argument 'scenario'. Choose from: a, b, c, d, e (see" in fails("simulate")
    document = run("simulate", "c", "--sparse", "--out", path, "--force", "--json").document
    assert document["dims"] == [2, 2]
    assert read_table(path, labels="cluster").data.shape == (200, 200)
    assert "(see: subspaces simulate --help)" in fails("simulate", "f", "--out", path)


def test_every_scenario_can_be_asked_for(run, tmp_path):
    for name in SCENARIOS:
        assert run("simulate", name, "--out", tmp_path / f"{name}.csv").code == 0


def test_demo_prints_a_summary_and_says_where_the_figures_are(run, fails, monkeypatch, tmp_path):
    monkeypatch.setattr("subspaces.psc.best_partition.DEFAULT_STARTS", 1)
    out = tmp_path / "a new" / "folder"
    ended = run("demo", "--out", out)
    assert ended.code == 0, ended.err
    assert ended.out.count("K-means") == 3
    penguins, planes, _ = re.findall(r"^PSC.* (\d\.\d+) ", ended.out, re.MULTILINE)
    assert float(penguins) > 0.9
    assert float(planes) > 0.9
    for name in ("candidates.png", "clusters.png"):
        assert (out / name).stat().st_size > 10_000
        assert str(out / name) in ended.out
    assert (out / "report.html").exists() == (find_spec("plotly") is not None)
    assert (out / "pca.html").exists() == (find_spec("plotly") is not None)
    for name in ("report.html", "pca.html"):
        assert f"Page:   {out / name}" in ended.out or "'subspaces[report]'" in ended.out
    assert "1 of 178 samples does not fit this PCA" in ended.out
    assert "is a file, not a folder" in fails("demo", "--out", out / "clusters.png")


def test_demo_names_all_that_it_needs(fails, monkeypatch, tmp_path):
    monkeypatch.setattr("subspaces.app.cli.demo.find_spec", lambda name: None)
    said = fails("demo", "--out", tmp_path / "out", code=1)
    assert said.endswith("pip install 'subspaces[cli,plots,report]'")
    assert not (tmp_path / "out").exists()


def test_compare_speaks_of_the_right_cluster_as_fit_does(run, union_file):
    options = ("--clusters", 2, "--methods", "PSC", "--labels", "type")
    said = run("compare", union_file, *options).out
    assert "in the right cluster" in said
    assert "100.0 %" in said
