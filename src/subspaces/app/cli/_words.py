"""The library's messages in the words of the command line: options instead of parameters."""

import ast
import csv
import io
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
    "classes": "--classes",
    "level": "--level",
    "drop_missing": "--drop-missing",
    "method": "--method",
    "log": "--log",
    "scale": "--scale",
    "affine": "--affine",
    "outliers": "--outliers",
}
# Options without a value.
FLAGS = {
    ("log", "no"): "--no-log",
    ("log", "yes"): "--log",
    ("center", "True"): "--center",
    ("center", "False"): "--no-center",
    ("affine", "True"): "--affine",
    ("affine", "False"): "--linear",
    ("scale", "True"): "--scale",
    ("scale", "False"): "--no-scale",
    ("ignore_text", "True"): "--ignore-text",
    ("drop_empty", "True"): "--drop-empty",
}
# Names without an option: how to say one with its value, and how to say it alone.
PLAIN = {
    "n_samples": ("{} samples", "the number of samples"),
    "n_features": ("{} variables", "the number of variables"),
    "n_projected": ("a projection to dimension {}", "dimension to project to"),
    "n_candidates": ("{} candidate subspaces", "the number of candidate subspaces"),
    "n_base_components": ("dimension {}", "the dimension in each run"),
    "n_nulls": ("{} random tables", "the number of random tables"),
    "n_runs": ("{} runs", "number of runs"),
    "n_init": ("{} starts", "number of starts"),
    "max_iter": ("{} iterations", "number of iterations"),
    "center": ("--center {}", "center"),
    "df": ("{} degrees of freedom", "degrees of freedom"),
    "tolerance": ("tolerance {}", "tolerance"),
    "tol": ("tolerance {}", "tolerance"),
    "X": ("the table {}", "the table"),
    "recipes.expression": ("", "--preset expression"),
    "selection.select_n_clusters": ("", "subspaces select --preset expression"),
    "diagnostics.stability": ("", "the stability of each fit"),
}


def in_options(said: "Message | BaseException", settled: Collection[str] = ()) -> str:
    """Return a message, a warning or an error as one line that names options.

    settled: parameters that the user has set, on which there is no advice.
    """
    # Errors of what was typed are answered before anything heavy is imported, and so not by type.
    message: Any = getattr(said, "message", said)
    words = getattr(message, "in_words", None)
    text = str(message) if words is None else str(words(as_option, settled, command=True))
    text = " ".join(text.split())
    return f"The {text[4:]}" if text.startswith("the ") else text


def as_option(name: str, value: str | None) -> str:
    """Return a parameter as an option: --dims 2 for n_components=2, words if it has none."""
    if value is None:
        return PLAIN[name][1] if name in PLAIN else OPTIONS.get(name, name)
    typed = _as_typed(value)
    return _assigned(name, typed) or f"{name} {typed}"


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
    """Return a Python literal as typed in a shell: [1, 2] as 1,2, and quotes if needed."""
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
