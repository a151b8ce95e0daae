"""The pages say what is there: commands and options exist, files that are linked to exist."""

import ast
import contextlib
import re
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import typer

import subspaces
from subspaces.app.cli import app, main
from subspaces.app.cli._options import DOCUMENTATION
from subspaces.app.tables import read_table

SITE = f"https://{DOCUMENTATION}"
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("[!_]*.md"))]
PAGES += sorted((ROOT / "docs").glob("[!_]*/*.md"))
COMMAND = re.compile(r"(?:^    |`)subspaces ([a-z]+)([^`\n]*)", re.MULTILINE)
DEVELOP = ROOT / "docs" / "develop"
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)#:]+)\)")
FILE = re.compile(r"`((?:[\w*-]+/)+[\w*.-]*|[\w*]+\.(?:py|pyx|toml|json|md))`")


def options():
    """The long options of every command."""
    group = typer.main.get_command(app)
    return {
        name: {word for parameter in command.params for word in _words(parameter)} | {"--help"}
        for name, command in group.commands.items()
    }


def _words(parameter):
    return [*parameter.opts, *parameter.secondary_opts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_their_options_exist(page):
    known = options()
    for command, words in COMMAND.findall(page.read_text(encoding="utf-8")):
        assert command in known
        assert set(re.findall(r"--[a-z][a-z-]*", words)) <= known[command]


def test_the_commands_of_the_readme_run_in_their_order(tmp_path, monkeypatch, capsys):
    """A reader who copies them from the page needs no file that they do not make."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    subspaces (.+)$", text, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["simulate", "fit", "predict", "pca"]
    for line in lines:
        assert main(shlex.split(line, comments=True)) == 0, capsys.readouterr().err
    assert (
        "98 % of the samples are in the right cluster (adjusted Rand index 0.95"
        in capsys.readouterr().out
    )
    assert len(Path("placed.csv").read_text().splitlines()) == 401
    inline = re.findall(r"`subspaces ([^`]*)`", text)  # a word on a command names no file
    assert not any(re.search(r"\w\.(csv|tsv|gct|npz|h5ad)", command) for command in inline)


def cells(text):
    """The cells of each row of the tables of a page."""
    lines = (line for line in text.splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_the_readme_is_short_and_has_the_figures_of_the_tables():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert len(text.split()) <= 900
    glossary = "docs/guide/glossary.md"
    names = {
        "PSC": "PSC",
        "K-subspaces": "KSubspaces",
        f"[Robust shape interaction]({glossary}) (affine)": "RSIM (affine, one dimension less)",
        "Sparse subspace clustering (our defaults)": "SSC",
        "K-means": "KMeans",
    }
    results = ROOT / "benchmarks" / "results"
    measured = {row[0]: row for row in cells((results / "real.md").read_text(encoding="utf-8"))}
    columns = [1 + c for c in (0, 3, 4, 5, 6, 7)]  # without faces of 2 and of 5 people
    errors = {
        name: [float(row[c].split("/")[0]) for c in columns]
        for name, row in measured.items()
        if name in [*names.values()]
    }
    shown = {row[0]: row[1:] for row in cells(text) if row[0] in names}
    for name, theirs in names.items():
        assert [float(v) for v in shown[name]] == pytest.approx(errors[theirs], abs=0.051), name
    published = [measured["SSC (as published)"][c].split("/")[0] for c in columns[:2]]
    said = re.search(r"settings: ([\d.]+) on moving points, ([\d.]+) on faces of 10", text).groups()
    assert [float(v) for v in said] == pytest.approx([float(v) for v in published], abs=0.051)
    means = (results / "means_or_directions.md").read_text(encoding="utf-8")
    indices = {row[0]: tuple(row[1:3]) for row in cells(means)}
    found = re.search(
        r"digits PSC scores (\S+) and K-means (\S+)\.\s+On the wine data it is the other way "
        r"round: (\S+) and (\S+)\. ",
        text,
    )
    assert found.groups() == (*indices["digits"], *indices["wine"])


EVIDENCE = ROOT / "docs" / "about" / "evidence.md"
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")


def numbers_in(text):
    """The numbers of a text, as (value, half a unit of the last digit)."""
    found = [number.replace(",", "") for number in NUMBER.findall(text)]
    return [(float(n), 0.501 * 10.0 ** -len(n.partition(".")[2])) for n in found]


@pytest.mark.parametrize(
    "section", EVIDENCE.read_text(encoding="utf-8").split("\n## ")[1:], ids=lambda s: s[:20]
)
def test_the_evidence_has_the_numbers_of_its_tables(section):
    """Each number of a table is in one that the section links, to the digits that it shows."""
    linked = [EVIDENCE.parent / link for link in LINK.findall(section) if "results" in link]
    assert linked
    measured = [v for path in linked for v, _ in numbers_in(path.read_text(encoding="utf-8"))]
    shown = [n for row in cells(section) for cell in row[1:] for n in numbers_in(cell)]
    for value, unit in shown:
        assert min(abs(value - each) for each in measured) <= unit, value


GUIDES = [ROOT / "docs" / "quickstart.md"]
GUIDES += sorted((ROOT / "docs" / "guide").glob("*.md"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The folder of a reader who has made the tables that the guides name."""
    folder = tmp_path_factory.mktemp("tables")
    text = (ROOT / "docs" / "guide" / "command_line.md").read_text(encoding="utf-8")
    lines = text.split("## Tables to follow with")[1].split("```")[1]
    simulate = re.search(r"^    subspaces (simulate .*)$", text, re.MULTILINE)[1]
    with contextlib.chdir(folder):
        exec(lines, {})  # a block that the page prints
        assert main(shlex.split(simulate)) == 0
    return folder


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_reader_can_follow_with_every_table_that_a_guide_names(page, tables):
    """It was made, its columns of text are named, and no result is written over another."""
    written = []
    for command, words in COMMAND.findall(page.read_text(encoding="utf-8")):
        path, *options = shlex.split(words, comments=True) or [""]
        if command in ("simulate", "demo", "report") or path.startswith("-") or not path:
            continue
        given = dict(pairwise(options))
        if command == "predict":
            path = options[0]
            given["--ignore"] = "cluster"
        read_table(
            tables / path,
            samples=given.get("--samples", "rows"),
            labels=given.get("--labels"),
            ignore=given.get("--ignore", "").split(",") if "--ignore" in given else (),
        )
        if command in ("fit", "pca", "predict"):
            written.append(given["--out"])
    assert len(set(written)) == len(written)


def test_there_are_commands_to_check():
    text = (ROOT / "docs" / "guide" / "command_line.md").read_text(encoding="utf-8")
    assert len(COMMAND.findall(text)) >= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_an_index_shows_readme_with_whole_addresses():
    """What pyproject.toml makes of README, whose own addresses lead within the repository."""
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = described["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    own, images = LINK.findall(text), re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    for change in hook["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    source = described["project"]["urls"]["Source"]
    for address in own:
        kind = "raw" if address in images else "blob"
        assert f"]({source}/{kind}/main/{address})" in text
    assert [address for address in images if ":" not in address]
    assert not re.search(r"\]\((?!https:)", text)


def test_contributors_are_sent_to_files_that_exist():
    """Every path on the pages for contributors, from the root or from within the package."""
    pages = [ROOT / "CONTRIBUTING.md"]
    pages += [DEVELOP / f"{name}.md" for name in ("architecture", "extend", "release")]
    named = [name for page in pages for name in FILE.findall(page.read_text(encoding="utf-8"))]
    assert len(named) > 40
    for path in named:
        assert any(ROOT.glob(path)) or any((ROOT / "src").rglob(path)), path


def test_every_public_name_is_in_the_reference():
    pages = (ROOT / "docs" / "api").glob("*.rst")
    listed = "\n".join(page.read_text(encoding="utf-8") for page in pages).split()
    for name in subspaces.__all__:
        value = getattr(subspaces, name)
        wanted = getattr(value, "__all__", [name])
        ours = [n for n in wanted if _is_ours(getattr(value, n, value))]
        assert ours, name
        assert set(ours) <= set(listed)


def test_every_public_function_and_estimator_has_an_example():
    modules = [getattr(subspaces, name) for name in subspaces.__all__]
    public = [getattr(m, name) for m in modules for name in getattr(m, "__all__", [])]
    public += [value for value in modules if isinstance(value, type)]
    made = [v for v in public if not hasattr(v, "__dataclass_fields__") and callable(v)]
    made = [v for v in made if not (isinstance(v, type) and issubclass(v, Exception))]
    assert len(made) > 40
    assert [v.__name__ for v in made if ">>>" not in (v.__doc__ or "")] == []


def _is_ours(value):
    """Functions and classes of this library; not constants, nor what others document."""
    home = getattr(value, "__module__", None)
    return callable(value) and bool(home) and home.startswith("subspaces.")


def test_what_is_installed_exists():
    """Pages install from a clone, messages by the name of what is installed; one page says all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras, found = set(project["optional-dependencies"]), set()
    kinds = ("*.md", "docs/**/*.md", "src/**/*.py", "examples/*.py")
    for path in (path for kind in kinds for path in ROOT.glob(kind)):
        text = path.read_text(encoding="utf-8")
        by_name = path.name in ("install.md", "extras.py")
        assert by_name or not re.search(r"pip install '?subspaces", text), path
        for names in re.findall(r"'(?:\.|subspaces)\[([a-z,]+)\]'", text):
            found |= set(names.split(","))
        found |= set(re.findall(r"install\('([a-z]+)'\)", text))
    assert extras - {"dev", "docs", "release"} <= found <= extras


def test_the_paper_cites_what_it_lists_and_has_the_numbers_of_the_tables():
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE)
    assert sorted(set(re.findall(r"@([A-Z]\w+)", paper))) == sorted(listed)
    for name in re.findall(r"`((?:benchmarks|docs)/[\w/]+\.md)`", paper):
        assert (ROOT / name).exists(), name
    measured = (ROOT / "benchmarks" / "results" / "real.md").read_text(encoding="utf-8")
    names = {
        "PSC": "PSC",
        "K-subspaces": "KSubspaces",
        "robust shape interaction, affine": "RSIM (affine, one dimension less)",
        "sparse subspace clustering": "SSC",
        "K-means": "KMeans",
    }
    ours = [[cell.strip() for cell in line.split("|")[1:-1]] for line in paper.splitlines()]
    rows = {row[0]: row[1:] for row in ours if row and row[0] in names}
    assert set(rows) == set(names)
    columns = (0, 1, 3, 5, 6, 7)  # without faces of 5 and of 19 subjects
    for name, theirs in names.items():
        line = next(line for line in measured.splitlines() if line.startswith(f"| {theirs} |"))
        errors = [cell.split("/")[0].strip() for cell in line.split("|")[2:-1]]
        assert rows[name] == [errors[c] for c in columns], name


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'\n  version: "{version}"\n' in (ROOT / "conda" / "recipe.yaml").read_text()
    assert f'\nversion: "{version}"\n' in (ROOT / "scverse" / "meta.yaml").read_text()
    assert re.search(rf"^## {version} \((\d{{4}}-\d\d-\d\d|unreleased)\)$", CHANGES, re.MULTILINE)


def test_who_owns_the_repository_is_filled_in_in_three_places_or_in_none():
    """docs/develop/release.md says where, and who does it."""
    kinds = ("*.md", "*.toml", "*.cff", "*.yaml", "*/*.yaml", "docs/**/*.md", ".github/**/*.*")
    files = [path for kind in kinds for path in ROOT.glob(kind)]
    named = {path.name for path in files if re.search(r"\bOWNER\b", path.read_text("utf-8"))}
    named.discard("release.md")
    assert named in ({"pyproject.toml", "recipe.yaml", "meta.yaml"}, set())


def test_the_site_has_one_address_and_is_built_from_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Documentation"] == SITE
    assert f"documentation: {SITE}\n" in (ROOT / "conda" / "recipe.yaml").read_text()
    hosted = (ROOT / ".readthedocs.yaml").read_text()
    extras = re.search(r"extra_requirements: \[(.*)\]", hosted)[1].replace(" ", "")
    recipe = (ROOT / "Makefile").read_text().split("\n.venv/.ready-docs:")[1].split("\n\n")[0]
    assert f"--editable '.[{extras}]'" in recipe


def test_help_names_no_file_that_a_wheel_lacks():
    for command in typer.main.get_command(app).commands.values():
        said = [command.help, *(getattr(option, "help", "") for option in command.params)]
        assert not any("docs/" in (text or "") for text in said), command.name


def docstrings():
    """Every docstring of the package, its spaces and line breaks as one space."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield " ".join((ast.get_docstring(node) or "").split())


def test_docstrings_cite_pages_by_title_and_address():
    """Who installed a wheel has no folder of pages."""
    titles = {
        page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        for page in PAGES
        if page.parent != DEVELOP
    }
    cited = re.compile(rf'"([^"]+)",? {re.escape(SITE)}')
    found = set()
    for text in docstrings():
        assert "docs/" not in text, text
        found |= set(cited.findall(text))
    assert len(found) > 8
    assert found <= titles


def test_messages_say_what_to_use():
    """ "Use X", never "X would do": a message that is read aloud is an instruction."""
    for path in (ROOT / "src").rglob("*.py"):
        assert "would do" not in path.read_text(encoding="utf-8"), path
