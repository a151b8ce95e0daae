import csv
import errno
import io
import json
import re
import sys
from pathlib import Path
from textwrap import wrap
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.main import get_command

import subspaces
from subspaces.app.cli._options import Criterion
from subspaces.app.cli.app import app
from subspaces.estimators import PSC, _base
from subspaces.facts import facts_of
from subspaces.metrics import adjusted_rand_score

FILES = ["labels.csv", "model.npz", "summary.json", "variables.csv"]


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def codes_in(folder):
    """The codes of all that a fit said of its table and its clusters."""
    summary = json.loads((folder / "summary.json").read_text())
    return {message["code"] for message in summary["messages"]}


@pytest.fixture
def fitted(run, union_file, tmp_path):
    ended = run("fit", union_file, "--labels", "type", "--clusters", 2, "--no-page",
                "--no-stability", "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0, ended.err
    return tmp_path / "r"


def test_labels_variables_model_and_summary(fitted, union_file):
    assert sorted(path.name for path in fitted.iterdir()) == FILES
    labels = rows_of(fitted / "labels.csv")
    assert [row["sample"] for row in labels] == [f"sample {i}" for i in range(40)]
    assert adjusted_rand_score([r["class"] for r in labels], [r["cluster"] for r in labels]) == 1
    model = subspaces.load(fitted / "model.npz")
    assert [int(row["cluster"]) for row in labels] == model.labels_.tolist()
    assert [float(row["influence"]) for row in labels] == pytest.approx(model.influence_, rel=1e-5)
    assert model.record_.sample_names.tolist() == [row["sample"] for row in labels]
    variables = rows_of(fitted / "variables.csv")
    for k in range(2):
        own = [row for row in variables if row["cluster"] == str(k)]
        apart = sorted(own, key=lambda row: int(row["apart_rank"]))
        names = model.get_variables(k, by="difference").tolist()
        assert [row["variable"] for row in apart] == names
        found = facts_of(model).contrast(k)
        for name, sizes in (("difference", found.difference), ("effect", found.effect)):
            written = [float(row[name]) for row in apart]
            np.testing.assert_allclose(written, sizes[found.order], rtol=1e-5)
        assert [row["variable"] for row in own] == model.get_variables(k).tolist()
        loading = dict(zip(model.feature_names_in_, model.subspaces_[k].basis[:, 0], strict=True))
        for row in own:
            assert float(row["loading_1"]) == pytest.approx(loading[row["variable"]], rel=1e-5)
        assert sum(float(row["share"]) for row in own) == pytest.approx(1, abs=1e-4)
    summary = json.loads((fitted / "summary.json").read_text())
    assert summary["adjusted_rand"] == 1
    assert [cluster["samples"] for cluster in summary["clusters"]] == [20, 20]
    assert summary["press"] == pytest.approx(model.press_)
    assert (summary["criterion"], summary["criterion_"]) == ("auto", "distance")


@pytest.mark.parametrize(
    ("arguments", "asked", "ran"),
    [
        (["--dims", "1,2"], "auto", "likelihood"),
        (["--criterion", "loo"], "loo", "loo"),
        (["--method", "RSIM"], "auto", None),
    ],
)
def test_the_summary_says_which_criterion_ran(run, union_file, tmp_path, arguments, asked, ran):
    fit = ["fit", union_file, "--labels", "type", "--clusters", 2, "--no-page", "--no-stability"]
    ended = run(*fit, *arguments, "--json", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    assert (ended.document["criterion"], ended.document["criterion_"]) == (asked, ran)


def test_the_help_begins_with_the_options_that_people_need():
    options = [one for one in get_command(app).commands["fit"].params if one.opts[0][0] == "-"]
    first = {one.opts[0] for one in options if one.rich_help_panel is None}
    assert first == {"--clusters", "--dims", "--variables", "--affine", "--scale", "--out",
                     "--seed", "--preset", "--ignore"}  # fmt: skip


def test_the_help_lists_every_criterion(run):
    said = " ".join(run("fit", "--help").out.replace("│", " ").split())
    assert f"{', '.join(get_args(Criterion))}." in said


def test_json_is_one_document_and_all_else_goes_to_stderr(run, union_file, tmp_path):
    ended = run(
        "fit", union_file, "--labels", "type", "--clusters", "auto", "--dims", "auto",
        "--max-clusters", 3, "--max-dims", 2,
        "--out", tmp_path / "r", "--json", "--no-page", "--no-stability",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert len(ended.document["clusters"]) == 2
    assert ended.document["folder"] == str(tmp_path / "r")
    assert ended.document["selection"]["n_clusters"][1] == 2
    assert ended.err.startswith("Read ")


def test_each_dimension_and_number_of_variables_is_passed_on(run, union_file, tmp_path):
    ended = run(
        "fit", union_file, "--labels", "type", "--clusters", 2, "--dims", "1,2", "--variables",
        "3,2", "--seed", 7, "--out", tmp_path / "r", "--no-page", "--no-stability",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    model = subspaces.load(tmp_path / "r" / "model.npz")
    assert model.get_params()["n_components"] == [1, 2]
    assert model.get_params()["n_variables"] == [3, 2]
    assert model.get_params()["random_state"] == 7
    rows = rows_of(tmp_path / "r" / "variables.csv")
    assert {row["loading_2"] for row in rows if row["cluster"] == "0"} == {""}
    for k in range(2):
        own = [row for row in rows if row["cluster"] == str(k)]
        found = [row["variable"] for row in own if row["within_rank"]]
        assert found == model.get_variables(k).tolist()
        assert len(own) == 5  # all differ


@pytest.mark.parametrize(
    "method", ["ksubspaces", "ensembleksubspaces", "ssc", "scc", "slbf", "gpca", "mppca", "mcfa",
               "MCtFA", "SparseKMeans"],
)  # fmt: skip
def test_every_method_leaves_its_files(run, union_file, tmp_path, method):
    ended = run(
        "fit", union_file, "--labels", "type", "--clusters", 2, "--method", method,
        "--out", tmp_path / "r", "--no-page", "--no-stability",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == FILES
    ended = run("predict", tmp_path / "r" / "model.npz", union_file, "--labels", "type")
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 41


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clusters", "two"], "--clusters 'two' is not a whole number"),
        (["--clusters", 2, "--dims", "x"], "--dims 'x' is neither a whole number"),
        (["--clusters", 3, "--dims", "1,2"], "--dims has 2 numbers for --clusters 3"),
        (["--clusters", "auto", "--dims", "1,2"], "--dims has 2 numbers for --clusters auto"),
        (["--clusters", 99], "--clusters 99 is out of range for 40 samples"),
        (["--clusters", 2, "--variables", 9], "--variables 9 is out of range for 5 variables"),
        (
            ["--clusters", 2, "--method", "PCS"],
            "--method PCS is unknown. Choose from PSC, KSubspaces",
        ),
        (["--clusters", 2, "--method", "KMeans"], "KMeans only works with"),
        (
            ["--clusters", 2, "--dims", -1, "--linear"],
            "--dims -1 is too small. Set it to 1 or more, or to 0 with --affine",
        ),
        (["--clusters", 2, "--dims", -1], "--dims -1 is too small"),
        (["--clusters", 2, "--level", 0.1], "(see: subspaces fit --help)"),
        (
            ["--clusters", "auto", "--method", "SSC"],
            "--method SSC cannot choose the number of clusters",
        ),
        (["--clusters", 2, "--method", "SSC", "--variables", 2], "--variables does not work with"),
        (["--clusters", 2, "--criterion", "x"], "'x' is not one of 'auto', 'influence'"),
        (["--clusters", 2, "--top-variables", 6], "--top-variables 6 is out of range"),
        (["--clusters", 2, "--log"], "Logarithms need values of 0 or more"),
        (["--clusters", 2, "--seed", "-1"], "(see: subspaces fit --help)"),
        (["--dims", 2, "--max-dims", 3], "--max-dims only works with --dims auto"),
    ],
)
def test_a_bad_request_is_one_line_and_leaves_nothing(
    fails, union_file, tmp_path, arguments, message
):
    said = fails("fit", union_file, "--labels", "type", *arguments, "--out", tmp_path / "a" / "r")
    assert message in said
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    ("break_it", "arguments", "message"),
    [
        (lambda text: "", [], "data.csv is empty"),
        (
            lambda text: text,
            ["--labels", "typ"],
            "data.csv has no column 'typ'. Did you mean 'type'",
        ),
        (
            lambda text: text,
            ["--labels", "sample 3"],
            "so the samples seem to be in the columns. Use --samples",
        ),
        (
            lambda text: text,
            [],
            "line 2, column 7 ('type'): 'low' is not a number. Add --ignore type",
        ),
        (
            lambda text: text.replace("gene 1", "gene 0"),
            ["--labels", "type"],
            "column 3: the variable name 'gene 0' is also at column 2",
        ),
        (
            lambda text: "".join(text.splitlines(keepends=True)[:2]),
            ["--labels", "type"],
            "has only one sample. If the samples are in the columns, add --samples columns",
        ),
    ],
)
def test_a_bad_table_is_one_line(fails, union_file, tmp_path, break_it, arguments, message):
    union_file.write_text(break_it(union_file.read_text()))
    said = fails("fit", union_file, "--clusters", 2, *arguments, "--out", tmp_path / "r")
    assert message in said
    assert not (tmp_path / "r").exists()


def test_a_missing_file_is_bad_input(fails, tmp_path):
    said = fails("fit", tmp_path / "no.csv", "--clusters", 2, "--out", tmp_path / "r")
    assert said == f"{tmp_path / 'no.csv'} does not exist. Check the path."


def test_earlier_results_need_force(run, fails, fitted, union_file):
    (fitted / "notes.txt").write_text("mine")
    before = (fitted / "labels.csv").read_bytes()
    arguments = [
        "fit",
        union_file,
        "--labels",
        "type",
        "--clusters",
        1,
        "--out",
        fitted,
        "--no-page",
        "--no-stability",
    ]
    said = fails(*arguments)
    assert "already has results (labels.csv, variables.csv, model.npz, summary.json" in said
    assert (fitted / "labels.csv").read_bytes() == before
    assert run(*arguments, "--force").code == 0
    assert (fitted / "labels.csv").read_bytes() != before
    assert sorted(path.name for path in fitted.iterdir()) == sorted([*FILES, "notes.txt"])


@pytest.mark.parametrize("at", ["labels.csv", "variables.csv", "summary.json", "model.npz"])
def test_a_full_disk_leaves_earlier_results(monkeypatch, fails, fitted, union_file, at):
    before = {path.name: path.read_bytes() for path in fitted.iterdir()}
    original = Path.write_text

    def full(path, *arguments, **options):
        if path.name == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(path, *arguments, **options)

    def full_for_models(model, path):
        if at == "model.npz":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr(_base.SubspaceClusterer, "save", full_for_models)
    said = fails(
        "fit", union_file, "--labels", "type", "--clusters", 1, "--out", fitted, "--force",
        "--no-page", "--no-stability", code=1,
    )  # fmt: skip
    assert said == (
        f"{fitted}: No space left on device, so earlier results are unchanged. Free some disk "
        "space and run again."
    )
    assert {path.name: path.read_bytes() for path in fitted.iterdir()} == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError("odd")])
def test_whatever_stops_a_fit_leaves_nothing_half_written(
    monkeypatch, run, fitted, union_file, tmp_path, error
):
    def stopped(model, X):
        raise error

    monkeypatch.setattr(PSC, "fit", stopped)
    before = {path.name: path.read_bytes() for path in fitted.iterdir()}
    for out in (fitted, tmp_path / "new" / "folder"):
        ended = run("fit", union_file, "--labels", "type", "--clusters", 2, "--out", out, "--force")
        assert ended.code == (130 if error is KeyboardInterrupt else 1)
        assert ended.err.splitlines()[-1].startswith("Error: ")
    assert {path.name: path.read_bytes() for path in fitted.iterdir()} == before
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_written(monkeypatch, fails, union_file, tmp_path):
    arguments = ["fit", union_file, "--labels", "type", "--clusters", 2, "--out"]
    assert "data.csv is a file, not a folder" in fails(*arguments, union_file)
    said = fails(*arguments, union_file / "r")
    assert said == f"{union_file / 'r'}: Not a directory. Check the path."

    def denied(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied", "/elsewhere/.unfinished")

    monkeypatch.setattr("tempfile.mkdtemp", denied)
    assert fails(*arguments, tmp_path) == f"{tmp_path}: Permission denied. Check the path."


def test_a_warning_is_a_note_and_in_the_summary(run, union_file, tmp_path):
    ended = run(
        "fit", union_file, "--labels", "type", "--clusters", 2, "--dims", 5, "--out",
        tmp_path / "r", "--json", "--no-page", "--no-stability",
    )  # fmt: skip
    assert "Note: --dims 5 equals the rank of the table" in ended.err
    assert "--dims 5 equals the rank" in ended.document["warnings"][0]


def test_a_table_on_its_side_is_a_hint(run, tmp_path):
    random = np.random.default_rng(0)
    lines = [f"{i}_at," + ",".join(f"{v:.4f}" for v in random.normal(size=6)) for i in range(60)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join([",p1,p2,p3,p4,p5,p6", *lines]))
    ended = run(
        "fit", path, "--clusters", 2, "--out", tmp_path / "r", "--no-page", "--no-stability"
    )
    assert ended.code == 0
    assert "Samples have names like '0_at', as genes do" in ended.err
    assert "Set --samples columns" in ended.err


def test_the_page_is_written_where_plotly_is(run, fails, monkeypatch, union_file, tmp_path):
    pytest.importorskip("plotly")
    out = tmp_path / "r"
    arguments = ["fit", union_file, "--labels", "type", "--clusters", 2, "--no-stability"]
    arguments += ["--out", out]
    assert "report.html" in run(*arguments, "--json").document["files"]
    page = (out / "report.html").read_text()
    assert "<title>data.csv" in page
    assert "sample 39" in page
    said = fails("report", out / "model.npz")
    assert said.startswith(f"{out / 'report.html'} already exists")
    ended = run("report", out / "model.npz", "--out", tmp_path / "p.html", "--title", "Mine")
    assert ended.out == f"Wrote {tmp_path / 'p.html'}\n"
    assert "<title>Mine" in (tmp_path / "p.html").read_text()
    monkeypatch.setitem(sys.modules, "plotly", None)
    ended = run(*arguments, "--force")
    assert ended.code == 0
    said = "report.html was not written, because plotly is not installed. Run: pip install"
    assert f"{said} 'subspaces[report]'" in ended.err
    assert not (out / "report.html").exists()  # it would be about the model before


def written(path, data):
    header = ",".join(f"g{j}" for j in range(data.shape[1]))
    np.savetxt(path, data, delimiter=",", header=header, comments="", fmt="%.5f")
    return path


def test_the_screen_says_which_way_variables_differ_and_where_none_does(run, tmp_path):
    random = np.random.default_rng(0)
    noise = random.normal(size=(60, 30))
    moved = noise.copy()
    moved[:25, [3, 4]] += 8.0
    moved[:25, 7] -= 6.0
    fit = ["--clusters", 2, "--affine", "--dims", 0, "--no-stability"]
    ended = run("fit", written(tmp_path / "m.csv", moved), *fit, "--out", tmp_path / "m")
    assert re.search(r" 0 +25 ", ended.out), ended.out
    assert re.search(r" 0 +high g[34], g[34]; low g7\b", ended.out), ended.out
    assert re.search(r" 1 +high g7; low g[34], g[34]", ended.out), ended.out
    summary = json.loads((tmp_path / "m" / "summary.json").read_text())
    first = summary["clusters"][0]
    ways = set(zip(first["direction"], first["sets_apart"], strict=True))
    assert ways >= {("high", "g3"), ("high", "g4"), ("low", "g7")}
    page = (tmp_path / "m" / "report.html").read_text()
    assert f"{first['beyond_chance']} of 30 variables differ by more than chance." in page
    ended = run("fit", written(tmp_path / "n.csv", noise), *fit, "--markers", "--out",
                tmp_path / "n")  # fmt: skip
    assert ended.out.count("nothing beyond chance") == 2
    summary = json.loads((tmp_path / "n" / "summary.json").read_text())
    assert [c["beyond_chance"] for c in summary["clusters"]] == [0, 0]
    assert [c["sets_apart"] for c in summary["clusters"]] == [[], []]
    page = (tmp_path / "n" / "report.html").read_text()
    assert page.count("No variable differs by more than chance.") == 2


def test_the_expression_preset_prepares_and_predict_repeats_it(run, tmp_path):
    random = np.random.default_rng(0)
    data = 2.0 ** random.normal(8, 1, (45, 60))
    data[:15, :8] *= 30
    data[15:30, 20:28] *= 30
    header = "sample,type," + ",".join(f"g{j}" for j in range(60))
    lines = [
        f"s{i},{'ABC'[i // 15]}," + ",".join(f"{value:.4f}" for value in row)
        for i, row in enumerate(data)
    ]
    (tmp_path / "genes.csv").write_text("\n".join([header, *lines]))
    fit = ["fit", tmp_path / "genes.csv", "--labels", "type", "--clusters", 3, "--no-page",
           "--no-stability", "--preset", "expression", "--json", "--out",
           tmp_path / "r"]  # fmt: skip
    ended = run(*fit)
    assert ended.code == 0, ended.err
    assert ended.document["adjusted_rand"] == 1
    apart = rows_of(tmp_path / "r" / "variables.csv")[:8]
    assert {row["variable"] for row in apart} == {f"g{j}" for j in range(8)}
    assert all(float(row["effect"]) > 2 and row["share"] == "" for row in apart)
    assert set(ended.document["clusters"][0]["sets_apart"]) <= {f"g{j}" for j in range(8)}
    assert ended.document["clusters"][0]["varies"] == []
    (tmp_path / "new.csv").write_text("\n".join([header, *lines[::-1]]))
    again = run("predict", tmp_path / "r" / "model.npz", tmp_path / "new.csv", "--labels", "type",
                "--json")  # fmt: skip
    assert again.code == 0, again.err
    assert again.document["adjusted_rand"] == 1
    for more, word in (
        (["--scale"], "--scale and --preset expression do not work together"),
        (["--dims", "x"], "--dims 'x'"),
        (["--floor", "1e9"], "No value is above --floor 1e+09"),
    ):
        refused = run(*fit, "--force", *more)
        assert refused.code == 2
        assert word in refused.err
    refused = run("fit", tmp_path / "genes.csv", "--clusters", 3, "--preset", "genes")
    assert refused.code == 2
    assert "is not one of 'expression'" in refused.err
    refused = run("fit", tmp_path / "genes.csv", "--clusters", 3, "--kind", "counts")
    assert refused.code == 2
    assert "--kind only works with --preset" in refused.err


@pytest.fixture
def cells_file(tmp_path):
    """Molecules of 45 cells of three types, most of them none; depths differ."""
    random = np.random.default_rng(0)
    rates = 2.0 ** np.tile(random.normal(0, 2, 200), (45, 1))
    for k in range(3):
        rates[15 * k : 15 * k + 15, 30 * k : 30 * k + 10] = 20.0
    depth = random.uniform(100, 900, (45, 1))
    counts = random.poisson(depth * rates / rates.sum(axis=1, keepdims=True))
    header = "cell,type," + ",".join(f"g{j}" for j in range(200))
    lines = [f"c{i},{'ABC'[i // 15]}," + ",".join(map(str, row)) for i, row in enumerate(counts)]
    (tmp_path / "cells.csv").write_text("\n".join([header, *lines]))
    (tmp_path / "new.csv").write_text("\n".join([header, *lines[::-2]]))
    return tmp_path / "cells.csv"


@pytest.mark.parametrize("preset", ["expression", "cells"])
def test_a_preset_says_that_it_found_counts_and_predict_scales_them_too(run, cells_file, preset):
    out = cells_file.parent / "r"
    fit = ["fit", cells_file, "--labels", "type", "--clusters", 3, "--no-page", "--no-stability",
           "--preset", preset, "--out", out]  # fmt: skip
    ended = run(*fit)
    assert ended.code == 0, ended.err
    assert "The values were treated as counts (whole numbers" in ended.out
    assert "Note" not in ended.err
    summary = json.loads((out / "summary.json").read_text())
    assert summary["adjusted_rand"] == 1
    assert summary["taken_for"] in ended.out
    # Each fact once: what the values are, then what was done to them.
    for fact in ("log2", "a total of"):
        assert ended.out.count(fact) == 1
    again = run("predict", out / "model.npz", cells_file.parent / "new.csv", "--labels", "type",
                "--json")  # fmt: skip
    assert again.document["adjusted_rand"] == 1


def test_a_preset_chooses_the_number_by_stability(run, cells_file):
    out = cells_file.parent / "r"
    ended = run("fit", cells_file, "--labels", "type", "--clusters", "auto", "--max-clusters", 4,
                "--no-stability", "--preset", "cells", "--out", out)  # fmt: skip
    assert ended.code == 0, ended.err
    summary = json.loads((out / "summary.json").read_text())
    assert summary["selection"]["verdict"] in " ".join(ended.out.split())
    assert summary["adjusted_rand"] == 1
    assert summary["n_clusters"] == "auto"
    assert summary["selection"]["n_clusters"] == [2, 3, 4]
    assert summary["selection"]["stability"][1] == 1
    page = (out / "report.html").read_text()
    assert "Smallest cluster" in page
    assert summary["selection"]["verdict"] in page
    assert subspaces.load(out / "model.npz").selection_ == summary["selection"]
    again = run("report", out / "model.npz", "--out", out / "again.html")
    assert again.code == 0, again.err
    assert "Smallest cluster" in (out / "again.html").read_text()
    options = ["--labels", "type", "--max-clusters", 4, "--preset", "cells"]
    selected = run("select", cells_file, *options)
    assert selected.code == 0, selected.err
    assert "treated as counts" in selected.out
    assert summary["selection"]["verdict"] in selected.out
    document = run("select", cells_file, *options, "--json").document
    assert document["chosen"] == 3
    assert document["table"]["stability"] == summary["selection"]["stability"]


def test_a_screen_has_room_for_the_gravest_doubt(run, monkeypatch, tmp_path):
    """A running number among the variables is told before what K-means finds."""
    monkeypatch.setenv("COLUMNS", "80")
    random, kinds = np.random.default_rng(0), np.repeat(["A", "B", "C"], [40, 50, 30])
    means = {
        "A": (120, 35, 4.1, 220, 0.8),
        "B": (150, 40, 3, 210, 1.1),
        "C": (118, 44, 4, 260, 0.6),
    }
    rows = np.array([means[kind] for kind in kinds]) * (1 + 0.02 * random.normal(size=(120, 5)))
    names = ["weight_g", "length_mm", "width_mm", "heat_C", "force_kN"]
    table = pd.DataFrame(rows.round(3), columns=names).assign(kind=kinds)
    table.to_csv(tmp_path / "parts.csv", index_label="part")
    ended = run("fit", tmp_path / "parts.csv", "--labels", "kind", "--out", tmp_path / "r")
    assert "--ignore part" in ended.err
    assert len(words_printed(ended)) <= 12


def test_both_commands_measure_the_same_stability(run, tmp_path):
    """Halves learn their genes and axes anew, whether one number is fitted or several compared."""
    file, out = tmp_path / "iris.csv", tmp_path / "r"
    load_iris(as_frame=True).data.to_csv(file)
    options = [file, "--preset", "expression", "--seed", 3, "--json"]
    found = run("fit", *options, "--clusters", 3, "--no-markers", "--no-page", "--out", out)
    compared = run("select", *options, "--max-clusters", 3).document["table"]["stability"]
    assert found.document["stability"]["stability"] == compared[1] < 0.9


def test_solid_clusters_of_expression_may_be_batches(run, cells_file):
    fit = ["fit", cells_file, "--labels", "type", "--preset", "cells", "--force", "--json", "--out",
           cells_file.parent / "r", "--clusters"]  # fmt: skip
    found = run(*fit, 3).document
    assert found["stability"]["grade"] == "sure"
    (told,) = (each["words"] for each in found["messages"] if each["code"] == "batches")
    assert told in (cells_file.parent / "r" / "report.html").read_text()


def test_options_overrule_the_preset(run, cells_file):
    fit = ["fit", cells_file, "--labels", "type", "--clusters", 3, "--no-page", "--no-stability",
           "--preset", "expression", "--out", cells_file.parent / "r", "--force",
           "--json"]  # fmt: skip
    ended = run(*fit, "--kind", "intensities", "--floor", 3, "--top-variables", 50)
    assert ended.code == 0, ended.err
    assert ended.document["variables"] == 50
    assert "treated as intensities, as asked" in ended.document["taken_for"]
    warned = "--floor 3 replaces "
    assert warned in ended.err
    assert "or --kind counts for counts" in ended.err
    assert any(message.startswith(warned) for message in ended.document["warnings"])
    model = subspaces.load(cells_file.parent / "r" / "model.npz")
    assert model.record_.messages[0].startswith("floor=3 replaces ")
    ended = run(*fit, "--no-log")
    assert ended.document["taken_for"].startswith("The values were treated as counts (")
    assert ended.document["preparation"].startswith("samples scaled to a total of 554, samples cen")


def test_a_cluster_of_one_sample_is_a_note(run, tmp_path):
    random = np.random.default_rng(0)
    values = random.normal(size=(40, 4)) + 6 * (np.arange(40) < 20)[:, None]
    values[7] = [3, 60, 0, 0]
    lines = [f"s{i}," + ",".join(f"{value:.4f}" for value in row) for i, row in enumerate(values)]
    (tmp_path / "t.csv").write_text("\n".join(["sample,a,b,c,d", *lines]))
    ended = run("fit", tmp_path / "t.csv", "--clusters", 3, "--dims", 0, "--affine", "--no-page",
                "--no-stability", "--criterion", "residual", "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0, ended.err
    assert "Note: 1 cluster has only one sample: s7" in ended.err
    assert "Leave that sample out, try fewer clusters, or use --criterion loo" in ended.err
    (row,) = (line for line in ended.out.splitlines() if "one sample" in line)
    assert row.split() == ["1", "one", "sample"]


def write_levels(path, *, constant=False):
    """Two groups of 30 samples on a level of about 20; one variable in years, if asked for."""
    random = np.random.default_rng(0)
    values = random.normal(20, 1.5, 60) + random.normal(0, 0.8, (60, 60))
    values[:30, :9] += 1.6
    values = np.column_stack([values, random.integers(30, 80, 60)])[:, : 60 + constant]
    lines = [f"s{i}," + ",".join(f"{value:.4f}" for value in row) for i, row in enumerate(values)]
    names = [*(f"p{j}" for j in range(60)), "age"][: 60 + constant]
    path.write_text("\n".join([",".join(["sample", *names]), *lines]))
    return path


def test_a_column_in_other_units_is_named(run, tmp_path):
    path = write_levels(tmp_path / "t.csv", constant=True)
    fit = ["fit", path, "--clusters", 2, "--affine", "--no-page", "--no-stability", "--force",
           "--out", tmp_path / "r"]  # fmt: skip
    ended = run(*fit)
    assert "'age' makes up " in ended.err
    assert "Use --scale, or --ignore age if it is no" in ended.err
    for more in (["--ignore", "age"], ["--scale"]):
        assert "'age' makes up" not in run(*fit, *more).err


def words_printed(ended):
    """The lines of words that a command printed at 80 columns, less its tables."""
    lines = [*ended.err.splitlines(), *ended.out.splitlines()]
    tables = re.compile(r" {3}|─|^and \d+ more in |^$")
    words = [line for line in lines if not tables.search(line)]
    return [part for line in words for part in wrap(line, 80)]


def test_a_fit_prints_twelve_lines_of_words_and_narrow_tables(run, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    names = [f"a variable with a long name {j}" for j in range(20)]
    frame = pd.DataFrame(rng.normal(30, 1, size=(150, 20)), columns=names)
    frame["constant"], frame["loud"] = 1.0, rng.normal(0, 90, size=150)
    frame["kind"] = [f"a class with a rather long name {i % 14}" for i in range(150)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    ended = run("fit", tmp_path / "t.csv", "--labels", "kind", "--clusters", 14, "--no-page",
                "--linear", "--dims", 1, "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0, ended.err
    assert len(words_printed(ended)) <= 12
    assert ended.err.count("Note: ") <= 3
    tables = [line for line in ended.out.splitlines() if "   " in line]
    assert max(map(len, tables)) <= 80
    assert ended.out.count("and 2 more in ") == 2
    assert len(codes_in(tmp_path / "r")) >= 3


def test_an_axis_that_is_the_mean_level_is_told(run, tmp_path):
    path = write_levels(tmp_path / "t.csv")
    fit = ["fit", path, "--clusters", 2, "--no-stability", "--force", "--out", tmp_path / "r"]
    ended = run(*fit, "--no-page", "--linear", "--dims", 1)
    assert "more than 99 % of the sum of squares" in ended.err
    assert "Use --affine" in ended.err
    assert {"far_mean", "mean_level"} <= codes_in(tmp_path / "r")
    assert "just the mean of" not in ended.err  # the same advice
    run(*fit, "--no-page")
    assert not {"far_mean", "mean_level"} & codes_in(tmp_path / "r")


def test_as_many_clusters_as_samples_are_refused(fails, union_file, tmp_path):
    said = fails("fit", union_file, "--labels", "type", "--clusters", 40, "--dims", 0, "--affine",
                 "--out", tmp_path / "r")  # fmt: skip
    assert said.startswith("--clusters 40 puts every sample in its own")


def test_how_far_to_trust_the_clusters_is_said_everywhere(run, union_file, tmp_path):
    pytest.importorskip("plotly")
    out = tmp_path / "r"
    ended = run("fit", union_file, "--labels", "type", "--clusters", 2, "--out", out)
    assert ended.code == 0, ended.err
    summary = json.loads((out / "summary.json").read_text())
    means, steady = summary["means_or_directions"], summary["stability"]
    assert 0.5 <= means["agreement"] <= 0.8
    assert means["grade"] in ("doubtful", "no")
    assert steady["halvings"] == 5
    assert steady["stability"] > 0.9
    assert steady["grade"] == "sure"
    lines = ended.out.splitlines()
    assert lines[-3:-1] == [steady["verdict"], means["verdict"]]
    assert "between" not in ended.out
    assert "between_clusters" not in summary
    again = tmp_path / "again.html"
    assert run("report", out / "model.npz", "--out", again).code == 0
    for page in ((out / "report.html").read_text(), again.read_text()):
        assert means["verdict"] in page
        assert f"{steady['stability']:.2f}" in page


@pytest.mark.parametrize(
    "arguments",
    [
        ["--clusters", 2, "--dims", 1],
        ["--clusters", 2, "--preset", "expression", "--kind", "log"],
        ["--clusters", 2, "--method", "KSubspaces"],
        ["--clusters", 12],
        ["--clusters", 2, "--top-variables", 1],
    ],
)
def test_no_dimension_is_assumed_where_another_cannot_be_chosen(
    run, union_file, tmp_path, arguments
):
    fit = ["fit", union_file, "--labels", "type", "--no-page", "--no-stability", "--json", "--out"]
    ended = run(*fit, tmp_path / "r", *arguments)
    assert ended.code == 0, ended.err
    assert "assumed" not in ended.document


def test_with_sparse_loadings_the_dimension_is_assumed_and_said(run, union_file, tmp_path):
    fit = ["fit", union_file, "--labels", "type", "--no-page", "--no-stability"]
    ended = run(*fit, "--clusters", 2, "--variables", 3, "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["assumed"]["code"] == "assumed_dimension"
    assert summary["assumed"]["verdict"] in ended.out
    assert (summary["n_components"], summary["affine"]) == (1, False)


def test_clusters_that_split_equal_samples_are_not_solid(run, tmp_path):
    rows = np.random.default_rng(0).normal(size=(2, 6))
    np.savez(tmp_path / "data.npz", X=np.repeat(rows, 10, axis=0))
    ended = run("fit", tmp_path / "data.npz", "--clusters", 3, "--no-page", "--json",
                "--out", tmp_path / "r")  # fmt: skip
    assert ended.document["stability"]["grade"] == "doubtful"
    assert "only 2 distinct samples" in ended.document["stability"]["verdict"]
    warned = [message for message in ended.document["warnings"] if "distinct" in message]
    assert warned[0].startswith("The table has only 2 distinct samples for --clusters 3")


def test_stability_is_skipped_on_demand_and_counted_where_time_is_short(
    run, monkeypatch, union_file, tmp_path
):
    fit = ["fit", union_file, "--labels", "type", "--clusters", 2, "--no-page", "--json", "--force",
           "--out", tmp_path / "r"]  # fmt: skip
    skipped = run(*fit, "--no-stability").document
    assert skipped["stability"]["code"] == "unmeasured"
    assert skipped["means_or_directions"]["verdict"]
    monkeypatch.setattr("subspaces.app.cli._trust.BUDGET", 0.0)
    hurried = run(*fit).document
    assert hurried["stability"]["halvings"] == 3
    assert "over 3 splits" in hurried["stability"]["verdict"]
    assert run(*fit).document["stability"] == hurried["stability"]


def test_halves_that_are_too_small_are_said_to_be(run, union_file, tmp_path):
    ended = run("fit", union_file, "--labels", "type", "--clusters", 12, "--no-page", "--json",
                "--dims", 1, "--linear", "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0, ended.err
    assert ended.document["stability"]["code"] == "failed"
    assert "--clusters 12" in ended.document["stability"]["verdict"]


def test_what_is_doubtful_about_stability_is_said_with_it(run, tmp_path):
    """An elongated table: halves of one cluster agree on how to cut it."""
    X = np.random.default_rng(0).normal(size=(60, 4)) * [30, 20, 1, 1]
    np.savez(tmp_path / "data.npz", X=X)
    ended = run("fit", tmp_path / "data.npz", "--clusters", 2, "--no-page", "--json",
                "--dims", 1, "--linear", "--out", tmp_path / "r")  # fmt: skip
    said = ended.document["stability"]["verdict"]
    assert ended.document["stability"]["grade"] == "doubtful"
    assert "a single subspace fits" in said
    assert said.endswith("or try --clusters auto.")


def test_a_table_and_nothing_else_is_fitted_automatically(run, union_file, tmp_path):
    out = tmp_path / "r"
    ended = run("fit", union_file, "--labels", "type", "--no-stability", "--out", out)
    assert ended.code == 0, ended.err
    summary = json.loads((out / "summary.json").read_text())
    asked = {name: summary[name] for name in ("n_clusters", "n_components", "affine")}
    assert asked == dict.fromkeys(asked, "auto")
    assert summary["adjusted_rand"] == 1.0
    chosen = summary["selection"]
    first, *_ = (each["n_clusters"] for each in chosen["answers"])
    assert (chosen["grade"], first) == ("sure", 2)
    assert subspaces.load(out / "model.npz").max_clusters == 10
    lines = ended.out.splitlines()
    assert f"{chosen['fact']} Also try --clusters {chosen['answers'][1]['n_clusters']}." in lines
    assert chosen["fact"] in (out / "report.html").read_text()


@pytest.mark.parametrize("options", [["--clusters", 3], ["--linear"], ["--dims", 1, "--affine"]])
def test_what_is_given_stays_and_the_rest_is_chosen(run, union_file, tmp_path, options):
    fit = ["fit", union_file, "--labels", "type", "--no-stability", "--no-page", "--json"]
    asked = run(*fit, *options, "--max-dims" if "--dims" not in options else "--seed", 2,
                "--out", tmp_path / "r")  # fmt: skip
    assert asked.code == 0, asked.err
    model = subspaces.load(tmp_path / "r" / "model.npz")
    given = {"n_clusters": 3 if "--clusters" in options else "auto"}
    given["n_components"] = 1 if "--dims" in options else "auto"
    given["affine"] = "--affine" in options if len(options) != 2 else "auto"
    assert {name: model.get_params()[name] for name in given} == given
    assert asked.document["selection"]["answers"]


def test_all_that_was_done_to_the_values_is_said_everywhere(run, tmp_path):
    random = np.random.default_rng(0)
    data = np.vstack([random.normal(size=(1, 6)) * random.normal(size=(15, 1)) for _ in range(2)])
    lines = [f"s{i}," + ",".join(f"{v:.3f}" for v in row) for i, row in enumerate(data + 9)]
    (tmp_path / "t.csv").write_text("\n".join(["name,a,b,c,d,e,f", *lines]))
    ended = run("fit", tmp_path / "t.csv", "--clusters", 2, "--floor", 9, "--log", "--scale",
                "--top-variables", 4, "--no-stability", "--out", tmp_path / "r")  # fmt: skip
    done = (
        "values below 9 raised to 9, log2 of the value plus 1, kept the 4 of 6 variables that vary "
        "most, variables scaled to mean 0 and standard deviation 1"
    )
    assert f"Prepared: {done}." in ended.out
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["preparation"] == done
    assert done in (tmp_path / "r" / "report.html").read_text()


def test_a_cluster_without_axes_is_a_mean_profile(run, cells_file, tmp_path):
    out = tmp_path / "r"
    ended = run("fit", cells_file, "--labels", "type", "--clusters", 3, "--preset", "expression",
                "--no-stability", "--out", out)  # fmt: skip
    assert ended.code == 0, ended.err
    assert ended.out.count("0 (mean)") == 3
    page = (out / "report.html").read_text().split('<script type="application/json"')[0]
    assert "described by its mean" in page
    assert "0 dimensions" not in page
    assert json.loads((out / "summary.json").read_text())["taken_for"] in page


def test_columns_left_out_are_told_everywhere(run, tmp_path):
    random = np.random.default_rng(0)
    lines = [
        f"s{i},day {i}," + ",".join(f"{v:.4f}" for v in random.normal(size=4)) for i in range(40)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["sample,date,a,b,c,d", *lines]))
    ended = run("fit", tmp_path / "t.csv", "--ignore", "date", "--clusters", 2, "--no-stability",
                "--out", tmp_path / "r")  # fmt: skip
    assert ended.code == 0, ended.err
    message = "left out date"
    assert f"Prepared: {message}." in ended.out
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["preparation"] == message
    assert str(subspaces.load(tmp_path / "r" / "model.npz").preparation_).startswith(message)
    assert message in (tmp_path / "r" / "report.html").read_text()


def write_units(path):
    rows = 9 + np.random.default_rng(0).normal(size=(30, 4)) * [1, 5, 50, 200]
    lines = [f"s{i}," + ",".join(f"{v:.4f}" for v in row) for i, row in enumerate(rows)]
    path.write_text("\n".join(["name,a,b,c,d", *lines]))
    return path


def test_variables_of_different_units_are_scaled_and_that_is_said_everywhere(run, tmp_path):
    pytest.importorskip("plotly")
    path, out = write_units(tmp_path / "t.csv"), tmp_path / "r"
    ended = run("fit", path, "--clusters", 2, "--no-stability", "--out", out)
    assert ended.code == 0, ended.err
    summary = json.loads((out / "summary.json").read_text())
    assert "--no-scale" in summary["taken_for"]
    assert ended.out.splitlines()[0] == f"Note: {summary['taken_for']}"
    assert summary["taken_for"] in (out / "report.html").read_text()
    assert "unlike_scales" not in codes_in(out)
    asked = run("fit", path, "--clusters", 2, "--scale", "--no-stability", "--out", tmp_path / "s")
    assert asked.code == 0, asked.err
    frames = [pd.read_csv(folder / "labels.csv") for folder in (out, tmp_path / "s")]
    pd.testing.assert_frame_equal(*frames)
    ended = run("predict", out, path)
    assert [row["cluster"] for row in csv.DictReader(io.StringIO(ended.out))] == [
        str(label) for label in frames[0]["cluster"]
    ]


@pytest.mark.parametrize("option", ["--no-scale", "--linear"])
def test_units_are_kept_on_demand_and_if_the_origin_counts(run, tmp_path, option):
    path, out = write_units(tmp_path / "t.csv"), tmp_path / "r"
    ended = run("fit", path, "--clusters", 2, option, "--no-stability", "--no-page", "--out", out)
    assert ended.code == 0, ended.err
    assert json.loads((out / "summary.json").read_text())["preparation"] == ""
    assert ("unlike_scales" in codes_in(out)) == (option == "--linear")
    assert ("Use --scale" in ended.err) == (option == "--linear")


def test_clusters_that_follow_a_column_of_yes_and_no_are_doubted(run, tmp_path):
    random = np.random.default_rng(2)
    table = pd.DataFrame(random.normal(size=(80, 4)), columns=list("abcd"))
    table["smoker"] = np.where(random.random(80) < 0.4, "yes", "no")
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--clusters", 2, "--scale", "--no-stability", "--no-page"]
    ended = run("fit", tmp_path / "t.csv", *options, "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    said = json.loads((tmp_path / "r/summary.json").read_text())["messages"]
    named = [each["parameters"]["names"] for each in said if each["code"] == "two_values"]
    assert named == [["smoker"]]
    ignored = ["--ignore", "smoker", "--out", tmp_path / "s"]
    assert run("fit", tmp_path / "t.csv", *options, *ignored).code == 0
    assert "two_values" not in codes_in(tmp_path / "s")


def test_clusters_cut_by_a_column_of_yes_and_no_are_doubted_and_not_called_stable(run, tmp_path):
    random, groups = np.random.default_rng(1), np.repeat([0, 1, 2], 60)
    table = pd.DataFrame({
        "age": 40 + 15 * groups + random.normal(0, 5, 180),
        "bmi": 22 + 4 * (groups == 1) + random.normal(0, 1.5, 180),
        "crp": np.exp(random.normal(1.2 * (groups == 2), 0.4)),
        "hb": 14 - 2 * (groups == 0) + random.normal(0, 0.6, 180),
        "smoker": random.choice(["yes", "no"], 180),
    })  # fmt: skip
    table.to_csv(tmp_path / "t.csv", index=False)
    ended = run("fit", tmp_path / "t.csv", "--no-page", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    assert "two_values" in codes_in(tmp_path / "r")
    assert "Add --ignore smoker" in ended.err
    assert "Stable" not in ended.out


def test_a_sample_without_a_class_is_left_out_of_the_comparison(run, union_file, tmp_path):
    text = union_file.read_text().splitlines()
    text[3] = text[3].removesuffix("low")
    union_file.write_text("\n".join(text) + "\n")
    out = tmp_path / "out"
    ended = run("fit", union_file, "--labels", "type", "--clusters", 2, "--out", out)
    assert ended.code == 0
    assert "'sample 2'" in ended.err
    assert "100 % of the samples are in the right cluster (adjusted Rand index 1.000)" in ended.out
    summary = json.loads((out / "summary.json").read_text())
    counts = [cluster["classes"] for cluster in summary["clusters"]]
    assert sorted(counts, key=str) == [{"high": 20}, {"low": 19}]
    assert "adjusted Rand index 1.00" in (out / "report.html").read_text()
    for command in ("pca", "influence", "compare"):
        options = {
            "pca": ["--out", tmp_path / "pca"],
            "influence": [],
            "compare": ["--clusters", 2],
        }
        ended = run(command, union_file, "--labels", "type", *options[command])
        assert ended.code == 0, command
    assert "no class" in (tmp_path / "pca" / "report.html").read_text()


def test_significance_is_on_the_screen_the_page_and_in_the_summary(run, fails, tmp_path):
    noise = written(tmp_path / "noise.csv", np.random.default_rng(6).normal(size=(30, 4)))
    fit = ["fit", noise, "--clusters", 2, "--dims", 1, "--linear", "--no-stability", "--out"]
    ended = run(*fit, tmp_path / "r", "--significance")
    assert ended.code == 0, ended.err
    found = json.loads((tmp_path / "r" / "summary.json").read_text())["significance"]
    assert (found["grade"], found["code"], found["p_value"] > 0.2) == ("no", "chance", True)
    assert found["verdict"] in " ".join(ended.out.split())
    assert found["verdict"] in (tmp_path / "r" / "report.html").read_text()
    said = fails(*fit, tmp_path / "other", "--significance", "--method", "GPCA")
    assert "--significance" in said
