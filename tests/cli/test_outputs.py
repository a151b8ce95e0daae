"""What is left where: after a kill, in a spreadsheet, on a terminal."""

import csv
import io
import os
import subprocess
import sys

import numpy as np
import pytest

from subspaces.app.cli._outputs import as_csv, settle
from subspaces.app.cli._results import agreement
from subspaces.app.cli._say import matched_classes, visible
from subspaces.app.cli.compare import _shown
from subspaces.app.overlap import overlap
from subspaces.named_table import Table

NAMES = ("labels.csv", "model.npz", "report.html")


def written(folder, text, names=NAMES):
    for name in names:
        (folder / name).write_text(text)


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


KILLED = """
import os, sys
from pathlib import Path
from subspaces.app.cli import _outputs
folder, left, replace = Path(sys.argv[1]), int(sys.argv[2]), os.replace
def counted(*paths):
    global left
    left -= 1
    os._exit(9) if left < 0 else replace(*paths)
os.replace = counted
with _outputs.staged(folder, sys.argv[3:], force=True) as stage:
    for name in sys.argv[3:5]:
        (stage / name).write_text("new")
    if left < 0:
        os._exit(9)
"""


@pytest.mark.parametrize("moved", [-1, 0, 1, 2])
def test_killed_while_files_are_moved(tmp_path, moved):
    """After the rename the new result counts; the next command puts the rest in its place."""
    written(tmp_path, "old")
    (tmp_path / "notes.txt").write_text("mine")
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(moved), *NAMES], check=False)
    assert done.returncode == (0 if moved == 2 else 9)
    settle(tmp_path)
    found = content(tmp_path)
    assert found.pop("notes.txt") == "mine"
    old, new = dict.fromkeys(NAMES, "old"), dict.fromkeys(NAMES[:2], "new")
    assert found == (old if moved < 0 else new)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("@SUM(1)", "'@SUM(1)"),
        ("+x", "'+x"),
        ("-x", "'-x"),
        ("\tx", "'\tx"),
        ("\n=x", "'\n=x"),
        *((sign + "x", f"'{sign}x") for sign in "\uff1d\uff0b\uff0d\uff20"),
        ("-1.5", "-1.5"),
        ("CD3+", "CD3+"),
        ("a,b\n=c", "a,b\n=c"),
    ],
)
def test_no_cell_is_a_formula(name, cell):
    rows = list(csv.reader(io.StringIO(as_csv(["sample", "x"], [[name, -0.5]]), newline="")))
    assert rows == [["sample", "x"], [cell, "-0.5"]]


def test_nothing_steers_the_terminal(run, tmp_path):
    assert visible("a\x1b[2J\nb\u202ec é") == "a\\x1b[2J\\nb\\u202ec é"
    (tmp_path / "t.csv").write_text("id,a,b\n\x1b[31mred,1,2\nx,3,5\ny,4,4\nz,1,1\n")
    ended = run("influence", tmp_path / "t.csv", "--dims", 1)
    assert ended.code == 0
    assert "\x1b" not in ended.out + ended.err
    assert "\\x1b[31mred" in ended.out


FIT = ("fit", "--clusters", 2, "--labels", "type", "--no-stability", "--no-page")


def spelt(path, how):
    """Another name of the file: relative, through a linked folder, a link or a hard link to it."""
    if how == "relative":
        return os.path.relpath(path)
    if how == "dots":
        return path.parent / ".." / path.parent.name / path.name
    other = path.parent.parent / f"{how} {path.name}"
    if how == "folder":
        other.symlink_to(path.parent, target_is_directory=True)
        return other / path.name
    (os.link if how == "hard" else os.symlink)(path, other)
    return other


@pytest.mark.parametrize("how", ["relative", "dots", "folder", "soft", "hard"])
@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize(
    ("command", "name"),
    [
        (FIT, "labels.csv"),
        (FIT, "imputed.csv"),  # not written this time, but removed
        (FIT, "markers.csv"),
        (("pca", "--labels", "type"), "scores.csv"),
        (("influence", "--labels", "type"), None),
    ],
)
def test_an_input_is_never_overwritten(fails, union_file, command, name, force, how):
    folder = union_file.parent / "in"
    folder.mkdir()
    data = union_file.rename(folder / (name or "data.csv"))
    text = data.read_text()
    first, *options = command
    said = fails(first, spelt(data, how), *options, *force, "--out", folder if name else data)
    assert said == f"This would overwrite {data}, which is the input. Choose another --out."
    assert data.read_text() == text
    assert list(folder.iterdir()) == [data]


def test_nor_are_models_classes_and_what_a_fit_left(run, fails, union_file, tmp_path):
    result = tmp_path / "result"
    assert run(*FIT[:1], union_file, *FIT[1:], "--out", result).code == 0
    labels, samples = tmp_path / "labels.csv", tmp_path / "samples.csv"
    for path in (labels, samples):
        path.write_text(f"40 2 1\n# a b\n{'0 1 ' * 20}\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    data = (union_file, "--ignore", "type", "--force")
    for words in [
        ("fit", *data, "--clusters", 2, "--classes", labels, "--out", tmp_path),
        ("pca", *data, "--classes", samples, "--out", tmp_path),
        ("influence", *data, "--classes", labels, "--out", labels),
        ("predict", result, *data, "--classes", labels, "--out", labels),
        ("predict", result, *data, "--out", union_file),
        ("predict", result, *data, "--out", result / "model.npz"),
        ("report", result, "--force", "--out", result / "model.npz"),
        ("report", result, "--force", "--out", result / "labels.csv"),
        ("report", result / "model.npz", "--force", "--out", result / "summary.json"),
    ]:
        said = fails(*words)
        assert said.startswith("This would overwrite ")
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("right", "whole", "tenths"),
    [(1.0, "100", "100.0"), (299 / 300, "99", "99.6"), (0.29, "29", "29.0"), (0.0, "0", "0.0")],
)
def test_all_are_right_only_if_all_are(right, whole, tenths):
    said = matched_classes({"in_right_cluster": right, "adjusted_rand": 1.0})
    assert f"{whole} % of the samples are in the right cluster" in said
    assert _shown("accuracy", right) == f"{tenths} %"
    assert _shown("accuracy", 1 - 1e-4) == "99.9 %"


def test_no_share_is_right_with_more_classes_than_clusters():
    table = Table(np.zeros((4, 1)), tuple("abcd"), ("v",), classes=("x", "x", "y", "z"))
    found = agreement(table, [0, 0, 1, 1])
    assert found["in_right_cluster"] is None
    assert " %" not in matched_classes(found)
    assert agreement(table, [0, 0, 1, 2])["in_right_cluster"] == 1.0


def test_classes_that_share_a_cluster_and_that_are_split_are_found():
    classes = ["a"] * 10 + ["b"] * 8 + ["c"] * 6
    labels = np.array([0] * 10 + [0] * 7 + [1] + [1] * 3 + [2] * 3)
    found = overlap(classes, labels)
    assert found.shared == (["a", "b"], 0)
    assert found.split == ("c", [1, 2])
    assert overlap(["a", "b"], np.array([0, 1])) == (None, None)
