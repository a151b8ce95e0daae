"""The command as a process: pipes, signals, exit codes, and what a missing extra looks like."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from subspaces import __main__

COMMAND = [sys.executable, "-m", "subspaces"]


def ended(*arguments, **options):
    words = [*COMMAND, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, **options)


def test_help_and_version_import_nothing_that_computes():
    code = (
        "import sys; from subspaces.cli import main; main(['fit', '--help']); main(['--version']);"
        "print([m for m in ('numpy', 'sklearn', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "subspaces fit data.csv --clusters 3" in done.stdout


def test_every_command_has_examples(run):
    listed = run("--help").out
    assert run().out == listed
    commands = [line.split()[0] for line in listed[listed.index("Commands:") :].splitlines()[1:]]
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
    assert said == "Error: interrupted; earlier results are as they were\n"
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
    assert done.stderr.splitlines()[-1].startswith("Error: standard output: No space left")
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
    for name in [name for name in sys.modules if name.startswith("subspaces.cli")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit, match=r"^Error: .*pip install 'subspaces\[cli\]'"):
        __main__.main()


def test_a_fault_of_ours_is_one_line_unless_asked_for(monkeypatch, fails, run, union_file):
    def broken(*arguments, **options):
        raise KeyError("x")

    monkeypatch.setattr("subspaces.diagnostics.pca_influence", broken)
    said = fails("influence", union_file, "--labels", "type", code=1)
    assert (
        said
        == "KeyError: 'x'; this should not happen, and SUBSPACES_TRACEBACK=1 shows where it did"
    )
    monkeypatch.setenv("SUBSPACES_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run("influence", union_file, "--labels", "type")
