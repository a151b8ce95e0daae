"""What is left where: after a kill, in a spreadsheet, on a terminal."""

import csv
import io
import os
import socket
import subprocess
import sys

import pytest

from subspaces.cli._outputs import as_csv, settle, staged
from subspaces.cli._say import visible

NAMES = ("labels.csv", "model.npz", "report.html")


def written(folder, text, names=NAMES):
    for name in names:
        (folder / name).write_text(text)


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


KILLED = """
import os, sys
from pathlib import Path
from subspaces.cli import _outputs
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


def test_what_a_killed_process_left_unfinished_is_removed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True
    )
    dead, host = int(done.stdout), socket.gethostname()
    kept = [f".unfinished-{host}-{os.getppid()}-x", f".unfinished-other.host-{dead}-x"]
    for name in (*kept, f".unfinished-{host}-{dead}-x"):
        (tmp_path / name).mkdir()
    with staged(tmp_path, NAMES, force=False) as stage:
        written(stage, "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*NAMES, *kept])


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
