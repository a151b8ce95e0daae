"""The library's messages in the words of the command line: options instead of parameters."""

import ast
import csv
import io
import re
import shlex
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subspaces.messages import Message

# The library's parameters, and the options that set them.
OPTIONS = {
    "n_clusters": "--clusters",
    "n_components": "--dims",
    "n_variables": "--variables",
    "max_clusters": "--max-clusters",
    "max_components": "--max-dims",
    "top_variables": "--top-variables",
    "n_genes": "--top-variables",
    "random_state": "--seed",
    "criterion": "--criterion",
    "samples": "--samples",
    "labels": "--labels",
    "ignore": "--ignore",
    "floor": "--floor",
    "kind": "--kind",
    "missing": "--missing",
    "sample_names": "--sample-names",
    "level": "--level",
    "drop_missing": "--drop-missing",
    "method": "--method",
    "preset": "--preset",
    "log": "--log",
    "scale": "--scale",
    "affine": "--affine",
}
# Options without a value.
FLAGS = {
    ("log", "no"): "--no-log",
    ("log", "yes"): "--log",
    ("margins", "normal"): "--normal-scores",
    ("center", "True"): "--center",
    ("center", "False"): "--no-center",
    ("affine", "True"): "--affine",
    ("scale", "True"): "--scale",
    ("ignore_text", "True"): "--ignore-text",
    ("drop_empty", "True"): "--drop-empty",
}
# Names without an option: how to say one with its value, and how to say it alone.
PLAIN = {
    "n_samples": ("{} samples", "the number of samples"),
    "n_features": ("{} variables", "the number of variables"),
    "n_projected": ("{}", "dimension to project to"),
    "n_candidates": ("{} candidate subspaces", "the number of candidate subspaces"),
    "n_base_components": ("dimension {}", "the dimension in each run"),
    "n_runs": ("{} runs", "number of runs"),
    "n_init": ("{} starts", "number of starts"),
    "max_iter": ("{}", "number of sweeps"),
    "center": ("--center {}", "center"),
    "alpha": ("alpha {}", "alpha"),
    "power": ("power {}", "power"),
    "solver": ("solver {}", "solver"),
    "spectral": ("spectral {}", "spectral"),
    "bound": ("bound {}", "bound"),
    "df": ("{} degrees of freedom", "degrees of freedom"),
    "tolerance": ("tolerance {}", "tolerance"),
    "tol": ("tolerance {}", "tolerance"),
    "X": ("the table {}", "the table"),
    "labels_": ("", "the labels"),
    "n_components_": ("", "the dimensions"),
    "recipes.expression": ("", "--preset expression"),
    "selection.select_n_clusters": ("", "subspaces select --preset expression"),
    "diagnostics.stability": ("", "the stability of each fit"),
}
# Advice that only Python can follow, and what to do here instead.
ADVICE = (
    (
        "Use a number; diagnostics.stability compares several",
        "Use a number: run fit with 2, 3, 4, ... and compare the stability that it prints",
    ),
    ("; of a recipe by set_params, prepare__log='no'", ""),
    ("use PSC(...).fit(X).impute(X) on a dense table first", "fill it by subspaces fit --imputed"),
    ("PSC(...).fit(X).impute(X) first", "fill the table by subspaces fit --imputed"),
    (
        "SelectedPCA().fit(X).impute(X) on logarithms first",
        "subspaces fit --log --imputed first, and then its imputed.csv, which is in the same units",
    ),
    (
        "leave out the genes that have gaps, X.dropna(axis=1) of a frame",
        "leave out the genes that have gaps by --drop-missing 0",
    ),
    ("and leave out samples without any", "and leave out samples without any by --ignore"),
    ("Use variables that fewer samples lack", "Use --drop-missing 0.5, say, to do without them"),
    (
        "Use the variables that few samples lack, np.isnan(X).mean(axis=0) <= 0.2,",
        "Use --drop-missing 0.2, which leaves out variables that many samples lack,",
    ),
    ("Use np.nan there for a missing value", "Leave such cells empty for missing values"),
    ("Use model.impute(X)", "Fill them by subspaces fit --imputed"),
    ("a larger max_iter or tol", "another --seed"),
    ("a larger max_iter", "another --seed"),
    ("a larger n_runs", "another --seed"),
    ("margins='normal' in select_n_clusters", "--normal-scores"),
    ("a wider range of candidates", "a larger --max-clusters"),
    ("Use affine=True, or centred variables", "Use --affine"),
)
# Advice on how a graph is made, which has numbers within it.
GRAPH = re.compile(r"Use (share|n_nonzero|alpha) above .*")
# Advice with a number of axes within it.
AXES = re.compile(r"Use n_predictive, (\d+), as the number of axes")
# An assignment, a name in quotes (which users gave), or a word; never a part of a path.
TOKEN = re.compile(
    r"""(?<![\w'"/.=-])(?P<name>[A-Za-z_]\w*)=
    (?P<value>\[[^\]]*\]|'[^']*'|"[^"]*"|[^\s,;:()]*[^\s,;:().])
    |(?<!\w)(?P<quoted>'[^']*'(?!\w)|"[^"]*"(?!\w))
    |(?<![\w/.=-])(?P<word>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?![\w/=])""",
    re.VERBOSE,
)


def in_options(said: "str | Message | BaseException", settled: Collection[str] = ()) -> str:
    """Return a message, a warning or an error of the library as one line that names options.

    settled: parameters that the user has set, on which there is no advice.
    """
    # Errors of what was typed are answered before anything heavy is imported, and so not by type.
    message: Any = getattr(said, "message", said)
    if hasattr(message, "in_words") and message.code != "note":
        return str(message.in_words(as_option, settled, command=True))
    return _prose_in_options(str(said))


def as_option(name: str, value: str | None) -> str:
    """Return a parameter as an option: --dims 2 for n_components=2, words if it has none."""
    if value is None:
        return PLAIN[name][1] if name in PLAIN else OPTIONS.get(name, name)
    typed = _as_typed(value)
    return _assigned(name, typed) or f"{name} {typed}"


def _prose_in_options(message: str) -> str:
    message = " ".join(message.split())
    for theirs, ours in ADVICE:
        message = message.replace(theirs, ours)
    message = AXES.sub(r"Use --dims \1", message)
    return TOKEN.sub(_translated, GRAPH.sub("Use another --method", message))


def _translated(found: re.Match[str]) -> str:
    name, word = found["name"], found["word"]
    if name is not None:
        return _assigned(name, _as_typed(found["value"])) or found.group()
    if word in PLAIN:
        return PLAIN[word][1]
    if word is not None and "_" in word:  # labels, floor and kind are words of English, too
        return OPTIONS.get(word, word)
    return found.group()


def _assigned(name: str, value: str) -> str | None:
    """Return the option for ``name=value``, as "--dims 2"; None if ``name`` is no parameter."""
    if (name, value) in FLAGS:
        return FLAGS[name, value]
    if name in OPTIONS:
        return f"{OPTIONS[name]} {value}".rstrip()
    if name not in PLAIN:
        return None
    said = PLAIN[name][0].format(value)
    return said.removesuffix("s") if value == "1" else said  # 1 sample


def _as_typed(value: str) -> str:
    """Return a Python literal as typed in a shell: [1, 2] as 1,2, and quotes where needed."""
    try:
        read = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return value
    if read == [...]:
        return ""
    if isinstance(read, list):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(read)
        read = line.getvalue()
    return shlex.quote(read) if isinstance(read, str) else value
