"""``kill -9`` at random moments of ``subspaces fit --out``: ``python -m tests.fuzz.kills 200``.

Before each kill the folder holds one of two results, told apart by their number of clusters. After
it, and after the next command has opened the folder, all files must be of the same result: the old
or the new.
"""

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from subspaces import load
from subspaces.app.cli._outputs import settle

COMMAND = (sys.executable, "-m", "subspaces")
FILES = {"labels.csv", "variables.csv", "model.npz", "summary.json", "report.html"}


def fit_words(data: Path, clusters: int, out: Path) -> list[str]:
    """The command that is to be killed."""
    words = ["fit", str(data), "--labels", "cluster", "--clusters", str(clusters)]
    return [*COMMAND, *words, "--no-stability", "--out", str(out), "--force"]


def state(folder: Path) -> int | str:
    """The number of clusters that all files agree on, or what is wrong."""
    there = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    if there != FILES:
        return f"it has {sorted(there)}"
    with (folder / "labels.csv").open() as file:
        labels = len({row["cluster"] for row in csv.DictReader(file)})
    with (folder / "variables.csv").open() as file:
        variables = len({row["cluster"] for row in csv.DictReader(file)})
    summary = len(json.loads((folder / "summary.json").read_text())["clusters"])
    model = len(load(folder / "model.npz").subspaces_)
    if not (folder / "report.html").read_text().rstrip().endswith("</html>"):
        return "its page is cut short"
    counts = {labels, variables, summary, model}
    return counts.pop() if len(counts) == 1 else f"its files are of {sorted(counts)} clusters"


def killed(words: list[str], seconds: float) -> bool:
    """Whether the command was still at work when it was killed."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def main(count: int, seed: int = 0) -> int:
    """Kill so many fits; returns the number of damaged folders."""
    moments, results, damaged = random.Random(seed), Counter(), 0
    with tempfile.TemporaryDirectory() as name:
        data, whole = Path(name) / "data.csv", Path(name) / "whole"
        drawn = ["simulate", "a", "--noise", "0.1", "--out", str(data)]
        subprocess.run([*COMMAND, *drawn], check=True, stdout=subprocess.DEVNULL)
        began = time.perf_counter()
        subprocess.run(fit_words(data, 2, whole), check=True, stdout=subprocess.DEVNULL)
        takes = time.perf_counter() - began
        folder = Path(name) / "result"
        shutil.copytree(whole, folder)
        for i in range(count):
            before = state(folder)
            after = 3 if before == 2 else 2
            # The last fifth of the run is where files are written and moved.
            low = 0.0 if i % 2 else 0.8
            stopped = killed(fit_words(data, after, folder), moments.uniform(low, 1.1) * takes)
            settle(folder)
            found = state(folder)
            kind = "killed" if stopped else "ended first"
            if found in (before, after):
                results[f"{kind}, {'new' if found == after else 'old'} result"] += 1
            else:
                damaged += 1
                print(f"kill {i}: {found}", flush=True)
                shutil.rmtree(folder)
                shutil.copytree(whole, folder)
    told = ", ".join(f"{n} {what}" for what, n in sorted(results.items()))
    print(f"{count} fits, kill -9 at a random moment: {told}; {damaged} damaged")
    return damaged


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(int(sys.argv[1])) > 0)
