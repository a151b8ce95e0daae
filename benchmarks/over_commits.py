"""The time of default calls over commits: has a change made the library slower?

    python benchmarks/over_commits.py [REVISION ...]

Writes benchmarks/results/over_commits.md. Each revision, HEAD and two before it unless others are
named, is built as a wheel; then all are measured in turn, so that what else the machine does meets
them alike. A minute or two each.
"""

import json
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

import numpy as np
from harness import ROOT, markdown, save

REVISIONS = ("HEAD~100", "HEAD~50", "HEAD")
ROUNDS = 5
# name: samples, variables, clusters, dimension, other parameters
CALLS = {
    "100 x 2000": (100, 2000, 4, 2, {}),
    "250 x 1000": (250, 1000, 6, 3, {}),
    "1000 x 50": (1000, 50, 5, 3, {}),
    "20000 x 50": (20000, 50, 10, 5, {}),
    "250 x 1000, 20 variables": (250, 1000, 6, 2, {"n_variables": 20}),
}
MEASURE = """
import json, sys, time, warnings
import numpy as np
from sklearn.cluster import KMeans
from subspaces import PSC

warnings.simplefilter("ignore")
random, taken = np.random.default_rng(0), {}
for name, (n, p, k, r, given) in json.loads(sys.argv[1]).items():
    bases = np.linalg.qr(random.standard_normal((k, p, r)))[0]
    X = np.concatenate([random.standard_normal((n // k, r)) @ basis.T for basis in bases])
    X += 0.3 * np.sqrt(r / p) * random.standard_normal(X.shape)
    fits = (PSC(k, n_components=r, random_state=0, **given), KMeans(k, n_init=10, random_state=0))
    taken[name] = []
    for model in fits:
        began = time.process_time()
        model.fit(X)
        taken[name].append(time.process_time() - began)
print(json.dumps(taken))
"""


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, text=True, capture_output=True)
    return done.stdout.strip()


def build(revision, folder):
    """A folder with the library as that revision has it, compiled."""
    sources, home = Path(folder, f"{revision}-sources"), Path(folder, revision)
    git("worktree", "add", "--detach", "--quiet", str(sources), revision)
    try:
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
        subprocess.run([*pip, str(sources)], check=True)
    finally:
        git("worktree", "remove", "--force", str(sources))
    (wheel,) = Path(folder).glob("subspaces-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(home)
    wheel.unlink()
    return home


def python_without_the_library(folder):
    """A Python that has this one's packages, but not the library that is installed for editing."""
    home = Path(folder, "environment")
    venv.create(home)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return home / "bin" / "python"


def measure(python, home):
    """Processor seconds of each call and of K-means, by a process of its own."""
    done = subprocess.run(
        [python, "-c", MEASURE, json.dumps(CALLS)],
        env={"PYTHONPATH": str(home), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=True,
        text=True,
        capture_output=True,
    )
    return json.loads(done.stdout)


def main():
    commits = [git("rev-parse", "--short", word) for word in sys.argv[1:] or REVISIONS]
    with tempfile.TemporaryDirectory() as folder:
        homes = {commit: build(commit, folder) for commit in commits}
        python = python_without_the_library(folder)
        rounds = [{c: measure(python, home) for c, home in homes.items()} for _ in range(ROUNDS)]
    rows = []
    for commit in commits:
        cells = []
        for name in CALLS:
            ours, theirs = 1000 * np.median([each[commit][name] for each in rounds], axis=0)
            cells.append(f"{ours:.0f} ({ours / theirs:.2f})")
        rows.append([commit, git("log", "-1", "--format=%cs %s", commit), *cells])
    save(
        "over_commits",
        "# Default calls over commits\n\n"
        "`python benchmarks/over_commits.py`: `PSC(K, n_components=R, random_state=0).fit(X)` as "
        f"each commit has it, one thread, processor milliseconds, medians of {ROUNDS} processes in "
        "turn that each fit once, and in brackets their ratio to `KMeans(K, n_init=10)` in the "
        "same process.\n\n" + markdown(["commit", "", *CALLS], rows),
    )


if __name__ == "__main__":
    main()
