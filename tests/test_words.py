"""Messages and pages are plain: short sentences that begin with their subject, no semicolon."""

import ast
import inspect
import re
import sys
from pathlib import Path

import pytest

import subspaces
from subspaces import messages

SOURCE = Path(subspaces.__file__).parent
WARNINGS = {
    name
    for name, kind in vars(messages).items()
    if isinstance(kind, type) and issubclass(kind, messages.SubspacesWarning)
}
ERRORS = {"ParameterError", "ParameterTypeError"}
MOST_WORDS = 25
# What a sentence begins with if it is not said as a colleague would.
FRONTED = {"Where", "Of", "With", "Without", "Beside", "Given", "Above"}


def text_of(node):
    """Return the text of a literal, each figure in it as one word; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{[^{}]*#([^{}|]*)[^{}]*\}", r"9 \1", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    return None


def advice_of(node):
    """Return what an argument advises, as Python and as the command line say it."""
    if isinstance(node, ast.Name) and isinstance(getattr(messages, node.id, None), messages.Advice):
        advice = getattr(messages, node.id)
        return advice.words, advice.words if advice.command is None else advice.command
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if node.func.id == "use":
        return "use <a=b>", "use <a=b>"
    if node.func.id != "Advice" or (words := text_of(node.args[0])) is None:
        return None
    command = next((text_of(k.value) for k in node.keywords if k.arg == "command"), words)
    return words, words if command is None else command


def all_messages():
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            place = f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "fact":
                yield place, text_of(node.value), []
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            said = node.args[1:] if node.func.id == "doubt" else node.args
            if node.func.id in WARNINGS | ERRORS | {"doubt", "noted"} and len(said) > 1:
                advice = [found for each in said[2:] if (found := advice_of(each))]
                yield place, text_of(said[1]), advice
            elif node.func.id == "Advice":
                yield place, None, [found] if (found := advice_of(node)) else []


MESSAGES = list(all_messages())


def sentences_of(text):
    """Return the sentences of a text, of which one ends before a capital letter."""
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text)


def words_of(sentence):
    return len(re.sub(r"\{[^{}]*\}|<[^<>]*>", "x", sentence).split())


def test_there_are_messages():
    assert sum(fact is not None for _, fact, _ in MESSAGES) > 60


@pytest.mark.parametrize(
    ("fact", "advice"), [m[1:] for m in MESSAGES], ids=[place for place, *_ in MESSAGES]
)
def test_a_message_is_plain(fact, advice):
    sentences = sentences_of(fact) if fact else []
    assert len(sentences) <= (1 if advice else 2)
    sentences += [", or ".join(filter(None, said)) for said in zip(*advice, strict=True)]
    for sentence in sentences:
        assert ";" not in sentence
        assert words_of(sentence) <= MOST_WORDS, sentence
        assert len(sentences_of(sentence)) == 1
        assert sentence.split(" ", 1)[0] not in FRONTED
    if fact:
        assert fact.endswith((".", "?"))
    assert not any(said.endswith(".") for each in advice for said in each)


ROOT = Path(__file__).parents[1]
PAGES = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")]
PAGES += [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
PAGES += [*(ROOT / "docs" / "about").glob("*.md"), *(ROOT / "tutorials").glob("*.py")]
PAGES += (ROOT / "examples").rglob("*.py")
MOST_WORDS_ON_A_PAGE = 30


def prose_of(path):
    """Return the paragraphs, items and cells of a page, or of a script's comments, without code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        said = re.sub(r"^# ?(%%)?", "", "\n".join(re.findall(r"^#.*|^$", text, re.M)), flags=re.M)
        text = re.sub(
            r"^[=-]{3,}$", "", f"{ast.get_docstring(ast.parse(text))}\n\n{said}", flags=re.M
        )
    text = re.sub(r"^(```|~~~).*?^\1$|\$\$.*?\$\$", "\n", text, flags=re.M | re.S)
    text = re.sub(r"(?<=\n)\n(?:    .*\n)+", "\n", text)
    text = re.sub(r"^(#.*|[|:].*|[-*] |\d+\. )", r"\n\1", text, flags=re.M)
    text = re.sub(r"^(#.*|[|:].*)$", r"\1\n", text, flags=re.M)
    text = re.sub(r"(?<!\\)\|", "\n\n", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"``.*?``|:doc:`.*?`|`.*?`|\$[^$\n]*\$", "Code", text)
    return [" ".join(part.split()).strip("#-* ") for part in text.split("\n\n")]


def sentences_on(path):
    """Return the sentences of a page, each from its first word."""
    text = "\n".join(prose_of(path)).replace("**", "")
    return [found for found in re.split(r"\n|(?<=[.!?]) +(?=[A-Z(\"*])", text) if found.strip()]


def test_prose_is_told_from_code(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A title\nOne. Two `a; b` words\nand [a link](x;y).\n\n```\ncode; code\n```\n"
        "\n    typed; code\n\n| a; cell | `b` |\n|---|---|\n- an item\n",
        encoding="utf-8",
    )
    found = ["A title", "One.", "Two Code words and a link.", "a; cell", "Code", "---", "---"]
    assert [each.strip() for each in sentences_on(page) if each.strip("- ")] == [
        each for each in [*found, "an item"] if each.strip("-")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_plain(page):
    for sentence in sentences_on(page):
        assert ";" not in sentence
        assert words_of(sentence) <= MOST_WORDS_ON_A_PAGE, sentence
        first = sentence.split(maxsplit=1)[0]
        assert first not in FRONTED or sentence.endswith("?"), sentence
        assert not re.search(r"(?<![\w.])\.\d", sentence), f"a zero before the point: {sentence}"


def first_paragraphs():
    """The first paragraph of the docstring of every public name, and of public methods."""
    found = {}
    for name in subspaces.__all__:
        home = getattr(subspaces, name)
        for inner in getattr(home, "__all__", [name]):
            value = getattr(home, inner, home)
            found[f"{name}.{inner}"] = value
            if isinstance(value, type):
                found |= {f"{inner}.{m}": v for m, v in vars(value).items() if m[:1] != "_"}
    said = {name: inspect.getdoc(value) for name, value in found.items() if callable(value)}
    return {name: text.split("\n\n")[0] for name, text in said.items() if text}


@pytest.mark.parametrize("name", first_paragraphs())
def test_a_docstring_begins_plainly(name):
    for sentence in sentences_of(" ".join(first_paragraphs()[name].split())):
        assert ";" not in sentence
        assert words_of(sentence) <= MOST_WORDS_ON_A_PAGE, sentence
        assert sentence.split(maxsplit=1)[0] not in FRONTED, sentence


def counted(pages):
    """Return what a style is measured by: words a sentence, and sentences in 100 with each mark."""
    said = [s for page in pages for s in sentences_on(page) if words_of(s) > 2]
    marks = {"semicolon": ";", "where": r"\bwhere\b", "you": r"\byour?\b", "we": r"\b(we|our)\b"}
    found = {name: sum(bool(re.search(m, s, re.I)) for s in said) for name, m in marks.items()}
    found["fronted"] = sum(s.split(maxsplit=1)[0] in FRONTED for s in said)
    found["over 25 words"] = sum(words_of(s) > MOST_WORDS for s in said)
    rates = ", ".join(f"{name} {100 * count / len(said):.1f}" for name, count in found.items())
    mean = sum(map(words_of, said)) / len(said)
    return f"{len(said)} sentences of {mean:.1f} words; in 100: {rates}"


if __name__ == "__main__":
    for place in ("README.md", "docs/guide", "docs/about", "tutorials", "examples"):
        found = counted([p for p in PAGES if str(p.relative_to(ROOT)).startswith(place)])
        sys.stdout.write(f"{place}: {found}\n")
