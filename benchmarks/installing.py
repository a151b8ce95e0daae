"""What it takes to get started: seconds of `pip install .`, of an import, and a wheel on its own.

    python benchmarks/installing.py

Writes benchmarks/results/installing.md. The wheel is installed and fits where there is no compiler
on the PATH. Packages come from the index that pip is set to; some minutes.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import ROOT, save

REPEATS = 5
STATEMENTS = ("import sklearn.cluster", "import subspaces", "from subspaces import PSC")
SMOKE = """
import shutil
from subspaces import PSC
from subspaces.kernels import compiled
from subspaces.datasets import make_subspaces
assert not any(map(shutil.which, ("cc", "gcc", "clang", "cmake", "ninja"))), "a compiler is there"
assert compiled("block_pass") is not None, "the wheel has no kernels"
union = make_subspaces([30, 30], 50, [2, 2], noise=0.01, random_state=0)
for given in ({}, {"n_variables": 49}):
    model = PSC(2, n_components=2, random_state=0, **given).fit(union.data)
    agreed = (model.labels_ == union.target).mean()
    assert max(agreed, 1.0 - agreed) > 0.9, agreed
print("fits")
"""


def environment(folder, name):
    """The Python of a fresh virtual environment."""
    home = Path(folder, name)
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    return home / "bin" / "python"


def run(*command, **options):
    done = subprocess.run(command, check=True, text=True, capture_output=True, **options)
    return done.stdout.strip()


def pip(python, *arguments, **options):
    quiet = ("--quiet", "--disable-pip-version-check")
    return run(python, "-m", "pip", arguments[0], *quiet, *arguments[1:], **options)


def import_seconds(python, statement, folder):
    code = f"{statement}\nimport time; print(time.process_time())"
    return float(run(python, "-c", code, cwd=folder))


def main():
    with tempfile.TemporaryDirectory() as folder:
        python = environment(folder, "installed")
        before, began = os.times(), time.perf_counter()
        pip(python, "install", str(ROOT))
        after, installed = os.times(), time.perf_counter() - began
        worked = sum(after[2:4]) - sum(before[2:4])
        pip(python, "wheel", "--no-deps", "--wheel-dir", folder, str(ROOT))
        (wheel,) = Path(folder).glob("subspaces-*.whl")
        alone = environment(folder, "alone")
        bare = {**os.environ, "PATH": str(alone.parent)}
        pip(alone, "install", "--only-binary=:all:", str(wheel), env=bare)
        smoke = run(alone, "-c", SMOKE, env=bare, cwd=folder)
        taken = [[import_seconds(alone, s, folder) for s in STATEMENTS] for _ in range(REPEATS)]
        size = wheel.stat().st_size / 1e6
    theirs, ours, first = np.median(taken, axis=0)
    save(
        "installing",
        "# Getting started\n\n"
        "`python benchmarks/installing.py`\n\n"
        f"- `pip install .` in a clean environment, dependencies and compilation included: "
        f"{installed:.0f} s, {worked:.0f} s of the processor (load {os.getloadavg()[0]:.0f} on "
        f"{os.cpu_count()} cores meanwhile).\n"
        f"- The wheel ({size:.1f} MB), nothing built, run with no compiler "
        f"on the PATH: {smoke}, with the compiled kernels.\n"
        f"- Processor seconds, medians of {REPEATS}: `{STATEMENTS[0]}` {theirs:.2f}, "
        f"`{STATEMENTS[1]}` {ours:.2f}, `{STATEMENTS[2]}` {first:.2f}.",
    )


if __name__ == "__main__":
    main()
