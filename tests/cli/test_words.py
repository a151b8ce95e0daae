"""What the command prints speaks of options; the library's own words stay in Python."""

import ast
import re
from pathlib import Path

import pytest

import subspaces
from subspaces.app.cli._words import OPTIONS, in_options
from subspaces.messages import TOKEN

SOURCE = Path(subspaces.__file__).parent
# What the command never reaches: arrays of other libraries, streams, figures, the transformer, and
# the names that arrays have within a damaged model file.
ELSEWHERE = (
    "app/scverse.py", "data/", "metrics.py", "core/", "kernels/", "starts/", "plots/",
    "data/devices.py", "estimators/mini_batch_psc.py", "estimators/_fitted_state.py",
    "estimators/selected_pca.py",
)  # fmt: skip
# Sentences of modules that the command reaches, which it cannot provoke itself: what has no option
# is left as the library sets it, and tables come as arrays of numbers.
PYTHON_ALONE = (
    "toarray()", ".compute()", "RandomState", "_ is a", "shape=", "X.{", "methods=", "move_to",
    "partial_fit", "init has ", "init=", "labels_true", "by='axes'", "range(1, ", "refine=",
    "forgetting=", "n_jobs=", "selects nothing", "n_nonzero above", "is not ascending", "pca_press",
    "no fit_predict", "cluster={", "consensus=", "recipe.markers", "pca_components",
    "adata", "scanpy.pp", "markers(X, model.labels_)",
)  # fmt: skip
CHECKS = {"as_count", "as_choice", "as_real", "as_flag"}
NAMES_OF_VALUES = {"loo_projection", "press_points", "press_sum", "codimension_one"}
ENDINGS = r"(csv|tsv|txt|gz|gct|cls|xlsx|xls|npz|parquet|h5ad|html|json)"


def template(node):
    """The text of a message; what is filled in becomes a 3, and a name of a parameter the name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else _filled(part) for part in node.values
        )
    return None


def _filled(part):
    return "{" + ast.unparse(part.value) + "}"


def messages():
    """Every text of more than a word in the modules that the command reaches, with its place."""
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith((*ELSEWHERE, "app/report/", "app/cli/")) or place in ELSEWHERE:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
                 for part in node.values}  # fmt: skip
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        skipped = parts | docs
        for node in ast.walk(tree):
            text = None if id(node) in skipped else template(node)
            if text and re.search(r"\w \w", text) and not text.startswith("import "):
                yield f"{place}:{node.lineno}", text
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CHECKS:
                name = template(node.args[1]) if len(node.args) > 1 else None
                if name in OPTIONS:  # no other parameter comes from what is typed
                    yield f"{place}:{node.lineno}", f"{name}=3 is out of range"


def leaks(said):
    """Words of Python in a sentence: an assignment, a dotted name, a name with underscores."""
    said = re.sub(r"\{[^}]*\}", "3", said)
    assigned = re.findall(r"[A-Za-z_]\w*=(?!=)", said)
    dotted = [
        word
        for word in re.findall(r"(?<![\w/])[A-Za-z_]\w*\.[A-Za-z_]\w*", said)
        if not re.fullmatch(rf"\w+\.{ENDINGS}", word)
    ]
    snakes = re.findall(r"(?<![\w-])[a-z]+_\w*", said)
    table = re.findall(r"(?<!['\w])X(?!['\w])", said)
    return [w for w in (*assigned, *dotted, *snakes, *table) if w not in NAMES_OF_VALUES]


def test_no_word_of_python_is_left():
    checked, found = 0, {}
    for place, text in messages():
        if any(part in text for part in PYTHON_ALONE):
            continue
        checked += 1
        filled = re.sub(r"=\{[^}]*!r\}|=\{[^}]*\}", "=3", text)
        plain = TOKEN.sub(lambda token: token[0][1:-1], filled)
        words = leaks(in_options(plain))
        if words:
            found[f"{place} {text[:40]}"] = words
    assert found == {}
    assert checked > 150


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("n_clusters=3 is out of range", "--clusters 3 is out of range"),
        ("Use samples='columns', labels='my type'", "Use --samples columns, --labels 'my type'"),
        ("Use ignore=['a', 'b c'] to leave", "Use --ignore 'a,b c' to leave"),
        ("Use ignore=['a,b', 'c']", "Use --ignore '\"a,b\",c'"),
        ("Use ignore=[\"it's\"]", "Use --ignore 'it'\"'\"'s'"),
        ("Use ignore=[...] to leave out", "Use --ignore to leave out"),
        ("n_components=[1, 2] differ", "--dims 1,2 differ"),
        ("Use a lower floor, or log='no' where", "Use a lower floor, or --no-log where"),
        ("n_samples=3 is too few for n_components", "3 samples is too few for --dims"),
        ("X has n_samples=1; at least 2", "the table has 1 sample; at least 2"),
        ("labels_ and\na smaller n_components are", "the labels and a smaller --dims are"),
        ("the rank of X, 5", "the rank of the table, 5"),
        ("Use another random_state and compare", "Use another --seed and compare"),
        ("still moved after max_iter=300 sweeps. Use a larger max_iter",
         "still moved after 300 sweeps. Use another --seed"),
        ("Use fewer clusters; diagnostics.stability tells",
         "Use fewer clusters; the stability of each fit tells"),
        ("belong together. Use share above 0.7 or n_nonzero above 5 or solver='elastic_net'",
         "belong together. Use another --method"),
        ("there is no number. Use n_predictive, 7, as the number of axes",
         "there is no number. Use --dims 7"),
        ("level=1 is out of range", "--level 1 is out of range"),
        ("Use a larger max_components", "Use a larger --max-dims"),
        ("Use margins='normal' in select_n_clusters to see", "Use --normal-scores to see"),
        # What users named stays as they named it.
        ("/a/X/n_clusters.csv: 'X', 'n_clusters=3'", "/a/X/n_clusters.csv: 'X', 'n_clusters=3'"),
        ("a=b.csv, line 3 ('floor=1')", "a=b.csv, line 3 ('floor=1')"),
    ],
)  # fmt: skip
def test_messages_speak_of_options(message, said):
    assert in_options(message) == said


def test_the_messages_of_the_command_and_of_tables_say_use():
    for folder in ("cli", "tables"):
        for path in (SOURCE / folder).glob("*.py"):
            assert "would do" not in path.read_text(encoding="utf-8"), path
