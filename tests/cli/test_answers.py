"""Wrong words are answered at once; odd tables are read, or refused in words of the command."""

import csv
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import numpy as np
import pytest
import typer

from subspaces._types import ExpressionKind
from subspaces.app.cli import _options
from subspaces.core.criteria import names
from tests.cli.conftest import write_union

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "plotly")
CODE = f"""
import contextlib, io, json, sys
from subspaces.app.cli import main
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(words)
    heavy = [name for name in {HEAVY} if name in sys.modules]
    print(json.dumps([code, heavy, said.getvalue()]))
"""
FIT = ["fit", "data.csv", "--clusters", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    write_union(folder / "data.csv")
    (folder / "model.npz").write_text("x")
    (folder / "there").mkdir()
    (folder / "there" / "labels.csv").write_text("x")
    (folder / "pca").mkdir()
    (folder / "pca" / "scores.csv").write_text("x")
    return folder


WORDS = [
    (["fit", "nothing.csv", "--clusters", "2"], "nothing.csv does not exist"),
    (["fit", "dta.csv", "--clusters", "2"], "dta.csv does not exist. Did you mean data.csv"),
    (["fit", "nothing.csv"], "nothing.csv does not exist"),
    (["fit", "a.csv", "--clusters", "2"], "a.csv does not exist. Check the path.\n"),
    (["fit", "there", "--clusters", "2"], "there is not a file"),
    ([*FIT, "--label", "type"], "--label. Did you mean --labels? (see: subspaces fit"),
    (["fit", "data.csv", "--cluster", "2"], "--cluster. Did you mean --clusters? (see"),
    ([*FIT, "--classes", "no.cls"], "no.cls does not exist"),
    ([*FIT, "--preset", "genes"], "'genes' is not one of 'expression', 'cells'"),
    ([*FIT, "--preset", "expression", "--scale"], "--scale and --preset expression do not"),
    ([*FIT, "--preset", "expression", "--kind", "genes"], "'genes' is not one of 'intensities'"),
    ([*FIT, "--kind", "counts"], "--kind only works with --preset"),
    ([*FIT, "--criterion", "x"], "'x' is not one of 'auto', 'influence'"),
    ([*FIT, "--method", "PCS"], "--method PCS is unknown. Choose from PSC"),
    ([*FIT, "--method", "KMeans"], "subspaces compare"),
    ([*FIT, "--method", "SSC", "--variables", "2"], "--variables does not work with --method SSC"),
    ([*FIT, "--dims", "1,2,3"], "--dims has 3 numbers for --clusters 2. Give one for all"),
    ([*FIT, "--dims", "1", "--max-dims", "5"], "--max-dims only works with --dims auto"),
    ([*FIT, "--labels", "type", "--classes", "data.csv"], "--labels and --classes do"),
    ([*FIT, "--labels", "type", "--ignore", "a,type"], "You gave type to both --labels and"),
    (["fit", "data.csv", "--clusters", "0", "--out", "there"], "--clusters 0 is too small"),
    ([*FIT, "--out", "there"], "there already has results (labels.csv"),
    ([*FIT, "--out", "data.csv"], "data.csv is a file, not a folder"),
    (["predict", "no.npz", "data.csv"], "no.npz does not exist"),
    (["predict", "model.npz", "no.csv"], "no.csv does not exist"),
    (["predict", "model.npz", "data.csv", "--out", "there/labels.csv"], "already exists"),
    (["predict", "model.npz", "data.csv", "--out", "data.csv"], "would overwrite data.csv"),
    (["report", "no.npz"], "no.npz does not exist"),
    (["report", "pca"], "Give the model.npz that subspaces fit wrote"),
    ([*FIT, "--drop-missing", "50"], "--drop-missing"),
    (["select", "no.csv"], "no.csv does not exist"),
    (["select", "data.csv", "--variables", "x"], "--variables"),
    (["compare", "no.csv", "--clusters", "2"], "no.csv does not exist"),
    (["compare", "data.csv", "--clusters", "2", "--methods", "x"], "--methods x is unknown"),
    (["influence", "no.csv"], "no.csv does not exist"),
    (["influence", "data.csv", "--out", "there/labels.csv"], "labels.csv already exists"),
    (["influence", "data.csv", "--out", "data.csv", "--force"], "would overwrite data.csv"),
    (["pca", "no.csv"], "no.csv does not exist"),
    (["pca", "data.csv", "--dims", "two"], "--dims 'two' is not a whole number"),
    (["pca", "data.csv", "--dims", "-1"], "--dims -1 is too small"),
    (["pca", "data.csv", "--level", "0"], "--level 0 is out of range"),
    (["pca", "data.csv", "--level", "nan"], "--level nan is out of range"),
    (["pca", "data.csv", "--scale", "--no-center"], "--scale and --no-center do not work together"),
    (["pca", "data.csv", "--preset", "expression", "--no-center"], "--no-center and --preset"),
    (["pca", "data.csv", "--kind", "log"], "--kind only works with --preset"),
    (["pca", "data.csv", "--labels", "type", "--classes", "data.csv"], "--labels and --classes"),
    (["pca", "data.csv", "--out", "pca"], "pca already has results (scores.csv"),
    (["pca", "data.csv", "--out", "data.csv"], "data.csv is a file, not a folder"),
    (["simulate", "a", "--out", "data.csv"], "data.csv already exists"),
    (["demo", "--out", "data.csv"], "data.csv is a file, not a folder"),
]  # fmt: skip


@pytest.fixture(scope="module")
def answers(folder):
    """What one process answers to all of them, and what it has imported by then."""
    command = [sys.executable, "-c", CODE, json.dumps([words for words, _ in WORDS])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("i", range(len(WORDS)), ids=[" ".join(words) for words, _ in WORDS])
def test_wrong_words_are_answered_before_anything_heavy_is_imported(answers, i):
    code, heavy, said = answers[i]
    assert (code, heavy) == (2, [])
    assert WORDS[i][1] in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("command", ["fit", "select", "pca"])
def test_a_column_that_is_not_there_is_named_before_a_model_is_imported(command, folder, tmp_path):
    words = [command, "data.csv", "--labels", "nope"]
    words += [] if command == "select" else ["--out", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", CODE, json.dumps([words])], cwd=folder,
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    code, heavy, said = json.loads(done.stdout)
    assert (code, "has no column 'nope'" in said) == (2, True)
    assert not {"sklearn", "pandas"} & set(heavy)


def test_the_names_are_those_of_the_library():
    assert ("auto", *names(public=True)) == get_args(_options.Criterion)
    assert get_args(ExpressionKind) == get_args(_options.Kind)


def test_what_a_preset_does_not_choose(fails, union_file):
    auto = ("fit", union_file, "--clusters", "auto", "--preset", "expression")
    said = fails(*auto, "--variables", 5)
    assert said.startswith(
        "--variables does not work with --clusters auto and --preset expression."
    )
    assert fails(*auto, "--max-clusters", 1).startswith("--max-clusters 1 leaves nothing")
    for command in (("fit", union_file, "--clusters", 2), ("select", union_file)):
        said = fails(*command, "--dims", "auto", "--preset", "expression")
        assert said.startswith("--dims auto does not work with --preset expression")
    said = fails("select", union_file, "--preset", "cells", "--affine")
    assert said.startswith("--affine and --preset cells do not work together")


GENES = "gene_id\tgene_name\tbio type\t" + "\t".join(f"s{i}" for i in range(12)) + "\n" + "".join(
    f"ENSG{j}\tG{j}\tcoding\t" + "\t".join(str((i % 2 + 1) * (j + 1) + i / 9) for i in range(12))
    + "\n" for j in range(6)
)  # fmt: skip


def test_annotation_of_genes(run, fails, tmp_path):
    path = tmp_path / "genes.tsv"
    path.write_text(GENES)
    fit = ["fit", path, "--samples", "columns", "--clusters", 2, "--no-page", "--no-stability"]
    said = fails(*fit, "--out", tmp_path / "r")
    assert said == (
        f"{path}, line 2, column 2 ('gene_name'): 'G0' is not a number. Add "
        "--ignore-text to leave out the 2 columns of text (gene_name and bio type)."
    )
    ended = run(*fit, "--ignore-text", "--out", tmp_path / "all")
    assert ended.code == 0, ended.err
    assert "gene_name and bio type" in ended.err
    ended = run(*fit, "--ignore", "gene_name,bio type", "--out", tmp_path / "r")
    assert ended.code == 0, ended.err
    twice = run(*fit, "--ignore", "gene_id", "--ignore", "bio type", "--out", tmp_path / "named")
    assert twice.code == 0, twice.err
    assert "(G0, G1, ...)" in twice.err
    select = run("select", path, "--samples", "columns", "--ignore", "gene_name,bio type",
                 "--max-clusters", 2)  # fmt: skip
    assert select.code == 0, select.err
    more = ["--samples", "columns", "--ignore", "gene_name,bio type"]
    assert run("influence", path, *more).code == 0
    assert run("compare", path, "--clusters", 2, "--methods", "KMeans", *more).code == 0
    predicted = run("predict", tmp_path / "r" / "model.npz", path, "--samples", "columns")
    assert predicted.code == 0, predicted.err
    with (tmp_path / "r" / "labels.csv").open() as file:
        fitted = [row["cluster"] for row in csv.DictReader(file)]
    assert [row["cluster"] for row in csv.DictReader(io.StringIO(predicted.out))] == fitted


def test_predict_leaves_out_text_as_it_does_numbers(run, union_file, tmp_path):
    fit = ["fit", union_file, "--clusters", 2, "--no-page", "--no-stability"]
    assert run(*fit, "--out", tmp_path / "r", "--ignore", "type").code == 0
    lines = [f"{line},x{i},7" for i, line in enumerate(union_file.read_text().splitlines())]
    lines[0] = lines[0].replace(",x0,7", ",ward,age")
    (tmp_path / "new.csv").write_text("\n".join(lines))
    ended = run("predict", tmp_path / "r" / "model.npz", tmp_path / "new.csv")
    assert ended.code == 0, ended.err
    plain = run("predict", tmp_path / "r" / "model.npz", union_file, "--labels", "type")
    rows = [line.rsplit(",", 2)[0] for line in plain.out.splitlines()]
    assert len(rows) == len(ended.out.splitlines()) == 41


def numbers_of(run, path, *more):
    ended = run("influence", path, "--json", *more)
    assert ended.code == 0, ended.err
    return ended.document["samples"], ended.err


@pytest.mark.parametrize(
    ("change", "name", "note"),
    [
        (lambda t: t.replace(",", ";").replace(".", ",").encode(), "d.csv", None),
        (lambda t: t.encode("utf-16"), "d.txt", None),
        (lambda t: t.encode("utf-8-sig").replace(b"\n", b",\r\n"), "d.csv", None),
        (lambda t: ("A title\n\n" + t).encode(), "d.csv", "Skipped line 1 above the table"),
        (lambda t: t.replace("s0", "sö").encode("latin-1"), "d.csv", "was read as Latin-1"),
    ],
)  # fmt: skip
def test_the_same_table_in_other_dress(run, tmp_path, change, name, note):
    random = np.random.default_rng(0)
    rows = [f"s{i}," + ",".join(f"{1000 * v:.4f}" for v in random.normal(size=4)) for i in range(9)]
    text = "\n".join(["id,a,b,c,d", *rows]) + "\n"
    (tmp_path / "plain.csv").write_text(text)
    (tmp_path / name).write_bytes(change(text))
    plain, _ = numbers_of(run, tmp_path / "plain.csv")
    dressed, said = numbers_of(run, tmp_path / name)
    drop = [{key: row[key] for key in ("leverage", "error", "influence")} for row in dressed]
    assert drop == [{key: row[key] for key in ("leverage", "error", "influence")} for row in plain]
    assert ("Note: " in said) == (note is not None)
    assert note is None or note in said


def test_a_workbook_from_the_command(run, fails, monkeypatch, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Title"], ["id", "a", "b"], ["s1", 1, 2.5], ["s2", 3, 4], ["s3", 0, 1]):
        book.active.append(row)
    book.save(tmp_path / "d.xlsx")
    assert len(numbers_of(run, tmp_path / "d.xlsx", "--dims", 1)[0]) == 3
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    said = fails("influence", tmp_path / "d.xlsx", code=1)
    assert said.startswith(
        "Reading Excel files needs openpyxl. Run: pip install 'subspaces[excel]'"
    )


def test_a_row_of_totals_is_a_note(run, tmp_path):
    (tmp_path / "d.csv").write_text("id,a,b\ns1,1,2\ns2,3,4\ns3,0,1\nTotal,4,7\n")
    _, said = numbers_of(run, tmp_path / "d.csv", "--dims", 1)
    assert "Add --ignore Total" in said
    rows, said = numbers_of(run, tmp_path / "d.csv", "--dims", 1, "--ignore", "Total")
    assert len(rows) == 3
    assert "Note" not in said


def test_the_document_of_compare_speaks_of_options(run, union_file):
    ended = run("compare", union_file, "--clusters", 2, "--dims", 5, "--methods", "PSC,GPCA",
                "--labels", "type", "--json")  # fmt: skip
    assert "--dims 5 equals the rank of the table" in ended.document["warnings"]["PSC"][0]
    assert "n_components" not in ended.out


def test_equal_samples_are_refused(fails, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["name,a,b", *[f"s{i},1.5,2" for i in range(9)]]))
    for command in (["fit", "--clusters", 2], ["select"], ["influence", "--dims", 1], ["pca"]):
        assert "all samples are identical" in fails(command[0], path, *command[1:])


def test_variables_of_unlike_scale_are_scaled_and_that_is_said(run, tmp_path):
    rows = 9 + np.random.default_rng(0).normal(size=(30, 4)) * [1, 5, 50, 200]
    lines = [f"s{i}," + ",".join(f"{v:.4f}" for v in row) for i, row in enumerate(rows)]
    (tmp_path / "t.csv").write_text("\n".join(["name,a,b,c,d", *lines]))
    for command in (["select", "--max-clusters", 2], ["influence", "--dims", 1]):
        asked = [*command, tmp_path / "t.csv"]
        by_rule, scaled, raw = (run(*asked, *more) for more in ([], ["--scale"], ["--no-scale"]))
        assert by_rule.out == scaled.out != raw.out
        assert "--no-scale" in by_rule.err
        assert "--no-scale" not in scaled.err + raw.err
    asked = ["compare", tmp_path / "t.csv", "--methods", "PSC", "--clusters", 2, "--json"]
    for option in ("--scale", "--no-scale"):
        assert not run(*asked, option).document["warnings"]["PSC"]


def test_the_options_of_a_group_are_those_of_the_command():
    @dataclass(frozen=True)
    class Group:
        data: Annotated[Path, _options.argument("A file.", "DATA")]
        share: Annotated[float, _options.setting("A share.", "SHARE")] = 0.5

    found = []

    def command(*, group: Group, twice: Annotated[bool, _options.flag("--twice", "")] = False):
        found.append((group, twice))

    app = typer.Typer()
    app.command()(_options.expanded(command))
    app(["a.csv", "--share", "0.25", "--twice"], standalone_mode=False)
    app(["a.csv"], standalone_mode=False)
    assert found == [(Group(Path("a.csv"), 0.25), True), (Group(Path("a.csv")), False)]


MEASURED = "YEAR,site,smoker,price,x,y\n" + "".join(
    f"{1990 + i},{'Bonn' if i % 3 else 'Ulm'},{'yes' if i % 2 else 'no'},${3 * i % 7}.50,"
    f"{i % 5 + i / 9:.3f},{-999 if i in (4, 9) else i % 4}\n" for i in range(20)
)  # fmt: skip


def test_all_commands_that_read_tables_read_the_same(run, fails, tmp_path):
    path = tmp_path / "measured.csv"
    path.write_text(MEASURED)
    reading = ["--sample-names", "YEAR", "--ignore-text", "--missing", "-999"]
    out = tmp_path / "r"
    fit = run("fit", path, *reading, "--clusters", 2, "--no-page", "--no-stability", "--out", out)
    assert fit.code == 0, fit.err
    assert "'smoker' seems to hold known classes" in fit.err
    assert "(1990, 1991, ...) x 4 variables" in fit.err
    for command in (
        ["predict", out / "model.npz", path, "--json"],
        ["pca", path, "--no-page", "--out", tmp_path / "pca"],
        ["influence", path],
        ["select", path, "--max-clusters", 2],
        ["compare", path, "--clusters", 2, "--methods", "KMeans"],
    ):
        ended = run(*command, *reading, "--drop-empty")
        needs_all = "needs a complete table" in ended.err
        assert (ended.code, needs_all) in ((0, False), (2, True)), ended.err
        assert "(1990, 1991, ...)" in ended.err
    asked = run("influence", path, "--sample-names", "YEAR", "--ignore", "site")
    assert "Add --missing -999" in asked.err
    assert "You gave YEAR to both" in fails(
        "pca", path, "--sample-names", "YEAR", "--ignore", "YEAR,x"
    )
