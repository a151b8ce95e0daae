"""What the command prints speaks of options; the library's own words stay in Python."""

import re
import sys
from pathlib import Path

import pytest

import subspaces
from subspaces.app.cli._say import note
from subspaces.app.cli._words import FLAGS, OPTIONS, PLAIN, as_option, in_options
from subspaces.messages import TOKEN, Message, literal, rendered
from tests.test_words import MESSAGES

SOURCE = Path(subspaces.__file__).parent
# What the command never reaches: arrays of other libraries, streams, figures, the transformer.
ELSEWHERE = (
    "app/scverse.py", "expression_values.py", "data/", "starts/registry.py", "metrics.py", "plots/",
    "estimators/mini_batch_psc.py", "estimators/pca.py",
)  # fmt: skip
# Parts of messages that only a call in Python provokes, by what the command never passes on.
PYTHON_ALONE = (
    "<init", "<weights", "<refine", "<min_components", "<method", "<cluster=",
    "<names>", "<expressed>", "<y>", "<by=", "<candidates", "adata", "AnnData", "fit_predict",
    "labels_", "pca_press", "pca_components", "recipes.expression", "row {} of X",
    "does not accept", "sample_weight", "<coverage", "<robust",
)  # fmt: skip
NAMES_OF_VALUES = {"loo_projection", "codimension_one"}
ENDINGS = r"(csv|tsv|txt|gz|gct|cls|xlsx|xls|npz|parquet|h5ad|html|json)"


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


def reached():
    """The facts and the advice of the messages that the command may show, with their places."""
    for place, fact, advice in MESSAGES:
        if not place.startswith(ELSEWHERE):
            texts = [text for text in (fact, *(command for _, command in advice)) if text]
            if not any(part in text for text in texts for part in PYTHON_ALONE):
                yield from ((place, text) for text in texts)


def test_every_parameter_in_a_message_has_an_option_or_words():
    known = {*OPTIONS, *PLAIN, *(name for name, _ in FLAGS)}
    # Parameters of methods that only Python sets, under their own names.
    known |= {"alpha", "power", "solver", "spectral", "bound", "margins"}
    named = {token[1] for _, text in reached() for token in TOKEN.finditer(text)}
    assert named - known == {"a"}  # where the name is filled in
    assert len(named) > 12


def test_no_word_of_python_is_left():
    found = {}
    for place, text in reached():
        words = leaks(rendered(re.sub(r"=\{[^}]*\}", "=3", text), as_option))
        if words:
            found[f"{place} {text[:40]}"] = words
    assert found == {}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("<n_clusters=3> is out of range", "--clusters 3 is out of range"),
        ("<samples='columns'>, <labels='my type'>", "--samples columns, --labels 'my type'"),
        ("use <ignore=['a', 'b c']> to leave", "use --ignore 'a,b c' to leave"),
        ("use <ignore=['a,b', 'c']>", "use --ignore '\"a,b\",c'"),
        ("use <ignore=[\"it's\"]>", "use --ignore 'it'\"'\"'s'"),
        ("use <ignore=[...]> to leave out", "use --ignore to leave out"),
        ("<n_components=[1, 2]> differ", "--dims 1,2 differ"),
        ("a lower floor, or <log='no'>", "a lower floor, or --no-log"),
        ("<X> has rank 5", "The table has rank 5"),
        ("use another <random_state>", "use another --seed"),
    ],
)  # fmt: skip
def test_messages_speak_of_options(message, said):
    assert in_options(Message("any", message)) == said


def test_what_users_named_stays_as_they_named_it():
    names = ["<n_clusters=3>", "{floor}", "n_clusters=3"]
    message = Message("any", f"{literal(names)} {{names}} <ignore={{names!r}}>", {"names": names})
    assert in_options(message) == (
        f"{names} <n_clusters=3>, {{floor}} and n_clusters=3 "
        "--ignore '<n_clusters=3>,{floor},n_clusters=3'"
    )


def test_the_messages_of_the_command_and_of_tables_say_use():
    for folder in ("cli", "tables"):
        for path in (SOURCE / folder).glob("*.py"):
            assert "would do" not in path.read_text(encoding="utf-8"), path


def test_lines_wrap_to_a_window_and_not_in_a_pipe(capsys, monkeypatch):
    long = "Use --max-dims to look for more components. " * 5
    monkeypatch.setenv("COLUMNS", "60")
    note(long)
    assert capsys.readouterr().err == long + "\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    note(long)
    lines = capsys.readouterr().err.splitlines()
    assert " ".join(lines) == long.strip()
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize("words", [("simulate", "z"), ("simulate", "a", "--noise", "loud")])
def test_errors_of_typed_values_are_plain(fails, tmp_path, words):
    said = fails(*words, "--out", tmp_path / "t.csv")
    assert not any(leak in said for leak in ("Value error", "unable to parse"))
