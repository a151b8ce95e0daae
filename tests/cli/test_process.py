"""The command as a process: pipes, signals, exit codes, and what a missing extra looks like."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.main import get_command

from subspaces import __main__
from subspaces.app.cli.app import app

COMMAND = [sys.executable, "-m", "subspaces"]


def ended(*arguments, **options):
    words = [*COMMAND, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, **options)


def test_help_and_version_import_nothing_that_computes():
    code = (
        "import sys; from subspaces.app.cli import main;"
        "main(['fit', '--help']); main(['--version']);"
        "print([m for m in ('numpy', 'sklearn', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "subspaces fit data.csv --clusters 3" in done.stdout


def test_every_command_has_examples(run):
    listed = run("--help").out
    assert run().out == listed
    commands = list(get_command(app).commands)
    assert all(command in listed for command in commands)
    assert len(commands) >= 7
    for command in commands:
        text = run(command, "--help").out
        assert "Example" in text
        assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("words", [["foo"], ["fit", "x.csv", "--foo"], ["simulate", "a"]])
def test_words_that_are_not_understood(fails, words):
    assert "--help)" in fails(*words)


def test_ctrl_c_in_the_middle_of_a_fit(tmp_path):
    random = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", X=random.normal(size=(600, 300)))
    out = tmp_path / "r"
    out.mkdir()
    (out / "labels.csv").write_text("earlier")
    words = ["fit", "data.npz", "--clusters", "8", "--dims", "auto", "--out", "r", "--force"]
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr.readline().startswith("Read data.npz: 600 samples")
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert printed == ""
    assert said == "Error: Interrupted. Earlier results are unchanged.\n"
    assert [path.name for path in out.iterdir()] == ["labels.csv"]
    assert (out / "labels.csv").read_text() == "earlier"


def test_a_pipe_gets_the_answer_alone(union_file):
    done = ended("influence", union_file, "--labels", "type", "--top", 2)
    assert done.returncode == 0
    assert done.stderr.startswith("Read ")
    assert "\x1b" not in done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 5


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_stdout(union_file, unbuffered):
    words = [*COMMAND, "influence", str(union_file), "--labels", "type"]
    words = [*COMMAND, "fit", "--help"] if unbuffered else words
    settings = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=settings
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("Error: Standard output: No space left")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_reader_that_goes_away_is_no_scandal(union_file):
    words = f"{sys.executable} -m subspaces influence {union_file} --labels type --top 40 --json"
    done = subprocess.run(
        ["bash", "-c", f"{words} | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() in ("0", "1")
    assert "Error" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_missing_extra_is_named_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in [name for name in sys.modules if name.startswith("subspaces.app.cli")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit, match=r"^Error: .*pip install 'subspaces\[cli\]'"):
        __main__.main()


def test_a_fault_of_ours_is_one_line_unless_asked_for(monkeypatch, fails, run, union_file):
    def broken(*arguments, **options):
        raise KeyError("x")

    monkeypatch.setattr("subspaces.diagnostics.pca_influence", broken)
    said = fails("influence", union_file, "--labels", "type", code=1)
    assert "KeyError: 'x'" in said
    monkeypatch.setenv("SUBSPACES_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run("influence", union_file, "--labels", "type")


PLAIN = ("--labels", "type", "--no-stability", "--no-page")


def decoded(done):
    return done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_change_nothing_but_what_is_printed(union_file, closed):
    out = union_file.parent / "r"
    words = [*COMMAND, "fit", union_file, *PLAIN, "--clusters", "2", "--out", out]
    line = shlex.join(map(str, words))
    done = subprocess.run(["bash", "-c", f"{line} {closed}"], capture_output=True, timeout=60)
    assert done.returncode == 0
    assert (out / "summary.json").exists()
    printed, said = decoded(done)
    assert ("Wrote labels.csv" in printed) == (">&-" not in closed.split())
    assert all(row.startswith(("Read ", "Note: ")) for row in said.splitlines())
    done = subprocess.run(["bash", "-c", f"{line} {closed}"], capture_output=True, timeout=60)
    assert done.returncode == 2


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_encoding_prints_what_it_can(union_file, encoding):
    union_file.write_bytes(union_file.read_bytes().replace(b"gene 0", "gène \u0142".encode()))
    settings = {**os.environ, "PYTHONIOENCODING": f"{encoding}:strict"}
    out = union_file.parent / "r"

    def ran(*words):
        words = [*COMMAND, *map(str, words)]
        return subprocess.run(words, capture_output=True, timeout=60, env=settings)

    done = ran("fit", union_file, *PLAIN, "--clusters", 2, "--out", out)
    assert done.returncode == 0
    shown = "gène \u0142".encode(encoding, "backslashreplace")
    assert shown in done.stdout
    assert shown in done.stderr
    assert done.stdout.splitlines()[-1].startswith(b"Wrote labels.csv")
    assert "gène \u0142" in (out / "variables.csv").read_text(encoding="utf-8")
    done = ran("fit", union_file, *PLAIN, "--clusters", 2, "--out", out, "--force", "--json")
    assert done.returncode == 0
    clusters = json.loads(done.stdout)["clusters"]
    assert any("gène \u0142" in cluster["varies"] for cluster in clusters)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("command", ["fit", "pca"])
def test_a_path_that_is_not_utf_8(union_file, command):
    folder = os.fsencode(union_file.parent)
    data, out = folder + b"/d\xe8.csv", folder + b"/r\xe8"
    os.rename(union_file, data)
    words = [*COMMAND, command, data, "--labels", "type", "--out", out]
    words += ["--clusters", "2", "--no-stability"] if command == "fit" else []
    # A locale in which Python prints strictly.
    settings = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    words += [] if command == "fit" else ["--json"]
    done = subprocess.run(words, capture_output=True, timeout=60, env=settings)
    printed, said = decoded(done)
    assert done.returncode == 0, said
    assert r"r\udce8" in printed
    assert r"d\udce8.csv: 40 samples" in said
    if command == "pca":
        assert os.fsencode(json.loads(printed)["data"]) == data
    with open(out + b"/summary.json", encoding="utf-8") as file:
        assert os.fsencode(json.load(file)["data"]) == data
    with open(out + b"/report.html", encoding="utf-8") as file:
        assert "<title>d\ufffd.csv" in file.read()
    if command == "fit":
        words = [*COMMAND, "report", out, "--force"]
        done = subprocess.run(words, capture_output=True, timeout=60, env=settings)
        assert done.returncode == 0, done.stderr
