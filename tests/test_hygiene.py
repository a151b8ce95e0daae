"""What a user's process and a packager expect: quiet imports, no network, known licences."""

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

HOME = Path(__file__).parents[1]
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
PERMISSIVE = re.compile(
    r"BSD|MIT|Apache|PSF|Python Software Foundation|ISC|MPL|Matplotlib|HPND", re.I
)
NO_NETWORK = """
import socket, subprocess, sys, warnings
warnings.simplefilter("ignore")
def refused(*arguments, **options):
    raise RuntimeError(f"the network was asked for: {arguments}")
socket.socket.connect = socket.socket.connect_ex = refused
socket.create_connection = socket.getaddrinfo = refused
from subspaces import *
from subspaces import PSC, compare
from subspaces.app import cli
from subspaces.datasets import make_scenario
X = make_scenario("c", random_state=0).data
compare(X, 2, 2, methods=["PSC", "KMeans", "SSC"])
assert cli.main(["simulate", "a", "--out", "a.csv"]) == 0
fit = ["fit", "a.csv", "--labels", "cluster", "--clusters", "2", "--no-stability"]
assert cli.main([*fit, "--json"]) == 0
assert cli.main(["pca", "a.csv", "--labels", "cluster", "--out", "pca"]) == 0
assert cli.main(["predict", "result/model.npz", "a.csv", "--labels", "cluster"]) == 0
"""


def ended(*words, cwd=None):
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=300, cwd=cwd
    )


def test_imports_warn_of_nothing_and_leave_anndata_alone():
    modules = "sys, subspaces, subspaces.estimators, subspaces.app.cli.app"
    asked = "subspaces.scverse.psc; sys.exit('anndata' in sys.modules)"
    done = ended("-W", "error", "-c", f"import {modules}; {asked}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_asks_for_the_network(tmp_path):
    done = ended("-c", NO_NETWORK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def required(name, seen):
    """A distribution and all that it requires, without extras."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name in seen:
        return
    try:
        wanted = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    seen.add(name)
    for line in wanted:
        if "extra ==" not in line:
            required(re.match(r"[\w.-]+", line).group(), seen)


def licence(name):
    about = metadata.metadata(name)
    classifiers = [c for c in about.get_all("Classifier", []) if c.startswith("License")]
    parts = [about.get("License-Expression"), *classifiers, (about.get("License") or "")[:200]]
    return " ".join(part for part in parts if part)


def test_every_dependency_has_a_permissive_licence():
    extras = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(line for name in USERS for line in extras[name])]
    seen = set()
    for line in lines:
        required(re.match(r"[\w.-]+", line).group(), seen)
    assert {"numpy", "scipy", "scikit-learn", "pandas"} <= seen
    others = {name: licence(name) for name in seen if not PERMISSIVE.search(licence(name))}
    assert others == {}


USERS = ("plots", "cli", "report", "parquet", "scverse")


def test_the_lock_allows_what_the_project_requires():
    lock = dict(
        line.split("==")
        for line in (HOME / ".ci" / "lock.txt").read_text().splitlines()
        if "==" in line
    )
    for line in PROJECT["dependencies"]:
        name, least = line.split(">=")
        locked = tuple(map(int, lock[name].split(".")[:2]))
        assert locked >= tuple(map(int, least.split(".")[:2]))


def test_actions_are_pinned_by_commit():
    """One that is named by its tag is a step for the maintainers, and none is named by a branch."""
    steps = (HOME / "docs" / "develop" / "release.md").read_text()
    files = sorted((HOME / ".github" / "workflows").glob("*.yml"))
    used = [name for path in files for name in re.findall(r"uses: ([^.\n].*)", path.read_text())]
    assert len(used) > 20
    for action in used:
        commit = re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action)
        tag = re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", action)
        assert commit or (tag and f"`{action}`" in steps), action


def test_a_release_is_built_by_locked_tools():
    locked = re.findall(r"^([\w.-]+)==", (HOME / ".ci" / "release.txt").read_text(), re.M)
    names = {name.lower().replace("_", "-") for name in locked}
    built_by = tomllib.loads((HOME / "pyproject.toml").read_text())["build-system"]["requires"]
    wheels = (HOME / ".github" / "workflows" / "wheels.yml").read_text()
    installs = re.findall(r"pip install (?:--constraint \S+ )?(.*)", wheels)
    tools = {word for line in installs for word in line.split()}
    assert {"build", "twine", "cibuildwheel"} <= tools
    assert tools | {line.split(">=")[0] for line in built_by} <= names


def test_make_bench_knows_every_benchmark():
    named = re.findall(r"benchmarks/(\w+)\.py", (HOME / "Makefile").read_text())
    scripts = {path.stem for path in (HOME / "benchmarks").glob("*.py")}
    assert scripts - {"harness"} == set(named)


def test_every_study_finds_what_it_imports():
    benchmarks = sorted(path.stem for path in (HOME / "benchmarks").glob("*.py"))
    studies = sorted(path.stem for path in (HOME / "reproduction").glob("[!_]*.py"))
    code = f"import {', '.join(benchmarks)}\nfrom reproduction import {', '.join(studies)}"
    folders = {"PYTHONPATH": os.pathsep.join(map(str, (HOME, HOME / "benchmarks")))}
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | folders)
